"""What is to be right on every page: each check is read of a page, and returns what is wrong with it."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

from tests.e2e.browser import SETTLE, Page

_AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_TOO_WIDE = """
    const wide = [...document.querySelectorAll("body *")].filter((each) => {
        const box = each.getBoundingClientRect();
        return !each.closest(".unseen, .skip, .wide > *") && box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
    });
    const over = document.documentElement.scrollWidth - innerWidth;
    return [...(over ? [`the page by ${over}`] : []), ...wide.map((each) => `${each.tagName} ${each.className}`)];
"""

_CONTRAST = """
    const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = (rgb) => {
        const [r, g, b] = rgb.map((part) => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (let each = node; each; each = each.parentElement) {
            const colour = parse(getComputedStyle(each).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
        }
        return [255, 255, 255];
    };
    const poor = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let seen = 0;
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest(".unseen, .skip, script, svg, small")) continue;
        const [one, other] = [light(parse(getComputedStyle(node).color).slice(0, 3)), light(behind(node))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        seen += 1;
        if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${node.className} ${walker.currentNode.data}`);
    }
    return [seen, poor];
"""

_NAVIGATION_ROWS = """
    const shown = [...document.querySelectorAll('nav a')].filter((link) => link.offsetParent);
    return new Set(shown.map((link) => link.offsetTop)).size;
"""

_IDENTITIES = "return [...document.querySelectorAll('[id]')].map((each) => each.id)"

NAMED = ("link", "button", "meter", "image", "table", "heading", "navigation", "timer", "region", "combobox")
"""The roles of what a screen reader has to be able to name."""


def too_wide(page: Page) -> list[str]:
    """What is wider than the window. The contents of a box that scrolls by itself (`wide`) may be."""
    return list(page.run(_TOO_WIDE))


def too_pale(page: Page) -> list[str]:
    """The texts that are hard to read on what lies behind them."""
    return list(page.run(_CONTRAST)[1])


def breaches(page: Page) -> list[str]:
    """What axe finds wrong with the page, by the rules of WCAG 2.2 AA and good practice.

    WCAG also demands that an element's name contain its visible words; axe's rule for that is experimental, and is switched on here.
    Elements that are fading in are shown at once: for a moment they are too pale to read, and axe may look just then.
    """
    if not page.run("return Boolean(window.axe)"):
        page.run(_AXE)
    rules = "{ 'label-content-name-mismatch': { enabled: true } }"
    found = page.run(f"{SETTLE} return await axe.run(document, {{ resultTypes: ['violations'], rules: {rules} }})")
    return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]


def texts_seen(page: Page) -> int:
    """How many texts `too_pale` looks at."""
    return int(page.run(_CONTRAST)[0])


def navigation_rows(page: Page) -> int:
    return int(page.run(_NAVIGATION_ROWS))


def roles(page: Page, *of: str) -> list[int]:
    """How many nodes have each of these roles."""
    all_roles = [node["role"] for node in page.nodes()]
    return [all_roles.count(role) for role in of]


def poorly_structured(page: Page) -> list[str]:
    """What hinders whoever listens: nodes without a name, headings out of order, identities that two elements share."""
    nodes = page.nodes()
    levels = [int(node["level"]) for node in nodes if node["role"] == "heading"]
    identities = page.run(_IDENTITIES)
    return [
        *(f"{node['role']} without a name" for node in nodes if node["role"] in NAMED and not node["name"].strip()),
        *([] if levels[:1] == [1] and levels.count(1) == 1 else [f"levels {levels}"]),
        *(f"a heading of level {later} under {earlier}" for earlier, later in pairwise(levels) if later - earlier > 1),
        *sorted({f"id {each} twice" for each in identities if identities.count(each) > 1}),
    ]
