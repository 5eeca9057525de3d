"""`carpet daily`: today's deal, which everybody runs once, its board, and whether the deals were what was committed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from client.cli.looks import Ascii, ColourBlind, FourColour, Name, NoBell, finish, need_terminal, settings_of
from client.cli.shared import FAILED, MISUSED, URL_HELP, Url, address_of, examples, fail, print_json, print_text, run

if TYPE_CHECKING:
    from client.connection.address import Address
    from client.storage.commitments import Checked
    from protocol.server_messages import Dailies

_RUN = "run"


class RunUnlessNamed(TyperGroup):
    """A group whose first command need not be named: `carpet daily carpet.example` runs the deal there."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        if not arguments or (arguments[0] not in self.commands and arguments[0] not in ("-h", "--help")):
            arguments = [_RUN, *arguments]
        return super().parse_args(context, arguments)


daily_app = typer.Typer(
    name="daily",
    cls=RunUnlessNamed,
    help="Run the deal of the day: carpet daily [URL] [RULES]. All have the same shuffle, once, and see the others' results afterwards.",
    epilog=examples("carpet daily carpet.example", "carpet daily carpet.example crazy-quilt", "carpet daily board carpet.example"),
    rich_markup_mode=None,
)

MaybeUrl = Annotated[
    str | None, typer.Argument(metavar="URL", help=f"{URL_HELP} [default: the only one that you have been at]", show_default=False)
]
Rules = Annotated[str, typer.Argument(metavar="RULES", help="The rule set, such as carpet-free.")]


@daily_app.command(_RUN, epilog="Example: carpet daily carpet.example carpet-free")
def run_daily(
    url: MaybeUrl = None,
    rules: Rules = "carpet",
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Run today's deal. One run counts, and there is no other until midnight (UTC)."""
    address = address_of(url or _only_server())
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    need_terminal("daily")
    _keep_commitments(address)
    from client.local.sitting import visit
    from protocol.client_messages import RunDaily

    finish(run(lambda: visit(address.url, RunDaily(rules=rules), name=name, settings=settings)))


@daily_app.command(epilog=examples("carpet daily board carpet.example", "carpet daily board carpet.example carpet --date 2026-11-20"))
def board(
    url: Url,
    rules: Rules = "carpet",
    date: Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="Of which day, in UTC. [default: today]")] = None,
    name: Name = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """See how a day's deal was run.

    While the day lasts, only by who has had his own run.
    """
    from client.cli.challenge import show_board
    from protocol.client_messages import ListRuns

    address = address_of(url)
    _keep_commitments(address)
    show_board(address, ListRuns(kind="daily", id=date, rules=rules), name=name, as_json=as_json)


@daily_app.command(epilog="Example: carpet daily verify carpet.example")
def verify(
    url: MaybeUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Check the deals of days gone by against the commitments that you were shown.

    A server shows a commitment before the day, and its secret after it. Exit status 0 only when each of them fits.
    """
    address = address_of(url or _only_server())
    told, checked = _checked(address)
    wrong = [each for each in checked if each.outcome in ("false", "changed")]
    if as_json:
        print_json({"server": address.url, "days": [_as_map(each) for each in checked]})
    else:
        print_text("\n".join(_lines(told, checked)))
    if wrong:
        raise typer.Exit(FAILED)


def _only_server() -> str:
    from client.storage.identity import IdentityStore, home_folder

    urls = list(IdentityStore(home_folder()).read().servers)
    if len(urls) != 1:
        some = f"you have been at {len(urls)}" if urls else "you have been at none yet"
        fail(f"Say which server: carpet daily URL ({some}).", MISUSED)
    return urls[0]


def _told(address: Address) -> Dailies:
    from client.connection.http import fetch_dailies

    return fetch_dailies(address)


def _keep_commitments(address: Address) -> Dailies:
    from client.storage.commitments import CommitmentStore
    from client.storage.identity import home_folder

    told = _told(address)
    CommitmentStore(home_folder()).keep(address.url, told.days, told.now_ms)
    return told


def _checked(address: Address) -> tuple[Dailies, list[Checked]]:
    from client.storage.commitments import CommitmentStore, check_day
    from client.storage.identity import home_folder

    told = _keep_commitments(address)
    seen = CommitmentStore(home_folder()).seen(address.url)
    return told, [check_day(day, seen.get(day.date)) for day in told.days]


def _lines(told: Dailies, checked: list[Checked]) -> list[str]:
    from client.text.runs import moment_text
    from protocol.text import clean_chat

    sentences = {
        "true": "ok: the secret is the one that was committed to when you were shown it, {seen} UTC",
        "false": "WRONG: the secret is not the one that was committed to",
        "changed": "WRONG: another commitment is told now than you were shown {seen} UTC",
        "sealed": "committed to, and revealed {reveals} UTC",
        "unseen": "not checked: the secret fits, but you were not shown its commitment before",
    }
    reveals = {day.date: day.reveals_at_ms for day in told.days}
    return [
        f"{clean_chat(each.date)}  "
        + sentences[each.outcome].format(
            seen=moment_text(each.seen.seen_at_ms) if each.seen is not None else "", reveals=moment_text(reveals[each.date])
        )
        for each in checked
    ]


def _as_map(checked: Checked) -> dict[str, Any]:
    seen = checked.seen
    return {"date": checked.date, "outcome": checked.outcome, "commitment": seen.commitment if seen is not None else None}
