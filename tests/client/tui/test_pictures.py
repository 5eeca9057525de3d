"""Pictures of cards: what is drawn, what a terminal is asked and sent, and a pseudo-terminal that answers like one that shows them."""

from __future__ import annotations

import base64
import re
import sys
import zlib
from collections.abc import Callable

import pytest

from client.text.width import text_width
from client.tui.drawing import kitty
from client.tui.drawing.card_picture import ROLE, SIGNS, pixels
from client.tui.drawing.cards import HUGE, LARGE, MEDIUM, SMALL, CardSize, face
from client.tui.drawing.picture import line_width
from client.tui.drawing.theme import CLASSIC, FOUR, Palette, theme_for
from protocol.cards import CARD_TEXT
from tests.e2e.terminal import ROOT, Terminal, terminal_environment

PICTURED = theme_for("classic", ascii_only=False, colours=2**24, own=None, pictures=True)
CELL = (10, 20)
YES = "\x1b_Gi=31;OK\x1b\\"
KITTY, OLD_KITTY, GHOSTTY, WEZTERM = (
    f"\x1bP>|{name}\x1b\\" for name in ("kitty(0.35.2)", "kitty(0.26.5)", "ghostty 1.0.1", "WezTerm 2024")
)
END = "\x1b[?62;4c"


# ---- what is drawn


@pytest.mark.parametrize("size", [HUGE, LARGE, MEDIUM, SMALL], ids=lambda size: f"{size.width}x{size.height}")
def test_a_card_is_its_rank_and_suit_as_text_and_for_the_rest_cells_of_its_picture_in_their_order(size: CardSize) -> None:
    for card in CARD_TEXT:
        lines = face(card, size, PICTURED, "lit", mark="^")
        plain = face(card, size, theme_for("classic", ascii_only=False, colours=256, own=None), "lit", mark="^")
        assert [line_width(line) for line in lines] == [line_width(line) for line in plain]
        for row, line in enumerate(lines):
            column = 0
            for role, text in line:
                if role.startswith(ROLE):
                    assert role == f"{ROLE}{card} lit {size.width}x{size.height}"
                    assert [SIGNS[ord(sign)] for sign in text] == [(row, at) for at in range(column, column + len(text))]
                column += text_width(text)
        seen = ["".join(text for role, text in line if not role.startswith(ROLE)) for line in lines]
        assert seen[0] == plain[0][0][1].split()[0] + "^"
        assert seen[-1] == plain[0][0][1].split()[0]
        assert not any(seen[1:-1])


@pytest.mark.parametrize(("card", "palette"), [("5H", CLASSIC), ("5D", FOUR), ("AS", CLASSIC), ("KC", FOUR), ("TD", CLASSIC)])
@pytest.mark.parametrize("size", ["6x3", "9x5", "15x10"])
def test_a_picture_has_the_palettes_colours_and_round_corners(card: str, palette: Palette, size: str) -> None:
    drawn = pixels(f"{ROLE}{card} card {size}", palette, CELL)

    assert f"{drawn.columns}x{drawn.rows}" == size
    assert (drawn.width, drawn.height) == (drawn.columns * CELL[0], drawn.rows * CELL[1])
    assert len(drawn.data) == 4 * drawn.width * drawn.height
    colours = {drawn.data[at : at + 4] for at in range(0, len(drawn.data), 4)}
    ink = palette.suits["SHDC".index(card[1])].exact
    assert {bytes.fromhex(f"{exact[1:]}ff") for exact in (ink, palette.ivory.exact)} <= colours
    corners = (0, drawn.width - 1, (drawn.height - 1) * drawn.width, drawn.height * drawn.width - 1)
    assert [drawn.data[4 * at + 3] for at in corners] == [0] * 4
    assert drawn.data[4 * (drawn.height // 2) * drawn.width + 3] == 255


# ---- what is asked and told


@pytest.mark.parametrize(
    ("answers", "knows"),
    [
        (YES + KITTY + END, True),
        (KITTY + YES + END, True),
        (YES + GHOSTTY + END, True),
        (YES + OLD_KITTY + END, False),
        (YES + WEZTERM + END, False),
        (YES + END, False),
        (KITTY + END, False),
        ("\x1b_Gi=31;ENOTSUP:no\x1b\\" + KITTY + END, False),
        (END, False),
        (YES + KITTY, None),
        ("", None),
    ],
)
def test_pictures_are_sent_to_terminals_alone_that_take_them_and_know_their_signs(answers: str, knows: bool | None) -> None:
    asked = kitty.Answers()
    assert asked.typed(answers.encode()) == b""
    assert asked.knows is knows


@pytest.mark.parametrize("cut", range(1, len(YES + KITTY)))
def test_answers_are_taken_out_of_what_is_typed_wherever_they_are_cut(cut: int) -> None:
    asked, heard = kitty.Answers(), f"c1{YES}{KITTY}".encode()
    first, then = heard[: 2 + cut], heard[2 + cut :] + b"q" + END.encode() + b"y"
    if first.endswith(b"\x1b") and then[:1] != b"\\":
        # An escape with nothing behind it may be the key: urwid holds that back itself.
        first, then = first[:-1], b"\x1b" + then

    assert asked.typed(first) + asked.typed(then) == b"c1qy"
    assert asked.knows is True


def test_what_only_looks_like_an_answer_is_typed_and_held_back_no_longer_than_one_could_be() -> None:
    asked = kitty.Answers()
    assert asked.typed(b"\x1b_Gi=31;") == b""
    assert asked.typed(b"x" * 300) == b"\x1b_Gi=31;" + b"x" * 300
    asked.typed((YES + KITTY + END).encode())
    assert asked.typed(END.encode()) == END.encode()
    assert asked.typed(b"\x1b_G") == b"\x1b_G"


def test_a_picture_is_sent_in_pieces_and_is_whole_again_when_they_are_put_together() -> None:
    drawn = pixels(f"{ROLE}KH card 15x10", CLASSIC, (16, 32))
    told = kitty.sent(0x12345, drawn)
    pieces = re.findall(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\", told)

    assert zlib.decompress(base64.b64decode("".join(data for _, data in pieces))) == drawn.data
    assert all(len(data) <= 4096 for _, data in pieces)
    assert [keys[-3:] for keys, _ in pieces] == ["m=1"] * (len(pieces) - 1) + ["m=0"]
    assert f"i={0x12345},f=32,o=z,s={drawn.width},v={drawn.height}" in pieces[0][0]
    assert told.endswith(f"\x1b_Ga=p,U=1,q=2,i={0x12345},c=15,r=10\x1b\\")
    assert kitty.ink(0x12345) == "#012345"


# ---- in a terminal


@pytest.fixture
def race() -> Callable[[str], Terminal]:
    def start(answers: str) -> Terminal:
        terminal = Terminal(
            [sys.executable, "-m", "tests.client.tui.terminal_app", "--pictures"],
            environment=terminal_environment(PYTHONPATH=str(ROOT), COLORTERM="truecolor"),
        )
        terminal.wait_until(lambda _: kitty.ASK.encode() in terminal.raw or None, what="the question")
        terminal.type(answers)
        return terminal

    return start


def kept(raw: bytes) -> set[int]:
    """The pictures that a terminal keeps that was told this."""
    numbers: set[int] = set()
    for keys in re.findall(rb"\x1b_G([^;\x1b]*)", raw):
        told = dict(key.split(b"=") for key in keys.split(b","))
        if told.get(b"a") == b"t":
            numbers.add(int(told[b"i"]))
        elif told.get(b"a") == b"d":
            numbers.remove(int(told[b"i"]))
    return numbers


def cells(terminal: Terminal) -> dict[tuple[int, int], tuple[int, str]]:
    """Where cells of pictures are seen: of which picture, and which cell of it."""
    seen = {(x, y): cell for y, row in terminal.screen.buffer.items() for x, cell in row.items()}
    return {place: (int(cell.fg, 16), cell.data) for place, cell in seen.items() if cell.data in kitty.CELLS.values()}


def shown(terminal: Terminal) -> set[int]:
    """The pictures of which cells are seen."""
    return {number for number, _ in cells(terminal).values()}


@pytest.mark.slow
def test_a_terminal_that_shows_pictures_is_sent_those_that_are_seen_and_keeps_none_after_it(race: Callable[[str], Terminal]) -> None:
    with race(YES + KITTY + END) as terminal:
        terminal.wait_for("3 cards can go home")
        terminal.expect(lambda _: len(shown(terminal)), 25)
        # A question covers them as it covers text.
        whole = terminal.wait_until(lambda _: cells(terminal), what="pictures")
        small = {number for number, _ in whole.values()}
        assert small <= kept(terminal.raw)
        terminal.type("q")
        terminal.wait_for("Quit?")
        terminal.wait_until(lambda _: 0 < len(cells(terminal)) < len(whole), what="pictures beside the question")
        terminal.type("n")
        terminal.wait_until(lambda lines: cells(terminal) == whole or None, what="all of them")
        terminal.resize(120, 40)
        terminal.wait_until(lambda lines: len(shown(terminal) - small) == 25 or None, what="larger pictures")
        terminal.expect(lambda _: small & kept(terminal.raw), set())
        terminal.type("\x1a")
        terminal.wait_until(lambda lines: terminal.raw.count(kitty.ASK.encode()) == 2 or None, what="the question again")
        terminal.expect(lambda _: kept(terminal.raw), set())
        terminal.type(YES + KITTY + END)
        terminal.wait_until(lambda lines: kept(terminal.raw) or None, what="pictures again")
        terminal.type("c1qy")
        said = terminal.wait_for_end()
        # What it answered was no key.
        assert "'c1']" in said
        assert not kept(terminal.raw)
        assert terminal.given_back()


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["", YES + WEZTERM + END], ids=["silent", "without their signs"])
def test_a_terminal_without_pictures_shows_cards_as_ever(answers: str, race: Callable[[str], Terminal]) -> None:
    with race(answers) as terminal:
        terminal.wait_for("3 cards can go home")
        terminal.wait_for("▲1")
        terminal.type("c1qy")
        assert "'c1']" in terminal.wait_for_end()
        assert b"a=t" not in terminal.raw
        assert b"\xf4\x8e\xbb\xae" not in terminal.raw
