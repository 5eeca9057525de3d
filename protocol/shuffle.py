"""The provable shuffle: a seed and a label give one order of the cards, the same in every implementation.

Owns the word stream, the unbiased draw and the order of the swaps; each is part of the protocol, since anyone may check
a deal with a program of their own. Must not know where a seed comes from (protocol/fairness.py) nor what is dealt.

- Block n (0, 1, 2 …) = HMAC-SHA256(key = seed, message = label ‖ n as 8 bytes big-endian): eight 32-bit words,
  big-endian, in order.
- A draw below n takes the next word u; while u ≥ 2³² - (2³² mod n) it takes the next one; the result is u mod n.
- Fisher-Yates from the end: for i = length - 1 down to 1, draw j in 0 … i and swap cards i and j.
"""

import hmac
import struct
from collections.abc import Sequence
from typing import Final

from protocol.cards import Card

SEED_BYTES: Final = 32
DEAL_LABEL: Final = b"deal"

_WORDS: Final = 2**32
_BLOCK: Final = struct.Struct(">8I")


class WordStream:
    """The endless stream of 32-bit words of one seed (32 bytes) under one label."""

    __slots__ = ("_block", "_label", "_seed", "_words")

    def __init__(self, seed: bytes, label: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed is {SEED_BYTES} bytes, not {len(seed)}")
        self._seed = seed
        self._label = label
        self._block = 0
        self._words: list[int] = []

    def word(self) -> int:
        """The next word, 0 to 2³² - 1."""
        if not self._words:
            message = self._label + self._block.to_bytes(8, "big")
            # Reversed, for the next word to be taken off the end.
            self._words.extend(reversed(_BLOCK.unpack(hmac.digest(self._seed, message, "sha256"))))
            self._block += 1
        return self._words.pop()

    def below(self, bound: int) -> int:
        """An unbiased draw, 0 to bound - 1; it takes at least one word, also where bound is 1."""
        if not 1 <= bound <= _WORDS:
            raise ValueError(f"a draw is below a number from 1 to 2**32, not {bound!r}")
        # The words from `limit` on would favour the small results: they are passed over.
        limit = _WORDS - _WORDS % bound
        word = self.word()
        while word >= limit:
            word = self.word()
        return word % bound


def redeal_label(number: int) -> bytes:
    """The label of a redeal, the first of a game being number 1."""
    return b"redeal:%d" % number


def shuffle(cards: Sequence[Card], seed: bytes, label: bytes) -> tuple[Card, ...]:
    """The cards in the order of seed (32 bytes, else ValueError) and label; the argument stays as it is."""
    stream = WordStream(seed, label)
    shuffled = list(cards)
    for last in range(len(shuffled) - 1, 0, -1):
        drawn = stream.below(last + 1)
        shuffled[last], shuffled[drawn] = shuffled[drawn], shuffled[last]
    return tuple(shuffled)
