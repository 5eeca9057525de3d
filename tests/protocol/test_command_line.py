"""The output of both command lines, as it is written to a terminal."""

from __future__ import annotations

import io

import pytest
import typer

from protocol.command_line import folded, harmless, misuse_text

NO_SEAT = "Every seat of that race is taken. You have one as Anna B: carpet join wss://carpet.example:443 ABCDEF --name 'Anna B'"
NO_LIST = "There is no tournament with that id; see `carpet tournament list`."
NO_TERMINAL = "carpet challenge run needs a terminal, and there is none here; carpet demo shows a race in plain text."


class Terminal(io.StringIO):
    """Where somebody reads."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("sentence", "lines"),
    [
        (
            NO_SEAT,
            [
                "Every seat of that race is taken. You",
                "have one as Anna B:",
                "carpet join wss://carpet.example:443 ABCDEF --name 'Anna B'",
            ],
        ),
        (NO_LIST, ["There is no tournament with that id; see", "`carpet tournament list`."]),
        (
            NO_TERMINAL,
            ["carpet challenge run needs a terminal,", "and there is none here; carpet demo", "shows a race in plain text."],
        ),
        ("  Bert could have brought six cards more home.", ["  Bert could have brought six cards more", "  home."]),
        ("Short.", ["Short."]),
    ],
)
def test_on_a_terminal_a_sentence_is_broken_between_words_and_no_command_is(
    monkeypatch: pytest.MonkeyPatch, sentence: str, lines: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert folded(sentence, Terminal()).split("\n") == lines
    assert folded(sentence, io.StringIO()) == sentence


def test_what_a_terminal_would_obey_is_left_out_and_lines_stay() -> None:
    assert harmless("Tournament \x1b]0;title\x07ABC\x9b31m\u202e:\r\n  Zoë ♠\n") == "Tournament ]0;titleABC31m:\n  Zoë ♠\n"


def test_a_choice_that_is_missing_is_told_in_one_line() -> None:
    said = misuse_text(typer.TyperException("Missing argument 'KIND'. Choose from:\n\tcompose,\n\tdocker"), "carpet-server deploy")
    assert said == "carpet-server deploy: Missing argument 'KIND'. Choose one of compose, docker; see carpet-server deploy --help."
