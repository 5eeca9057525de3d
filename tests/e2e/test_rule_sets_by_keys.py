"""Six rule sets, each raced by a person at a terminal from the home screen to the result: by its own features, and by keys alone.

The person goes by what the screen shows: the list of rules, the hint below the table, cards, counts and labels. Only the deals are chosen
beforehand, by name, so that each race comes to what its rules are about. What was typed is held against the record in the end.

The other seat is taken over the wire by somebody who stops at once: nobody can win before the person has, however slow the machine.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from protocol.record import Record, from_json
from server.race.audit import audit
from tests.e2e.commands import environment
from tests.e2e.peer import Peer
from tests.e2e.terminal import Terminal, terminal_environment
from tests.e2e.test_two_terminals import CARD, HELD, HINT, Player, is_racing, marked, own_moves

pytestmark = pytest.mark.slow


class Person(Player):
    """Somebody who reads the hint. typed: what became moves, each as the places that were pressed for it."""

    def __init__(self, terminal: Terminal, name: str, url: str) -> None:
        super().__init__(terminal, name)
        self.url = url
        self.typed: list[tuple[str, ...]] = []

    def opens(self, rules: str, deal: str) -> None:
        """From the home screen: a race at these rules, chosen from the list, on the deal of this name."""
        self.sees(f"You are {self.name}.")
        self.type("o")
        self.sees("Open this race")
        self.goes_to("Rules ")
        self.type("\r")
        self.sees("Rules of the race", "▸ Carpet ")
        listed = self.terminal.lines()
        row = next(at for at, line in enumerate(listed) if line.strip().startswith(rules))
        self.type("j" * (row - next(at for at, line in enumerate(listed) if "▸ Carpet " in line)))
        self.sees(f"▸ {rules} ")
        self.type("\r")
        self.sees(f"Rules        {rules}")
        self.goes_to("Deal ")
        self.type("\r")
        self.sees("Deal name")
        self.type(f"{deal}\r")
        self.sees(f"Deal         {deal}")
        self.goes_to("Countdown")
        self.type("hh")
        self.sees("Countdown    1 s")
        self.goes_to("Open this race")
        self.type("\r")
        self.sees("Give this code to the other player:", f"Named deal: {deal}")
        code = self.terminal.wait_until(lambda lines: re.search(rf" · {rules} · ([A-Z]{{6}})\b", lines[0]), what="a code")[1]
        with Peer(self.url, f"{self.name}'s rival") as rival:
            assert rival.ask("join-race", code=code)["seat"] == 1
            rival.send("ready", race=1, nonce=os.urandom(16).hex())
            self.sees("Everybody is here. Press r when you are ready.", f"✓ {self.name}'s rival")
            self.type("r")
            rival.hear_until("started")
            rival.send("stop", race=1, seat=1)
            self.races()
            self.sees("stopped")

    @property
    def hint(self) -> str:
        return self.terminal.lines()[HINT][3:].rstrip()

    @property
    def held(self) -> str:
        """What is held, by the hint."""
        return self.hint.split()[0] if HELD in self.hint else ""

    def press(self, place: str) -> None:
        """Type a place's name and wait for what comes of it: a move, a card that is held, or the end."""
        before, held, made = self.hint, self.held, self.moves()
        self._name(place)
        self.terminal.wait_until(
            lambda lines: not is_racing(lines) or own_moves(lines) != made or (HELD in lines[HINT] and before not in lines[HINT]),
            what=f"what became of {place} after {before!r}",
        )
        if not self.is_racing() or self.moves() != made:
            self.typed.append((held, place) if held else (place,))

    def is_refused(self, place: str, why: str) -> None:
        """Type a place's name that cannot be played now, and read why."""
        made = self.moves()
        self._name(place)
        self.sees(why)
        assert self.moves() == made

    def _name(self, place: str) -> None:
        # h and j are keys of the cursor; a slot in their columns is named after an apostrophe.
        self.type(f"'{place}" if place[0] in "hj" else place)

    def card_at(self, slot: str) -> str:
        """The card that is drawn at a slot of a carpet, or nothing."""
        lines = self.terminal.lines()
        column, row = lines[1].index(slot[0]), next(at for at, line in enumerate(lines) if line[:3].strip() == slot[1])
        found = CARD.search(lines[row - 1][column - 4 : column + 4])
        return found[0] if found else ""

    def waste_top(self) -> str:
        """The card that lies open on the waste."""
        lines = self.terminal.lines()
        at, label = next((at, line) for at, line in enumerate(lines) if "w waste" in line)
        found = CARD.search(lines[at + 1][label.index("w waste") :])
        assert found is not None
        return found[0]

    def counts(self) -> tuple[int, int]:
        """How many cards there are in the stock and on the waste."""
        stock, waste = self.piles()
        return int(stock), int(waste)

    def has_won(self) -> Record:
        record = self._result(r"52/52 .* all home")
        assert record.seats[0].state == "won"
        return record

    def stops(self) -> Record:
        """Enough: the cards home are kept."""
        home = next(found[1] for line in self.terminal.lines() if (found := re.search(r"(\d+) cards home", line)))
        self.type("K")
        self.sees("Stop now and keep your cards home?")
        self.type("y")
        record = self._result(rf"{home}/\d+ .* stopped")
        assert (record.seats[0].state, record.seats[0].home) == ("stopped", int(home))
        return record

    def _result(self, row: str) -> Record:
        """What the result says, and the record that the client keeps of it. row: of one's own line, from the name on."""
        self.sees("r rematch", "✓ The deal checks out: it is the shuffle of its name.")
        lines = self.terminal.lines()
        assert any(re.search(rf"● \d {self.name} \(you\) +{row}", line) for line in lines), "\n".join(lines)
        self.type("q")
        said = self.terminal.wait_for_end()
        assert self.terminal.given_back()
        kept = re.search(r"^The record of your race is (.*); to check it:", said, re.MULTILINE)
        assert kept is not None, said
        record = from_json(Path(kept[1]).read_text(encoding="utf-8"))
        audit(record)
        assert [(seat.name, seat.place) for seat in record.seats] == [(self.name, 1), (f"{self.name}'s rival", 2)]
        assert lines[2].strip().startswith("You won")
        moves = own(record)
        assert len(moves) == len(self.typed)
        for pressed, move in zip(self.typed, moves, strict=True):
            # The first place that was pressed is where the move begins, or the gap that is filled.
            assert re.match(rf"{pressed[0]}(?:[-+:]|$)|[ws]:{pressed[0]}$", move), (pressed, move)
        return record


def own(record: Record) -> list[str]:
    return [move.move for move in record.moves if move.seat == 0]


def suggested(person: Person) -> str:
    """The place that a hint names first: of a card that goes home, of one for the waste, the stock, the waste, the redeal.

    Where all go home it names the key for that, and the places are marked.
    """
    hint = person.hint
    if hint == "Every card goes home now: press g to finish.":
        return marked(person.terminal.lines())[0].place
    for pattern in (r"can go home: (?:waste \()?(\w+)", r"onto the waste: (\w+)", r"\((s)\)", r"\b(w) fills", r"\((r)\)"):
        if found := re.search(pattern, hint):
            return found[1]
    raise AssertionError(f"the hint names nothing to press: {hint}")


def gap_in(hint: str) -> str:
    """The gap that has to be filled from waste or stock, or nothing."""
    found = re.match(r"Fill the gap at (\w\d): w with the waste's top card, s with the next stock card\.$", hint)
    return found[1] if found else ""


@contextlib.contextmanager
def sitting(name: str, url: str, home: Path) -> Iterator[Person]:
    """Somebody at a terminal, on a server's home screen. Names are unique there, so each test has its own."""
    command = [sys.executable, "-m", "client.cli.main", "home", url, "--no-motion", "--name", name]
    with Terminal(command, environment=environment(home, terminal_environment())) as terminal:
        yield Person(terminal, name, url)


# ---- carpets


def test_aces_in_the_deck_are_played_by_their_slots_and_gaps_filled_from_waste_and_stock(fast_server: str, tmp_path: Path) -> None:
    with sitting("ada", fast_server, tmp_path) as player:
        player.opens("Carpet, Aces in the deck", "keys 148")
        player.sees(" 0 cards home")
        assert player.counts() == (32, 0)
        aces: list[str] = []
        while player.is_racing():
            hint = player.hint
            place = "sw"[len(player.typed) % 2] if gap_in(hint) else suggested(player)
            if place not in "ws" and player.card_at(place)[0] == "A":
                aces.append(place)
            player.press(place)
        moves = own(player.has_won())
        assert aces
        assert set(aces) <= set(moves)
        assert {move[:2] for move in moves if ":" in move} == {"w:", "s:"}


def test_a_waste_is_dealt_again_and_a_gap_named_before_the_card_that_fills_it(fast_server: str, tmp_path: Path) -> None:
    with sitting("ben", fast_server, tmp_path) as player:
        player.opens("Carpet with redeal", "keys 176")
        player.sees("redeals left: 1")
        player.is_refused("r", "There is no redeal now.")
        while player.is_racing():
            hint = player.hint
            if player.held:
                assert hint.startswith(f"{player.held} can take the stock (s) or waste (w): choose the card.")
                player.press("sw"[len(player.typed) % 2])
            elif hint == "The stock is empty: redeal the waste (r).":
                before = player.counts()
                assert before[0] == 0
                player.press("r")
                assert player.counts() == before[::-1]
                assert not player.terminal.shows("redeals left: 1")
            else:
                player.press(gap_in(hint) or suggested(player))
        moves = own(player.has_won())
        assert moves.count("r") == 1
        assert {move[:2] for move in moves if ":" in move} == {"w:", "s:"}
        assert any(len(pressed) == 2 for pressed in player.typed)


def test_free_gaps_wait_until_a_card_of_the_waste_is_told_to_go_there(fast_server: str, tmp_path: Path) -> None:
    with sitting("cleo", fast_server, tmp_path) as player:
        player.opens("Carpet, free gaps", "keys 380")
        waited: list[str] = []
        filled: list[str] = []
        while len(filled) < 4:
            hint, before = player.hint, player.counts()
            if " goes home" in hint:
                player.press("w")
            elif player.held:
                # The gap that is named last, not the one that a second w would take.
                goal, top = re.findall(r"\b[a-e][1-4]\b", hint.partition(". ")[0])[-1], player.waste_top()
                player.press(goal)
                assert (player.card_at(goal), player.counts()) == (top, (before[0], before[1] - 1))
                filled.append(goal)
            elif "can go home: " not in hint and re.search(r"\bw fills \w\d(?:,| or)", hint):
                player.press("w")
                assert player.held == "w"
            else:
                place = suggested(player)
                player.press(place)
                if place not in "ws":
                    # Nothing comes into the gap by itself.
                    assert (player.card_at(place), player.counts()) == ("", before)
                    waited.append(place)
        moves = own(player.stops())
        assert set(filled) <= set(waited)
        assert moves[-4:] == [f"w:{goal}" for goal in filled]


def test_the_whist_pack_fills_gaps_by_itself_and_keeps_the_stock_shut(fast_server: str, tmp_path: Path) -> None:
    with sitting("dora", fast_server, tmp_path) as player:
        player.opens("Whist-pack Carpet", "keys 103")
        assert " can go home: " in player.hint
        player.is_refused("s", "The stock cannot be turned while a card can be played.")
        filled = {"waste": 0, "stock": 0}
        while player.is_racing():
            stock, waste = player.counts()
            top = player.waste_top() if waste else ""
            place = suggested(player)
            player.press(place)
            if place in "ws" or not player.is_racing():
                continue
            if waste:
                assert (player.card_at(place), player.counts()) == (top, (stock, waste - 1))
                filled["waste"] += 1
            elif stock:
                assert player.card_at(place)
                assert player.counts() == (stock - 1, 0)
                filled["stock"] += 1
        moves = own(player.has_won())
        assert all(filled.values())
        assert not any(":" in move for move in moves)


# ---- quilts, unravelled as far as the first cards after a redeal


class Cell(NamedTuple):
    """A card of the quilt as it is drawn; no card where there is a gap."""

    card: str
    sideways: bool


def quilt(lines: list[str]) -> dict[str, Cell]:
    """The quilt: eight by eight cells of six columns and two rows. A sideways card ends in half a row of its colour."""
    cells: dict[str, Cell] = {}
    for row in range(8):
        for column in range(8):
            above, below = (lines[2 + 2 * row + half][2 + 6 * column : 8 + 6 * column] for half in range(2))
            found = CARD.search(above)
            cells[f"{'abcdefgh'[column]}{row + 1}"] = Cell(found[0] if found else "", "▀" in below)
    return cells


def lanes(cells: dict[str, Cell], slot: str) -> list[list[bool]]:
    """From each narrow end of a card to the edge: where there are cards."""
    column, row = "abcdefgh".index(slot[0]), int(slot[1])
    lines = ([range(column - 1, -1, -1), range(column + 1, 8)], [range(row - 1, 0, -1), range(row + 1, 9)])
    if cells[slot].sideways:
        return [[bool(cells[f"{'abcdefgh'[at]}{row}"].card) for at in line] for line in lines[0]]
    return [[bool(cells[f"{slot[0]}{at}"].card) for at in line] for line in lines[1]]


def has_free_end(cells: dict[str, Cell], slot: str) -> bool:
    return any(not any(lane[:1]) for lane in lanes(cells, slot))


def has_clear_lane(cells: dict[str, Cell], slot: str) -> bool:
    return any(not any(lane) for lane in lanes(cells, slot))


class Weaver:
    """How a person unravels a quilt. lying: the waste, as its cards were seen to come. played: each slot pressed, and the quilt then."""

    def __init__(self, player: Person) -> None:
        self.player = player
        self.lying: list[str] = []
        self.played: list[tuple[dict[str, Cell], str]] = []
        self._answers: list[str] = []

    def unravels(self) -> None:
        """Until all has been seen: each way a card can go, cards of both directions, one from column h. Then turn the stock to its end."""
        while not self._has_seen_all():
            if self.player.held:
                # Each of the ways in its turn: up, down, onto the waste.
                ways = re.findall(r"\(([-+w])\)", self.player.hint.partition(". ")[0])
                self._answers.append(ways[len(self._answers) % len(ways)])
                self.presses(self._answers[-1])
            else:
                place = suggested(self.player)
                if place not in "ws":
                    self.played.append((quilt(self.player.terminal.lines()), place))
                self.presses(place)
        while self.player.counts()[0]:
            self.presses("s")

    def _has_seen_all(self) -> bool:
        directions = {cells[slot].sideways for cells, slot in self.played}
        return set(self._answers) == {"+", "-", "w"} and directions == {True, False} and any(slot[0] == "h" for _, slot in self.played)

    def presses(self, place: str) -> None:
        self.player.press(place)
        if self.player.held:
            return
        waste = self.player.counts()[1]
        if waste > len(self.lying):
            self.lying.append(self.player.waste_top())
        del self.lying[waste:]

    def deals_again(self) -> list[str]:
        """The first three cards that are turned after it."""
        assert self.player.terminal.shows("redeals left: 2")
        assert self.player.counts() == (0, len(self.lying))
        self.presses("r")
        self.player.sees("redeals left: 1")
        return [self._turns() for _ in range(3)]

    def _turns(self) -> str:
        self.presses("s")
        return self.player.waste_top()


def check_moves(weaver: Weaver, moves: list[str]) -> None:
    """Those of the slots that were pressed went up, down and onto the waste; and then came the redeal."""
    assert [slot for _, slot in weaver.played] == [move[:2] for move in moves if move[0] in "abcdefgh"]
    assert {move[2:] for move in moves if move[0] in "abcdefgh"} == {"+", "-", ":w"}
    assert moves[-4:] == ["r", "s", "s", "s"]


def test_an_indian_carpet_is_unravelled_at_its_free_ends_and_its_waste_turned_over(fast_server: str, tmp_path: Path) -> None:
    with sitting("emil", fast_server, tmp_path) as player:
        player.opens("Indian Carpet", "keys 1799")
        weaver = Weaver(player)
        player.is_refused("d4", "The card at d4 is not free: both of its narrow ends are covered.")
        weaver.unravels()
        # Turned over, unshuffled: what lay at the bottom comes first.
        bottom = weaver.lying[:3]
        assert weaver.deals_again() == bottom
        check_moves(weaver, own(player.stops()))
        assert all(has_free_end(cells, slot) for cells, slot in weaver.played)
        assert not all(has_clear_lane(cells, slot) for cells, slot in weaver.played)


def test_a_teppich_is_unravelled_along_clear_lanes_and_its_waste_shuffled(fast_server: str, tmp_path: Path) -> None:
    with sitting("fay", fast_server, tmp_path) as player:
        player.opens("Teppich", "keys 1925")
        weaver = Weaver(player)
        weaver.unravels()
        cells = quilt(player.terminal.lines())
        # A free end is not enough where another card lies further on.
        blocked = next(slot for slot in cells if cells[slot].card and has_free_end(cells, slot) and not has_clear_lane(cells, slot))
        player.is_refused(blocked, f"The card at {blocked} is not free: both of its narrow ends are covered.")
        bottom = weaver.lying[:3]
        assert weaver.deals_again() != bottom
        check_moves(weaver, own(player.stops()))
        assert all(has_clear_lane(cells, slot) for cells, slot in weaver.played)
