"""`carpet challenge`: deals that are opened by one and run by others later, beside those who ran them before."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from client.cli.looks import Ascii, ColourBlind, FourColour, Name, NoBell, code_of, finish, need_terminal, settings_of
from client.cli.shared import MISUSED, Url, address_of, examples, fail, print_json, print_text, run

if TYPE_CHECKING:
    from client.connection.address import Address
    from client.connection.events import Identity
    from protocol.client_messages import ListRuns, OpenChallenge
    from protocol.views import ChallengeInfo

challenge_app = typer.Typer(
    name="challenge",
    help="Have others run the same deal as you, each when he likes, against the ghosts of those before him.",
    epilog=examples("carpet challenge create carpet.example", "carpet challenge run carpet.example ABCDEF"),
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The six letters of the challenge, in either case.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@challenge_app.command(epilog="Example: carpet challenge create carpet.example --rules carpet-free --days 3")
def create(
    url: Url,
    rules: Annotated[str, typer.Option(metavar="ID", help="The rule set, such as carpet-free or crazy-quilt.")] = "carpet",
    time_limit: Annotated[int, typer.Option(metavar="S", min=10, max=3600, help="Seconds for each run.")] = 600,
    days: Annotated[float, typer.Option(metavar="N", help="Days until it closes, an hour's part of one to 30.")] = 7,
    private: Annotated[bool, typer.Option("--private", help="Not listed: only for who has its id.")] = False,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Open a challenge; its id is printed, to be given to others.

    The shuffle comes from a secret of the server's and from random bytes of yours: nobody has chosen it, and you do not know it either.
    """
    if not 1 / 24 <= days <= 30:
        fail("--days takes a number from 0.05 to 30.", MISUSED)
    address = address_of(url)
    from protocol.client_messages import OpenChallenge

    wanted = OpenChallenge(
        nonce=secrets.token_hex(16), rules=rules, time_limit_s=time_limit, public=not private, closes_in_s=round(days * 24 * 3600)
    )
    challenge = _opened(address, wanted, name)
    if as_json:
        print_json(challenge)
        return
    from client.text.runs import moment_text
    from protocol.text import clean_name

    print_text(f"Challenge {clean_name(challenge.id)} is open until {moment_text(challenge.closes_at_ms)} UTC. To run it:")
    print_text(f"  carpet challenge run {address.url} {clean_name(challenge.id)}")


@challenge_app.command("list", epilog="Example: carpet challenge list carpet.example")
def list_challenges(url: Url, name: Name = None, as_json: Json = False) -> None:
    """See which challenges can be run, and your own."""
    address = address_of(url)
    from client.connection.request import ask
    from client.text.runs import challenge_lines
    from protocol.client_messages import ListChallenges
    from protocol.server_messages import Challenges

    token = _identity(address, name).token
    # Who has no token there is nobody yet, and is shown what everybody is.
    if token is None:
        from client.connection.http import fetch_challenges

        told = fetch_challenges(address)
    else:
        told = run(lambda: ask(address.url, ListChallenges(token=token), Challenges))
    if as_json:
        print_json({"challenges": told.challenges})
    else:
        print_text("\n".join(challenge_lines(told.challenges, told.now_ms)))


@challenge_app.command("run", epilog="Example: carpet challenge run carpet.example ABCDEF --name bert")
def run_challenge(
    url: Url,
    challenge: Id,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Run a challenge. One run counts; those who ran it before are shown beside it, as they went."""
    code = code_of(challenge)
    address = address_of(url)
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    need_terminal("challenge run")
    from client.local.sitting import visit
    from protocol.client_messages import RunChallenge

    finish(run(lambda: visit(address.url, RunChallenge(id=code), name=name, settings=settings)))


@challenge_app.command(epilog="Example: carpet challenge board carpet.example ABCDEF")
def board(url: Url, challenge: Id, name: Name = None, as_json: Json = False) -> None:
    """See how a challenge was run.

    Until it is revealed, only by who has had his own run.
    """
    from protocol.client_messages import ListRuns

    show_board(address_of(url), ListRuns(kind="challenge", id=code_of(challenge)), name=name, as_json=as_json)


# ---- what the boards share


def show_board(address: Address, asked: ListRuns, *, name: str | None, as_json: bool) -> None:
    """Ask for a board, as the player who is known there, and print it."""
    from msgspec.structs import replace

    from client.connection.request import ask
    from client.text.runs import board_lines, board_title
    from protocol.server_messages import Runs

    token = _identity(address, name).token
    if token is None:
        from client.connection.http import fetch_runs

        told = fetch_runs(address, asked)
    else:
        told = run(lambda: ask(address.url, replace(asked, token=token), Runs))
    if as_json:
        print_json(told)
        return
    print_text(board_title(told))
    print_text("\n".join(line for _, line in board_lines(told)))


def _identity(address: Address, name: str | None) -> Identity:
    from client.storage.identity import IdentityStore, home_folder

    return IdentityStore(home_folder()).identity(address.url, name)


def _opened(address: Address, wanted: OpenChallenge, name: str | None) -> ChallengeInfo:
    from client.connection.request import ask
    from client.storage.identity import IdentityStore, home_folder
    from protocol.server_messages import Challenge
    from protocol.text import clean_name

    store = IdentityStore(home_folder())
    mine = store.identity(address.url, name)
    asked_for = clean_name(name or "") or mine.name

    def keep(identity: Identity) -> None:
        store.keep(address.url, identity, asked=asked_for)

    return run(lambda: ask(address.url, wanted, Challenge, identity=mine, keep=keep)).challenge
