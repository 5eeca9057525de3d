"""Moving an identity from one machine to another: what an export may contain, and how it is merged with what is there.

Pure. An export has the format of the file itself, so a copy of the file works too. It may come from anywhere: if anything in it is not as
this program would have written it, all of it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import structs

from client.connection.address import BadAddress, parse_address
from client.connection.errors import Failure
from client.connection.events import Identity
from client.storage.identity import IdentityFile, Server
from protocol.text import clean_chat, clean_name

LONGEST_EXPORT = 1_000_000
"""Bytes; enough for about ten thousand players."""
LONGEST_TOKEN = 64


class BadExport(Failure):
    """The data is not an export, or there is nothing to export."""


class TokenConflict(Failure):
    """This machine already has another player of that name at that server."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of one player of an export. known: already here, perhaps under another name. replaced: another player had the name."""

    url: str
    name: str
    outcome: Literal["new", "known", "replaced"]


def part_of(document: IdentityFile, url: str | None) -> IdentityFile:
    """What to export: everything, or the players at one server. Raises BadExport if that is nothing."""
    servers = document.servers if url is None else {place: server for place, server in document.servers.items() if place == url}
    if not any(server.tokens for server in servers.values()):
        where = f"the server {url}" if url is not None else "any server"
        raise BadExport(f"There is nothing to export: this machine has no player at {where}.")
    # Where to go when a server is down is for that server alone to say: another machine hears it on its first visit.
    return IdentityFile(servers={place: structs.replace(server, nodes={}) for place, server in servers.items()})


def read_export(data: bytes) -> IdentityFile:
    """The document of an export. Raises BadExport."""
    if len(data) > LONGEST_EXPORT:
        raise BadExport("That is too long for an export of names and tokens.")
    try:
        document = msgspec.json.decode(data, type=IdentityFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadExport(
            f"That is not an export of names and tokens ({clean_chat(str(error))}); carpet identity export makes one."
        ) from error
    if document.format != IdentityFile().format:
        raise BadExport("That export is from another version: update the older carpet-race of the two.")
    if not any(server.tokens for server in document.servers.values()):
        raise BadExport("There is no name and no token in that export.")
    for fault in _faults(document):
        raise BadExport(f"That export is damaged: {fault}; nothing was imported.")
    return document


def _faults(document: IdentityFile) -> Iterator[str]:
    for url, server in document.servers.items():
        if not _is_url(url):
            yield f"{clean_chat(url)!r} is not the URL of a server"
        where = f"at {clean_chat(url)}"
        if server.name not in server.tokens:
            yield f"there is no token of its player {clean_name(server.name)!r} {where}"
        for name in (*server.tokens, *server.asked):
            if clean_name(name) != name or not name:
                yield f"{clean_name(name)!r} {where} is not a name as servers give them"
        for token in server.tokens.values():
            if not (0 < len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()):
                yield f"a token {where} is none"
        if len(set(server.tokens.values())) < len(server.tokens):
            yield f"two names {where} have one token"
        if not server.tokens.keys() >= {*server.players, *server.asked.values()}:
            yield f"a name {where} has no token"
        if any(clean_chat(player) != player or not player for player in server.players.values()):
            yield f"a player's id {where} is none"


def _is_url(url: str) -> bool:
    try:
        return parse_address(url).url == url
    except BadAddress:
        return False


def merged(here: IdentityFile, brought: IdentityFile, *, replace: bool) -> tuple[IdentityFile, tuple[Brought, ...]]:
    """The merged document, and what became of each player. The player used last at a server stays the same, if there was one.

    replace: of two players with one name at one server, the imported one stays; otherwise this raises TokenConflict.
    """
    servers = dict(here.servers)
    outcomes: list[Brought] = []
    for url, coming in brought.servers.items():
        before = servers.get(url)
        after = before or Server(name=coming.name, tokens={})
        for name, token in coming.tokens.items():
            own = next((own for own, kept in after.tokens.items() if kept == token), None)
            if own is not None:
                # The server says on the next visit which of the two names is the newer one.
                outcomes.append(Brought(url, name, "known"))
                after = after.with_player(after.named(own), asked=name)
                continue
            taken = name in after.tokens
            if taken and not replace:
                raise TokenConflict(
                    f"There is another player {name} at {url} on this machine: nothing was imported; --replace takes the exported one."
                )
            outcomes.append(Brought(url, name, "replaced" if taken else "new"))
            after = after.with_player(Identity(name, token, coming.players.get(name)))
        for asked, name in coming.asked.items():
            if asked not in after.tokens and asked not in after.asked:
                after = after.with_player(after.named(name), asked=asked)
        last = after.named(before.name if before is not None and before.name in after.tokens else coming.name)
        servers[url] = after.with_player(last)
    return structs.replace(here, servers=servers), tuple(outcomes)
