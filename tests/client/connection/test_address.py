"""Addresses as people type them."""

from __future__ import annotations

import pytest

from client.connection.address import Address, BadAddress, moved_address, parse_address


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("carpet.example", "ws://carpet.example:7777"),
        ("carpet.example:80", "ws://carpet.example:80"),
        ("  Carpet.Example:7777/  ", "ws://carpet.example:7777"),
        ("carpet.example/table/one", "ws://carpet.example:7777/table/one"),
        ("ws://carpet.example", "ws://carpet.example:80"),
        ("wss://carpet.example", "wss://carpet.example:443"),
        ("WSS://carpet.example:8443/play?x=1", "wss://carpet.example:8443/play?x=1"),
        ("127.0.0.1:7777", "ws://127.0.0.1:7777"),
        ("[::1]:7777", "ws://[::1]:7777"),
        ("ws://[::1]", "ws://[::1]:80"),
        ("localhost", "ws://localhost:7777"),
        ("http://carpet.example:7777", "ws://carpet.example:7777"),
        ("https://carpet.example/play/KXQWZP?from=mail", "wss://carpet.example:443"),
    ],
)
def test_what_is_typed_stands_for_one_url(typed: str, url: str) -> None:
    assert parse_address(typed).url == url
    assert parse_address(url).url == url


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "is missing"),
        ("ftp://carpet.example", "begins with ws:// or wss://"),
        ("carpet.example:port", "the port is a number"),
        ("carpet.example:99999", "the port is a number"),
        ("carpet.example:0", "write host"),
        ("::1", "in brackets"),
        ("[::1", "is not the address"),
        ("[carpet]:80", "is not the address"),
        ("ws://", "write host"),
        ("two words", "write host"),
        ("anna:secret@carpet.example", "user name"),
        ("carpet.example#top", "# part"),
        ("back\\slash", "write host"),
        ("escape\x1b[31m", "write host"),
    ],
)
def test_what_is_no_address_is_refused_in_one_sentence(typed: str, says: str) -> None:
    with pytest.raises(BadAddress, match="address") as caught:
        parse_address(typed)
    assert says in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "is_loopback"), [("localhost", True), ("127.0.0.9", True), ("::1", True), ("10.0.0.1", False), ("a", False)]
)
def test_this_machine_is_told_from_others(host: str, is_loopback: bool) -> None:
    assert Address(secure=False, host=host, port=1).is_loopback is is_loopback


# ---- where a server sends its players


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("ws://carpet.example", "ws://n2.carpet.example/n2"),
        ("ws://carpet.example", "wss://elsewhere.example"),
        ("wss://carpet.example", "wss://n2.carpet.example"),
        ("ws://127.0.0.1:7777", "ws://127.0.0.1:7778"),
        ("ws://localhost:7777", "ws://192.168.1.2:7778"),
    ],
)
def test_a_server_sends_its_players_to_another_of_its_kind(by: str, told: str) -> None:
    assert moved_address(told, by=parse_address(by)) == parse_address(told)


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("wss://carpet.example", "ws://carpet.example"),
        ("wss://carpet.example", "file:///etc/passwd"),
        ("ws://carpet.example", "carpet.example:7778"),
        ("ws://carpet.example", "ws://anna:secret@carpet.example"),
        ("ws://carpet.example", "ws://127.0.0.1:6379"),
        ("ws://carpet.example", "ws://127.1:6379"),
        ("ws://carpet.example", "ws://2130706433"),
        ("ws://carpet.example", "ws://0x7f.1"),
        ("ws://carpet.example", "ws://localhost:6379"),
        ("ws://carpet.example", "ws://localhost.:6379"),
        ("ws://carpet.example", "ws://router"),
        ("ws://carpet.example", "ws://10.0.0.1"),
        ("ws://carpet.example", "ws://[::1]:7777"),
        ("ws://carpet.example", "ws://169.254.169.254/latest"),
        ("ws://carpet.example", "ws://n" + "2" * 200),
    ],
)
def test_a_server_cannot_send_its_players_just_anywhere(by: str, told: str) -> None:
    with pytest.raises(BadAddress):
        moved_address(told, by=parse_address(by))
