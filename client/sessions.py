"""A player's sitting at the screens: a server of one's own or somebody's, a link to it, and the app on top, in this order.

Owns what is asked before the first screen appears, so that what cannot be is said in a sentence on the command line and not on a screen.
"""

from __future__ import annotations

from client.address import parse_address
from client.bests import BestsStore
from client.identity import Identity, IdentityError, IdentityStore, default_name, home_folder
from client.net import open_link
from client.offers import check_options, check_rules
from client.server_process import open_server
from client.ui.app import run_app
from client.ui.desk import UiSettings
from client.ui.start import AppOutcome, StartAlone, StartBot, StartHome, StartMatch
from protocol.client_messages import JoinRace, OpenRace, WatchRace
from protocol.text import clean_name
from protocol.views import RaceOptions

SEAT_HELD = "You have a seat in this race already: leave it (L) before you begin another."


async def play_bot(options: RaceOptions, *, name: str | None, settings: UiSettings) -> AppOutcome:
    """Race the house bot of these options on a server of one's own."""
    # The server forgets everybody when it ends, so there is nothing to keep.
    identity = Identity(clean_name(name or "") or default_name())
    async with open_server() as url, open_link(url, identity) as link:
        welcome = await link.entered()
        check_options(options, welcome)
        start = StartBot(options.bots[0], options.deal, options.rules, options.winnable, options.series)
        return await run_app(link, settings=settings, start=start)


async def play_alone(options: RaceOptions, *, name: str | None, settings: UiSettings) -> AppOutcome:
    """Race the clock on a server of one's own; one's best times are kept. Raises BestsError when they could not be."""
    bests = BestsStore(home_folder())
    bests.read()
    identity = Identity(clean_name(name or "") or default_name())
    async with open_server() as url, open_link(url, identity) as link:
        welcome = await link.entered()
        check_options(options, welcome)
        start = StartAlone(options.deal, options.rules, options.winnable)
        return await run_app(link, settings=settings, start=start, keeper=bests.add)


async def visit(
    url: str, request: OpenRace | JoinRace | WatchRace | None, *, name: str | None, settings: UiSettings, start: StartMatch | None = None
) -> AppOutcome:
    """Go to somebody's server: into the race of `request`, or to watch it; without one to its home screen, or to look for an opponent."""
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

    # Somebody who watches may race by another terminal meanwhile.
    async with open_link(url, mine, keep=keep, watches=isinstance(request, WatchRace)) as link:
        welcome, remark = await link.entered(), ""
        if start is not None or isinstance(request, OpenRace | JoinRace):
            wanted = request.code.upper() if isinstance(request, JoinRace) else None
            welcome = await link.leave_what_is_over(unless=wanted)
            # Who holds a seat still goes back to it, whatever he has asked for.
            if welcome.room is not None and welcome.room != wanted:
                remark = SEAT_HELD
        if isinstance(request, OpenRace) and welcome.room is None:
            check_options(request.options, welcome)
        if start is not None and start.rules is not None:
            check_rules(start.rules, welcome.rules)
        await link.entered(request)
        outcome = await run_app(link, settings=settings, start=start or StartHome(), remark=remark)
    if not_kept:
        raise not_kept[0]
    return outcome
