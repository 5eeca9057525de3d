"""Themes as files: they read back as written, what they leave out comes from the base, and an error is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from client.cli.looks import palette_in, settings_with
from client.cli.options import settings_of
from client.cli.running import keep_looks, keep_usual
from client.state.store import Model
from client.tui.actions import Key, SlowTerminal
from client.tui.drawing.theme import FOUR, PALETTES, SAFE, Colour, Palette, entries, next_palette, theme_for
from client.tui.drawing.theme_file import NotATheme, palette_of, text_of
from client.tui.start import UiSettings
from client.tui.ui_state import Ui
from client.tui.update import update
from protocol import HOME_VARIABLE
from tests.client.cli.test_main import run


@pytest.mark.parametrize("palette", [palette for palette in PALETTES if palette.name != "none"], ids=lambda palette: palette.name)
def test_a_palette_that_is_written_is_read_back_in_its_exact_colours(palette: object) -> None:
    assert palette in PALETTES
    own = palette_of(text_of(palette, "mine"))
    assert (own.name, own.title) == ("mine", "mine")
    again = {entry[0]: entry[4:] for entry in entries(own, exact=True)}
    written = {entry[0]: entry[4:] for entry in entries(palette, exact=True)}
    # One sign alone is drawn otherwise in the colour-blind palette itself.
    assert {name for name in again if again[name] != written[name]} <= {"mark"}


def test_what_is_not_named_is_as_in_the_base_and_fewer_colours_are_made_of_the_exact_one() -> None:
    own = palette_of('name = "sea"\nbase = "safe"\nfelt = "#003355"\n')
    assert own.suits == SAFE.suits
    assert own.felt == Colour(SAFE.felt.basic, "#035", "#003355")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("felt = ", "not TOML"),
        ('felt = "#003355"', "needs a name"),
        ('name = "classic"', "needs a name"),
        ('name = "\\u001b[31m"', "needs a name"),
        ('name = "x"\nbase = "none"', "base is one of"),
        ('name = "x"\nfelt = "green"', "felt must be a colour like #14532d"),
        ('name = "x"\nfelt = ["#003355"]', "felt must be a colour"),
        ('name = "x"\nsuits = ["#000000"]', "suits must be a list of 4 colours"),
        ('name = "x"\nsuits = ["#000000", "#000000", "red", "#000000"]', "suits must be a colour"),
        ('name = "x"\nlines = ' + "[" * 5000, "nested too deeply"),
        ('name = "x"\nfelled = "#003355"', "there is no colour felled"),
        ('name = "x"\n"\\u001b[31m" = "#003355"', "there is no colour"),
    ],
    ids=lambda value: value[:40],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(NotATheme, match=why.replace("[", r"\[")) as caught:
        palette_of(text)
    assert str(caught.value).isprintable()


def test_a_theme_of_ones_own_is_one_more_to_walk_through() -> None:
    own = palette_of('name = "sea"')
    assert theme_for("sea", ascii_only=False, colours=256, own=own).palette is own
    assert next_palette(PALETTES[-1].name, own) == "sea"
    assert next_palette("sea", own) == PALETTES[0].name


def test_commands_write_show_and_list_themes_and_refuse_what_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sea.toml"
    assert run(capsys, "theme", "new", str(file), "--like", "four").status == 0
    assert palette_of(file.read_text()).suits[2].exact == FOUR.suits[2].exact
    assert run(capsys, "theme", "show", str(file)).out == file.read_text()
    assert "exists already" in run(capsys, "theme", "new", str(file)).sentence
    listed = run(capsys, "theme", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == ["classic", "four", "safe"]
    assert "colour-blind" in listed[2]
    file.write_text("felt = 1")
    assert "is not a theme: felt must be a colour" in run(capsys, "play", "--theme", str(file)).sentence
    assert "cannot be read" in run(capsys, "replay", "--text", "--theme", str(tmp_path / "no")).sentence


def test_a_theme_that_is_chosen_is_used_by_every_command_and_the_menu_until_another_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "new"))
    file = tmp_path / "sea.toml"
    file.write_text('name = "sea"\nbase = "safe"\nfelt = "#003355"\n')
    assert settings_of().palette == "classic"
    assert run(capsys, "theme", "use", str(file)).status == 0
    file.unlink()
    settings = settings_of()
    assert settings.own_palette == palette_of((tmp_path / "new" / "theme").read_text())
    assert settings.palette == "sea"
    assert [line for line in run(capsys, "theme", "list").out.splitlines() if "(used)" in line] == ["sea      a theme of your own (used)"]
    # One that was come to by keys goes before it, and keys come back to it.
    keep_looks(replace(settings, palette="four", by_key=frozenset({"palette"})))
    assert settings_of() == replace(settings, palette="four")
    assert "green table (used)" in (listed := run(capsys, "theme", "list").out)
    assert "a theme of your own\n" in listed
    assert settings_of({"colour_blind"}).palette == settings_of(theme=Path("safe")).palette == "safe"
    assert "goes with neither" in run(capsys, "play", "--theme", "safe", "--four-colour").sentence

    assert run(capsys, "theme", "use", "four").status == 0
    assert (settings_of().palette, settings_of().own_palette) == ("four", None)
    (tmp_path / "new" / "theme").write_text("felt = 1")
    assert "is not a theme: felt must be a colour" in run(capsys, "play").sentence
    assert run(capsys, "theme", "use", "classic").status == 0
    assert settings_of().palette == "classic"
    assert "cannot be read" in run(capsys, "theme", "use", "none").sentence
    assert "Built in are classic, four, safe." in run(capsys, "theme", "use", "nothing").sentence


def test_what_was_chosen_by_keys_is_there_the_next_time_and_a_word_on_the_command_line_goes_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    keep_looks(UiSettings(ascii=True, palette="safe"))
    assert not list(tmp_path.iterdir()), "none of it by a key"
    chosen = UiSettings(palette="none", ascii=True, bell=False, motion=False, tones=True)
    keep_looks(replace(chosen, by_key=frozenset({"palette", "ascii", "bell", "motion"})))
    assert settings_of() == replace(chosen, tones=False)
    assert settings_of({"tones"}, Path("four")) == replace(chosen, palette="four", bell=True)
    assert settings_of({"no_bell"}) == settings_of()
    (tmp_path / "usual.json").write_text("[]")
    keep_looks(replace(chosen, by_key=frozenset({"ascii"})))
    assert "with what you chose last is damaged" in capsys.readouterr().err
    # That keeps nobody from playing.
    assert settings_of() == UiSettings()
    assert "delete it to begin afresh" in capsys.readouterr().err


def test_on_the_linux_console_suits_are_letters_until_the_player_wants_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setenv("TERM", "linux-16color")
    keep_usual(motion=False)
    assert settings_of().ascii, "another choice is not this one"
    keep_looks(UiSettings(ascii=False, by_key=frozenset({"ascii"})))
    assert not settings_of().ascii
    monkeypatch.setenv("TERM", "xterm-256color")
    (tmp_path / "usual.json").unlink()
    assert not settings_of().ascii


def test_of_the_looks_that_have_changed_those_that_keys_have_changed_are_kept() -> None:
    ui = Ui()
    for action in (SlowTerminal(), Key("A"), Key("B")):
        ui, _ = update(Model(), ui, action, 0)
    assert ui.settings == UiSettings(motion=False, ascii=True, bell=False, by_key=frozenset({"ascii", "bell", "tones"}))


VGA = {
    "black": 0x000000,
    "dark red": 0xAA0000,
    "dark green": 0x00AA00,
    "brown": 0xAA5500,
    "dark blue": 0x0000AA,
    "dark magenta": 0xAA00AA,
    "dark cyan": 0x00AAAA,
    "light gray": 0xAAAAAA,
    "white": 0xFFFFFF,
}


def luminance(colour: str) -> float:
    """As WCAG has it."""
    parts = [(VGA[colour] >> shift & 255) / 255 for shift in (16, 8, 0)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("palette", [palette for palette in PALETTES if palette.name != "none"], ids=lambda palette: palette.name)
def test_with_sixteen_colours_suits_marks_the_chosen_line_and_the_backs_of_cards_can_be_read(palette: Palette) -> None:
    roles = {name: (ink.split(",")[0], ground) for name, ink, ground, *_ in entries(palette, exact=False)}
    others = ("mark", "chosen", "back", "back strong")
    read = [name for name in roles if name in others or (name[:-1] in ("card ", "side ", "lit ") and name[-1] in "SHDC")]
    assert len(read) == 16
    for name in read:
        light, dark = sorted(map(luminance, roles[name]), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > (4.5 if name in ("back", "back strong") else 2.5), (name, roles[name])


@pytest.mark.parametrize(("term", "colours"), [("xterm-mono", 1), ("vt100", 1), ("vt220", 1), ("xterm-256color", None)])
def test_a_terminal_without_colours_gets_none(monkeypatch: pytest.MonkeyPatch, term: str, colours: int | None) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", term)
    assert settings_with().colours == colours


def test_a_theme_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    file = tmp_path / "sea.toml"
    file.write_text('felt = "#003355"\n')
    assert palette_in(file).name == "sea"
