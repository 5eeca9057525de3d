"""Cleaning of names and chat: whatever goes in, what comes out is safe for anybody's terminal."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.text import CHAT_LENGTH, NAME_LENGTH, clean_chat, clean_name, counted, listed, ordinal

# All of Unicode, surrogates included, and often what the cleaning is about.
SPECIAL = "\x00\x07\t\n\r\x1b\x90\x9b\x9c\x9d\u200b\u200d\u202e\u2028\u3000\u00a0\ufeff\u3164\ufe0f\u0300\u0301\u0327\u20dd\u0338"
PLAIN = "aeK<[]mP;0\\ \u0995\u09c7\u09be\u1100\u1161\u11a8\ufb2c\u0958漢🂡"
WILD = st.lists(st.one_of(st.characters(exclude_categories=()), st.sampled_from(SPECIAL), st.sampled_from(PLAIN))).map("".join)

CLEANERS = pytest.mark.parametrize(("clean", "length"), [(clean_name, NAME_LENGTH), (clean_chat, CHAT_LENGTH)])
Cleaner = Callable[[str], str]


@CLEANERS
@settings(max_examples=3 * settings().max_examples)
@given(text=WILD)
@example(text="e\u200d\u0301" * 40)
@example(text="a \u0301b")
@example(text="\x1b\x1b[31m[31m")
@example(text="x" * 23 + " y")
def test_what_comes_out_is_clean(clean: Cleaner, length: int, text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned, "cleaning twice is cleaning once"
    assert len(cleaned) <= length
    assert unicodedata.is_normalized("NFC", cleaned)
    assert cleaned == cleaned.strip()
    assert "  " not in cleaned
    assert cleaned.isprintable()
    assert not any(unicodedata.category(character)[0] == "C" for character in cleaned)
    cleaned.encode("utf-8")


@given(text=st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüßéñØ漢字カナАБВ0123456789-_.!", max_size=NAME_LENGTH))
def test_ordinary_names_stay_as_they_are(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    assert clean_name(text) == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;196mred", "red"),
        ("\x1b[?25lhidden cursor", "hidden cursor"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b[2 qcursor", "cursor"),
        ("\x1b]0;title\x07name", "name"),
        ("\x1b]0;title\x1b\\name", "name"),
        ("\x1b]0;title\x9cname", "name"),
        ("\x9d0;title\x9cname", "name"),
        ("\x1b]8;;http://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;never ends", ""),
        ("\x1b]0;title\x1b[31mred", "red"),
        ("\x1bP1;2q#0pixels\x1b\\name", "name"),
        ("\x90payload\x9cname", "name"),
        ("\x1b^private\x1b\\\x1b_program\x1b\\\x1bXstring\x1b\\name", "name"),
        ("\x98string\x9c\x9eprivate\x9c\x9fprogram\x9cname", "name"),
        ("\x1bcreset", "reset"),
        ("\x1b(0line drawing", "line drawing"),
        ("\x1b#8alignment", "alignment"),
        ("\x1b\x1b[31mred", "red"),
        ("\x1b[\x1b[31mred", "red"),
        ("name\x1b", "name"),
    ],
)
def test_escape_sequences_are_taken_out_whole(text: str, cleaned: str) -> None:
    assert clean_name(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x00b\x07c\x08d\x7fe\x85f", "abcdef"),
        ("evil\u202etxt.exe", "eviltxt.exe"),
        ("\u2066a\u2067b\u2068c\u2069\u200e\u200f\u061cd", "abcd"),
        ("a\u200bb\u200cc\u200dd\u2060e\ufefff", "abcdef"),
        ("a\u00adb", "ab"),
        ("a\ue000b\U000f0000c", "abc"),
        ("a\ud800b", "ab"),
        ("a\u0378b\uffffc", "abc"),
        ("\U000e0041\U000e0042a", "a"),
    ],
    ids=["controls", "override", "isolates", "zero-width", "soft hyphen", "private use", "surrogate", "unassigned", "tags"],
)
def test_what_cannot_be_seen_is_dropped(text: str, cleaned: str) -> None:
    assert clean_name(text) == cleaned


@pytest.mark.parametrize("blank", ["\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\ufe0f", "\U000e0100", "\u034f", "\u180b", "\u17b4"])
def test_letters_without_ink_make_no_name(blank: str) -> None:
    assert clean_name(blank * 3) == ""
    assert clean_name(f"A{blank}da") == "Ada"


def test_no_joiner_selector_or_blank_is_left_in_a_name() -> None:
    for character in map(chr, range(sys.maxunicode)):
        named = unicodedata.name(character, "")
        if any(word in named for word in ("JOINER", "VARIATION SELECTOR", "LETTER SELECTOR", "NULL NOTEHEAD", "HANGUL CHOSEONG FILLER")):
            assert clean_name(f"A{character}da") == "Ada", named


@pytest.mark.parametrize("part", ["\u1161", "\u11a8", "\u11ff", "\ud7b0", "\ud7fb"], ids=ascii)
def test_parts_of_a_korean_syllable_without_its_beginning_make_no_name(part: str) -> None:
    # Terminals draw them into the cell before them, or not at all.
    assert clean_name(part * 3) == ""
    assert clean_name(f"Ada{part}") == "Ada"
    assert clean_name(f"\uc544{part * 3}")[1:] == ""


@pytest.mark.parametrize("syllable", ["\u1112\u119e\u11ab", "\u1100\u1176", "\uac01"], ids=["old", "old without a final", "modern"])
def test_whole_korean_syllables_are_kept(syllable: str) -> None:
    assert clean_name(f"A {syllable}{syllable}") == f"A {syllable}{syllable}"


@pytest.mark.parametrize("nothing", ["", " ", "\t\r\n", "\u3000\u00a0\u2003", "\x1b[31m", "\u200b\u202e", "\u0301\u0301"])
def test_nothing_printable_is_an_empty_text(nothing: str) -> None:
    assert clean_name(nothing) == clean_chat(nothing) == ""


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  a   b  ", "a b"),
        ("a\tb\nc\r\nd", "a b c d"),
        ("a\u00a0b\u3000c\u2028d\u2029e", "a b c d e"),
        ("a \u200b b", "a b"),
    ],
)
def test_white_space_becomes_one_space(text: str, cleaned: str) -> None:
    assert clean_chat(text) == cleaned


def test_towers_of_combining_marks_are_two_high() -> None:
    assert clean_chat("x" + "\u0315" * 100 + "y") == "x\u0315\u0315y"
    assert clean_chat("Z\u0338\u0321\u031b" * 3) == unicodedata.normalize("NFC", "Z\u0338\u0321" * 3)


def test_marks_that_enclose_and_marks_on_nothing_are_dropped() -> None:
    assert clean_name("a\u20ddb") == "ab"
    assert clean_name("\u0301a \u0301b") == "a b"


def test_names_are_composed() -> None:
    assert clean_name("Zoe\u0308") == "Zo\u00eb"
    assert clean_name("\u1112\u1161\u11ab") == "\ud55c"
    # What stood between the letter and its mark does not keep them apart.
    assert clean_name("Zoe\u200b\u0308") == "Zo\u00eb"


def test_wide_characters_are_kept_and_count_one_each() -> None:
    assert clean_name("漢字カナ한글🂡🃏") == "漢字カナ한글🂡🃏"
    assert clean_name("漢" * 100) == "漢" * NAME_LENGTH


def test_what_is_too_long_is_cut_and_never_ends_in_a_space() -> None:
    assert clean_name("x" * 1000) == "x" * NAME_LENGTH
    assert clean_chat("x" * 1000) == "x" * CHAT_LENGTH
    assert clean_name("x" * (NAME_LENGTH - 1) + " yz") == "x" * (NAME_LENGTH - 1)


@pytest.mark.parametrize("unit", ["\x1b", "\x1b[", "\x1b]", "\x9d", "\x1b]\x1b", "0", "\x1b[0", "\u0301", "e\u0301"])
def test_an_endless_text_costs_no_more_than_a_long_one(unit: str) -> None:
    # It is cut before anything is searched: a search that goes back would take minutes on a million characters.
    assert len(clean_chat(unit * 1_000_000)) <= CHAT_LENGTH


def test_places_are_told_as_they_are_said() -> None:
    told = "1st 2nd 3rd 4th 10th 11th 12th 13th 20th 21st 22nd 23rd 101st 111th 112th 1013th"
    assert " ".join(ordinal(number) for number in (1, 2, 3, 4, 10, 11, 12, 13, 20, 21, 22, 23, 101, 111, 112, 1013)) == told


def test_one_is_counted_in_the_singular() -> None:
    assert [counted(1, "race"), counted(2, "race"), counted(0, "try", "tries")] == ["1 race", "2 races", "0 tries"]


def test_words_are_listed_with_an_and_before_the_last() -> None:
    assert [listed("ABC"[:length]) for length in range(4)] == ["", "A", "A and B", "A, B and C"]
