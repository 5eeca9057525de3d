"""The provable shuffle: a seed and a label give one order of the cards, the same in every implementation.

Owns the word stream, the unbiased draw and the order of the swaps. Each is part of the protocol, since anyone may check a
deal with a program of their own. Must not know where a seed comes from (protocol/fairness.py) nor what is dealt.

- Block n (0, 1, 2 …) = HMAC-SHA256(key = seed, message = label ‖ n as 8 bytes big-endian): eight 32-bit words,
  big-endian, in order.
- A draw below n takes the next word u, and goes on to the next one while u ≥ 2³² - (2³² mod n); the result is u mod n.
- Fisher-Yates from the end: for i = length - 1 down to 1, draw j in 0 … i and swap cards i and j.
"""

import hmac
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Final

from protocol.cards import Card

SEED_BYTES: Final = 32
DEAL_LABEL: Final = b"deal"

_WORDS: Final = 2**32
_BLOCK: Final = struct.Struct(">8I")


class WordStream:
    """The endless stream of 32-bit words of one seed (32 bytes) under one label. word(): the next one, 0 to 2³² - 1."""

    __slots__ = ("word",)

    def __init__(self, seed: bytes, label: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed is {SEED_BYTES} bytes, not {len(seed)}")
        self.word: Callable[[], int] = _words(seed, label).__next__

    def below(self, bound: int) -> int:
        """An unbiased draw, 0 to bound - 1; it takes at least one word, even if bound is 1."""
        if not 1 <= bound <= _WORDS:
            raise ValueError(f"a draw is below a number from 1 to 2**32, not {bound!r}")
        # Words from `limit` up would favour small results, so they are skipped.
        limit = _WORDS - _WORDS % bound
        word = self.word()
        while word >= limit:
            word = self.word()
        return word % bound


def _words(seed: bytes, label: bytes) -> Iterator[int]:
    for block in count():
        yield from _BLOCK.unpack(hmac.digest(seed, label + block.to_bytes(8, "big"), "sha256"))


@lru_cache(8)
def _draws(cards: int) -> tuple[tuple[int, int, int], ...]:
    """The draws of a shuffle of so many cards: the index of the card to swap, and bound and limit as in `WordStream.below`."""
    return tuple((bound - 1, bound, _WORDS - _WORDS % bound) for bound in range(cards, 1, -1))


def redeal_label(number: int) -> bytes:
    """The label of a redeal; the first one of a game is number 1."""
    return b"redeal:%d" % number


def shuffle(cards: Sequence[Card], seed: bytes, label: bytes) -> tuple[Card, ...]:
    """The cards shuffled by seed (32 bytes, else ValueError) and label; the argument is not changed."""
    next_word = WordStream(seed, label).word
    shuffled = list(cards)
    # `below` inlined: calling it for each card took half of the time.
    for last, bound, limit in _draws(len(shuffled)):
        word = next_word()
        while word >= limit:
            word = next_word()
        drawn = word % bound
        shuffled[last], shuffled[drawn] = shuffled[drawn], shuffled[last]
    return tuple(shuffled)
