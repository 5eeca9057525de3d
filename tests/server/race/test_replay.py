"""A race replayed: what is printed for every move is what the machine told its player; and a false record is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from protocol.record import sealed, to_json
from protocol.replay import Replay, from_json
from server.race.events import MovePlayed, SeatDealt
from server.race.replay import frames
from server.race.view import see
from server.rules.catalogue import RULE_SETS, describe
from tests.client.replays import driven
from tests.server.cli.test_main import complaint, run


@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_frame_is_what_the_machine_told_its_player(rules: str) -> None:
    race = driven(rules, 2)
    replay = frames(race.record)
    told = [event for event in race.events if isinstance(event, MovePlayed)]
    told.sort(key=lambda event: (event.at_ms, event.seat, event.ply))
    assert [(frame.seat, frame.at_ms, frame.ply, frame.move, frame.state, frame.view) for frame in replay.frames] == [
        (event.seat, event.at_ms, event.ply, event.move, event.state, see(event.position)) for event in told
    ]
    assert {see(event.position) == replay.first for event in race.events if isinstance(event, SeatDealt)} == {True}
    assert (replay.record, replay.rules) == (race.record, describe(RULE_SETS[rules]))


def test_eight_seats_at_two_decks_are_one_document_that_reads_back() -> None:
    record = driven("persian-rug", 8, moves=60).record
    replay = frames(record)
    result = run("frames", "-", "--json", stdin=to_json(record))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    assert from_json(result.stdout.encode()) == replay
    assert isinstance(replay, Replay)
    assert {frame.seat for frame in replay.frames} == set(range(8))


def test_people_get_a_list_of_the_moves(tmp_path: Path) -> None:
    record = driven("carpet", 2).record
    seats = tuple(structs.replace(seat, name="\x1b[31mEve\x07") for seat in record.seats)
    file = tmp_path / "race.json"
    file.write_text(to_json(sealed(structs.replace(record, seats=seats))))
    result = run("frames", str(file))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == len(record.moves)
    assert lines[0] == "    1.000 s  Eve     1. a4       5 home"
    assert lines[-1].endswith("  no moves")
    assert "\x1b" not in result.stdout


def test_a_false_record_is_refused_in_one_sentence() -> None:
    record = driven("carpet", 2).record
    moves = (structs.replace(record.moves[0], home=9), *record.moves[1:])
    result = run("frames", "-", "--json", stdin=to_json(sealed(structs.replace(record, moves=moves))))
    assert result.exit_code == 1
    assert "not a true record: move 1 (a4), of seat 1: home is 9 but 5 cards are home after it" in complaint(result)
