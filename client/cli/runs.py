"""`carpet daily` and `carpet challenge`: deals that everybody runs alone, beside those who ran them before."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

import typer
from msgspec.structs import replace
from typer.core import TyperGroup

from client.cli.ending import FAILED, MISUSED, fail
from client.cli.options import URL_HELP, Json, Name, Rules, Url, address_of, code_of, with_looks
from client.cli.running import need_terminal, print_json, print_sentence, run, visit
from client.connection.address import Address
from client.connection.errors import RequestRefused
from client.connection.events import Identity
from client.connection.http import fetch_challenges, fetch_dailies, fetch_runs
from client.connection.request import NotAnswered, ask
from client.storage.commitments import CommitmentStore, DayCheck, check_days
from client.storage.identity import IdentityStore, home_folder
from client.text.runs import board_lines, board_title, challenge_lines, moment_text
from client.tui.start import UiSettings
from protocol.command_line import examples, print_text, show_help
from protocol.errors import ErrorCode
from protocol.run_messages import (
    Challenge,
    ChallengeInfo,
    Challenges,
    Dailies,
    ListChallenges,
    ListRuns,
    OpenChallenge,
    RunChallenge,
    RunDaily,
    Runs,
)
from protocol.text import clean_chat, clean_name

_RUN = "run"


class RunUnlessNamed(TyperGroup):
    """A group whose first command may be left out: `carpet daily carpet.example` runs the deal there."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        if not arguments or (arguments[0] not in self.commands and arguments[0] not in ("-h", "--help")):
            arguments = [_RUN, *arguments]
        return super().parse_args(context, arguments)


daily_app = typer.Typer(
    name="daily",
    cls=RunUnlessNamed,
    help="Run the deal of the day, the same for everybody.\n\ncarpet daily [SERVER]: one run a day, and then you see how others did.",
    epilog=examples("carpet daily carpet.example", "carpet daily carpet.example --rules crazy-quilt", "carpet daily board carpet.example"),
    rich_markup_mode=None,
)

MaybeUrl = Annotated[
    str | None, typer.Argument(metavar="SERVER", help=f"{URL_HELP} [default: the only one that you have been at]", show_default=False)
]


@daily_app.command(_RUN, epilog="Example: carpet daily carpet.example --rules carpet-free")
@with_looks()
def run_daily(
    url: MaybeUrl = None,
    rules: Rules = "carpet",
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Run today's deal.

    One run counts; the next deal comes at midnight (UTC).
    """
    address = address_of(url or _only_server())
    need_terminal("daily")
    _keep_commitments(address)

    visit(address, RunDaily(rules=rules), name, settings)


@daily_app.command("board", epilog=examples("carpet daily board carpet.example", "carpet daily board carpet.example --date 2026-11-20"))
def daily_board(
    url: MaybeUrl = None,
    rules: Rules = "carpet",
    date: Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="Which day, in UTC. [default: today]")] = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """See the results of a day's deal.

    While the day lasts, you see them only after your own run.
    """
    address = address_of(url or _only_server())
    _keep_commitments(address)
    show_board(address, ListRuns(kind="daily", id=date, rules=rules), name=name, as_json=as_json)


@daily_app.command(epilog="Example: carpet daily verify carpet.example")
def verify(
    url: MaybeUrl = None,
    as_json: Json = False,
) -> None:
    """Check past deals of the day against their commitments.

    A server shows a commitment before the day and its secret afterwards. The exit status is 0 unless one of them does not fit.
    """
    address = address_of(url or _only_server())
    told, checked = _checked(address)
    wrong = [each for each in checked if each.outcome in ("false", "changed", "missing")]
    if as_json:
        print_json({"server": address.url, "days": [_as_map(each) for each in checked]})
    else:
        print_text("\n".join(_lines(told, checked)))
    if wrong:
        raise typer.Exit(FAILED)


def _only_server() -> str:
    urls = list(IdentityStore(home_folder()).read().servers)
    if len(urls) != 1:
        some = f"you have been at {len(urls)}" if urls else "you have been at none yet"
        fail(f"Which server? Name it ({some}).", MISUSED)
    return urls[0]


def _keep_commitments(address: Address) -> Dailies:
    told = fetch_dailies(address)
    CommitmentStore(home_folder()).keep(address.url, told.days, told.now_ms)
    return told


def _checked(address: Address) -> tuple[Dailies, list[DayCheck]]:
    told = _keep_commitments(address)
    return told, check_days(told.days, CommitmentStore(home_folder()).seen(address.url))


def _lines(told: Dailies, checked: list[DayCheck]) -> list[str]:
    sentences = {
        "true": "ok: the secret fits the commitment that you were shown, {seen} UTC",
        "false": "WRONG: the secret does not fit the commitment",
        "changed": "WRONG: the commitment is not the one that you were shown, {seen} UTC",
        "missing": "WRONG: the server does not name the deal any more whose commitment you were shown, {seen} UTC",
        "sealed": "committed to; the secret will be revealed {reveals} UTC",
        "unseen": "not checked: the secret fits, but you had not been shown its commitment",
    }
    reveals = {day.date: day.reveals_at_ms for day in told.days}
    return [
        f"{clean_chat(each.date)}  "
        + sentences[each.outcome].format(
            seen=moment_text(each.seen.seen_at_ms) if each.seen is not None else "", reveals=moment_text(reveals.get(each.date, 0))
        )
        for each in checked
    ]


def _as_map(checked: DayCheck) -> dict[str, Any]:
    seen = checked.seen
    return {"date": checked.date, "outcome": checked.outcome, "commitment": seen.commitment if seen is not None else None}


challenge_app = typer.Typer(
    name="challenge",
    help="Have others run the same deal as you, in their own time.\n\nThey race the ghosts of those who ran it before.",
    epilog=examples("carpet challenge create carpet.example", "carpet challenge run carpet.example ABCDEF"),
    rich_markup_mode=None,
)
challenge_app.callback(invoke_without_command=True)(show_help)

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the challenge, six letters in either case.")]


@challenge_app.command(epilog="Example: carpet challenge create carpet.example --rules carpet-free --days 3")
def create(
    url: Url,
    rules: Rules = "carpet",
    time_limit: Annotated[int, typer.Option(metavar="S", min=10, max=3600, help="Seconds for each run.")] = 600,
    days: Annotated[float, typer.Option(metavar="N", help="Days until it closes, from 0.042 (an hour) to 30.")] = 7,
    private: Annotated[bool, typer.Option("--private", help="Do not list it: only its id finds it.")] = False,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Open a challenge and print its id, to give to others.

    The shuffle comes from the server's secret and random bytes of yours: nobody has chosen it, and you do not know it either.
    """
    if not 1 / 24 <= days <= 30:
        fail("--days takes a number from 0.042 (an hour) to 30.", MISUSED)
    address = address_of(url)

    wanted = OpenChallenge(
        nonce=secrets.token_hex(16), rules=rules, time_limit_s=time_limit, public=not private, closes_in_s=round(days * 24 * 3600)
    )
    challenge = _opened(address, wanted, name)
    if as_json:
        print_json(challenge)
        return

    print_sentence(f"Challenge {clean_name(challenge.id)} is open until {moment_text(challenge.closes_at_ms)} UTC. To run it:")
    print_text(f"  carpet challenge run {address.url} {clean_name(challenge.id)}")


@challenge_app.command("list", epilog="Example: carpet challenge list carpet.example")
def list_challenges(url: Url, name: Name = None, as_json: Json = False) -> None:
    """List the challenges that can be run, and your own."""
    address = address_of(url)

    token = _identity(address, name).token
    # Without a token there, the player is unknown to the server and sees what everybody sees.
    told = fetch_challenges(address) if token is None else run(lambda: ask(address.url, ListChallenges(token=token), Challenges))
    if as_json:
        print_json({"challenges": told.challenges})
    else:
        print_text("\n".join(challenge_lines(told.challenges, told.now_ms)))


def _challenge_code(typed: str) -> str:
    return code_of(typed, what="the id of a challenge", shown="carpet challenge list shows them")


@challenge_app.command("run", epilog="Example: carpet challenge run carpet.example ABCDEF --name bert")
@with_looks()
def run_challenge(
    url: Url,
    challenge: Id,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Run a challenge.

    You have one run. Those who ran it before race beside you as ghosts.
    """
    code = _challenge_code(challenge)
    address = address_of(url)
    need_terminal("challenge run")
    visit(address, RunChallenge(id=code), name, settings)


@challenge_app.command("board", epilog="Example: carpet challenge board carpet.example ABCDEF")
def challenge_board(url: Url, challenge: Id, name: Name = None, as_json: Json = False) -> None:
    """See the results of a challenge.

    Until the deal is revealed, you see them only after your own run.
    """
    show_board(address_of(url), ListRuns(kind="challenge", id=_challenge_code(challenge)), name=name, as_json=as_json)


# ---- what the boards share


def show_board(address: Address, asked: ListRuns, *, name: str | None, as_json: bool) -> None:
    """Get a board, as this machine's player at the server if there is one, and print it."""
    token = _identity(address, name).token
    told = fetch_runs(address, asked) if token is None else run(lambda: ask(address.url, replace(asked, token=token), Runs))
    if as_json:
        print_json(told)
        return
    print_sentence(board_title(told, told.rules))
    print_text("\n".join(line for _, line in board_lines(told)))


def _identity(address: Address, name: str | None) -> Identity:
    return IdentityStore(home_folder()).identity(address.url, name)


def _opened(address: Address, wanted: OpenChallenge, name: str | None) -> ChallengeInfo:
    store = IdentityStore(home_folder())
    mine = store.identity(address.url, name)
    asked_for = clean_name(name or "") or mine.name

    told: list[Identity] = []

    def keep(identity: Identity, *, is_in: bool = name is None) -> None:
        told.append(identity)
        store.keep(address.url, identity, asked=asked_for, last=is_in)

    try:
        if mine.token is not None:
            # Beside the screen that they may have open there, which another hello would end.
            return run(lambda: ask(address.url, wanted, Challenge, identity=mine, watches=True)).challenge
    except NotAnswered as error:
        refused = error.__cause__
        if not (isinstance(refused, RequestRefused) and refused.error.code == ErrorCode.WATCHES_ONLY):
            raise
        # The server knows them no more, or is older.
    opened = run(lambda: ask(address.url, wanted, Challenge, identity=mine, keep=keep)).challenge
    # A server that does not keep to the specification may not have said who this is.
    if told:
        keep(told[-1], is_in=True)
    return opened


app = typer.Typer(rich_markup_mode=None)
app.add_typer(daily_app)
app.add_typer(challenge_app)
