"""Room codes: easy to say, evenly distributed, understood however they are typed."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from protocol.text import read_code
from server.rooms.codes import ALPHABET, LENGTH, new_code


@given(st.randoms(use_true_random=False))
def test_a_code_is_six_letters_of_the_alphabet(chance: random.Random) -> None:
    code = new_code(chance.randbytes)
    assert len(code) == LENGTH
    assert set(code) <= set(ALPHABET)


def test_no_letter_looks_like_another_or_like_a_digit() -> None:
    assert not set(ALPHABET) & set("ILOQVZ0123456789")
    assert len(set(ALPHABET)) == 20


def test_all_letters_are_equally_likely() -> None:
    # Every byte once: each letter has to come up as often as any other, and what is left over is passed over.
    every_byte = iter(range(256))

    def entropy(length: int) -> bytes:
        return bytes(next(every_byte) for _ in range(length))

    letters = Counter("".join(new_code(entropy) for _ in range(240 // LENGTH)))
    assert set(letters.values()) == {12}
    assert len(letters) == 20


def test_bytes_that_would_favour_some_letters_are_passed_over() -> None:
    source = iter([255, 240, 0, 1, 2, 3, 4, 5])
    assert new_code(lambda _: bytes([next(source)])) == ALPHABET[:6]


@given(st.text(ALPHABET, min_size=LENGTH, max_size=LENGTH), st.data())
def test_a_code_is_read_in_either_case_and_with_spaces_and_hyphens(code: str, data: st.DataObject) -> None:
    typed = "".join(data.draw(st.sampled_from(["", " ", "-"])) + data.draw(st.sampled_from([letter, letter.lower()])) for letter in code)
    assert read_code(typed) == code
