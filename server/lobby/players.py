"""Players: identified by their token, with their name, their rating, and the connection on which they are here.

A token alone identifies a player, so only its hash is stored. Names are unique: a new player who asks for a taken name gets it with a
number appended. Known players keep their names whatever name they send on arrival, because another machine of theirs may still send the
former one; only `rename` changes it. All of that is in the store; this module knows who is here now.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import trio

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.text import NAME_LENGTH, clean_name
from server.lobby.bans import Bans
from server.race.rating import Rating
from server.rooms.clock import Clock
from server.rooms.member import PlayerConnection, PlayerName
from server.rooms.outgoing import Outgoing
from server.store.answers import Player
from server.store.errors import NameTaken, StoreError
from server.store.journal import Journal
from server.store.port import PlayerMade, PlayerRenamed, PlayerSeen, name_key

TOKEN_BYTES = 16
ID_BYTES = 8

SEEN_AGAIN_MS = 3_600_000
"""Players who were seen less than this ago are not recorded as seen again: after a server dies, thousands come back in a second, and the
recorded time is only needed to the day.
"""

_MARK = re.compile(re.sub("[a-z]", r"[\g<0>0\\x80-\\U0010ffff]", r"[()](bot|you|ghost)[()]"))
"""Marks that screens put after names, and what looks like them: a zero, or a letter of another script, counts as the letter in whose
place it is. A name with such a mark, in brackets of any kind, loses the brackets; otherwise its player could pass for a house bot."""

COUNTED_NAMES = 9
"""So many players of one name get consecutive numbers; after that, random ones, because these find a free name at once."""


@dataclass(frozen=True, slots=True)
class _Here:
    player: PlayerName
    connection: PlayerConnection
    rating: Rating | None


class Made(NamedTuple):
    """A new player, and the token that identifies them from then on."""

    player: PlayerName
    token: str


@dataclass(slots=True, eq=False)
class _Arrival:
    """A player who is being looked up. changed: players whose name or rating has changed meanwhile."""

    changed: set[str] = field(default_factory=set)


class Players:
    """The connections of those who are here."""

    def __init__(self, *, entropy: Callable[[int], bytes], journal: Journal, clock: Clock, bans: Bans) -> None:
        self._bans = bans
        self._entropy = entropy
        self._store = journal.store
        self._journal = journal
        self._clock = clock
        self._here: dict[str, _Here] = {}
        self._renaming = trio.Lock()
        self._arriving: set[_Arrival] = set()
        self.on_change: list[Callable[[], None]] = []
        """Called when somebody comes, goes, or gets another name or rating. They must not block or raise."""

    async def arrive(self, *, name: str, token: str | None, connection: PlayerConnection) -> tuple[PlayerName, str]:
        """Find or make the player who comes by `connection`. Gives them and their token.

        A newer connection of the same player takes over, and the older one is shut. Waits for the store. Raises Refusal if nothing is left
        of a new player's name, if the token is unknown or its player is banned, and if the store fails.
        """
        if token is None:
            made = await self._make(name)
            self.come(made.player, connection)
            return made.player, made.token
        with _read():
            known = await self._recognise(token)
        player = PlayerName(known.id, known.name)
        self._bans.check("player", player.id)
        self.come(player, connection, known.rating)
        return player, token

    def come(self, player: PlayerName, connection: PlayerConnection, rating: Rating | None = None) -> None:
        """Note that this player is here, on this connection."""
        older = self._here.get(player.id)
        self._here[player.id] = _Here(player, connection, rating)
        if older is not None:
            older.connection.shut(CloseCode.TAKEN_OVER, "another connection of this player took over")
        self._changed()

    async def find(self, token: str) -> PlayerName:
        """The player with this token, who does not arrive. Waits for the store. Raises Refusal if it is unknown or they are banned."""
        with _read():
            known = await self._known(token)
        self._bans.check("player", known.id)
        return PlayerName(known.id, known.name)

    async def rename(self, player: PlayerName, name: str) -> tuple[PlayerName, PlayerConnection | None]:
        """Give a player another name. Gives the renamed player, and the connection on which they are here, if any.

        Waits for the store. Raises Refusal if nothing is left of the name, if it is another player's, and if the store fails.
        """
        renamed = PlayerName(player.id, cleaned_name(name))
        # One at a time, so that the name shown is the last one written. Shielded, because the one who asked may disconnect meanwhile.
        async with self._renaming:
            with trio.CancelScope(shield=True):
                if not self._journal.available:
                    raise Refusal(ErrorCode.CANNOT_WRITE)
                seen = PlayerSeen(player=renamed.id, at_ms=self._clock.wall_ms())
                try:
                    await self._journal.write(PlayerRenamed(player=renamed.id, name=renamed.name), seen)
                except NameTaken:
                    raise Refusal(ErrorCode.NAME_TAKEN, path="$.name") from None
                except StoreError as error:
                    raise _not_kept(error) from error
            return renamed, self.renamed(renamed)

    def renamed(self, player: PlayerName) -> PlayerConnection | None:
        """This player has another name now. Gives the connection on which they are here, if any."""
        self._note_change(player.id)
        here = self._here.get(player.id)
        if here is None:
            return None
        self._here[player.id] = replace(here, player=player)
        self._changed()
        return here.connection

    def depart(self, player: PlayerName, connection: PlayerConnection) -> None:
        """The connection is gone. If the player has come back on another one, they are still here."""
        here = self._here.get(player.id)
        if here is not None and here.connection is connection:
            del self._here[player.id]
            self._changed()

    def moved_on(self, player: str) -> None:
        """This player has a newer connection at another server of this place."""
        here = self._here.get(player)
        if here is not None:
            here.connection.shut(CloseCode.TAKEN_OVER, "another connection of this player took over")

    def here(self) -> Iterator[PlayerName]:
        """Those who are here, in the order in which they came."""
        return (here.player for here in self._here.values())

    def connection(self, player: str) -> PlayerConnection | None:
        """The connection on which this player is here, if any."""
        here = self._here.get(player)
        return here.connection if here is not None else None

    def rating(self, player: str) -> int | None:
        """The rating in points of a player who is here; None if they have none."""
        here = self._here.get(player)
        return here.rating.worth if here is not None and here.rating is not None else None

    def rated(self, player: str, rating: Rating, news: Outgoing | None = None) -> None:
        """A race has changed a player's rating to this one. Older news, from fewer races, is ignored. news: tell it to the player."""
        self._note_change(player)
        here = self._here.get(player)
        if here is not None and news is not None:
            here.connection.post(news)
        # If a player leaves a race and finishes another, both rooms report, in any order.
        if here is not None and (here.rating is None or here.rating.races <= rating.races):
            self._here[player] = replace(here, rating=rating)
            self._changed()

    def __len__(self) -> int:
        return len(self._here)

    async def _make(self, name: str) -> Made:
        """Raises Refusal."""
        outcomes: list[Made | Refusal] = []
        done = trio.Event()

        def told(outcome: Made | Refusal) -> None:
            outcomes.append(outcome)
            done.set()

        self.make(name, told)
        await done.wait()
        if isinstance(outcomes[0], Refusal):
            raise outcomes[0]
        return outcomes[0]

    def make(self, name: str, answer: Callable[[Made | Refusal], None]) -> None:
        """Have a new player stored; they are not here until they `come`. Needs no task: `answer` is called once, now or later, and must not
        raise.
        """
        try:
            cleaned = cleaned_name(name)
        except Refusal as refusal:
            answer(refusal)
            return
        self._try_name(cleaned, 1, self._entropy(TOKEN_BYTES).hex(), self._entropy(ID_BYTES).hex(), answer)

    def _try_name(self, name: str, number: int, token: str, identity: str, answer: Callable[[Made | Refusal], None]) -> None:
        free = self._numbered(name, number)

        def kept(error: StoreError | None) -> None:
            if error is None:
                answer(Made(PlayerName(identity, free), token))
            elif isinstance(error, NameTaken):
                self._try_name(name, number + 1, token, identity, answer)
            else:
                answer(_not_kept(error))

        if not self._journal.available:
            answer(Refusal(ErrorCode.CANNOT_WRITE))
            return
        try:
            self._journal.submit((PlayerMade(player=identity, name=free, token_hash=_hash(token), at_ms=self._clock.wall_ms()),), kept)
        except StoreError as error:
            answer(_not_kept(error))

    def _numbered(self, name: str, number: int) -> str:
        if number == 1:
            return name
        behind = f" {number}" if number <= COUNTED_NAMES else f" {int.from_bytes(self._entropy(3), 'big')}"
        return name[: NAME_LENGTH - len(behind)].rstrip() + behind

    async def _recognise(self, token: str) -> Player:
        arrival = _Arrival()
        self._arriving.add(arrival)
        try:
            player = await self._known(token)
            now = self._clock.wall_ms()
            # Skipped in an outage, so as not to keep a player waiting who comes back to a race.
            if self._journal.available and abs(now - player.seen_at_ms) >= SEEN_AGAIN_MS:
                await self._journal.write(PlayerSeen(player=player.id, at_ms=now))
            while player.id in arrival.changed:
                # They are not here yet, so nobody would tell them. Other players' changes do not count, or nobody might ever get in.
                arrival.changed.clear()
                player = await self._known(token)
        finally:
            self._arriving.discard(arrival)
        return player

    def _note_change(self, player: str) -> None:
        """This player's name or rating has changed."""
        for arrival in self._arriving:
            arrival.changed.add(player)

    async def _known(self, token: str) -> Player:
        """Raises Refusal for an unknown token, and StoreError."""
        known = await self._journal.ask(self._store.player_by_token_hash, _hash(token))
        if known is None:
            raise Refusal(ErrorCode.UNKNOWN_TOKEN, path="$.token")
        return known

    def _changed(self) -> None:
        for listener in self.on_change:
            listener()


def cleaned_name(name: str) -> str:
    """A name as players have it, with no mark of a house bot. Raises Refusal if nothing is left."""
    cleaned = clean_name(name)
    # A mark with spaces in it looks much the same, or one with accents.
    letters = unicodedata.normalize("NFKD", name_key(cleaned))
    bare = (each for each in letters if each != " " and not unicodedata.category(each).startswith("M"))
    if _MARK.search("".join(map(_rounded, bare))):
        cleaned = clean_name("".join(each for each in cleaned if _rounded(each) not in "()"))
    if not cleaned:
        raise Refusal(ErrorCode.BAD_NAME, path="$.name")
    return cleaned


def _rounded(character: str) -> str:
    """Turns a bracket of any kind into a round one; anything else stays."""
    if character in "<>":
        return "(" if character == "<" else ")"
    return {"Ps": "(", "Pi": "(", "Pe": ")", "Pf": ")"}.get(unicodedata.category(character), character)


@contextmanager
def _read() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise cannot_read() from error


def cannot_read() -> Refusal:
    """The refusal for a request that the store cannot answer now. Nothing is lost by it, and they may ask again."""
    return Refusal(ErrorCode.SERVER_BUSY, "the database does not answer", retry_after_ms=1000)


def _not_kept(error: StoreError) -> Refusal:
    refusal = Refusal(ErrorCode.NOT_KEPT)
    refusal.__cause__ = error
    return refusal


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
