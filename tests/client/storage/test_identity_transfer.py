"""Exporting an identity and importing it: nothing is lost, nothing is imported by halves, and no altered file is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.connection.events import Identity
from client.storage.files import document_text
from client.storage.identity import IdentityFile, Server
from client.storage.identity_transfer import LONGEST_EXPORT, BadExport, Brought, TokenConflict, merged, part_of, read_export

HERE, THERE = "ws://here.example:7777", "wss://there.example:443"


def at(url: str, *, last: str, asked: dict[str, str] | None = None, **tokens: str) -> IdentityFile:
    players = {name: f"id of {token}" for name, token in tokens.items()}
    return IdentityFile(servers={url: Server(name=last, tokens=tokens, players=players, asked=asked or {})})


def both(*documents: IdentityFile) -> IdentityFile:
    return IdentityFile(servers={url: server for document in documents for url, server in document.servers.items()})


def test_what_is_exported_can_be_imported_into_nothing_and_is_the_same() -> None:
    document = both(at(HERE, last="anna", anna="a", bert="b", asked={"ann": "anna"}), at(THERE, last="anna", anna="c"))
    taken, outcomes = merged(IdentityFile(), read_export(document_text(document)), replace=False)
    assert taken == document
    assert outcomes == (Brought(HERE, "anna", "new"), Brought(HERE, "bert", "new"), Brought(THERE, "anna", "new"))


def test_one_server_alone_can_be_exported() -> None:
    document = both(at(HERE, last="anna", anna="a"), at(THERE, last="anna", anna="c"))
    assert part_of(document, THERE) == at(THERE, last="anna", anna="c")
    for nothing, url in ((document, "ws://other:1"), (IdentityFile(), None), (at(HERE, last="anna"), HERE)):
        with pytest.raises(BadExport, match="nothing to export"):
            part_of(nothing, url)


def test_what_is_here_stays_and_who_was_used_last_too() -> None:
    here = at(HERE, last="anna", anna="a", asked={"ann": "anna"})
    taken, outcomes = merged(
        here,
        both(at(HERE, last="bert", bert="b", asked={"ann": "bert", "bertie": "bert"}), at(THERE, last="cleo", cleo="c")),
        replace=False,
    )
    assert taken == both(
        at(HERE, last="anna", anna="a", bert="b", asked={"ann": "anna", "bertie": "bert"}), at(THERE, last="cleo", cleo="c")
    )
    assert outcomes == (Brought(HERE, "bert", "new"), Brought(THERE, "cleo", "new"))


def test_a_player_who_is_here_under_another_name_is_not_added_twice() -> None:
    taken, outcomes = merged(at(HERE, last="Berta", Berta="a"), at(HERE, last="Anna", Anna="a"), replace=False)
    assert outcomes == (Brought(HERE, "Anna", "known"),)
    server = taken.servers[HERE]
    assert (server.name, server.tokens) == ("Berta", {"Berta": "a"})
    assert server.named("Anna") == Identity("Berta", "a", "id of a")


def test_the_same_import_twice_changes_nothing_more() -> None:
    brought = both(at(HERE, last="bert", bert="b", anna="a"), at(THERE, last="cleo", cleo="c"))
    once, _ = merged(at(HERE, last="dora", dora="d"), brought, replace=False)
    twice, outcomes = merged(once, brought, replace=False)
    assert twice == once
    assert {each.outcome for each in outcomes} == {"known"}


def test_another_player_of_that_name_is_given_up_only_if_so_wished() -> None:
    here, brought = at(HERE, last="anna", anna="a", bert="b"), both(at(THERE, last="cleo", cleo="c"), at(HERE, last="anna", anna="secret"))
    with pytest.raises(TokenConflict, match=f"another player anna at {HERE} on this machine: nothing was imported") as conflict:
        merged(here, brought, replace=False)
    assert "secret" not in str(conflict.value)
    taken, outcomes = merged(here, brought, replace=True)
    assert taken.servers[HERE].tokens == {"anna": "secret", "bert": "b"}
    assert taken.servers[HERE].named("anna") == Identity("anna", "secret", "id of secret")
    assert outcomes == (Brought(THERE, "cleo", "new"), Brought(HERE, "anna", "replaced"))


GOOD = {"format": 1, "servers": {HERE: {"name": "anna", "tokens": {"anna": "a"}, "players": {"anna": "p1"}, "asked": {"ann": "anna"}}}}


def altered(**changes: Any) -> dict[str, Any]:
    return {**GOOD, "servers": {HERE: {**GOOD["servers"][HERE], **changes}}}  # type: ignore[index]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (altered(name="bert"), "there is no token of its player 'bert'"),
        (altered(name="\x1b[31m"), "there is no token of its player ''"),
        (altered(tokens={"anna": "a", "\x1b[31mbert": "b"}), "'bert' .* is not a name"),
        (altered(tokens={"anna": "a", "": "b"}), "'' .* is not a name"),
        (altered(tokens={"anna": "a", "x" * 25: "b"}), "is not a name"),
        (altered(tokens={"anna": ""}), "a token .* is none"),
        (altered(tokens={"anna": "a" * 65}), "a token .* is none"),
        (altered(tokens={"anna": "a\n"}), "a token .* is none"),
        (altered(tokens={"anna": "a", "bert": "a"}), "two names .* have one token"),
        (altered(players={"bert": "p"}), "a name .* has no token"),
        (altered(players={"anna": "\x1b[2J"}), "a player's id .* is none"),
        (altered(asked={"bert": "cleo"}), "a name .* has no token"),
        (altered(asked={"\x07": "anna"}), "is not a name"),
        ({"servers": {"here.example": GOOD["servers"][HERE]}}, "'here.example' is not the URL"),  # type: ignore[index]
        ({"servers": {"ws://x\x1b[31m": GOOD["servers"][HERE]}}, "is not the URL"),  # type: ignore[index]
        ({HERE: GOOD["servers"][HERE]}, "no name and no token"),  # type: ignore[index]
        ({**GOOD, "format": 2}, "another version"),
        ({**GOOD, "format": 0}, "another version"),
        ({"servers": {}}, "no name and no token"),
        (altered(tokens={}), "no name and no token"),
        (altered(tokens={"anna": 1}), "is not an export"),
        ([], "is not an export"),
    ],
    ids=str,
)
def test_what_is_not_as_an_export_is_written_is_refused_with_a_sentence(document: object, said: str) -> None:
    assert read_export(json.dumps(GOOD).encode()).servers
    with pytest.raises(BadExport, match=said) as refused:
        read_export(json.dumps(document).encode())
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"{", b"[" * 100_000, b" " * (LONGEST_EXPORT + 1)], ids=["empty", "binary", "cut", "deep", "long"]
)
def test_what_is_no_json_is_refused_with_a_sentence(data: bytes) -> None:
    with pytest.raises(BadExport):
        read_export(data)


def test_where_to_go_when_a_server_is_down_is_neither_exported_nor_believed_of_an_import() -> None:
    server = Server(name="anna", tokens={"anna": "a"}, nodes={"anna": ("wss://evil.example:443",)})
    document = IdentityFile(servers={THERE: server})
    assert b"evil" not in document_text(part_of(document, None))
    for here in (IdentityFile(), at(THERE, last="anna", anna="a"), at(THERE, last="anna", anna="another")):
        taken, _ = merged(here, read_export(document_text(document)), replace=True)
        assert b"evil" not in document_text(taken)
        assert taken.servers[THERE].tokens == {"anna": "a"}
