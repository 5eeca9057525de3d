"""One person's way through a tournament by keys, in a pseudo-terminal, against a real server: from home to the last standings."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from urllib.request import urlopen

import msgspec
import pytest

from protocol.text import ordinal
from protocol.tournaments import TournamentDocument
from tests.e2e.commands import carpet, carpet_here, environment, serving
from tests.e2e.terminal import ROOT, STOCK, Terminal, terminal_environment

pytestmark = pytest.mark.slow

DOWN, RIGHT, LEFT, TAB, BACK_TAB, ESCAPE = "\x1b[B", "\x1b[C", "\x1b[D", "\t", "\x1b[Z", "\x1b"
NAMES = ("anna", "random 1", "random 2", "random 3")


def client(home: Path, *arguments: str, columns: int = 80) -> Terminal:
    command = [sys.executable, "-m", "client.cli.main", *arguments]
    return Terminal(command, environment=environment(home, terminal_environment()), columns=columns)


def block_under(heading: str) -> list[str]:
    """The commands of the player's guide's first block under a heading, a line each."""
    _, _, section = (ROOT / "client" / "README.md").read_text(encoding="utf-8").partition(f"## {heading}\n")
    return section.split("```sh\n")[1].split("```")[0].splitlines()


def places(lines: list[str]) -> dict[str, str]:
    """The place of each of them, as the standings that are shown say."""
    rows = {name: line.replace("▸", " ").split() for name in NAMES for line in lines if f" {name} (" in line}
    return {name: row[0] for name, row in rows.items()}


def play(terminal: Terminal) -> None:
    """Some moves at one's own table, and home with it."""
    terminal.wait_for("Your table. Press r")
    terminal.type("r")
    terminal.wait_for("K stop")
    terminal.type(STOCK * 2)
    terminal.wait_for("2 moves")
    terminal.type("K")
    terminal.wait_for("Stop now? The cards you brought home count.")
    terminal.type("y")
    # Of the last race, as soon as it is known that the tournament is over, to the standings.
    ways = ("enter: back to the tournament", "enter: final standings")
    terminal.wait_until(lambda lines: any(way in line for way in ways for line in lines), what="the way out of the result")


def test_a_tournament_is_made_entered_played_and_looked_at_by_keys(tmp_path: Path) -> None:
    with serving(bots_wait=False) as url, client(tmp_path / "anna", "home", url, "--name", "anna") as anna:
        anna.wait_for("Quick match")
        anna.type("t")
        anna.wait_for("No tournaments yet. Press o to create one.")
        # Two rounds of four, no waiting: what is typed there is seen before the next key.
        anna.type("o")
        for keys, seen in (
            ("\r", "Tournament name"),
            ("Club\r", "Club"),
            (DOWN * 2 + RIGHT * 2, "Rounds       2"),
            # No bot has ever won at it: so a race ends when the player says so.
            (DOWN + RIGHT * 7, "Rules        Twenty"),
            (DOWN * 3 + RIGHT, "Byes         1 for each player"),
            (DOWN * 2 + RIGHT * 3, "Bots fill    up to 4"),
            (DOWN * 2 + RIGHT * 1, "Check-in     5:00 min"),
            (DOWN * 2 + RIGHT * 6, "when you say so"),
            (DOWN * 3, "You will be its director"),
        ):
            anna.type(keys)
            anna.wait_for(seen)
        anna.type("\r")
        anna.wait_for("Open to enter: 0 entered.")
        anna.type("i")
        anna.wait_for("You have entered as anna. Press S")
        anna.wait_until(lambda lines: any("anna (you)" in line and "here" in line for line in lines), what="that anna is here")
        anna.type("S")
        anna.wait_for("Check-in: 0 of 1 checked in.")
        anna.wait_for("Press c to check in")
        anna.type("c")
        play(anna)
        anna.type("\r")
        anna.wait_for("Round 1 of 2 is over")
        anna.wait_for("N pairs the next round")
        anna.type(TAB)
        anna.wait_until(lambda lines: any(line.startswith("▸") and "anna (you)" in line for line in lines), what="that anna is selected")
        anna.type("N")
        play(anna)
        anna.wait_for("enter: final standings")
        anna.type("\r")
        anna.wait_for("Buchh")
        listed = carpet_here(tmp_path / "grace", "tournament", "list", url)
        (line,) = (line for line in listed.out.splitlines() if "Club" in line)
        tournament = line.split()[0]
        printed = carpet_here(tmp_path / "grace", "tournament", "standings", url, tournament).out.splitlines()
        assert printed[0] == "Club: Swiss, over, round 2."
        # On the page of standings that they had turned to.
        final = {name: next(line for line in printed if line.endswith((name, f"{name} (bot)"))).split()[0] for name in NAMES}
        anna.expect(places, final)
        anna.wait_for(f"You came {ordinal(int(final['anna']))} of 4.")
        anna.type(BACK_TAB + LEFT)
        anna.wait_for("Tables of round 1")
        anna.type(BACK_TAB)
        anna.wait_for("Round 1, table")
        anna.type("q")
        anna.wait_for_end()
        assert anna.given_back()
        # She checks it by what her client kept; others know less.
        document = tmp_path / "club.json"
        with urlopen(f"{url.replace('ws', 'http', 1)}/tournaments/{tournament}.json") as page:
            document.write_bytes(page.read())
        checked = {name: carpet(tmp_path / name, "verify", str(document)) for name in ("anna", "grace")}
        assert [ran.status for ran in checked.values()] == [0, 0]
        assert ["what you gave when you checked in" in ran.out for ran in checked.values()] == [True, False]


def test_whoever_looks_on_sees_tables_and_watches_one_and_a_director_directs_by_commands(tmp_path: Path) -> None:
    with serving() as url:
        # A game of a hundred and fifty moves at least: the bots still race when all of this is done.
        options = ("--rules", "colorado", "--rounds", "2", "--check-in", "0", "--by-hand")
        made = carpet_here(tmp_path / "grace", "tournament", "create", url, "Rugs", *options)
        assert made.status == 0, made.err
        tournament = made.out.split()[1]
        for bot in ("greedy", "deep"):
            assert carpet_here(tmp_path / "grace", "tournament", "add-bot", url, tournament, bot).status == 0
        with client(tmp_path / "grace", "tournament", "join", url, tournament) as grace:
            grace.wait_for("i enters you as a player")
            grace.wait_for("Open to enter: 2 entered.")
            # Her screen stays where it is.
            added = carpet_here(tmp_path / "grace", "tournament", "add-bot", url, tournament, "random")
            assert added.status == 0, added.err
            grace.wait_for("Open to enter: 3 entered.")
            removed = carpet_here(tmp_path / "grace", "tournament", "remove", url, tournament, "random 1")
            assert removed.status == 0, removed.err
            grace.wait_for("Open to enter: 2 entered.")
            grace.type("q")
            grace.wait_for_end()
        # Wide, so that the bars fill a column with few cards home already.
        with client(tmp_path / "zoe", "tournament", "watch", url, tournament, columns=160) as zoe:
            zoe.wait_for("Open to enter: 2 entered.")
            assert carpet_here(tmp_path / "grace", "tournament", "start", url, tournament).status == 0
            zoe.wait_for("is being raced: 0 of 1 table done")
            zoe.wait_until(lambda lines: any("█" in line for line in lines), what="bars")
            zoe.type("\r")
            zoe.wait_for("Watching")
            zoe.type("L")
            zoe.wait_for("is being raced")
            assert carpet_here(tmp_path / "grace", "tournament", "pause", url, tournament).status == 0
            zoe.wait_for("Paused:")
            assert carpet_here(tmp_path / "grace", "tournament", "resume", url, tournament).status == 0
            corrected = carpet_here(
                tmp_path / "grace", "tournament", "correct", url, tournament, "1", "1", "1-0", "--cards", "31:28", "--reason", "by eye"
            )
            assert (corrected.status, corrected.out) == (0, "Table 1 of round 1 has its result.\n")
            zoe.wait_for("1 : 0 (31 : 28 cards)")
            ended = carpet_here(tmp_path / "grace", "tournament", "end", url, tournament, "--yes", "--reason", "no light")
            assert ended.status == 0
            zoe.wait_for("Called off by its director")
            zoe.type(ESCAPE)
            zoe.wait_for("newest first")
            zoe.type("q")
            zoe.wait_for_end()
        refused = carpet_here(tmp_path / "dan", "tournament", "pause", url, tournament)
        assert refused.sentence.startswith(f"carpet: This machine has no player at {url}. If you have one on another machine: ")
        assert not list((tmp_path / "dan").rglob("identity.json"))
        # It is too late to enter, but this one may.
        assert carpet_here(tmp_path / "dan", "tournament", "join", url, tournament, "--no-screen", "--name", "dan").status == 1
        refused = carpet_here(tmp_path / "dan", "tournament", "pause", url, tournament, "--name", "dan")
        who = f"At {url} this machine is the player dan."
        how = (
            "If you are its director on another machine: carpet identity export FILE there, carpet identity import FILE here;"
            f" if at another address of this server: carpet identity copy ADDRESS {url}."
        )
        assert (refused.status, refused.sentence) == (1, f"carpet: Only the director of a tournament may do that. {who} {how}")
        refused = carpet_here(tmp_path / "grace", "tournament", "pause", url, tournament, "--name", "Bert")
        assert refused.sentence == f"carpet: This machine has no player Bert at {url}; carpet whoami shows those it has."
        assert carpet_here(tmp_path / "grace", "tournament", "join", url, tournament, "--no-screen", "--name", "Bert").status == 1
        refused = carpet_here(tmp_path / "grace", "tournament", "pause", url, tournament, "--name", "Bert")
        # Grace has not been named: her player there has her login name.
        assert re.search(r"is the player Bert\. Its director (.+) is on this machine too: add --name \1\.$", refused.sentence)
        exported = carpet_here(tmp_path / "dan", "tournament", "export", url, tournament, "-", "--csv")
        assert "greedy" in exported.out


def test_the_result_of_one_tournament_does_not_stand_before_the_next_one(tmp_path: Path) -> None:
    grace, anna = tmp_path / "grace", tmp_path / "anna"

    def directed(url: str, *words: str) -> str:
        ran = carpet_here(grace, "tournament", words[0], url, *words[1:])
        assert ran.status == 0, ran.err
        return ran.out

    with serving(bots_wait=False) as url:
        options = ("--rules", "twenty", "--rounds", "1", "--fill", "2", "--check-in", "90")
        first, second = (directed(url, "create", title, *options).split()[1] for title in ("First", "Second"))
        with client(anna, "tournament", "join", url, first, "--name", "anna") as player:
            player.wait_for("You have entered as anna. The director will open the check-in.")
            opened = directed(url, "start", first).splitlines()
            assert opened[0] == f"The check-in of tournament {first} is open for 1 min 30 s, or until all who have entered are here."
            player.wait_for("Press c to check in")
            player.type("c")
            play(player)
            player.wait_for("It is over: ")
            player.type("q")
            player.wait_for_end()
        with client(anna, "tournament", "join", url, second) as player:
            player.wait_for("You have entered as anna. The director will open the check-in.")
            # At home too it is said when the check-in opens.
            player.type(ESCAPE)
            player.wait_for("newest first")
            player.type(ESCAPE)
            player.wait_for("Quick match")
            directed(url, "start", second)
            player.wait_for("Press T to check in to Second within ")
            player.type("T")
            play(player)
            # Before that, whoever quits is asked whether they mean to.
            player.wait_for("It is over: ")
            player.type("q")
            player.wait_for_end()
        taken = carpet_here(tmp_path / "dan", "tournament", "join", url, second, "--name", "anna", "--no-screen")
        assert "The name anna is another player's at that server; here you are anna 2." in taken.err


def test_the_commands_of_the_readme_run_as_they_are_written(tmp_path: Path) -> None:
    """One person directs, the other plays."""
    grace, anna = tmp_path / "grace", tmp_path / "anna"
    create, join, start, watch, tables, standings, log, export = block_under("Run a tournament")

    with serving(bots_wait=False) as url:

        def words(command: str, tournament: str = "ID") -> list[str]:
            return [url if word == "SERVER" else tournament if word == "ID" else word for word in shlex.split(command, comments=True)[1:]]

        made = carpet_here(grace, *words(create))
        assert made.status == 0, made.err
        tournament = made.out.split()[1]
        with client(anna, *words(join, tournament)) as player, client(anna, *words(watch, tournament)) as looker:
            player.wait_for("Your name, as others will see it")
            player.type("\r")
            player.wait_for("You have entered")
            looker.wait_for("Open to enter: 1 entered.")
            assert carpet_here(grace, *words(start, tournament)).status == 0
            player.wait_for("Press c to check in")
            player.type("c")
            play(player)
            # The pause over, to the next table by themselves, out of the result.
            play(player)
            player.wait_for("enter: final standings")
            looker.wait_for("It is over: ")
        paired = carpet_here(grace, *words(tables, tournament))
        assert paired.out.startswith("Twenty Open: round 2.\ntable  player")
        printed = carpet_here(grace, *words(standings, tournament))
        assert "Twenty Open: Swiss, over, round 2." in printed.out
        decided = carpet_here(grace, *words(log, tournament))
        assert "Round 2 is paired: 2 tables." in decided.out
        exported = carpet_here(grace, *words(export, tournament), str(tmp_path / "open.json"))
        assert exported.status == 0
        document = msgspec.json.decode((tmp_path / "open.json").read_bytes(), type=TournamentDocument)
        assert [round_.secret is not None for round_ in document.rounds] == [True, True]
