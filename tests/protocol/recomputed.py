"""A deal and a game by nothing but what protocol/README.md says, its tables included: nothing of the program is used, not even its shuffle.

It is as simple as it can be, and slow: whatever follows from a position is found again each time.
"""

from __future__ import annotations

import hmac
import itertools
import re
from collections.abc import Iterator
from functools import cache

from tests.protocol.specification import chapter, table

RANKS = "A23456789TJQK"
COLUMNS = "abcdefghij"


def rows_by_rules(text: str, *columns: str) -> dict[str, dict[str, str]]:
    """The first table of a text, with a row for each rule set named in its first column."""
    header, rows = table(re.sub("^ +", "", text, flags=re.MULTILINE))
    assert len(header) == 1 + len(columns)
    return {rules: dict(zip(columns, cells, strict=True)) for ids, *cells in rows for rules in re.findall("`(.+?)`", ids)}


DEALS = rows_by_rules(chapter("Fair deals"), "decks", "taken out", "slots", "cards home", "layout", "stock")
"""The table of the layouts."""
MOVES = rows_by_rules(chapter("Moves and positions").split("### Legal moves\n")[1], "free", "gaps", "s", "other moves", "redeals")
"""The table of the legal moves."""


def words(seed: bytes, label: bytes) -> Iterator[int]:
    for n in itertools.count():
        block = hmac.digest(seed, label + n.to_bytes(8, "big"), "sha256")
        yield from (int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4))


def shuffled(cards: list[str], seed: bytes, label: str) -> list[str]:
    """Steps 5 and 6."""
    cards = list(cards)
    stream = words(seed, label.encode())
    for i in range(len(cards) - 1, 0, -1):
        j = next(word for word in stream if word < 2**32 - 2**32 % (i + 1)) % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return cards


class Game:
    """A seat's game of the deal with this seed."""

    def __init__(self, rules: str, seed: bytes) -> None:
        self.rules, self.seed, self.row = rules, seed, MOVES[rules]
        self.waste: list[str] = []
        self.pending: str | None = None
        self.redeals_made = 0
        self._deal(DEALS[rules])

    def _deal(self, row: dict[str, str]) -> None:
        """Step 7."""
        deck = shuffled([rank + suit for suit in "SHDC" for rank in RANKS] * int(row["decks"]), self.seed, "deal")
        home = []
        if row["taken out"] != "nothing":
            lifted = {"Aces": "A", "Aces met": "", "Aces and Kings": "AK"}[row["taken out"]]
            home = [card for card in dict.fromkeys(deck) if card[0] in lifted]
        for card in home:
            deck.remove(card)
        last = re.fullmatch("`a1` to `(.)(.)`", row["slots"])
        assert last is not None
        columns = COLUMNS[: COLUMNS.index(last[1]) + 1]
        self.piles: dict[str, list[str]] = {f"{column}{number}": [] for number in range(1, int(last[2]) + 1) for column in columns}
        for pile in self.piles.values():
            while row["taken out"] == "Aces met" and deck[0][0] == "A":
                home.append(deck.pop(0))
            pile.append(deck.pop(0))
        if self.rules == "persian-rug":
            self.piles |= {f"p{number}": [deck.pop(0) for _ in range(4)] for number in range(1, 9)}
        self.stock = deck
        self.foundations = dict.fromkeys("SHDC" if row["decks"] == "1" else [suit + sign for suit in "SHDC" for sign in "+-"], 0)
        for card in home:
            self.foundations[card[1] if row["decks"] == "1" else card[1] + {"A": "+", "K": "-"}[card[0]]] += 1

    @property
    def home(self) -> int:
        return sum(self.foundations.values())

    @property
    def redeals(self) -> int:
        return int(self.row["redeals"]) - self.redeals_made

    @property
    def is_won(self) -> bool:
        return self.home == 52 * int(DEALS[self.rules]["decks"])

    # -- which moves are legal

    def is_free(self, slot: str) -> bool:
        """Whether the top card of a slot that has one is free."""
        if self.row["free"] == "tops" or slot[0] == "p":
            return True
        assert self.row["free"] in ("ends", "lanes")
        return any(not any(self.piles[name] for name in (lane[:1] if self.row["free"] == "ends" else lane)) for lane in lanes(slot))

    def takers(self, card: str) -> list[str]:
        """The foundations that take a card."""
        up, down = RANKS.index(card[0]), RANKS[::-1].index(card[0])
        return [name for name, count in self.foundations.items() if name[0] == card[1] and count == (down if name[1:] == "-" else up)]

    def free(self) -> list[str]:
        return [slot for slot, pile in self.piles.items() if pile and self.is_free(slot)]

    def moves_home(self) -> list[str]:
        sources = [(slot, self.piles[slot][-1]) for slot in self.free()] + [("w", card) for card in self.waste[-1:]]
        return [source + foundation[1:] for source, card in sources for foundation in self.takers(card)]

    def other_moves(self) -> Iterator[str]:
        free, gaps = self.free(), [slot for slot, pile in self.piles.items() if not pile]
        match self.row["other moves"]:
            case "–":
                pass
            case "`w:b3` to a gap":
                yield from [f"w:{slot}" for slot in gaps if self.waste]
            case "`w:b3` to any slot":
                yield from [f"w:{slot}" for slot in self.piles if self.waste]
            case "`b3:c2` to a gap":
                yield from [f"{slot}:{gap}" for slot in free for gap in gaps if not self.stock and len(self.piles[slot]) > 1]
            case "`b3:w`":
                yield from [f"{slot}:w" for slot in free if self.waste and are_neighbours(self.piles[slot][-1], self.waste[-1])]
            case "`b3:p4` `p7:p4`":
                for slot, target in itertools.product(free, [name for name in self.piles if name[0] == "p"]):
                    source, pile = self.piles[slot], self.piles[target]
                    if are_neighbours(source[-1], pile[-1]) if pile else slot[0] != "p" or len(source) > 1:
                        yield f"{slot}:{target}"
            case unknown:
                raise AssertionError(unknown)

    def may_turn(self) -> bool:
        if not self.stock:
            return False
        return {"any time": True, "row": True, "no waste": not self.waste, "when stuck": not self.moves_home()}[self.row["s"]]

    def moves(self) -> list[str]:
        if self.pending is not None:
            return [f"s:{self.pending}", f"w:{self.pending}"]
        moves = [*self.moves_home(), *self.other_moves()]
        if self.may_turn():
            moves.append("s")
        if not self.stock and self.waste and self.redeals:
            moves.append("r")
        return sorted(moves)

    # -- what a move does

    def play(self, move: str) -> None:
        source, _, target = move.partition(":")
        if move == "r":
            self._redeal()
        elif move == "s" and self.row["s"] == "row":
            for pile in self.piles.values():
                pile += [self.stock.pop(0)] if self.stock else []
        elif source == "s":
            (self.piles[target] if target else self.waste).append(self.stock.pop(0))
        else:
            slot, sign = source.rstrip("+-"), source[-1] if source[-1] in "+-" else ""
            card = (self.waste if slot == "w" else self.piles[slot]).pop()
            if target:
                (self.waste if target == "w" else self.piles[target]).append(card)
            else:
                self.foundations[card[1] + sign] += 1
            if slot != "w" and not self.piles[slot]:
                self._refill(slot)
        if target == self.pending:
            self.pending = None

    def _refill(self, gap: str) -> None:
        rule = self.row["gaps"]
        assert rule in ("stay", "choice", "waste first", "stock")
        if rule == "choice" and self.waste and self.stock:
            self.pending = gap
        elif rule in ("choice", "waste first") and self.waste:
            self.piles[gap].append(self.waste.pop())
        elif rule != "stay" and self.stock:
            self.piles[gap].append(self.stock.pop(0))

    def _redeal(self) -> None:
        """Step 8."""
        self.redeals_made += 1
        is_shuffled = self.rules in ("carpet-redeal", "teppich")
        self.stock = shuffled(self.waste, self.seed, f"redeal:{self.redeals_made}") if is_shuffled else self.waste
        self.waste = []


@cache
def lanes(slot: str) -> list[list[str]]:
    """The slots of a quilt from each end of a card straight to the edge, nearest first."""
    column, row = COLUMNS.index(slot[0]) + 1, int(slot[1])
    if (column + row) % 2 == 0:
        return [[f"{slot[0]}{other}" for other in others] for others in (range(row - 1, 0, -1), range(row + 1, 9))]
    return [[f"{COLUMNS[other - 1]}{row}" for other in others] for others in (range(column - 1, 0, -1), range(column + 1, 9))]


def are_neighbours(card: str, other: str) -> bool:
    return card[1] == other[1] and abs(RANKS.index(card[0]) - RANKS.index(other[0])) == 1
