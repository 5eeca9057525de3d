"""How busy the servers of a cluster are: who is sent where, and how often; and how many connections an address has in all."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from server.cluster.loads import PLACES, Load, Loads, places_told


def load(node: int, rooms: int, connections: int = 0, *, takes: bool = True) -> Load:
    return Load(node, rooms, connections, takes, writes=takes)


def as_seen_by(own: Load, *others: Load) -> Loads:
    loads = Loads(lambda: own)
    loads.hear([Loads(always(other)).say() for other in others])
    return loads


def always(value: Load) -> Callable[[], Load]:
    return lambda: value


def test_a_room_is_opened_where_its_opener_is_unless_that_server_is_much_busier_or_takes_none() -> None:
    assert as_seen_by(load(1, 60), load(2, 10)).less_busy() is None
    assert as_seen_by(load(1, 71), load(2, 10), load(3, 20)).less_busy() == load(2, 10)
    assert as_seen_by(load(1, 50, 300), load(2, 10)).less_busy() == load(2, 10), "ten connections are as a room"
    assert as_seen_by(load(1, 500), load(2, 10, takes=False), load(3, 20)).less_busy() == load(3, 20)
    assert as_seen_by(load(1, 1, takes=False), load(2, 900)).less_busy() == load(2, 900)
    assert as_seen_by(load(1, 1, takes=False), load(2, 9, takes=False)).less_busy() is None
    assert as_seen_by(load(1, 10_000)).less_busy() is None, "there is no other"


def test_whether_others_reach_the_database_is_known_of_those_that_are_heard() -> None:
    assert as_seen_by(load(1, 0), load(2, 0, takes=False), load(3, 0)).others_write
    assert not as_seen_by(load(1, 0), load(2, 0, takes=False)).others_write
    assert not as_seen_by(load(1, 0)).others_write
    assert as_seen_by(load(1, 0), Load(2, 900, 0, takes=False, writes=True)).others_write, "one that is full does too"


def test_of_the_rooms_of_a_server_that_is_gone_a_busy_one_takes_a_smaller_part() -> None:
    assert as_seen_by(load(1, 0)).takers() == 1, "there is no other"
    assert as_seen_by(load(1, 3), load(2, 3), load(3, 3)).takers() == 3
    assert as_seen_by(load(1, 90), load(2, 10), load(3, 10)).takers() == 11
    assert as_seen_by(load(1, 10), load(2, 90), load(3, 10)).takers() == 2.2
    shares = [1 / as_seen_by(own, *others).takers() for own, *others in ([load(1, 90), load(2, 10)], [load(2, 10), load(1, 90)])]
    assert sum(shares) == 1


def test_those_who_wait_for_each_other_meet_at_the_first_server_that_is_not_much_busier_than_another() -> None:
    assert as_seen_by(load(1, 70), load(2, 10), load(3, 0)).meeting_point((1, 2, 3)) == 2
    assert as_seen_by(load(3, 0), load(1, 50), load(2, 10)).meeting_point((1, 2, 3)) == 1
    assert as_seen_by(load(3, 0), load(1, 50), load(2, 10)).meeting_point((2, 3)) == 2, "the first does not answer"
    assert as_seen_by(load(2, 0), load(1, 0, takes=False)).meeting_point((1, 2)) == 2
    assert as_seen_by(load(2, 0)).meeting_point((1, 2)) == 1, "it was not heard of yet"
    assert as_seen_by(load(1, 0, takes=False), load(2, 0, takes=False)).meeting_point((1, 2)) == 1, "none takes any"


@given(st.lists(st.integers(0, 20_000), min_size=2, max_size=6))
def test_all_servers_agree_where_those_meet_who_wait_for_each_other(rooms: list[int]) -> None:
    loads = [load(number, each) for number, each in enumerate(rooms)]
    views = [as_seen_by(own, *(each for each in loads if each is not own)) for own in loads]
    assert len({view.meeting_point(range(len(rooms))) for view in views}) == 1


@given(st.lists(st.integers(0, 20_000), min_size=2, max_size=6))
def test_nobody_is_sent_back_to_a_server_that_they_were_sent_from(rooms: list[int]) -> None:
    loads = [load(number, each) for number, each in enumerate(rooms)]
    at, been = loads[0], [0]
    while (best := as_seen_by(at, *(each for each in loads if each is not at)).less_busy()) is not None:
        assert best.node not in been
        been.append(best.node)
        at = loads[best.node]
    # The next is the one with least to do, and sends nobody on.
    assert len(been) <= 2


def test_what_an_address_has_is_summed_up_over_the_others_as_long_as_these_say_it() -> None:
    loads = Loads(lambda: load(1, 0))
    there = [Load(2, 0, 0, True, True, {"192.0.2.7": (5, 9), "192.0.2.8": (6, 0)}), Load(3, 0, 0, True, True, {"192.0.2.7": (10, 1)})]
    loads.hear([msgspec.msgpack.encode(each) for each in there] + [b"\x81\xa4node", b"not this"])
    assert (loads.connections_elsewhere("192.0.2.7"), loads.rooms_elsewhere("192.0.2.7")) == (15, 10)
    assert (loads.connections_elsewhere("192.0.2.9"), loads.rooms_elsewhere("192.0.2.8")) == (0, 0)
    loads.hear([])
    assert loads.connections_elsewhere("192.0.2.7") == 0


def test_the_others_are_told_of_addresses_that_have_several_and_of_the_largest_where_there_are_too_many() -> None:
    assert places_told({"a": 4, "b": 5, "c": 1}, {"c": 8, "d": 3}) == {"b": (5, 0), "c": (1, 8)}
    crowd = {f"2001:db8:{number:x}::/64": 5 + number for number in range(2 * PLACES)}
    told = places_told(crowd, {})
    assert len(told) == PLACES
    assert min(connections for connections, _ in told.values()) == 5 + PLACES
