"""Reads protocol/README.md, whose tables have fixed shapes, for the tests that hold it against the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

README = (Path(__file__).parents[2] / "protocol" / "README.md").read_text(encoding="utf-8")


class Section(NamedTuple):
    """One `###` heading: its text, and in it its first table (header and rows) and its example."""

    header: list[str]
    rows: list[list[str]]
    example: str | None
    text: str


def chapter(title: str) -> str:
    """The text under a `##` heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the specification has no chapter {title!r}"
    return found.group(1)


def table(body: str) -> tuple[list[str], list[list[str]]]:
    """The first table of a text, as header and rows of cells."""
    lines: list[list[str]] = []
    for line in body.splitlines():
        if line.startswith("|"):
            lines.append([cell.strip() for cell in line.strip("|").split("|")])
        elif lines:
            break
    if not lines:
        return [], []
    assert all(len(cells) == len(lines[0]) for cells in lines), f"a row of another length under {lines[0]}"
    return lines[0], lines[2:]


def sections(title: str) -> dict[str, Section]:
    parts = re.split(r"^### (.+)\n", chapter(title), flags=re.MULTILINE)[1:]
    found: dict[str, Section] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        examples = re.findall(r"^```json\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
        assert name not in found, f"{name} is described twice"
        assert len(examples) <= 1, f"{name} has {len(examples)} examples"
        found[name] = Section(*table(body), examples[0] if examples else None, body)
    return found
