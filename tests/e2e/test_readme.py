"""What the README and the guides it links to say is true. The README's commands run as written, in a copy of the tree with only Python
and pip at hand.

If pip reaches no index these tests fail, just as the commands would for a reader. They are not skipped, because nobody would notice. The
command that runs the tests is not run here: `.ci/run` takes it from the README and runs it in full.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.cli.main import main as client_main
from client.tui.keymap import EVERYWHERE, Command
from server.cli.main import main as server_main
from tests.e2e.terminal import ROOT, Terminal, terminal_environment

README = (ROOT / "README.md").read_text(encoding="utf-8")
PLAYING = (ROOT / "client" / "README.md").read_text(encoding="utf-8")
GUIDES = (Path("README.md"), Path("client/README.md"), Path("server/README.md"), Path("server/solver/README.md"))
"""What users read."""
INSTALL_S = 300.0
"""pip on a slow line."""
CARD = re.compile(r"(?:10|[2-9AJQK])[♠♥♦♣]")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDERS = re.findall(r"^\| `(\w+/)` \|", README, re.MULTILINE)
NEVER_COPIED = (".git", ".venv", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis", "build", "dist")


def command(name: str) -> str:
    """The command under `<!-- command: name -->`, as it is written."""
    found = re.search(rf"<!-- command: {name} -->\n```sh\n(.*?)\n```\n", README, re.DOTALL)
    assert found is not None
    return found[1]


def block_under(heading: str) -> str:
    """The first block of commands under a heading."""
    _, _, section = README.partition(f"## {heading}\n")
    block: str = next(text for language, text in FENCED.findall(section) if language == "sh")
    return block


def fresh(tmp_path: Path, **more: str) -> dict[str, str]:
    """The environment of somebody who has just unpacked the tree. What tells pip where its index is stays."""
    kept = {
        name: value
        for name, value in terminal_environment().items()
        if not name.startswith(("PYTHON", "PYTEST_", "VIRTUAL_ENV", "CARPET_", "COV_"))
    }
    # Or pip compiles all that it installs, which takes half its time. (0, since "no" is part of the name: it is how pip reads it.)
    return kept | {"CARPET_HOME": str(tmp_path), "PIP_NO_COMPILE": "0"} | more


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as it would be committed."""
    place = tmp_path_factory.mktemp("readme") / "carpet-race"
    if not (ROOT / ".git").exists():
        # In an archive, or in the copy that .ci/run makes, all there is belongs to the tree.
        shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(*NEVER_COPIED))
        return place
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def is_dealt(lines: list[str]) -> bool:
    """The race screen is there, with twenty cards on the carpet and four Aces home."""
    return len(set(CARD.findall("\n".join(lines)))) == 24 and "q quit" in lines[-1]


@pytest.fixture(scope="module")
def raced(copy: Path) -> Iterator[tuple[Path, list[str], Terminal]]:
    """The race command was run to its first cards and quit: the copy, the screen that there was, and the terminal after it."""
    with Terminal(["sh", "-c", command("race")], environment=fresh(copy.parent), cwd=copy) as terminal:
        screen = terminal.wait_until(lambda lines: lines if is_dealt(lines) else None, patience_s=INSTALL_S, what="cards")
        terminal.type("q")
        terminal.wait_for("Quit? The race ends with it.")
        terminal.type("y")
        terminal.wait_for_end()
        yield copy, screen, terminal


@pytest.mark.slow
def test_the_race_command_races(raced: tuple[Path, list[str], Terminal]) -> None:
    _, screen, terminal = raced
    assert screen[0].startswith(" Carpet Race · Carpet · ")
    # The easiest, since the first race teaches the keys.
    assert any("random" in line for line in screen)
    assert terminal.process.returncode == 0
    assert terminal.given_back()


@pytest.mark.slow
def test_the_demo_needs_no_terminal(raced: tuple[Path, list[str], Terminal]) -> None:
    copy, _, _ = raced
    assert "`.venv/bin/carpet demo`" in README
    ran = subprocess.run(
        [".venv/bin/carpet", "demo", "--fast"], cwd=copy, env=fresh(copy.parent), capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Result:" in ran.stdout


@pytest.mark.slow
def test_a_race_is_checked_as_the_readme_says(raced: tuple[Path, list[str], Terminal]) -> None:
    copy, _, _ = raced
    environment = fresh(copy.parent)
    environment["PATH"] = f"{copy / '.venv' / 'bin'}:{environment['PATH']}"
    commands = block_under("Fair, and provably so")
    named = [line.partition("#")[0].strip() for line in commands.splitlines()]
    assert named == ["carpet demo --fast --json > race.json", "carpet verify race.json", "carpet review race.json"]
    ran = subprocess.run(["sh", "-e", "-c", commands], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("verified: race 1 of ")
    assert "\nanna (seat 1):\n  This deal can" in ran.stdout


def snippets() -> list[str]:
    """Every piece of code in the guides, a line each: blocks of commands, and what stands between backticks."""
    guides = "\n".join((ROOT / guide).read_text(encoding="utf-8") for guide in GUIDES)
    blocks = [text for language, text in FENCED.findall(guides) if language == "sh"]
    inline = re.findall(r"`([^`\n]+)`", FENCED.sub("", guides))
    return [line.partition("#")[0].strip() for text in (*blocks, *inline) for line in text.splitlines()]


def commands_named() -> dict[str, list[str]]:
    """Every `carpet …` and `carpet-server …`, each with the words behind it."""
    parts = [part.split() for snippet in snippets() for part in re.split(r"&&|[|;>]", snippet)]
    return {" ".join(words): words for words in parts if words and words[0].rpartition("/")[2] in ("carpet", "carpet-server")}


def linked() -> list[str]:
    """The files that the guides lead to, from the top of the tree."""
    links = [
        (guide.parent, link) for guide in GUIDES for link in re.findall(r"\]\(([^):#]+)\)", (ROOT / guide).read_text(encoding="utf-8"))
    ]
    return [str((ROOT / folder / link).resolve().relative_to(ROOT)) for folder, link in links]


@functools.cache
def help_of(program: str, *subcommand: str) -> str:
    """What `--help` says, on one line, since it breaks sentences where it likes."""
    main = server_main if program == "carpet-server" else client_main
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr("sys.argv", [program, *subcommand, "--help"])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code in (0, None), subcommand
    return " ".join(printed.getvalue().split())


def has_option(page: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", page) is not None


def test_every_command_and_option_that_is_named_exists() -> None:
    named = commands_named()
    assert len(named) >= 10
    for line, (program, *words) in named.items():
        program = program.rpartition("/")[2]
        depth = {"tournament": 2, "db": 2, "cluster": 2, "admin": 3}.get(words[0], 1) if words and not words[0].startswith("-") else 0
        subcommand = itertools.takewhile(lambda word: not word.startswith("-"), words[:depth])
        page = help_of(program, *subcommand)
        for option in (word for word in words if word.startswith("-")):
            assert has_option(page, option), f"{line}: no {option}"
    # Options that stand alone are some command's of the player, or the server's own.
    subcommands = [words[1] for line, words in named.items() if words[0] == "carpet" and len(words) > 1]
    pages = "\n".join(help_of("carpet", subcommand) for subcommand in dict.fromkeys(subcommands))
    pages += help_of("carpet", "tournament", "create") + help_of("carpet", "tournament", "export")
    pages += help_of("carpet", "tournament", "remove") + help_of("carpet", "tournament", "bye")
    pages += help_of("carpet-server", "serve") + help_of("carpet-server", "winrate")
    alone = {snippet.split()[0] for snippet in snippets() if snippet.startswith("--")}
    assert {"--deal", "--four-colour", "--colour-blind", "--ascii"} <= alone
    for option in alone:
        assert has_option(pages, option), option


def test_the_house_bots_that_are_named_are_those_of_the_help() -> None:
    assert "`carpet play --bot deep` is the hardest of the house bots; `random` and `greedy` are easier." in " ".join(PLAYING.split())
    assert "random, greedy or deep" in help_of("carpet", "play")


def test_the_keys_that_are_named_do_what_is_said() -> None:
    keys = {binding.command: binding.keys[0] for binding in EVERYWHERE}
    assert f"so do `{keys[Command.COLOURS]}` and `{keys[Command.ASCII]}` while you play" in PLAYING
    assert f"`{keys[Command.HELP]}` on any screen shows its keys" in PLAYING


def test_the_picture_is_what_the_screen_looks_like() -> None:
    picture = next(text for language, text in FENCED.findall(README) if language == "text")
    golden = (ROOT / "tests" / "data" / "screens" / "race-80x24.txt").read_text(encoding="utf-8")
    assert [line.rstrip() for line in picture.splitlines()] == [line.rstrip() for line in golden.splitlines()]


def test_the_source_archive_has_all_that_the_readme_sends_one_to() -> None:
    """Reads what the build is told to include, so that whoever has the archive can change and test the program too."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["sdist"]
    for name in ("README.md", "LICENSE", *linked(), *FOLDERS):
        assert any(f"/{name}".startswith(each) for each in build["include"]), name


def test_every_file_and_folder_that_is_named_is_there() -> None:
    files = linked()
    assert {*map(str, GUIDES), ".github/CONTRIBUTING.md"} <= {"README.md", *files}
    assert len(FOLDERS) == 4
    for name in (*files, *FOLDERS):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("guide", GUIDES, ids=str)
def test_every_section_that_is_linked_to_is_there(guide: Path) -> None:
    linked = re.findall(r"\]\(([^):#]*)#([^)]+)\)", (ROOT / guide).read_text(encoding="utf-8"))
    for name, section in linked:
        text = (ROOT / guide.parent / name if name else ROOT / guide).read_text(encoding="utf-8")
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert section in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, (name, section)
