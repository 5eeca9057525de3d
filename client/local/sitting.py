"""A player's sitting at the screens: a server of one's own or somebody's, a link to it, and the app on top, in this order.

Owns what is asked before the first screen appears, so that what cannot be is said in a sentence on the command line and not on a screen.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import trio
from msgspec.structs import replace

from client.connection.address import parse_address
from client.connection.client import NetLink, open_link
from client.connection.events import Identity
from client.connection.questions import EntryRequest
from client.local.server_process import open_server
from client.replay.own_server import replay_race
from client.state.capabilities import check_options, check_rules
from client.state.evidence import Evidence
from client.storage.bests import BestsStore
from client.storage.evidence import EvidenceStore, SeenRace
from client.storage.files import replace_file
from client.storage.identity import IdentityError, IdentityStore, default_name, home_folder
from client.storage.saved_records import TAUGHT, SavedRecords, is_new
from client.tui.app import run_app
from client.tui.driver import Keeper
from client.tui.start import AppOutcome, Start, StartAlone, StartBot, StartHome, StartLesson, StartMatch, StartTournaments, UiSettings
from protocol.client_messages import JoinRace, OpenRace
from protocol.record import Record, to_json
from protocol.run_messages import PlayOn, RunDaily
from protocol.text import clean_name
from protocol.tournament_messages import Decided, EnterTournament, FollowTournament, Tournament
from protocol.views import RaceOptions
from protocol.watch_messages import WatchRace

SEAT_HELD = "You have a seat in this race already: leave it (L) before you begin another."


async def learn(*, settings: UiSettings) -> AppOutcome:
    """Learn the keys by a deal on a server of one's own. It is no race, and no record of it is kept."""
    async with open_server() as url, open_link(url, Identity(default_name())) as link:
        await link.entered()
        return _taught(await run_app(link, settings=settings, start=StartLesson()))


def _taught(outcome: AppOutcome) -> AppOutcome:
    if outcome.is_taught:
        with contextlib.suppress(OSError):
            home_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(home_folder() / TAUGHT, b"")
    return outcome


async def play_bot(options: RaceOptions, *, name: str | None, settings: UiSettings) -> AppOutcome:
    """Race the house bot of these options on a server of one's own."""
    # The server forgets everybody when it ends, so there is nothing to keep.
    identity = Identity(clean_name(name or "") or default_name())
    async with open_server() as url, open_link(url, identity) as link:
        welcome = await link.entered()
        check_options(options, welcome)
        start = StartBot(options.bots[0], options.deal, options.rules, options.winnable, options.series)
        # In the first race the keys are told, whoever has not learned them yet.
        return _taught(await _app(link, settings, start, teaches=is_new(home_folder()) and options.rules == "carpet"))


async def play_alone(options: RaceOptions, *, name: str | None, settings: UiSettings) -> AppOutcome:
    """Race the clock on a server of one's own; one's best times are kept. Raises BestsError when they could not be."""
    bests = BestsStore(home_folder())
    bests.read()
    identity = Identity(clean_name(name or "") or default_name())
    async with open_server() as url, open_link(url, identity) as link:
        welcome = await link.entered()
        check_options(options, welcome)
        start = StartAlone(options.deal, options.rules, options.winnable)
        return await _app(link, settings, start, keeper=bests.add)


async def play_on(record: Record, *, seat: int, ply: int, name: str | None, settings: UiSettings) -> AppOutcome:
    """Go on with a race that is over, from where a seat (from 0) had made so many moves, on a server of one's own.

    Raises NoReplay where the record is not true, and LinkError, with the server's sentence, where there is nothing to go on with.
    """
    # A false record would keep the server from starting, with a sentence about its command line.
    await replay_race(record)
    identity = Identity(clean_name(name or "") or default_name())
    with tempfile.TemporaryDirectory(prefix="carpet-") as folder:
        path = Path(folder) / "race.json"
        await trio.Path(path).write_text(to_json(record), encoding="utf-8")
        async with open_server(options=["--with-record", str(path)]) as url, open_link(url, identity) as link:
            await link.entered(PlayOn(race=record.id, seat=seat, ply=ply))
            return await _app(link, settings, StartHome())


@contextlib.asynccontextmanager
async def identified(url: str, name: str | None, *, watches: bool = False) -> AsyncIterator[NetLink]:
    """A link to somebody's server as the player whom this machine knows there by this name, or as a new one, who is kept from then on.

    watches: as for `open_link`. Raises LinkError; at the end of the block IdentityError, where that could not be kept.
    """
    store = IdentityStore(home_folder())
    url = parse_address(url).url
    mine = store.identity(url, name)
    asked = clean_name(name or "") or mine.name
    not_kept: list[IdentityError] = []

    def keep(identity: Identity) -> None:
        try:
            store.keep(url, identity, asked=asked)
        except IdentityError as error:
            not_kept.append(error)  # said when the screen is free again

    async with open_link(url, mine, keep=keep, watches=watches, takes_back=True) as link:
        yield link
    if not_kept:
        raise not_kept[0]


async def visit(
    url: str, request: EntryRequest | None, *, name: str | None, settings: UiSettings, start: StartMatch | None = None
) -> AppOutcome:
    """Go to somebody's server: into the race of `request`, or to watch it; without one to its home screen, or to look for an opponent."""
    # Somebody who watches may race by another terminal meanwhile.
    async with identified(url, name, watches=isinstance(request, WatchRace)) as link:
        welcome, remark = await link.entered(), ""
        if start is not None or (request is not None and not isinstance(request, WatchRace)):
            wanted = request.code.upper() if isinstance(request, JoinRace) else None
            welcome = await link.leave_what_is_over(unless=wanted, opens=isinstance(request, OpenRace))
            # Who holds a seat still goes back to it, whatever they have asked for.
            if welcome.room is not None and welcome.room != wanted:
                remark = SEAT_HELD
        if isinstance(request, OpenRace) and welcome.room is None:
            check_options(request.options, welcome)
        if isinstance(request, RunDaily):
            check_rules(request.rules, welcome.rules)
        if start is not None and start.rules is not None:
            check_rules(start.rules, welcome.rules)
        await link.entered(request)
        return await _app(link, settings, start or StartHome(), remark=remark)


async def attend(url: str, tournament: str | None, *, name: str | None, code: str | None, enters: bool, settings: UiSettings) -> AppOutcome:
    """Go to a tournament's screen and, with `enters`, play in it; None for the list. Without `enters` one comes as a guest."""
    if not enters:
        async with open_link(url, None, watches=True) as link:
            await link.entered()
            if tournament is not None:
                await link.ask(FollowTournament(id=tournament), Tournament)
            return await run_app(link, settings=settings, start=StartTournaments(tournament))
    async with identified(url, name) as link:
        welcome = await link.entered()
        assert tournament is not None
        told = await link.ask(FollowTournament(id=tournament), Tournament)
        # Who comes back need not enter again, and it would be refused.
        if not any(entrant.id == welcome.player and not entrant.withdrawn for entrant in told.entrants):
            await link.ask(EnterTournament(id=tournament, code=code), Decided)
        return await _app(link, settings, StartTournaments(tournament))


async def _app(
    link: NetLink, settings: UiSettings, start: Start, *, keeper: Keeper | None = None, remark: str = "", teaches: bool = False
) -> AppOutcome:
    records, store = SavedRecords(home_folder()), EvidenceStore(home_folder())
    seen = store.last(link.url)
    outcome = await run_app(
        link,
        settings=settings,
        start=start,
        keeper=keeper,
        recorder=records.keep,
        evidence=None if seen is None else Evidence(seen.code, seen.race, seen.commitment, seen.nonce, seen.winnable, seen.first_view),
        witness=lambda evidence: store.keep(_seen(link.url, evidence)),
        remark=remark,
        teaches=teaches,
    )
    return replace(outcome, kept=records.last, not_kept=str(records.error) if records.error is not None else None)


def _seen(url: str, evidence: Evidence) -> SeenRace:
    return SeenRace(
        url=url,
        code=evidence.code,
        race=evidence.race,
        commitment=evidence.commitment,
        nonce=evidence.nonce,
        winnable=evidence.winnable,
        first_view=evidence.first_view,
    )
