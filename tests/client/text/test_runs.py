"""Boards and lists of challenges as text: in 76 columns, always with the player's own line, and nothing harmful from a server."""

from __future__ import annotations

from msgspec.structs import replace

from client.text.runs import board_lines, board_title, challenge_lines, moment_text, run_line
from protocol.run_messages import ChallengeInfo
from tests.client import runs

HOUR_MS = 3600_000


def challenge(**fields: object) -> ChallengeInfo:
    values: dict[str, object] = {
        "id": "WUKMRT",
        "owner": "Anna",
        "rules": "carpet-free",
        "time_limit_s": 600,
        "public": True,
        "commitment": "00" * 32,
        "made_at_ms": 0,
        "closes_at_ms": 30 * HOUR_MS,
        "reveals_at_ms": 31 * HOUR_MS,
        "runs": 3,
        "ran": False,
    }
    return ChallengeInfo(**(values | fields))  # type: ignore[arg-type]


def test_a_board_has_a_line_a_run_best_first_with_ones_own_marked() -> None:
    lines = board_lines(runs.board())
    assert [own for own, _ in lines] == [False, False, True, False]
    assert lines[0][1].split() == ["place", "player", "home", "time", "beats", "in", "a", "row", "ended"]
    assert lines[1][1].split() == ["1", "Benedikt", "52", "2:17.3", "100", "%", "11", "all", "home"]
    assert max(len(line) for _, line in board_lines(runs.board(runs=100))) <= 76


def test_a_challenges_board_has_no_days() -> None:
    lines = board_lines(runs.board("challenge"))
    assert lines[0][1].split() == ["place", "player", "home", "time", "beats", "ended"]


def test_where_there_is_little_room_ones_own_line_stays() -> None:
    board = runs.board(runs=50)
    last = replace(board, own=board.rows[40])
    assert [line.split()[0] for _, line in board_lines(last, rows=5)] == ["place", "1", "2", "3", "41"]
    assert board_lines(last, rows=5)[-1][0]
    # Beyond the best hundred it comes beside them.
    beyond = replace(board, own=runs.row(137, "Anna", 4))
    assert board_lines(beyond)[-1][1].split()[0] == "137"


def test_what_is_not_shown_and_what_nobody_has_run_are_said_in_a_sentence() -> None:
    unseen = runs.board(shown=False, rows=(), own=None)
    assert board_lines(unseen) == [(False, "You see the runs once you have had your own, or the deal is revealed.")]
    assert board_lines(runs.board(runs=0)) == [(False, "Nobody has run it.")]
    assert board_title(unseen, "Carpet") == "The deal of 2026-11-21, Carpet: 3 runs so far."
    assert board_title(runs.board("challenge", runs=1, secret="00" * 32), "carpet") == "Challenge WUKMRT, carpet: 1 run."


def test_no_name_can_touch_the_terminal() -> None:
    enemy = runs.row(1, "\x1b[31mEve\x9b\u202e", 3)
    lines = board_lines(runs.board(rows=(enemy,), own=None))
    assert all(line.isprintable() for _, line in lines)
    assert all(line.isprintable() for line in challenge_lines([challenge(owner="\x1b]0;x\x07Eve", id="A\x9bB")], 0))


def test_challenges_are_listed_with_the_time_that_is_left() -> None:
    closing = challenge(closes_at_ms=HOUR_MS // 2, time_limit_s=45)
    heading, first, second, third = challenge_lines([challenge(), challenge(closes_at_ms=50 * HOUR_MS, ran=True), closing], 0)
    assert heading.split() == ["id", "rules", "limit", "runs", "closes", "in", "yours", "opened", "by"]
    assert first.split() == ["WUKMRT", "carpet-free", "10", "min", "3", "30", "h", "not", "yet", "Anna"]
    assert second.split() == ["WUKMRT", "carpet-free", "10", "min", "3", "2", "days", "done", "Anna"]
    assert third.split()[2:7] == ["45", "s", "3", "30", "min"]
    assert " 1 min " in challenge_lines([challenge(closes_at_ms=HOUR_MS)], HOUR_MS - 1)[1]
    assert "closed" in challenge_lines([challenge(closes_at_ms=HOUR_MS)], HOUR_MS)[1]
    assert challenge_lines([], 0) == ["There is no challenge to run just now; open one: carpet challenge create SERVER."]


def test_a_moment_that_no_calendar_has_is_a_dash() -> None:
    assert moment_text(1_795_262_400_000) == "2026-11-21 12:00"
    assert moment_text(2**62) == "-"


def test_a_run_is_told_to_others_in_a_line_that_says_nothing_of_the_deal_and_how_to_run_it_too() -> None:
    daily, challenge = runs.board(), runs.board("challenge")
    told = "Carpet Race, deal of 2026-11-21, Carpet: 51/52 in 2:14.6, place 2 of 3, 10 days in a row."
    assert run_line(daily, "Carpet", 52, "") == told
    assert run_line(daily, "Carpet", 52, "carpet.example") == f"{told} Your turn: carpet daily carpet.example --rules carpet"
    points = ((0, 4), (30_000, 20), (100_000, 40), (134_600, 51))
    with_course = run_line(daily, "Carpet", 52, "", points=points)
    assert with_course == told.replace("51/52", "▁▁▄▄▄▄▄▇▇█ 51/52")
    assert "#" in run_line(daily, "Carpet", 52, "", points=points, ascii_only=True)
    asked = run_line(challenge, "Carpet", 52, "carpet.example:80")
    assert asked.endswith("Your turn: carpet challenge run carpet.example:80 WUKMRT")
    assert run_line(runs.board(own=None), "Carpet", 52, "carpet.example") == ""
