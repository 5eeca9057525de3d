"""Who this client is to the server: what it says first on each connection, and what it makes of the answers.

Pure: it returns the messages, and the link sends them.
"""

from __future__ import annotations

from collections.abc import Callable

from client.connection.events import Identity
from protocol import __version__
from protocol.client_messages import ClientMessage, FollowLobby, Hello, Say, WhoAmI
from protocol.errors import ErrorCode
from protocol.run_messages import OpenChallenge
from protocol.server_messages import Error, Welcome, YouAre
from protocol.text import clean_chat, clean_name
from protocol.tournament_messages import DirectorRequest, FollowTournament, FollowTournaments
from protocol.watch_messages import AskBoardsKey, Unwatch, WatchRace

HELLO_REFERENCE = 2**31 - 1
LOOKS_ON = FollowLobby | FollowTournaments | FollowTournament | WatchRace | Unwatch | Say | AskBoardsKey | OpenChallenge | DirectorRequest
"""What a player may send on a second connection, beside the one they have elsewhere."""

_PASSING = frozenset(
    {ErrorCode.SERVER_BUSY, ErrorCode.SERVER_STOPPING, ErrorCode.CANNOT_WRITE, ErrorCode.NOT_KEPT, ErrorCode.INTERNAL, ErrorCode.TOO_FAST}
)


class Introduction:
    """See `NetLink` for what an identity, `watches` and `keep` mean."""

    __slots__ = ("_identity", "_is_anew", "_is_guest", "_is_second", "_keep", "_player", "_token", "_watches")

    def __init__(self, identity: Identity | None, *, watches: bool, keep: Callable[[Identity], None]) -> None:
        self._identity = identity
        self._watches = watches
        self._is_guest = watches and identity is None
        self._is_second = False  # whether this connection is beside one that the player may have elsewhere
        self._is_anew = False  # whether this player was made in place of one whose token the server did not know
        self._keep = keep
        self._player: str | None = None  # from the last welcome; None before the first
        self._token = ""

    def first(self) -> ClientMessage | None:
        """What a connection begins with; None for nothing."""
        if self._identity is not None:
            return self._first_of(self._identity)
        return _hello(Identity(""), watch=True) if self._is_guest else None

    def before(self, message: ClientMessage) -> ClientMessage | None:
        """What has to be sent before `message`: the hello of a player who came to watch and now does more. None for nothing."""
        if not self._watches or isinstance(message, LOOKS_ON):
            return None
        self._watches = self._is_guest
        return self._first_of(self._identity) if self._is_second and self._identity is not None else None

    def known(self) -> ClientMessage | None:
        """What to send to watch on a second connection, now that the server has said it knows the token."""
        return _hello(self._identity, watch=True) if self._watches and self._identity is not None else None

    def is_unknown(self, error: Error) -> bool:
        """Whether the server does not know the token: it has lost its data, or it is another server. Once; a server that forgets again
        the token that it has just given would have a new player made, and kept, whenever it likes.
        """
        return (
            error.ref == HELLO_REFERENCE
            and error.code == ErrorCode.UNKNOWN_TOKEN
            and self._identity is not None
            and self._identity.token is not None
            and not self._is_anew
        )

    def is_turned_away(self, error: Error) -> bool:
        """Whether hello was refused for a reason that may be over in a moment."""
        return error.ref == HELLO_REFERENCE and error.code in _PASSING

    def start_over(self) -> ClientMessage:
        """Become a new player of the same name. Returns what to send."""
        assert self._identity is not None
        self._is_anew = True
        self._identity = Identity(self._identity.name)
        return self._first_of(self._identity)

    @property
    def known_as(self) -> Identity | None:
        """Who this is to the server that has sent the last welcome; None before that, and for a guest."""
        identity = self._identity
        return identity if identity is not None and identity.token and identity.token == self._token else None

    def welcomed(self, welcome: Welcome) -> None:
        """The server says who this is."""
        first = self._player is None
        self._player, self._token = welcome.player, welcome.token
        known = self._identity.token if self._identity is not None else None
        # An older server makes anybody who watches a guest. And no honest one gives a player whom it knows another token.
        if welcome.player and known in (None, welcome.token):
            self._become(welcome.player, welcome.name, welcome.token, first=first)

    def renamed(self, you_are: YouAre) -> None:
        """The server says who somebody is, perhaps another player. A player without a token yet learns who they are from a welcome."""
        if you_are.player == self._player:
            self._become(you_are.player, you_are.name, self._token, first=False)

    def _become(self, player: str, name: str, token: str, *, first: bool) -> None:
        # The name ends up in a file and on terminals: keep only printable characters.
        before = self._identity.name if self._identity is not None else ""
        identity = Identity(clean_name(name) or before, token, clean_chat(player) or None)
        if first or identity != self._identity:
            self._identity = identity
            self._keep(identity)

    def _first_of(self, identity: Identity) -> ClientMessage:
        # A new player has no connection elsewhere to take over.
        self._is_second = self._watches and identity.token is not None
        if self._is_second:
            # A hello to watch with an unknown token would make a guest, who cannot chat. WhoAmI first: that reports an unknown token.
            return WhoAmI(token=identity.token, ref=HELLO_REFERENCE)
        return _hello(identity)


def _hello(identity: Identity, *, watch: bool = False) -> Hello:
    return Hello(name=identity.name, token=identity.token, watch=watch, software=f"carpet-race {__version__}", ref=HELLO_REFERENCE)
