"""Cards glide to where they lie, flash there, and come to rest; a switch stops it, and at rest nothing is drawn."""

from __future__ import annotations

from dataclasses import replace

import trio.testing

from client.tui.picture import Picture, Rect, Slot
from client.tui.start import UiSettings
from client.tui.transitions import FLASH_MS, GLIDE_MS, is_over, moving, transitions
from tests.client.tui.hands import running, settled
from tests.client.tui.test_app import into_race

MOVING = UiSettings()


def table(card: str, home: str) -> Picture:
    """A card at the left, a foundation at the right."""
    line = [("card", f"{card or '..'}      {home or '..'}")]
    return Picture((line,), slots=(Slot("a1", Rect(0, 0, 2, 1), card), Slot("S", Rect(8, 0, 2, 1), home)))


def text(picture: Picture) -> str:
    return "".join(piece for _, piece in picture.lines[0])


def test_a_card_that_lies_elsewhere_glides_there_and_flashes() -> None:
    after = table("", "AS")
    (glide,) = glides = transitions(table("AS", ""), after)
    assert (glide.start, glide.end) == (Rect(0, 0, 2, 1), Rect(8, 0, 2, 1))
    ways = [text(moving(after, glides, since)).index("AS") for since in range(0, GLIDE_MS, 10)]
    assert ways == sorted(ways)
    assert (ways[0], ways[-1]) == (0, 8)
    flash = moving(after, glides, GLIDE_MS)
    assert text(flash).rstrip() == text(after)
    assert ("mark", "AS") in flash.lines[0]
    assert not is_over(GLIDE_MS + FLASH_MS - 1)
    assert is_over(GLIDE_MS + FLASH_MS)


def test_what_lies_where_it_lay_and_another_table_do_not_move() -> None:
    assert transitions(table("AS", ""), table("AS", "")) == ()
    assert transitions(table("AS", "KS"), Picture()) == ()
    many = tuple(
        Slot(f"{letter}1", Rect(3 * at, 0, 2, 1), f"{rank}S") for at, (letter, rank) in enumerate(zip("abcde", "A2345", strict=True))
    )
    turned = tuple(slot._replace(card=other.card) for slot, other in zip(many, (*many[1:], many[0]), strict=True))
    assert transitions(Picture(([],), slots=many), Picture(([],), slots=turned)) == ()


GAP = "┌╌"
"""Where the card lay, once it has left."""


async def test_a_card_that_is_played_leaves_its_place_and_comes_to_rest(mock_clock: trio.testing.MockClock) -> None:
    async with running(settings=MOVING) as run:
        await into_race(run)
        await run.give("c", "1")
        assert not run.screen.shows(GAP), "it has only begun to move"
        shown = [tuple(run.screen.last_text[1:])]
        for _ in range(12):
            mock_clock.jump(1 / 30)
            await settled()
            shown.append(tuple(run.screen.last_text[1:]))
        assert len(set(shown)) > 3
        assert run.screen.shows(GAP)
        assert len(set(shown[-4:])) == 1


async def test_motion_is_switched_off_and_on_by_a_key(mock_clock: trio.testing.MockClock) -> None:
    async with running(settings=MOVING) as run:
        await into_race(run)
        await run.give("M")
        assert run.screen.shows("Motion is off.")
        await run.give("c", "1")
        assert run.screen.shows(GAP)
        await run.give("q", "y")
        assert run.outcome is not None
        assert run.outcome.settings == replace(MOVING, motion=False)
