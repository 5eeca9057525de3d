"""Checks for every page, as scripts to run in it. The contents of a box that scrolls by itself (`wide`) may be wider than the window."""

from __future__ import annotations

OVERFLOW = """
    // What is drawn to the size of its place is drawn anew in the next frame.
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const wide = [...document.querySelectorAll("body *")].filter((each) => {
        const box = each.getBoundingClientRect();
        return !each.closest(".unseen, .skip, .wide > *") && box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
    });
    return [document.documentElement.scrollWidth - innerWidth, wide.map((each) => `${each.tagName} ${each.className}`)];
"""

CONTRAST = """
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

NAVIGATION_ROWS = """
    const shown = [...document.querySelectorAll('nav a')].filter((link) => link.offsetParent);
    return new Set(shown.map((link) => link.offsetTop)).size;
"""

UNNAMED = ("link", "button", "meter", "image", "table", "heading", "navigation", "timer")
