"""Limits on connections: what counts as one address, what is refused, and that the counts are right in the end."""

from __future__ import annotations

import resource
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.net import descriptors
from server.net.connection_limits import (
    REFUSED_AT_ONCE,
    THIS_MACHINE,
    Admission,
    AdmissionOutcome,
    Ticket,
    TrustedProxies,
    named_by_proxies,
    place_of,
)


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.1", THIS_MACHINE),
        ("127.9.9.9", THIS_MACHINE),
        ("::1", THIS_MACHINE),
        ("::ffff:127.0.0.1", THIS_MACHINE),
        ("", None),
        ("a socket of this machine", None),
    ],
)
def test_an_address_is_what_one_household_has(host: str, place: str | None) -> None:
    assert place_of(host) == place


def test_an_address_has_its_share_and_others_theirs() -> None:
    admission = Admission(most=10, most_per_address=2)
    first = admission.enter("2001:db8::1")
    assert [admission.enter(host).entry for host in ("2001:db8::2", "2001:db8::3", "2001:db8:0:1::1")] == [
        AdmissionOutcome.ADMITTED,
        AdmissionOutcome.CROWDED,
        AdmissionOutcome.ADMITTED,
    ]
    assert admission.by_place == {"2001:db8::/64": 2, "2001:db8:0:1::/64": 1}
    first.hand_back()
    first.hand_back()
    assert [admission.enter("2001:db8::4").entry for _ in range(2)] == [AdmissionOutcome.ADMITTED, AdmissionOutcome.CROWDED]


def test_an_address_has_one_share_of_all_servers_of_a_place() -> None:
    admission = Admission(most=10, most_per_address=3)
    admission.elsewhere = {"192.0.2.7": 2, THIS_MACHINE: 9}.__getitem__
    assert [admission.enter("192.0.2.7").entry for _ in range(2)] == [AdmissionOutcome.ADMITTED, AdmissionOutcome.CROWDED]
    assert admission.enter("127.0.0.1").entry is AdmissionOutcome.ADMITTED, "it is another machine for each server"
    assert admission.by_place == {"192.0.2.7": 1}


def test_this_machine_may_have_all_but_a_fifth() -> None:
    admission = Admission(most=10, most_per_address=1)
    here = [admission.enter(host).entry for host in ("127.0.0.1", "::1", "127.0.0.2") * 3]
    assert here == [AdmissionOutcome.ADMITTED] * 8 + [AdmissionOutcome.CROWDED]
    assert [admission.enter(f"192.0.2.{number}").entry for number in range(3)] == [
        AdmissionOutcome.ADMITTED,
        AdmissionOutcome.ADMITTED,
        AdmissionOutcome.FULL,
    ]


PROXIES = TrustedProxies(["10.0.0.0/8", "::1"])


@pytest.mark.parametrize(
    ("proxy", "forwarded_for", "forwarded", "client"),
    [
        ("10.0.0.1", ["192.0.2.1"], [], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.9, 192.0.2.1"], [], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.9", "192.0.2.1, 10.2.3.4"], [], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.1:4711"], [], "192.0.2.1"),
        ("10.0.0.1", ["2001:db8::1"], [], "2001:db8::1"),
        ("::1", [], ['for="[2001:db8::1]:4711";proto=https'], "2001:db8::1"),
        ("::1", [], ["for=198.51.100.9, by=10.0.0.1;For=192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.1"], ["for=198.51.100.9"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.1, unknown"], [], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.1, 999.1.1.1, 10.0.0.2"], [], "10.0.0.2"),
        ("10.0.0.1", [], [], "10.0.0.1"),
        ("10.0.0.1", ["", ","], [";;=,for="], "10.0.0.1"),
        ("198.51.100.1", ["192.0.2.1"], [], "198.51.100.1"),
    ],
)
def test_what_a_trusted_proxy_vouches_for_is_the_client_and_nothing_before_it(
    proxy: str, forwarded_for: list[str], forwarded: list[str], client: str
) -> None:
    assert PROXIES.client(proxy, named_by_proxies(forwarded_for, forwarded)) == client


def test_behind_a_proxy_each_client_has_a_share_and_the_proxy_itself_all_of_them() -> None:
    admission = Admission(most=10, most_per_address=2, proxies=PROXIES)
    tickets = [admission.enter("10.0.0.1") for _ in range(6)]
    for ticket, client in zip(tickets, ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.3"], strict=True):
        assert ticket.name_client("10.0.0.1", [client]) == client
        assert ticket.name_client("10.0.0.1", [client]) == client
    assert [ticket.entry for ticket in tickets] == [
        *(
            AdmissionOutcome.ADMITTED,
            AdmissionOutcome.ADMITTED,
            AdmissionOutcome.CROWDED,
            AdmissionOutcome.ADMITTED,
            AdmissionOutcome.ADMITTED,
            AdmissionOutcome.ADMITTED,
        ),
    ]
    assert admission.inside == 5
    for ticket in tickets:
        ticket.hand_back()
    assert admission.inside == 0
    assert [admission.enter("192.0.2.1").entry for _ in range(3)] == [
        AdmissionOutcome.ADMITTED,
        AdmissionOutcome.ADMITTED,
        AdmissionOutcome.CROWDED,
    ]


def test_without_a_share_one_address_may_have_all() -> None:
    admission = Admission(most=500, most_per_address=0)
    assert {admission.enter("192.0.2.1").entry for _ in range(500)} == {AdmissionOutcome.ADMITTED}


def test_only_so_many_are_told_why_and_the_next_are_turned_away() -> None:
    admission = Admission(most=1, most_per_address=1)
    inside = admission.enter("192.0.2.1")
    told = [admission.enter(f"192.0.2.{number % 2 + 1}") for number in range(REFUSED_AT_ONCE)]
    assert Counter(ticket.entry for ticket in told) == {
        AdmissionOutcome.FULL: REFUSED_AT_ONCE / 2,
        AdmissionOutcome.CROWDED: REFUSED_AT_ONCE / 2,
    }
    away = admission.enter("192.0.2.3")
    assert away.entry is AdmissionOutcome.TURNED_AWAY
    away.hand_back()
    assert admission.enter("192.0.2.3").entry is AdmissionOutcome.TURNED_AWAY
    told[0].hand_back()
    assert admission.enter("192.0.2.3").entry is AdmissionOutcome.FULL
    inside.hand_back()
    assert admission.by_place == {}
    assert admission.enter("192.0.2.3").entry is AdmissionOutcome.ADMITTED


def test_whoever_comes_too_fast_is_turned_away_without_taking_a_place_and_this_machine_never_does() -> None:
    admission = Admission(most=10, most_per_address=5, is_calm=lambda host: host == "192.0.2.1")
    assert [admission.enter(host).entry for host in ("192.0.2.1", "192.0.2.2", "127.0.0.1")] == [
        AdmissionOutcome.ADMITTED,
        AdmissionOutcome.TURNED_AWAY,
        AdmissionOutcome.ADMITTED,
    ]
    assert (admission.inside, admission.refusals) == (2, {"turned-away": 1})


def test_whoever_comes_through_a_proxy_is_always_told_why_they_are_refused() -> None:
    admission = Admission(most=2 * REFUSED_AT_ONCE, most_per_address=1, proxies=PROXIES)
    tickets = [admission.enter("10.0.0.1") for _ in range(REFUSED_AT_ONCE + 10)]
    for ticket in tickets:
        ticket.name_client("10.0.0.1", ["192.0.2.1"])
    assert [ticket.entry for ticket in tickets[1:]] == [AdmissionOutcome.CROWDED] * (REFUSED_AT_ONCE + 9)


def test_through_a_proxy_only_websockets_can_come_too_fast_and_those_that_do_keep_no_place() -> None:
    admission = Admission(most=10, most_per_address=5, proxies=PROXIES, is_calm=lambda host: host != "192.0.2.9")
    refused: list[Ticket] = []
    admission.on_refused = refused.append
    hasty, calm = admission.enter("10.0.0.1"), admission.enter("10.0.0.1")
    for ticket, client in ((hasty, "192.0.2.9"), (calm, "192.0.2.1")):
        ticket.name_client("10.0.0.1", [client])
        assert ticket.entry is AdmissionOutcome.ADMITTED
        ticket.open_websocket(client)
    assert (hasty.entry, calm.entry) == (AdmissionOutcome.CROWDED, AdmissionOutcome.ADMITTED)
    assert (admission.inside, refused) == (1, [hasty])
    hasty.open_websocket("192.0.2.9")
    assert refused == [hasty]


def test_whether_a_connection_comes_too_fast_is_asked_once_of_its_client_and_never_of_a_proxy() -> None:
    asked: list[str] = []

    def is_calm(host: str) -> bool:
        asked.append(host)
        return True

    admission = Admission(most=10, most_per_address=5, proxies=PROXIES, is_calm=is_calm)
    for host in ("192.0.2.1", "10.0.0.1"):
        ticket = admission.enter(host)
        client = ticket.name_client(host, ["192.0.2.2"])
        for _ in range(2):
            ticket.open_websocket(client)
    assert asked == ["192.0.2.1", "192.0.2.2"]


def test_a_connection_that_has_ended_or_was_not_let_in_takes_no_place_and_gives_none() -> None:
    admission = Admission(most=1, most_per_address=1, proxies=PROXIES)
    ended = admission.enter("10.0.0.1")
    ended.hand_back()
    inside, refused = admission.enter("192.0.2.1"), admission.enter("192.0.2.2")
    assert ended.name_client("10.0.0.1", ["192.0.2.3"]) == "10.0.0.1"
    for ticket in (ended, refused):
        ticket.open_websocket("192.0.2.3")
        ticket.rest(lambda: pytest.fail("it has no place to give"))
    assert admission.enter("192.0.2.4").entry is AdmissionOutcome.FULL
    ended.wake()
    inside.hand_back()
    assert (admission.inside, admission.by_place) == (0, {})


HOSTS = st.sampled_from(["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "127.0.0.1"])


@given(st.integers(1, 5), st.integers(0, 3), st.lists(HOSTS | st.integers(0, 20), max_size=60))
def test_whoever_comes_and_goes_the_limits_hold_and_an_empty_house_is_empty(most: int, share: int, steps: list[str | int]) -> None:
    admission = Admission(most=most, most_per_address=share)
    here: list[Ticket] = []
    for step in steps:
        if isinstance(step, str):
            here.append(admission.enter(step))
        elif here:
            here.pop(step % len(here)).hand_back()
        inside = [ticket for ticket in here if ticket.entry is AdmissionOutcome.ADMITTED]
        assert admission.inside == len(inside) <= most
        by_place = Counter(ticket.place for ticket in inside if ticket.place is not None)
        assert by_place.pop(THIS_MACHINE, 0) <= (most - most // 5 if share else most)
        assert share == 0 or max(by_place.values(), default=0) <= share
    for ticket in here:
        ticket.hand_back()
    assert admission.inside == 0
    assert {admission.enter(f"198.51.100.{number}").entry for number in range(most)} == {AdmissionOutcome.ADMITTED}


# ---- file descriptors


class Limits:
    """A system that refuses a limit above `most`, whatever its hard limit says."""

    def __init__(self, soft: int, hard: int, most: int) -> None:
        self.now = (soft, hard)
        self._most = most

    def get(self, which: int) -> tuple[int, int]:
        return self.now

    def set(self, which: int, limits: tuple[int, int]) -> None:
        soft, hard = limits
        if soft == resource.RLIM_INFINITY or soft > self._most or (hard != resource.RLIM_INFINITY and soft > hard):
            raise ValueError("current limit exceeds maximum limit")
        self.now = limits


@pytest.mark.parametrize(
    ("soft", "hard", "most", "becomes"),
    [
        (1024, 4096, 10**9, 4096),
        (4096, 4096, 10**9, 4096),
        (256, resource.RLIM_INFINITY, 10_240, 10_240),
        (256, resource.RLIM_INFINITY, 100_000, 65_536),
        (256, 512, 300, 256),
        (100_000, resource.RLIM_INFINITY, 100_000, 100_000),
    ],
)
def test_the_limit_of_files_is_raised_as_far_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int, becomes: int
) -> None:
    limits = Limits(soft, hard, most)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    descriptors.raise_limit()
    assert limits.now == (becomes, hard)


@pytest.mark.parametrize(("soft", "connections"), [(1024, 860), (100_000, 50_000), (172, 8), (resource.RLIM_INFINITY, 50_000)])
def test_there_are_no_more_connections_than_files_for_them(monkeypatch: pytest.MonkeyPatch, soft: int, connections: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", Limits(soft, soft, soft).get)
    assert descriptors.connections_for(50_000) == connections


def test_who_rests_gives_way_to_who_needs_the_place_the_longest_first() -> None:
    admission = Admission(most=3, most_per_address=2)
    gone: list[str] = []
    tickets = {name: admission.enter(host) for name, host in (("a", "192.0.2.1"), ("b", "192.0.2.1"), ("c", "192.0.2.2"))}
    assert admission.enter("192.0.2.1").entry is AdmissionOutcome.CROWDED
    for name in "bac":
        tickets[name].rest(lambda name=name: gone.append(name))  # type: ignore[misc]
    tickets["b"].wake()
    assert admission.enter("192.0.2.1").entry is AdmissionOutcome.ADMITTED
    assert gone == ["a"]
    # What is left of this address is awake. Of the others, somebody has to go since there are too many in all.
    assert admission.enter("192.0.2.1").entry is AdmissionOutcome.CROWDED
    assert gone == ["a"]
    assert admission.enter("192.0.2.3").entry is AdmissionOutcome.ADMITTED
    assert gone == ["a", "c"]
    assert admission.inside == 3
    for ticket in tickets.values():
        ticket.hand_back()
    assert admission.inside == 2


def test_nobody_who_rests_gives_way_while_there_is_room() -> None:
    admission = Admission(most=10, most_per_address=3)
    admission.enter("192.0.2.1").rest(lambda: pytest.fail("there was room"))
    assert [admission.enter(host).entry for host in ("192.0.2.1", "192.0.2.2")] == [AdmissionOutcome.ADMITTED] * 2


def test_who_comes_through_a_proxy_makes_those_rest_no_longer_who_have_their_address() -> None:
    admission = Admission(most=10, most_per_address=1, proxies=PROXIES)
    gone: list[str] = []
    resting, coming = (admission.enter("10.0.0.1") for _ in range(2))
    assert (admission.inside, admission.by_place) == (2, {})
    resting.name_client("10.0.0.1", ["192.0.2.1"])
    resting.rest(lambda: gone.append("first"))
    coming.name_client("10.0.0.1", ["192.0.2.1"])
    assert (gone, coming.entry, admission.by_place) == (["first"], AdmissionOutcome.ADMITTED, {"192.0.2.1": 1})


def test_who_was_not_let_in_is_not_let_in_by_naming_their_client_either() -> None:
    admission = Admission(most=1, most_per_address=1, proxies=PROXIES)
    inside, refused = admission.enter("192.0.2.1"), admission.enter("10.0.0.1")
    inside.hand_back()
    refused.name_client("10.0.0.1", ["192.0.2.2"])
    assert (refused.entry, admission.inside) == (AdmissionOutcome.FULL, 0)
