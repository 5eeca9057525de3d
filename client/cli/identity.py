"""The commands about who the player is: `whoami`, `rename`, and `identity` to take it to another machine or address, or forget it.

Only the export contains tokens, and it says so.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from client.cli.ending import FAILED, MISUSED, complain, fail
from client.cli.options import URL_HELP, Json, Url, Yes, address_of, code_of
from client.cli.running import print_sentence, run
from client.connection.events import Identity
from client.connection.request import NotKnown, ask, who_is
from client.connection.request import rename as rename_at
from client.storage.commitments import CommitmentStore
from client.storage.files import document_text, make_file
from client.storage.identity import IdentityFile, IdentityStore, home_folder, place_of
from client.storage.identity_transfer import LONGEST_EXPORT, Brought, merged, part_of, read_export
from protocol.command_line import examples, print_text, show_help
from protocol.text import NAME_LENGTH, clean_chat, clean_name, listed
from protocol.watch_messages import AskBoardsKey, BoardsKey

app = typer.Typer(rich_markup_mode=None)
move_app = typer.Typer(
    help="Take your identity to another machine or address, or forget it.",
    epilog=examples(
        "carpet identity export anna.json",
        "carpet identity import anna.json",
        "carpet identity copy old.example new.example",
        "carpet identity forget old.example",
    ),
    rich_markup_mode=None,
)
move_app.callback(invoke_without_command=True)(show_help)
app.add_typer(move_app, name="identity")


MaybeUrl = Annotated[str | None, typer.Argument(metavar="SERVER", help=f"{URL_HELP} Without it: what this machine knows.")]
OwnName = Annotated[str | None, typer.Option(metavar="NAME", help="Which of your players there. [default: the one who got in last]")]


@app.command(epilog=examples("carpet whoami", "carpet whoami carpet.example --json"))
def whoami(
    url: MaybeUrl = None,
    name: OwnName = None,
    as_json: Json = False,
) -> None:
    """Show who you are at a server.

    Without a server: at every one that this machine knows. This does not disturb a race that you are in.
    """
    if url is None:
        if name is not None:
            fail("--name needs a server.", MISUSED)
        _list_known(as_json=as_json)
        return
    place = address_of(url).url
    store = _store()
    kept = _player(store, place, name)

    told = run(lambda: who_is(place, kept, nodes=store.nodes(place, kept.token)))
    if told != kept:
        # Renamed from another machine: use the new name here from now on.
        store.keep(place, told, last=False)
    if as_json:
        print_text(json.dumps(_row(place, told)))
    else:
        print_sentence(f"You are {told.name} at {place}: player {told.player or 'without an id'}, whose token is kept here.")


@app.command("boards-key", epilog=examples("carpet boards-key carpet.example ABCDEF"))
def boards_key(
    url: Url,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code of the race, six letters.")],
    name: OwnName = None,
) -> None:
    """Show the key to a race's boards with every card face up.

    It is for a screen that the players cannot see. Only the host of an unrated race, or the director of its tournament, can have it.
    `carpet watch --key` takes it, and so does the web page: /watch/CODE#key=KEY. The players are told when somebody uses it.
    """
    place = address_of(url).url
    store = _store()
    kept = _player(store, place, name)
    wanted = AskBoardsKey(code=code_of(code))
    nodes = store.nodes(place, kept.token)
    print_text(run(lambda: ask(place, wanted, BoardsKey, identity=kept, watches=True, nodes=nodes)).key)


def _list_known(*, as_json: bool) -> None:
    known = _store().known()
    if as_json:
        print_text(json.dumps([{**_row(each.url, each.identity), "last": each.last} for each in known], indent=1))
    elif not known:
        print_sentence("This machine does not know you at any server yet: your first visit to one makes you a player there.")
    else:
        for each in known:
            told = f"{clean_chat(each.url)}: {clean_name(each.identity.name)}, player {clean_chat(each.identity.player or 'not told yet')}"
            print_sentence(f"{told}; token kept" + ("" if each.last else f"; with --name {clean_name(each.identity.name)}"))


def _row(url: str, identity: Identity) -> dict[str, object]:
    return {"server": url, "name": identity.name, "player": identity.player, "token_kept": identity.token is not None}


@app.command(epilog="Example: carpet rename carpet.example Berta")
def rename(
    url: Url,
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="Your new name; at most 24 characters.")],
    name: OwnName = None,
) -> None:
    """Change your name at a server.

    You stay the same player. A race that you are in goes on under the old name, and its record keeps it.
    """
    if not clean_name(new_name):
        fail("Nothing printable is left of that name; choose another.", MISUSED)
    if len(new_name.strip()) > NAME_LENGTH:
        fail(f"A name has {NAME_LENGTH} characters at most; choose a shorter one.", MISUSED)
    place = address_of(url).url
    store = _store()
    kept = _player(store, place, name)

    told = run(lambda: rename_at(place, kept, new_name, nodes=store.nodes(place, kept.token)))
    store.keep(place, told, last=False)
    print_sentence(f"You are now {told.name} at {place}. A race that you are in keeps the old name.")


@move_app.command("export", epilog="Example: carpet identity export - | ssh laptop carpet identity import -")
def export_identity(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file; - writes to standard output.")],
    server: Annotated[str | None, typer.Option(metavar="SERVER", help="Only who you are at this server. [default: everywhere]")] = None,
) -> None:
    """Write your identity to a file.

    The file holds your tokens: whoever has it can play as you.
    """
    url = address_of(server).url if server is not None else None

    known = _store().read()
    text = document_text(part_of(known, place_of(known.servers, url) if url is not None else None))
    if file == "-":
        typer.echo(text, nl=False)
    else:
        _write_new(file, text)
    place = "What was printed" if file == "-" else file
    complain(f"carpet: {place} holds your tokens, and whoever has them can play as you: show it to nobody, and delete it once it is read.")


@move_app.command("import", epilog="Example: carpet identity import anna.json")
def import_identity(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What carpet identity export wrote; - reads standard input.")],
    replace: Annotated[bool, typer.Option("--replace", help="If another player has the same name here, replace them.")] = False,
) -> None:
    """Read your identity from a file.

    What is already here stays. The file is imported whole or not at all.
    """
    brought = read_export(_read(file))
    outcomes: tuple[Brought, ...] = ()

    def both(here: IdentityFile) -> IdentityFile:
        nonlocal outcomes
        document, outcomes = merged(here, brought, replace=replace)
        return document

    store = _store()
    store.change(both)
    servers = store.read().servers
    told = {"new": "is here now", "known": "was here already", "replaced": "is here now, in place of another player"}
    for each in outcomes:
        server = servers[each.url]
        more = "" if server.named(each.name).name == server.name else f" You are {server.name} there unless you say --name {each.name}."
        print_sentence(f"{each.name} at {each.url} {told[each.outcome]}.{more}")


@move_app.command("copy", epilog="Example: carpet identity copy old.example new.example")
def copy_identity(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="The address at which this machine knows you.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another address of the same server, which has moved or has two.")],
) -> None:
    """Be the same player at another address of a server.

    This sends your tokens to the new address, so be sure of it. They are kept for that address only if the server there knows them, and you
    are then who you were. What is already here stays. What the server committed to at the old address is checked at the new one too.
    """
    old, place = address_of(server).url, address_of(new).url
    store = _store()
    players = store.known(old)
    if not players:
        fail(f"This machine has no player at {old}; carpet whoami shows those it has.")
    if place in (old, *address_of(server).aliases):
        fail("These are two names of one address already.", MISUSED)

    asked = [(each.identity.name, run(partial(_known_at, place, each.identity))) for each in players]
    found = [(name, told) for name, told in asked if told is not None]
    if not found:
        fail(f"The server at {place} knows none of your players at {old}: it is another server, or has started afresh. Nothing was copied.")
    # The default of the old address comes first, and is the default at the new one.
    for name, told in reversed(found):
        store.keep(place, told, asked=name)
    CommitmentStore(home_folder()).copy(old, place)
    for _, told in found:
        print_sentence(f"You are {told.name} at {place} too.")


@move_app.command("forget", epilog=examples("carpet identity forget old.example", "carpet identity forget old.example --name anna --yes"))
def forget_identity(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="The address, as carpet whoami shows it.")],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Only this one of your players there. [default: all of them]")] = None,
    yes: Yes = False,
) -> None:
    """Remove your players at a server from this machine.

    Their tokens go with them: unless another machine or an export has them, nobody can be these players again. Their races stay at the
    server.
    """
    place = address_of(server).url
    store = _store()
    names = [each.identity.name for each in store.known(place) if name in (None, each.identity.name)]
    if not names:
        who = "no player" if name is None else f"no player {clean_name(name)}"
        fail(f"This machine has {who} at {place}; carpet whoami shows those it has.")
    told = f"{listed([*map(clean_name, names)])} at {place}"
    if not yes:
        if not sys.stdin.isatty():
            fail(f"This would forget {told} for good; say --yes if that is meant.", MISUSED)
        if not typer.confirm(f"Forget {told}, for good?"):
            fail("Nothing was forgotten.")
    store.forget(place, names)
    print_sentence(f"This machine has forgotten {told}.")


async def _known_at(url: str, identity: Identity) -> Identity | None:
    """The player of this token at the server of `url`; None if it knows none."""
    try:
        return await who_is(url, identity)
    except NotKnown:
        return None


def _store() -> IdentityStore:
    return IdentityStore(home_folder())


def _player(store: IdentityStore, url: str, name: str | None) -> Identity:
    """The player that the command is about. Ends the command if there is none."""
    identity = store.identity(url, name)
    if identity.token is None:
        if name is not None:
            fail(f"This machine has no player {identity.name} at {url}; carpet whoami shows those it has.")
        fail(f"You have not been at {url} yet. Your first visit makes you a player there: carpet home {url} takes you there.")
    return identity


def _write_new(file: str, text: bytes) -> None:
    # Never overwrite a file, and never let anybody else read this one.
    try:
        make_file(Path(file), text)
    except FileExistsError:
        fail(f"{file} exists already: name another file.")
    except (OSError, ValueError) as error:
        fail(f"{file} cannot be written: {getattr(error, 'strerror', None) or error}.")


def _read(file: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read(LONGEST_EXPORT + 1)
        with open(file, "rb") as opened:
            return opened.read(LONGEST_EXPORT + 1)
    except (OSError, ValueError) as error:
        fail(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.", FAILED)
