"""Every form of the move text in RULES, and text that is not a move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.rules.moves import Move, NotAMove, parse_move


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("b3", Move("b3")),
        ("b3+", Move("b3", sign="+")),
        ("b3-", Move("b3", sign="-")),
        ("w", Move("w")),
        ("w+", Move("w", sign="+")),
        ("w-", Move("w", sign="-")),
        ("w:b3", Move("w", "b3")),
        ("s:b3", Move("s", "b3")),
        ("b3:w", Move("b3", "w")),
        ("b3:c2", Move("b3", "c2")),
        ("p4+", Move("p4", sign="+")),
        ("c5:p4", Move("c5", "p4")),
        ("p4:p7", Move("p4", "p7")),
        ("s", Move("s")),
        ("r", Move("r")),
        ("j2", Move("j2")),
        ("h8", Move("h8")),
    ],
)
def test_each_form_is_parsed_and_written_back(text: str, move: Move) -> None:
    assert parse_move(text) == move
    assert move.text == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "b", "3", "b0", "b9", "k1", "p9", "B3", "b33", "S", "resign"),
        *("b3 ", " b3", "b3\n", "b3:", ":b3", "b3:s", "b3:r", "b3:c2+", "w:", "w:w", "w:b3+", "ww"),
        *("s+", "s:w", "s:", "r+", "r:b3", "b3++", "b3+-", "b٣"),
    ],
)
def test_anything_else_is_no_move_and_the_error_says_what_was_there(text: str) -> None:
    with pytest.raises(NotAMove) as caught:
        parse_move(text)
    assert str(caught.value).startswith(f"not a move: {text!r} (")


@given(st.text(alphabet="abcdefghijprsw0123456789:+- ", max_size=7))
def test_a_text_is_refused_or_comes_back_as_it_was(text: str) -> None:
    try:
        move = parse_move(text)
    except NotAMove:
        return
    assert move.text == text


@pytest.mark.parametrize(
    ("text", "home"),
    [("b3", True), ("b3-", True), ("w", True), ("p4+", True), ("s", False), ("r", False), ("w:b3", False)],
)
def test_a_move_knows_whether_it_goes_to_a_foundation(text: str, home: bool) -> None:
    assert parse_move(text).to_foundation is home
