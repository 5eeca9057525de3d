"""Two players at two terminals, each with a real client, on a real server: from the home screen to the rematch, guided by the screens.

Nothing here looks behind the screens: codes, cards, marks and counts are read from the text, and only keys and clicks are sent.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from protocol.seat_ends import SEAT_ENDS
from tests.e2e.commands import carpet, environment, running_server, serving
from tests.e2e.terminal import PATIENCE_S, STOCK, Terminal, terminal_environment

pytestmark = pytest.mark.slow

CURSOR = str.maketrans("▗▄▖▐▌▝▀▘", " " * 8)
BOARD_WIDTH, BOARD_ROWS = 48, range(2, 19)
"""Where the carpet lies on a screen of 80 by 24: columns, and rows below that of the letters."""
HINT = 20
"""The row of the hint on a screen of 80 by 24."""
HELD = "(esc: "
"""In the hint while a card is held."""
CARD = re.compile(r"(?:10|[2-9AJQK])[♠♥♦♣]")
MARK = "▲"


class Mark(NamedTuple):
    """A place that the screen marks as playable, and where a click on it goes."""

    place: str
    column: int
    row: int


class Player:
    """Somebody who sits at a terminal and goes by what is on it."""

    def __init__(self, terminal: Terminal, name: str) -> None:
        self.terminal = terminal
        self.name = name

    def type(self, text: str) -> None:
        self.terminal.type(text)

    def sees(self, *texts: str) -> None:
        for text in texts:
            self.terminal.wait_for(text)

    def goes_to(self, label: str) -> None:
        """Down a form or a list, line by line, to the one of this label, as who looks for it does."""
        while label not in (marked := self._marked()):
            self.type("j")
            self.terminal.wait_until(lambda lines: any("▸ " in line for line in lines) and marked not in lines, what="the next line")

    def _marked(self) -> str:
        return self.terminal.wait_until(lambda lines: next((line for line in lines if "▸ " in line), None), what="a marked line")

    def code(self) -> str:
        found = self.terminal.wait_until(lambda lines: re.search(r"· Carpet · ([A-Z]{6})\b", lines[0]), what="a code")
        return found[1]

    def races(self) -> None:
        """Wait for the clock: from then on moves are taken."""
        self.terminal.wait_until(
            lambda lines: re.match(r" ▸ (?:\d+ cards?|One card|Nothing fits|Fill the gap)", lines[20]), what="the start"
        )

    def at_turn(self) -> list[str]:
        """The screen, as soon as there is something to play on it, or their race is over."""
        return self.terminal.wait_until(lambda lines: lines if marked(lines) or not is_racing(lines) else [], what="a move to make")

    def insists(self, key: str, answer: str) -> None:
        """Press a key until what it leads to is shown: as the race ends it is taken for a key of the table."""
        is_shown = False
        while not is_shown:
            self.type(key)
            until = time.monotonic() + 1
            is_shown = self.terminal.wait_until(partial(answered, answer, until), what="an end of the quiet") == "shown"

    def play(self, *, by_mouse: bool = False) -> bool:
        """Play the first card that is marked, else turn the stock; come back when it is done. False if their race is over."""
        before = self.at_turn()
        if not is_racing(before):
            return False
        marks = marked(before)
        mark = next((mark for mark in marks if mark.place != "s"), marks[0])
        if by_mouse:
            self.terminal.click(mark.column, mark.row)
        else:
            self.type(STOCK if mark.place == "s" else mark.place)
        made = own_moves(before)
        self.terminal.wait_until(lambda lines: not is_racing(lines) or own_moves(lines) not in (None, made), what=f"what became of {mark}")
        return True


def carpet_of(lines: list[str]) -> list[str]:
    """The cards that lie on the table, as they are drawn, without cursor, marks and the keys beside them."""
    rows = [lines[row][:BOARD_WIDTH] for row in BOARD_ROWS]
    return [re.sub(f"{MARK}\\w?", " ", row.translate(CURSOR)).rstrip() for row in rows]


def cards_of(lines: list[str]) -> list[str]:
    return [card for row in carpet_of(lines) for card in CARD.findall(row)]


def piles_of(lines: list[str]) -> tuple[str, str]:
    """What is left of the stock, and what lies on the waste."""
    said = "\n".join(line[BOARD_WIDTH:] for line in lines)
    stock = re.search(r"░ (\d+) ░", said)
    waste = re.search(r"w waste (\d+)", said)
    return stock[1] if stock else "0", waste[1] if waste else ""


def table_of(lines: list[str]) -> tuple[list[str], tuple[str, str], int | None]:
    """All that their own moves change."""
    return carpet_of(lines), piles_of(lines), own_moves(lines)


def headline_of(lines: list[str]) -> str:
    """Of a result, without how close it was."""
    return re.sub(r"So close: | by [0-9.]+ (cards?|m?s)", "", lines[1].strip("╭─╮ "))


def is_racing(lines: list[str]) -> bool:
    ended = tuple(f" ▸ {end.own}"[:20] for end in SEAT_ENDS.values())
    return lines[20].startswith(" ▸ ") and not lines[20].startswith(ended)


def answered(answer: str, until: float, lines: list[str]) -> str:
    """Whether this is shown, as soon as it is, or as it is too late. until: of the monotonic clock."""
    if any(answer in line for line in lines):
        return "shown"
    return "not shown" if time.monotonic() > until else ""


def own_moves(lines: list[str]) -> int | None:
    """The count below the player's own bar."""
    own = next((number for number, line in enumerate(lines) if "(you)" in line), None)
    found = re.search(r"(\d+) moves?\s*$", lines[own + 2]) if own is not None else None
    return int(found[1]) if found else None


def marked(lines: list[str]) -> list[Mark]:
    """The places that the screen marks, named by the letters above and the numbers beside them."""
    letters = {lines[1].index(letter): letter for letter in "abcde" if letter in lines[1][:BOARD_WIDTH]}
    numbers = {row: line[1] for row, line in enumerate(lines[:20]) if line[1:2].isdigit() and line[0] == " "}
    found: list[Mark] = []
    for row, line in enumerate(lines[:20]):
        for column in (at for at, sign in enumerate(line) if sign == MARK):
            if column < BOARD_WIDTH:
                letter = letters[min(letters, key=lambda at: abs(at - column))]
                number = numbers[min(numbers, key=lambda at: abs(at - row))]
                found.append(Mark(letter + number, column, row))
            else:
                # On the stock's label, or on the card that lies on the waste.
                found.append(Mark("s" if re.search(r" s (?:stock|fill)", line) else "w", column, row))
    return found


class Table:
    """Players come to a server, each with a terminal and a folder of their own."""

    def __init__(self, tmp_path: Path, open_ones: contextlib.ExitStack, url: str) -> None:
        self._tmp_path = tmp_path
        self._open_ones = open_ones
        self.url = url

    def home(self, name: str) -> Path:
        """Where somebody's client keeps their things."""
        return self._tmp_path / name

    def sit(self, name: str, *arguments: str) -> Player:
        """Somebody runs `carpet` in a terminal, without motion: a card on its way is nowhere. The folder is the same for the same name."""
        command = [sys.executable, "-m", "client.cli.main", *arguments, "--no-motion", "--name", name]
        terminal = Terminal(command, environment=environment(self.home(name), terminal_environment()))
        return Player(self._open_ones.enter_context(terminal), name)

    def pair(self) -> tuple[Player, Player, str]:
        """Anna opens a race from the home screen, Bert joins it by its code; both are ready and see their cards."""
        anna, bert = self.sit("anna", "home", self.url), self.sit("bert", "home", self.url)
        anna.sees("You are anna.", "2 online")
        anna.type("o")
        anna.sees("Open this race")
        anna.goes_to("Countdown")
        anna.type("hh")
        anna.sees("Countdown    1 s")
        anna.goes_to("Open this race")
        anna.type("\r")
        anna.sees("Give this code to the other player:")
        code = anna.code()
        bert.sees("You are bert.", code)
        bert.type(f"c{code.lower()}\r")
        for player in (anna, bert):
            player.sees("Everybody is here. Press r when you are ready.", "anna", "bert")
        anna.type("r")
        bert.sees("✓ ready")
        bert.type("r")
        for player in (anna, bert):
            player.races()
        return anna, bert, code


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with serving() as url, contextlib.ExitStack() as open_ones:
        yield Table(tmp_path, open_ones, url)


def test_a_whole_race_and_half_a_rematch(table: Table) -> None:
    anna, bert, code = table.pair()
    # Twenty, in two corners each.
    dealt = anna.terminal.wait_until(lambda lines: carpet_of(lines) if len(cards_of(lines)) == 40 else None, what="twenty cards")
    bert.terminal.expect(carpet_of, dealt)
    for player in (anna, bert):
        player.terminal.expect(piles_of, ("28", "0"))

    # Both for a while, then one of them stops and the other plays on to the end: every move is drawn twice, and that takes its time.
    for turn in range(20):
        anna.play()
        bert.play(by_mouse=turn % 3 == 0)
    if is_racing(bert.at_turn()):
        bert.type("K")
        bert.sees("Stop now? The cards you brought home count.")
        bert.type("y")
        bert.terminal.wait_until(lambda lines: not is_racing(lines), what="that bert has stopped")
    turns = 0
    while anna.play():
        turns += 1
        assert turns < 150

    for player in (anna, bert):
        player.sees("The deal checks out: nobody chose the cards.", "r: rematch against the same players")
        # The last are the curves.
        for shown in (r"● [12] anna", r"● [12] bert", r"[▀⠁-⣿]{4}"):
            player.terminal.wait_until(lambda lines, shown=shown: re.search(shown, "\n".join(lines)), what=shown)  # type: ignore[misc]
    headlines = {player.terminal.wait_until(headline_of, what="a headline") for player in (anna, bert)}
    assert headlines in ({"You won!", "anna won."}, {"You won!", "bert won."}, {"A draw: you share the first place."})

    anna.insists("d", "The seed follows")
    anna.sees("✓ seed        The seed follows", "✓ cards       Your cards lay as the seed shuffles them.")
    anna.insists("r", "Rematch: waiting for")
    bert.sees("anna would like a rematch. Press r.")
    bert.type("r")
    # Both have just asked, and are ready by that.
    for player in (anna, bert):
        player.sees(f"{code} · race 2")
        player.races()
    for player in (anna, bert):
        player.terminal.expect(lambda lines: len(cards_of(lines)), 40)
    bert.terminal.expect(carpet_of, anna.terminal.wait_until(carpet_of))
    anna.play()
    bert.type("R")
    bert.sees("Give up? You will be placed last.")
    bert.type("y")
    bert.sees("anna won.", "walkover", "forfeit")
    anna.sees("You won!", "walkover", "forfeit")
    for player in (anna, bert):
        player.type("q")
        said = player.terminal.wait_for_end()
        assert player.terminal.given_back()
        assert player.terminal.process.returncode == 0
        # What it says then can be done as it stands.
        kept = re.search(
            r"The record of your race is\s+(\S+);\s+to\s+watch\s+it:\s+carpet replay;\s+to\s+check\s+it:\s+carpet verify\s", said
        )
        assert kept is not None, said
        assert Path(kept[1]).is_file()
        checked = carpet(table.home(player.name), "verify")
        assert (checked.status, checked.err) == (0, "")
        assert checked.out.startswith(f"verified: race 2 of {code}")


def test_a_player_whose_client_dies_comes_back_to_their_cards(table: Table) -> None:
    anna, bert, code = table.pair()
    for _ in range(4):
        anna.play()
    table_of_anna = table_of(anna.at_turn())
    assert own_moves(anna.at_turn()) == 4
    anna.terminal.process.kill()
    bert.terminal.wait_until(lambda lines: any(re.search(r"anna +away, \d+ s left", line) for line in lines), what="that anna is away")
    bert.play()
    bert.terminal.expect(own_moves, 1)

    again = table.sit("anna", "join", table.url, code)
    again.races()
    again.terminal.expect(table_of, table_of_anna)
    bert.terminal.wait_until(lambda lines: not any("away" in line for line in lines), what="that anna is back")
    again.play()
    again.terminal.expect(own_moves, 5)
    bert.terminal.wait_until(lambda lines: any("5 moves" in line for line in lines[15:]), what="anna's next move")


def test_the_record_is_kept_when_the_result_is_there_however_the_client_ends(table: Table) -> None:
    anna, bert, code = table.pair()
    bert.type("R")
    bert.sees("Give up? You will be placed last.")
    bert.type("y")
    anna.sees("You won!")
    anna.terminal.process.kill()
    checked = carpet(table.home("anna"), "verify", str(table.home("anna") / "last-race.json"))
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.startswith(f"verified: race 1 of {code}")


def test_whoever_quits_at_the_result_and_hosts_again_gets_the_race_that_they_asked_for(table: Table) -> None:
    _, bert, code = table.pair()
    again = table.sit("anna", "host", table.url, "--rules", "twenty")
    again.races()
    question = f"You still hold a seat in race {code}: you are back in it."
    again.sees(question, "2  Forfeit the rated race, and open another race")
    again.type("\r")
    again.terminal.wait_for_end_of(question)
    bert.type("R")
    bert.sees("Give up? You will be placed last.")
    bert.type("y")
    again.sees("You won!")
    again.type("q")
    again.terminal.wait_for_end()

    another = table.sit("anna", "host", table.url, "--rules", "twenty")
    another.sees("Give this code to the other player:", "Twenty")
    another.terminal.expect(lambda lines: code in lines[0], False)
    bert.sees("has left.")


def test_a_server_that_is_ended_is_told_to_both_and_lets_them_go(tmp_path: Path) -> None:
    with running_server() as (url, server), contextlib.ExitStack() as open_ones:
        anna, bert, _ = Table(tmp_path, open_ones, url).pair()
        anna.play()
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
        for player in (anna, bert):
            player.sees("reconnecting in")
            # The second sentence where the client has already tried to come back.
            player.terminal.wait_until(lambda lines: re.search("The server is going away|Nothing answers at", "".join(lines)), what="why")
        for player in (anna, bert):
            player.type("q")
            player.terminal.wait_for_end()
            assert player.terminal.given_back()
            assert player.terminal.process.returncode == 0


def test_whoever_is_matched_with_somebody_who_does_nothing_is_soon_looking_again_and_finds_the_next(table: Table) -> None:
    anna, bert = table.sit("anna", "match", table.url), table.sit("bert", "match", table.url)
    for player in (anna, bert):
        player.sees("Everybody is here. Press r when you are ready.")
    anna.type("r")
    anna.sees("Waiting for bert to be ready: 0:1")
    bert.sees("anna is ready. Press r within 0:1")
    anna.sees("Your opponent did not get ready: you are back at your place in the queue.", "Looking for an opponent")
    bert.sees("waiting, and have lost your seat.")
    bert.type("m")
    for player in (anna, bert):
        player.sees("(2 waiting, ")
    cleo = table.sit("cleo", "match", table.url)
    for player in (anna, cleo):
        player.sees("Everybody is here. Press r when you are ready.")
    anna.type("r")
    cleo.sees("anna is ready. Press r within")
    cleo.type("r")
    for player in (anna, cleo):
        player.races()
    bert.sees("(1 waiting, ")
