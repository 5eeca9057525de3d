"""Colours and glyphs: every look of the client as data. Owns what is what colour; must not know where anything is drawn.

A palette gives each role a colour three times: one of the 16 every terminal has, one of the 256-colour cube, and the exact one for
terminals with 24 bits. With no colours at all (`NO_COLOR`, or the palette `none`) cards get borders and roles differ by bold and
reverse, so that nothing is told by colour alone.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from client.tui.drawing.court import INKS, pairs, role_of

Markup: TypeAlias = tuple[str, str]
"""A role and the text drawn in it."""


class Colour(NamedTuple):
    """basic: a name of the 16 (backgrounds: of the first 8). cube: `#rgb` of the 256-colour cube. exact: `#rrggbb`."""

    basic: str
    cube: str
    exact: str


class Palette(Struct, frozen=True):
    """The colours that make one look; the roles are derived from these in `entries`."""

    name: str
    title: str
    felt: Colour
    felt_dark: Colour
    text: Colour
    faint: Colour
    ivory: Colour
    linen: Colour
    ivory_shade: Colour
    linen_shade: Colour
    lit: Colour
    back: Colour
    back_ink: Colour
    suits: tuple[Colour, Colour, Colour, Colour]
    cursor: Colour
    wait: Colour
    own: Colour
    other: Colour
    good: Colour
    bad: Colour
    lines: tuple[Colour, ...]


_BLACK = Colour("black", "#000", "#1c1c1c")
_RED = Colour("dark red", "#a00", "#b3121d")
_IVORY = Colour("light gray", "#ffd", "#f6efdc")
_LINEN = Colour("light gray", "#fda", "#ecd3a4")
# The 16 colours have no shade of these: such cards are drawn on the felt.
_IVORY_SHADE = Colour("black", "#aa8", "#bab5a7")
_LINEN_SHADE = Colour("black", "#da8", "#bfa67c")
_LIT = Colour("light gray", "#ff8", "#ffe98a")
_SHADOW = Colour("black", "#000", "#061f10")
_WHITE = Colour("white", "#fff", "#ffffff")
_GOLD = Colour("yellow", "#fd0", "#ffd23f")
_SKY = Colour("light cyan", "#8df", "#7fd4f5")
_ORANGE = Colour("yellow", "#fa0", "#f2a03d")

CLASSIC: Final = Palette(
    name="classic",
    title="red and black suits on a green table",
    # The 16 colours have no green that yellow and white can be read on: felt is black there.
    felt=Colour("black", "#066", "#14532d"),
    felt_dark=Colour("dark blue", "g11", "#0b3a1e"),
    text=Colour("white", "#efe", "#e8f3ea"),
    faint=Colour("light gray", "#8bb", "#93bb9f"),
    ivory=_IVORY,
    linen=_LINEN,
    ivory_shade=_IVORY_SHADE,
    linen_shade=_LINEN_SHADE,
    lit=_LIT,
    back=Colour("dark blue", "#006", "#27406f"),
    back_ink=Colour("light gray", "#88d", "#8fa8d8"),
    suits=(_BLACK, _RED, _RED, _BLACK),
    cursor=_SKY,
    wait=_GOLD,
    own=_SKY,
    other=_ORANGE,
    good=Colour("light green", "#8f8", "#8ff0a4"),
    bad=Colour("light red", "#f88", "#ff8f80"),
    lines=(
        _SKY,
        _ORANGE,
        Colour("light magenta", "#f8f", "#f5a3f0"),
        _WHITE,
        Colour("light green", "#8f8", "#8ff0a4"),
        Colour("light red", "#f88", "#ff8f80"),
        _GOLD,
        Colour("light blue", "#aaf", "#b3b8ff"),
    ),
)


# The green of the 16 colours cannot be read on their gray.
FOUR: Final = replace(
    CLASSIC,
    name="four",
    title="a colour for each suit, on a green table",
    suits=(_BLACK, _RED, Colour("dark blue", "#00d", "#1747c4"), Colour("dark magenta", "#070", "#0b6b2f")),
)

# Blue felt instead of green, and suits told apart by lightness as well as hue: black, vermilion, purple, blue (after Okabe and Ito).
SAFE: Final = replace(
    CLASSIC,
    name="safe",
    title="for colour-blind players: no need to tell red from green, on a blue table",
    cursor=_ORANGE,
    felt=Colour("black", "#036", "#17324d"),
    felt_dark=Colour("dark blue", "#003", "#0d2033"),
    text=Colour("white", "#fff", "#eef4fa"),
    faint=Colour("light gray", "#8ad", "#9db6cf"),
    back=Colour("dark magenta", "#636", "#4d4d6b"),
    back_ink=Colour("white", "#bbb", "#b9b9cf"),
    suits=(
        _BLACK,
        Colour("dark red", "#d60", "#c64600"),
        Colour("dark magenta", "#808", "#8a1f6b"),
        Colour("dark blue", "#06b", "#0062a3"),
    ),
    own=Colour("light cyan", "#6bf", "#56b4e9"),
    other=Colour("yellow", "#fa0", "#e69f00"),
    good=Colour("light cyan", "#6bf", "#7cc7f2"),
    bad=Colour("yellow", "#fa0", "#f0b030"),
    lines=(
        Colour("light cyan", "#6bf", "#56b4e9"),
        Colour("yellow", "#fa0", "#e69f00"),
        _WHITE,
        Colour("light magenta", "#d8a", "#dd8fb5"),
        Colour("light green", "#0b8", "#2fc39a"),
        Colour("yellow", "#fe4", "#f0e442"),
        Colour("light red", "#f84", "#ff7f3f"),
        Colour("light gray", "#bbb", "#bbbbbb"),
    ),
)

NONE: Final = replace(CLASSIC, name="none", title="no colours")

BUILT_IN: Final[tuple[Palette, ...]] = (CLASSIC, FOUR, SAFE)
"""The themes that can be chosen by name."""

PALETTES: Final[tuple[Palette, ...]] = (*BUILT_IN, NONE)


class Border(NamedTuple):
    """The six pieces of a box."""

    left_top: str
    across: str
    right_top: str
    down: str
    left_bottom: str
    right_bottom: str


class Glyphs(Struct, frozen=True):
    """The signs of one alphabet, Unicode's unless said otherwise. bar: partial blocks, the full one last.

    playable, down, both: the card goes home; where there are two ways, up, down or either. moves: it goes elsewhere. takes: a held card
    goes there.
    upper, lower: half blocks, by which a card ends in the middle of a row. levels: one of something, two, and so on.
    passed, parting: on a time line, what lies behind its head, and where lines of play part.
    """

    suits: dict[str, str] = field(default_factory=lambda: {"S": "♠", "H": "♥", "D": "♦", "C": "♣"})
    playable: str = "▲"
    down: str = "▼"
    both: str = "↕"
    moves: str = "▸"
    takes: str = "◂"
    cursor: tuple[str, str] = ("▐", "▌")
    cursor_top: tuple[str, str, str] = ("▗", "▄", "▖")
    cursor_bottom: tuple[str, str, str] = ("▝", "▀", "▘")
    frame: Border = Border(*"┌─┐│└┘")
    dotted: Border = Border(*"┌╌┐┆└┘")
    back: str = "░"
    upper: str = "▀"
    lower: str = "▄"
    bar: str = "▏▎▍▌▋▊▉█"
    bar_rest: str = "─"
    dot: str = "●"
    ring: str = "○"
    tick: str = "✓"
    cross: str = "✗"
    unknown: str = "?"
    pointer: str = "▸"
    dash: str = "\N{EN DASH}"
    times: str = "\N{MULTIPLICATION SIGN}"
    middle: str = "·"
    levels: str = "▃▅▇█"
    passed: str = "━"
    parting: str = "◆"
    rise: str = "→"
    cut: str = "…"
    rounded: Border = Border(*"╭─╮│╰╯")


UNICODE: Final = Glyphs()
ASCII: Final = Glyphs(
    suits={"S": "S", "H": "H", "D": "D", "C": "C"},
    playable="^",
    down="v",
    both="*",
    moves=">",
    takes="<",
    cursor=("[", "]"),
    cursor_top=("[", "=", "]"),
    cursor_bottom=("[", "=", "]"),
    frame=Border(*"+-+|++"),
    dotted=Border(*"+.+:++"),
    back="/",
    upper=" ",
    lower=" ",
    bar="#",
    bar_rest="-",
    dot="*",
    ring="o",
    tick="+",
    cross="x",
    pointer=">",
    dash="-",
    times="x",
    middle="-",
    levels="123456789",
    passed="=",
    parting="X",
    rise="->",
    cut="..",
    rounded=Border(*"+-+|++"),
)


class Theme(Struct, frozen=True):
    """One look. bordered: cards need borders, since no colours tell them from the felt. shades, paints: there are colours enough for
    shades, and for painted cards. pictures: the terminal shows pictures of cards.
    """

    palette: Palette
    glyphs: Glyphs
    bordered: bool
    shades: bool = True
    paints: bool = False
    pictures: bool = False

    @property
    def is_ascii(self) -> bool:
        return self.glyphs is ASCII


def grounds(palette: Palette) -> dict[str, Colour]:
    """What a card is drawn on, by its look. In a quilt upright cards are ivory and sideways ones linen, in the shade where not free."""
    return {
        "card": palette.ivory,
        "side": palette.linen,
        "dim": palette.ivory_shade,
        "dimside": palette.linen_shade,
        "lit": palette.lit,
        "held": palette.cursor._replace(basic="dark cyan"),
    }


def _on_dark(ink: Colour) -> Colour:
    """An ink for cards that are black with 16 colours."""
    basic = {"black": "light gray", "dark red": "light red", "dark blue": "light blue"}.get(ink.basic, ink.basic.replace("dark", "light"))
    return ink._replace(basic=basic)


SHADED: Final = 4
"""Lines that have a shade of their colour."""


def _mixed(ground: Colour, ink: Colour) -> Colour:
    """A ground with some of a colour in it; for the 16 colours the ground as it is."""
    parts = [round(int(ground.exact[at : at + 2], 16) * 0.7 + int(ink.exact[at : at + 2], 16) * 0.3) for at in (1, 3, 5)]
    return Colour(ground.basic, "#" + "".join(f"{part // 17:x}" for part in parts), "#" + "".join(f"{part:02x}" for part in parts))


PaletteEntry: TypeAlias = tuple[str, str, str, str, str, str]
"""A palette entry as urwid takes it: name, foreground, background, mono, high foreground, high background."""


def theme_for(palette_name: str, *, ascii_only: bool, colours: int, own: Palette | None, pictures: bool = False) -> Theme:
    """The look for a terminal with so many colours. An unknown palette name means the classic one. own: one beside the built-in ones.

    pictures: the terminal shows pictures, for which it needs exact colours.
    """
    palette = next((each for each in _all(own) if each.name == palette_name), CLASSIC)
    paints = colours > 256 and palette.name != "none" and not ascii_only
    return Theme(
        palette,
        ASCII if ascii_only else UNICODE,
        bordered=colours <= 1 or palette.name == "none",
        shades=colours > 88 and palette.name != "none",
        paints=paints,
        pictures=pictures and paints,
    )


def _all(own: Palette | None) -> tuple[Palette, ...]:
    return PALETTES if own is None else (*PALETTES, own)


def built_in(name: str) -> Palette | None:
    """The built-in theme of that name; None if there is none."""
    return next((palette for palette in BUILT_IN if palette.name == name), None)


def next_palette(name: str, own: Palette | None = None) -> str:
    """The palette after this one."""
    names = [palette.name for palette in _all(own)]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]


def entries(palette: Palette, *, exact: bool) -> list[PaletteEntry]:
    """The roles of a palette as urwid palette entries. exact: 24-bit colours; else those of the 256-colour cube."""
    plain = palette.name == "none"

    def role(name: str, ink: Colour, ground: Colour, mono: str = "", *, style: str = "") -> PaletteEntry:
        if plain:
            settings = mono or "default"
            return (name, settings, "default", settings, settings, "default")
        add = f",{style}" if style else ""
        high = (ink.exact, ground.exact) if exact else (ink.cube, ground.cube)
        return (name, ink.basic + add, ground.basic, mono or "default", high[0] + add, high[1])

    felt, dark = palette.felt, palette.felt_dark
    rows = [
        role("felt", palette.text, felt),
        role("faint", palette.faint, felt),
        role("strong", palette.text, felt, "bold", style="bold"),
        role("title", palette.wait, felt, "bold", style="bold"),
        role("head", palette.text, dark, "standout"),
        role("head strong", palette.wait, dark, "standout,bold", style="bold"),
        role("head good", palette.good, dark, "standout"),
        role("head bad", palette.bad, dark, "standout,bold", style="bold"),
        role("foot", palette.faint, dark),
        role("key", palette.wait, dark, "bold", style="bold"),
        role("panel", palette.text, dark),
        role("panel faint", palette.faint, dark),
        role("panel strong", palette.wait, dark, "bold", style="bold"),
        role("hint", palette.wait, felt, "bold", style="bold"),
        role("good", palette.good, felt, "bold", style="bold"),
        role("bad", palette.bad, felt, "bold", style="bold"),
        role("chosen", dark._replace(basic="black"), palette.wait._replace(basic="brown"), "standout", style="bold"),
        role("edit", palette.text, dark, "underline"),
        role("gap", palette.faint, felt),
        role("open", palette.wait, felt),
        role("wait", palette.wait, dark, "bold", style="bold"),
        role("cursor", palette.cursor, felt, "bold", style="bold"),
        role("mark", Colour("dark blue", "#070", "#0b6b2f") if palette.name != "safe" else palette.suits[3], palette.lit, "bold"),
        role("back", palette.back_ink, palette.back),
        role("back strong", _WHITE, palette.back, "bold", style="bold"),
        role("edge back", palette.back, felt),
        role("own", palette.own, felt, "bold"),
        role("other", palette.other, felt),
        role("rest", palette.faint, felt),
        role("shadow", palette.text, _SHADOW),
        role("pulse", palette.wait, felt, "bold", style="bold"),
    ]
    for look, ground in grounds(palette).items():
        mono, style = ("bold", "bold") if look == "lit" else ("standout", "bold") if look == "held" else ("", "")
        for letter, ink in zip("SHDC", palette.suits, strict=True):
            rows.append(role(f"{look} {letter}", _on_dark(ink) if ground.basic == "black" else ink, ground, mono, style=style))
        rows.append(role(f"{look} ?", palette.back_ink, palette.back))
        rows.append(role(f"edge {look}", ground, felt, mono))
    # A suit's sign on the felt: the ink of the cards is too dark there.
    rows += [role(f"suit {letter}", palette.bad if letter in "HD" else palette.text, felt) for letter in "SHDC"]
    rows.append(role("suit ?", palette.back_ink, palette.back))
    halves = {"p": dark} | {f"l{number}": ink for number, ink in enumerate(palette.lines[:SHADED])}
    halves |= {f"a{number}": _mixed(dark, ink) for number, ink in enumerate(palette.lines[:SHADED])}
    rows += [role(f"half {top} {bottom}", ink, ground) for top, ink in halves.items() for bottom, ground in halves.items()]
    if exact and not plain:
        rows += _court_roles(palette)
    for number, ink in enumerate(palette.lines):
        rows += [role(f"line {number}", ink, dark, "bold"), role(f"curve {number}", ink, felt, "bold")]
    return rows


def _court_roles(palette: Palette) -> list[PaletteEntry]:
    """The half blocks of which court cards are painted."""
    inks, suits = INKS, dict(zip("SHDC", palette.suits, strict=True))
    looks = {look: ground.exact for look, ground in grounds(palette).items()}
    roles: dict[str, tuple[str, str]] = {}
    for top, bottom in pairs():
        for suit in suits if "R" in top + bottom else "S":
            for look in looks if "." in top + bottom else ("card",):
                colours = {**inks, "R": suits[suit].exact, ".": looks[look]}
                roles[role_of(top, bottom, suit, look)] = colours[top], colours[bottom]
    return [(name, "white", "black", "default", ink, ground) for name, (ink, ground) in roles.items()]
