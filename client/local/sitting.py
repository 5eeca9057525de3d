"""One sitting of a player at the screens: a server of one's own or somebody else's, then a link to it, then the app.

Owns what is asked before the first screen appears, so that whatever cannot work is said on the command line and not on a screen.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import trio
from msgspec.structs import asdict, replace

from client.connection.address import parse_address
from client.connection.client import NetLink, open_link
from client.connection.errors import Failure, LinkError, RequestRefused
from client.connection.events import Identity, Link, LinkEvent
from client.connection.notice import connecting_to, tell_detour
from client.connection.questions import EntryRequest
from client.connection.request import NotKnown
from client.local.profile_reader import ProfileReader
from client.local.server_process import open_server
from client.replay.own_server import replay_race
from client.state.capabilities import check_options, check_rules
from client.state.evidence import Evidence
from client.storage.bests import BestsStore
from client.storage.commitments import CommitmentsError, CommitmentStore
from client.storage.evidence import Entry, EvidenceStore, SeenRace
from client.storage.files import replace_file
from client.storage.identity import IdentityError, IdentityStore, default_name, home_folder
from client.storage.kept_game import KeptGame, kept_game
from client.storage.saved_records import TAUGHT, SavedRecords, is_new
from client.tui.app import Jobs, run_app
from client.tui.start import (
    AppOutcome,
    SeatRequest,
    Start,
    StartBots,
    StartHome,
    StartLesson,
    StartMatch,
    StartRace,
    StartRequest,
    StartTournaments,
    UiSettings,
)
from protocol.client_messages import ClientMessage, JoinRace, OpenRace
from protocol.errors import ErrorCode
from protocol.record import Record, to_json
from protocol.run_messages import Dailies, PlayOn, RunChallenge, RunDaily
from protocol.server_messages import ServerMessage
from protocol.text import clean_name
from protocol.tournament_messages import CheckIn, Decided, EnterTournament, FollowTournament, Tournament
from protocol.views import RaceOptions
from protocol.watch_messages import Watched, WatchRace


class LaterLink:
    """A link that is yet to be made. Until somebody hands it in with `arrive`, nothing is heard and nothing goes out."""

    def __init__(self) -> None:
        self._link: Link | None = None
        self._arrived = trio.Event()

    def arrive(self, link: Link) -> None:
        """Use this link from now on."""
        self._link = link
        self._arrived.set()

    @property
    def is_there(self) -> bool:
        return self._link is not None

    @property
    def events(self) -> AsyncIterator[ServerMessage | LinkEvent]:
        return self._events()

    async def _events(self) -> AsyncIterator[ServerMessage | LinkEvent]:
        await self._arrived.wait()
        assert self._link is not None
        async for event in self._link.events:
            yield event

    @property
    def url(self) -> str:
        """Empty until the link is there."""
        return "" if self._link is None else self._link.url

    def hurry(self) -> None:
        """Until the link is there, there is nothing to hurry."""
        if self._link is not None:
            self._link.hurry()

    def send(self, message: ClientMessage) -> bool:
        """False until the link is there."""
        return self._link is not None and self._link.send(message)


async def learn(*, settings: UiSettings) -> AppOutcome:
    """Teach the keys with a deal on a server of one's own. It is not a race, and no record is kept."""
    async with _own_table(_nobody_kept(None)) as link:
        return _taught(await run_app(link, settings=settings, start=StartLesson()))


def _taught(outcome: AppOutcome) -> AppOutcome:
    if outcome.is_taught:
        with contextlib.suppress(OSError):
            home_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(home_folder() / TAUGHT, b"")
    return outcome


async def play(options: RaceOptions | None, *, name: str | None, settings: UiSettings) -> AppOutcome:
    """Race the house bot that these options name, or the clock if they name none, on a server of one's own; or go on with the game there
    in which this terminal, or another one, has died. options: None to choose among the bots there.

    The outcome has a code if that game can be gone on with.

    Raises BestsError if one's best times against the clock could not be kept, IdentityError if who plays cannot be read.
    """
    if options is not None and not options.bots:
        BestsStore(home_folder()).read()
    # The first race against a bot also teaches the keys to a player who has not learned them.
    teaches = not settings.plain and options is not None and bool(options.bots) and options.rules == "carpet" and is_new(home_folder())
    start = StartBots() if options is None else StartRace(options)
    async with kept_game(home_folder()) as game:
        async with _own_table(_nobody_kept(name) if game is None else game.identity(name), options, game=game) as link:
            outcome = _taught(await _app(link, settings, start, own=True, teaches=teaches))
        # It is kept for a player who did not leave it: they were interrupted.
        if game is not None and (outcome.reason == "quit" or outcome.code is None):
            game.forget()
        return outcome if game is not None and outcome.reason != "quit" else replace(outcome, code=None)


def _nobody_kept(name: str | None) -> Identity:
    """Who one is on a server of one's own, which forgets everybody when it ends."""
    return Identity(clean_name(name or "") or default_name())


@contextlib.asynccontextmanager
async def _own_table(identity: Identity, options: RaceOptions | None = None, *, game: KeptGame | None = None) -> AsyncIterator[LaterLink]:
    """A link to a server of one's own, which starts in the background and ends with the block. options: of a race that it must support.

    game: where it keeps what is played; None for nowhere.

    A failure to start comes out of the block in a nursery's group: ServerFailed, LinkError.
    """
    later, left = LaterLink(), trio.Event()

    async def serve() -> None:
        database, lock, keep = (None, None, None) if game is None else (game.database, game.lock, game.keep)
        async with open_server(database=database, lock=lock) as url, open_link(url, identity, keep=keep) as link:
            await link.entered()
            welcome = await link.leave_what_is_over()
            if options is not None:
                check_options(options, welcome)
            later.arrive(link)
            await left.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        try:
            yield later
        finally:
            left.set()
            if not later.is_there:
                nursery.cancel_scope.cancel()


async def play_on(record: Record, *, seat: int, ply: int, name: str | None, settings: UiSettings) -> AppOutcome:
    """Go on with a finished race from where a seat (from 0) had made `ply` moves, on a server of one's own.

    Raises NoReplay if the record is not true, and LinkError, with the server's sentence, if nothing is left to play.
    """
    # With a false record the server would not start, and would complain about its own command line.
    await replay_race(record)
    with tempfile.TemporaryDirectory(prefix="carpet-") as folder:
        path = Path(folder) / "race.json"
        await trio.Path(path).write_text(to_json(record), encoding="utf-8")
        async with open_server(options=["--with-record", str(path)]) as url, open_link(url, _nobody_kept(name)) as link:
            await link.entered(PlayOn(race=record.id, seat=seat, ply=ply))
            # The cards are known, so it is not a try.
            return await _app(link, settings, StartHome(), own=True, counts=False)


@contextlib.asynccontextmanager
async def _entered(url: str, identity: Identity | None, *, screens: bool, **how: Any) -> AsyncIterator[NetLink]:
    """A link to somebody's server, once that has answered hello, with no screen yet. screens: they tell of a detour, if it comes to them.
    how: as for `open_link`. Raises LinkError, NotKnown.
    """
    with contextlib.ExitStack() as waiting:
        waiting.enter_context(connecting_to(parse_address(url).place))
        async with open_link(url, identity, **how) as link:
            is_told = False
            try:
                await link.entered()
                waiting.close()
                if not screens:
                    tell_detour(link.detour)
                    is_told = True
                yield link
            except Failure as failure:
                waiting.close()
                if not is_told:
                    tell_detour(link.detour)
                is_unknown = isinstance(failure, RequestRefused) and failure.error.code == ErrorCode.UNKNOWN_TOKEN
                if is_unknown and identity is not None and link.detour is None:
                    raise NotKnown.at(link.url, identity.name) from failure
                raise


@contextlib.asynccontextmanager
async def identified(
    url: str, name: str | None, *, watches: bool = False, known_only: bool = False, screens: bool = False
) -> AsyncIterator[tuple[NetLink, Callable[[], None]]]:
    """A link to somebody's server as the player whom this machine has there by this name, or as a new player, who is then kept.

    With it comes what to call once they are let in where they wanted to go: only from then on are they the default, and this the server
    visited last, so that a mistyped or refused visit changes neither. watches: as for `open_link`. known_only: not as a new player, who
    could do nothing there. screens: the block shows them, with the link's detour. Raises LinkError, NotKnown; at the end of the block,
    IdentityError if the player could not be kept.
    """
    store = IdentityStore(home_folder())
    url = parse_address(url).url
    mine = store.identity(url, name)
    asked = clean_name(name or "") or mine.name
    if known_only and mine.token is None:
        others = "; carpet whoami shows those it has." if store.known(url) else f". {from_elsewhere('have one', url)}"
        raise LinkError(f"This machine has no player{f' {asked}' if name is not None else ''} at {url}{others}")
    is_in = False
    told: Identity | None = None
    not_kept: list[IdentityError] = []

    def keep(identity: Identity) -> None:
        nonlocal told
        told = identity
        try:
            store.keep(url, identity, asked=asked, last=is_in)
        except IdentityError as error:
            not_kept.append(error)  # raised when the screen is free again

    def let_in() -> None:
        nonlocal is_in
        if not is_in and told is not None:
            is_in = True
            keep(told)

    def keep_nodes(identity: Identity, nodes: tuple[str, ...]) -> None:
        # Nothing to bother the player with: without them, the next visit is like the first.
        if identity.token is not None:
            with contextlib.suppress(IdentityError):
                store.keep_nodes(url, identity.token, nodes)

    nodes = store.nodes(url, mine.token) if mine.token is not None else ()
    how = {"keep": keep, "watches": watches, "known_only": known_only, "takes_back": True, "nodes": nodes, "keep_nodes": keep_nodes}
    async with _entered(url, mine, screens=screens, **how) as link:
        welcome = await link.entered()
        is_new = mine.token is None or mine.player not in (None, welcome.player)
        if name is not None and is_new and welcome.name != asked:
            sys.stderr.write(f"The name {asked} is another player's at that server; here you are {clean_name(welcome.name)}.\n")
        yield link, let_in
    if not_kept:
        raise not_kept[0]


def from_elsewhere(who: str, url: str) -> str:
    """How somebody comes to the server of `url` as a player who is kept on another machine or for another address. who: `are ...`."""
    return (
        f"If you {who} on another machine: carpet identity export FILE there, carpet identity import FILE here;"
        f" if at another address of this server: carpet identity copy ADDRESS {url}."
    )


async def visit(
    url: str, request: EntryRequest | None, *, name: str | None, settings: UiSettings, start: StartMatch | None = None
) -> AppOutcome:
    """Go to somebody's server: into the race of `request`, or to watch it; without one, to its home screen, or to find an opponent."""
    # A player who watches may be racing in another terminal.
    async with identified(url, name, watches=isinstance(request, WatchRace), screens=True) as (link, let_in):
        welcome = await link.entered()
        begins: Start = start or StartHome()
        if start is not None or isinstance(request, SeatRequest):
            wanted = request.code.upper() if isinstance(request, JoinRace) else None
            welcome = await link.leave_what_is_over(unless=wanted, opens=isinstance(request, OpenRace))
            if isinstance(request, SeatRequest) and welcome.room not in (None, wanted):
                # A player who still holds a seat goes back to it, whatever they asked for, and is asked there what they want.
                begins = StartRequest(request)
        if isinstance(request, OpenRace) and welcome.room is None:
            check_options(request.options, welcome)
        if isinstance(request, RunDaily):
            check_rules(request.rules, welcome.rules)
        if start is not None and start.rules is not None:
            check_rules(start.rules, welcome.rules)
        try:
            await link.entered(request)
        except RequestRefused as refused:
            match request, refused.error.code:
                case RunDaily(), ErrorCode.ALREADY_RUN:
                    # Asked once more from the screens, which then show the board.
                    begins = StartRequest(request)
                case RunChallenge(id=challenge), ErrorCode.ALREADY_RUN:
                    raise LinkError(f"{refused}{_board_of(link.url, challenge, name)}") from refused
                case JoinRace(code=code), ErrorCode.ROOM_FULL:
                    raise LinkError(f"{refused}{await _to_a_full_race(link, code)}") from refused
                case _:
                    raise
        let_in()
        return replace(await _app(link, settings, begins, name=welcome.name, note=link.detour or ""), name=welcome.name)


async def _to_a_full_race(link: NetLink, code: str) -> str:
    """How to take the seat that another player of this machine holds there, or else how to watch; empty if the race cannot be seen."""
    try:
        room = (await link.ask(WatchRace(code=code), Watched)).room
    except LinkError:
        return ""
    taken = {info.name for info in room.seats}
    known = [each.identity.name for each in IdentityStore(home_folder()).known(link.url)]
    way = ["carpet", "join", link.url, code, "--name"]
    watching = f" To watch it: {shlex.join(['carpet', 'watch', link.url, code])}"
    return next((f" You have one as {name}: {shlex.join([*way, name])}" for name in known if name in taken), watching)


def _board_of(url: str, challenge: str, name: str | None) -> str:
    """How to see what became of a run. name: as typed; a refused visit has made nobody the default."""
    way = ["carpet", "challenge", "board", url, challenge, *(["--name", name] if name is not None else [])]
    return f" To see how it compares: {shlex.join(way)}"


async def attend(url: str, tournament: str | None, *, name: str | None, code: str | None, enters: bool, settings: UiSettings) -> AppOutcome:
    """Go to a tournament's screen (None for the list). enters: play in it, or direct it; otherwise come as a guest."""
    if not enters:
        nodes: tuple[str, ...] = ()
        with contextlib.suppress(IdentityError):
            nodes = IdentityStore(home_folder()).nodes(parse_address(url).url, None)
        async with _entered(url, None, screens=True, watches=True, nodes=nodes) as link:
            if tournament is not None:
                await link.ask(FollowTournament(id=tournament), Tournament)
            # For the replays of its races: anybody may ask for their records.
            jobs = Jobs(profiles=ProfileReader(parse_address(url), None))
            return await run_app(link, settings=settings, start=StartTournaments(tournament), jobs=jobs, note=link.detour or "")
    async with identified(url, name, screens=True) as (link, let_in):
        # The result of a race that is over would hide the tournament, and its check-in with it.
        welcome = await link.leave_what_is_over()
        assert tournament is not None
        told = await link.ask(FollowTournament(id=tournament), Tournament)
        # A returning player need not enter again, and would be refused. A director who wants to play does so by a key.
        is_in = any(entrant.id == welcome.player and not entrant.withdrawn for entrant in told.entrants)
        if not is_in and told.director != welcome.player:
            await link.ask(EnterTournament(id=tournament, code=code), Decided)
        let_in()
        outcome = await _app(link, settings, StartTournaments(tournament), name=welcome.name, note=link.detour or "")
        return replace(outcome, name=welcome.name)


async def _app(
    link: Link,
    settings: UiSettings,
    start: Start,
    *,
    name: str | None = None,
    own: bool = False,
    counts: bool = True,
    teaches: bool = False,
    note: str = "",
) -> AppOutcome:
    """name: the player's there; None for the one who got in last. own: at a server of one's own, which nobody can ask later. counts:
    whether the races are tries at one's best times. note: what is to be said first.
    """
    records, store = SavedRecords(home_folder()), EvidenceStore(home_folder())
    seen = None if own else store.last(link.url)

    def witness(evidence: Evidence) -> None:
        if not own:
            store.keep(SeenRace(url=link.url, **asdict(evidence)))

    def witness_entry(check_in: CheckIn, commitment: str) -> None:
        if not own:
            store.keep_entry(Entry(id=check_in.id, commitment=commitment, nonce=check_in.nonce))

    def witness_days(dailies: Dailies) -> None:
        # Without the file they play on; what asks for it says why it cannot be had.
        with contextlib.suppress(CommitmentsError):
            CommitmentStore(home_folder()).keep(link.url, dailies.days, dailies.now_ms)

    jobs = Jobs(
        profiles=ProfileReader(None if own else parse_address(link.url), name),
        keeper=BestsStore(home_folder()).add if counts else None,
        recorder=records.keep,
        evidence=None if seen is None else Evidence(seen.code, seen.race, seen.commitment, seen.nonce, seen.winnable, seen.first_view),
        witness=witness,
        witness_entry=witness_entry,
        witness_days=witness_days,
    )
    outcome = await run_app(link, settings=settings, start=start, jobs=jobs, teaches=teaches, note=note)
    return replace(outcome, kept=records.last, not_kept=str(records.error) if records.error is not None else None)
