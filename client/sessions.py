"""A player's sitting at the screens: a server of one's own or somebody's, a link to it, and the app on top, in this order.

Owns what is asked before the first screen appears, so that what cannot be is said in a sentence on the command line and not on a screen.
"""

from __future__ import annotations

from client.address import parse_address
from client.identity import Identity, IdentityError, IdentityStore, default_name, home_folder
from client.net import NetLink, open_link
from client.offers import check_bot, check_rules
from client.server_process import open_server
from client.ui.app import run_app
from client.ui.desk import UiSettings
from client.ui.start import AppOutcome, Start, StartBot, StartHome
from protocol.client_messages import JoinRace, OpenRace
from protocol.text import clean_name


async def play_bot(bot: str, rules: str, deal: str | None, *, name: str | None, settings: UiSettings, winnable: bool = False) -> AppOutcome:
    """Race a house bot on a server of one's own."""
    # The server forgets everybody when it ends, so there is nothing to keep.
    identity = Identity(clean_name(name or "") or default_name())
    async with open_server() as url, open_link(url, identity) as link:
        welcome = await link.entered()
        check_bot(bot, welcome.bots)
        check_rules(rules, welcome.rules)
        return await _app(link, settings, StartBot(bot, deal, rules, winnable))


async def visit(url: str, request: OpenRace | JoinRace | None, *, name: str | None, settings: UiSettings) -> AppOutcome:
    """Go to somebody's server: into the race that `request` asks for, or to its home screen."""
    store = IdentityStore(home_folder())
    url = parse_address(url).url
    not_kept: list[IdentityError] = []

    def keep(identity: Identity) -> None:
        try:
            store.keep(url, identity)
        except IdentityError as error:
            not_kept.append(error)  # said when the screen is free again

    async with open_link(url, store.identity(url, name), keep=keep) as link:
        await link.entered(request)
        outcome = await _app(link, settings, StartHome())
    if not_kept:
        raise not_kept[0]
    return outcome


async def _app(link: NetLink, settings: UiSettings, start: Start) -> AppOutcome:
    return await run_app(link, settings=settings, start=start)
