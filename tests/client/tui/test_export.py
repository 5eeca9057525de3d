"""A replay exported for sharing: as text, as a picture, as a recording."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pyte
import pytest
from msgspec import structs

from client.replay.timeline import TimeLine, time_line
from client.tui.replay.export import CELL, LINGER_MS, LONGEST_MS, TEXT_COLOURS, cast_of, coloured, moving_svg_of, screen_at, svg_of, text_of
from client.tui.start import UiSettings
from client.tui.step import QUIET_MS
from protocol.record import from_json
from server.race.replay import frames
from tests.client import replays
from tests.client.tui.hands import raced
from tests.client.tui.test_replay_screen import replayer
from tests.e2e.terminal import ROOT

LINE = replays.line("carpet", 2)
SIZE = (80, 24)
SVG = "{http://www.w3.org/2000/svg}"


def test_a_moment_as_text_is_the_replay_screen_without_its_keys() -> None:
    text = text_of(screen_at(LINE, LINE.frames[9].at_ms, SIZE, UiSettings(), colours=TEXT_COLOURS))

    assert len(text.splitlines()) == SIZE[1]
    assert "Replay · Carpet · ABCDEF" in text
    assert f"{LINE.frames[9].ply}. {LINE.frames[9].move}" in text
    assert f"carpet replay {LINE.record.id}" in text
    assert "quit" not in text


def test_a_text_of_more_than_two_players_shows_the_two_best_placed_and_no_key() -> None:
    line = replays.line("carpet", 4)
    assert [seat.place for seat in line.record.seats] == [2, 4, 1, 3]
    head, names, *_ = text_of(screen_at(line, line.end_ms, SIZE, UiSettings(), colours=TEXT_COLOURS)).splitlines()
    assert "Player 2" in names[:40]
    assert "Player 0" in names[40:]
    assert "tab" not in head


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (UiSettings(page="http://carpet.example:7777/play/", server="carpet.example"), "http://carpet.example:7777/race/{}"),
        (UiSettings(page="http://127.0.0.1:7777/play/", server="127.0.0.1", is_near=True), "carpet replay {}"),
    ],
)
def test_a_text_names_the_page_of_its_race_if_others_can_reach_it(settings: UiSettings, told: str) -> None:
    rows = text_of(screen_at(LINE, LINE.frames[9].at_ms, SIZE, settings, colours=TEXT_COLOURS)).splitlines()
    assert rows[-1].strip() == told.format(LINE.record.id)


def test_every_moment_past_the_end_is_the_end() -> None:
    assert screen_at(LINE, LINE.end_ms, SIZE, UiSettings()) == screen_at(LINE, LINE.end_ms + 99_000, SIZE, UiSettings())


def test_a_picture_is_a_document_with_every_sign_of_the_screen_in_the_palettes_colours() -> None:
    settings = UiSettings(palette="four")
    rows = screen_at(LINE, LINE.end_ms // 2, SIZE, settings)
    document = ET.fromstring(svg_of(coloured(rows, settings), SIZE[0]))

    signs = "".join(each.text or "" for each in document.iter(f"{SVG}text"))
    words = "".join(text_of(rows).split())
    assert signs == "".join(sign for sign in words if not "▀" <= sign <= "▟")
    assert "#14532d" in {each.get("fill") for each in document.iter(f"{SVG}path")}


def test_nothing_a_record_says_of_itself_is_an_order_to_a_terminal_or_breaks_a_picture() -> None:
    line = structs.replace(LINE, record=structs.replace(LINE.record, id="\x1b]0;title\x07\x9b31m\u202e"))
    rows = screen_at(line, 0, SIZE, UiSettings())

    assert text_of(rows).replace("\n", "").isprintable()
    ET.fromstring(svg_of(coloured(rows, UiSettings()), SIZE[0]))


class Canvas:
    """What the elements of a document have painted, cell by cell."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.columns, self.rows = size
        self.pixels = [["" for _ in range(8 * self.columns)] for _ in range(8 * self.rows)]
        self.signs: dict[tuple[float, float], tuple[str, str | None, str | None]] = {}

    def paint(self, element: ET.Element) -> None:
        if element.tag == f"{SVG}text":
            places, text = str(element.get("x")).split(), element.text or ""
            row = (float(str(element.get("y"))) - 14.5) / CELL[1]
            for place, sign in zip(places, text, strict=True):
                self.signs[int(place) / CELL[0], row] = (sign, element.get("fill"), element.get("font-weight"))
        elif element.tag == f"{SVG}path":
            for box in re.finditer(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-([\d.]+)", str(element.get("d"))):
                x, y, width, height, back = map(float, box.groups())
                assert width == back
                self._fill(x / CELL[0], y / CELL[1], width / CELL[0], height / CELL[1], str(element.get("fill")))

    def _fill(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        # The smallest block is the eighth of a cell.
        left, top, wide, high = (round(8 * part) for part in (x, y, width, height))
        for line in self.pixels[top : top + high]:
            line[left : left + wide] = [colour] * wide
        self.signs = {
            (column, row): sign
            for (column, row), sign in self.signs.items()
            if not (x <= column and column + 1 <= x + width and y <= row and row + 1 <= y + height)
        }


@pytest.mark.parametrize("rules", ["carpet", "crazy-quilt"])
def test_a_picture_that_plays_shows_at_each_moment_what_the_still_one_shows_and_the_end_where_nothing_may_move(rules: str) -> None:
    line = replays.line(rules, 2, moves=30)
    document = ET.fromstring(moving_svg_of(line, SIZE, UiSettings()))
    (style,) = (each.text or "" for each in document.iter(f"{SVG}style"))
    length_s = float(re.search(r"animation:([\d.]+)s step-end infinite", style)[1])  # type: ignore[index]
    begins = {name: float(part) * length_s * 10 for name, part in re.findall(r"@keyframes (\w+){0%{visibility:hidden}([\d.]+)%", style)}
    pace = (length_s * 1000 - LINGER_MS) / line.end_ms

    assert style.startswith("@media (prefers-reduced-motion:no-preference){")
    assert length_s * 1000 <= LONGEST_MS + LINGER_MS
    canvas, ats = Canvas(SIZE), [0]
    for element in document:
        if element.tag == f"{SVG}g":
            at_ms = begins.pop(str(element.get("style")).removeprefix("animation-name:")) / pace
            if len(ats) % 10 == 0:
                assert seen(canvas) == still(line, round(ats[-1]))
            ats.append(round(at_ms))
            for each in element:
                canvas.paint(each)
        canvas.paint(element)
    assert not begins
    assert ats == sorted(ats)
    assert {frame.at_ms for frame in line.frames} <= {*ats}
    assert seen(canvas) == still(line, line.end_ms)


def test_the_picture_in_the_readme_is_that_race() -> None:
    """After a change that is meant: `CARPET_UPDATE_GOLDEN=1 pytest tests/client/tui/test_export.py`, and look at it."""
    record = from_json((ROOT / "tests" / "data" / "records" / "close-race.json").read_bytes())
    drawn = moving_svg_of(time_line(frames(record)), (100, 30), UiSettings())
    path = ROOT / ".github" / "race.svg"
    if os.environ.get("CARPET_UPDATE_GOLDEN"):
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8")
    assert len(drawn.encode()) < 200_000
    assert not re.search("<script|href|url\\(|@import", drawn)


def seen(canvas: Canvas) -> object:
    return canvas.pixels, canvas.signs


def still(line: TimeLine, at_ms: int) -> object:
    canvas = Canvas(SIZE)
    for element in ET.fromstring(svg_of(coloured(screen_at(line, at_ms, SIZE, UiSettings()), UiSettings()), SIZE[0])):
        canvas.paint(element)
    return seen(canvas)


@pytest.mark.slow
def test_a_recording_played_in_a_terminal_shows_each_moment_as_it_was_and_ends_at_the_end() -> None:
    head, *events = map(json.loads, cast_of(LINE, SIZE, UiSettings()))
    screen = pyte.Screen(*SIZE)
    stream = pyte.Stream(screen)
    middle = LINE.frames[20].at_ms

    assert (head["version"], head["width"], head["height"]) == (2, *SIZE)
    assert [at for at, _, _ in events] == sorted(at for at, _, _ in events)
    assert events[-1][0] == (LINE.end_ms + LINGER_MS) / 1000
    for at_s, kind, drawn in events:
        assert kind == "o"
        stream.feed(drawn)
        if at_s == middle / 1000:
            assert [row.rstrip() for row in screen.display] == text_of(screen_at(LINE, middle, SIZE, UiSettings())).splitlines()
    assert [row.rstrip() for row in screen.display] == text_of(screen_at(LINE, LINE.end_ms, SIZE, UiSettings())).splitlines()


@pytest.mark.usefixtures("mock_clock")
@pytest.mark.parametrize(("key", "kind"), [("1", "svg"), ("2", "txt"), pytest.param("3", "cast", marks=pytest.mark.slow), ("4", "moving")])
async def test_the_result_is_written_into_a_file_by_a_key_which_says_where_and_over_nothing(
    key: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("client.tui.app.RACE_SIZE", (60, 20))
    ending = "svg" if kind == "moving" else kind
    path = tmp_path / f"carpet-{LINE.record.id}.{ending}"
    path.write_text("mine")
    answer, _, let = replayer(LINE)
    let.set()
    async with raced(record=LINE.record, replayer=answer, size=(120, 40)) as run:
        await run.later(QUIET_MS / 1000)
        await run.give("s")
        assert run.screen.shows("Write into a file here, to share:")
        await run.give(key)
        await run.wait_for(f"{LINE.record.id}-2.{ending} is written.")
    document = path.with_stem(f"{path.stem}-2").read_text()
    assert path.read_text() == "mine"
    match kind:
        case "svg":
            assert "Youwon" in "".join(each.text or "" for each in ET.fromstring(document).iter(f"{SVG}text"))
        case "moving":
            assert any(each.tag == f"{SVG}g" for each in ET.fromstring(document))
        case "txt":
            assert len(document.splitlines()) == 40
            assert "You won" in document
            assert re.search(r"[\u2801-\u28ff]", document), "curves as lines"
            assert "▀" * 8 not in document, "no area, which only its colours tell from the lines"
            assert not re.search(r"L leave|\(d\)|f: |r: |rematch| ms$|●  on", document.splitlines()[0] + document)
        case _:
            assert json.loads(document.splitlines()[0])["width"] == 60


@pytest.mark.usefixtures("mock_clock")
async def test_in_a_folder_that_is_gone_the_result_says_that_no_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    async with raced(record=LINE.record, size=(120, 40)) as run:
        await run.later(QUIET_MS / 1000)
        await run.give("s", "2")
        await run.wait_for(f"{LINE.record.id}.txt cannot be written: No such file or directory.")
