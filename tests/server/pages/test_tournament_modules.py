"""The page's modules for tournaments, run by Node: what they make of rounds, against the pairings; and what a big screen shows when."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import msgspec
import pytest

from client.state.tournament import TournamentModel
from client.text.tournaments import (
    FORMAT_WORDS,
    OUT_WORDS,
    PHASE_WORDS,
    VERDICT_WORDS,
    byes_sentence,
    format_text,
    out_sentence,
    out_word,
    own_result_sentence,
    phase_sentence,
)
from client.tui.actions import Ruling
from client.tui.tournament.rulings import VERDICTS, _ruling_words, race_of
from protocol.phrases import PHRASES
from protocol.tournament_messages import CorrectResult, EndTournament, GiveBye, RemoveEntrant, RenameEntrant, Tournament
from protocol.tournaments import TableResult, TournamentBye, TournamentOptions, TournamentTable
from server.tournaments.pairing.brackets import double_bracket, single_bracket
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.elimination import Elimination
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.views import standings_rows
from tests.client import tournament_scenes
from tests.server.pages.test_page_modules import DOCUMENT, node
from tests.server.tournaments.fields import by_chance, field_of, pair_next, play, run_round

pytestmark = pytest.mark.slow


def told_rounds(tournament: Crosstable) -> list[dict[str, Any]]:
    """As `roundsOf` gives them."""
    return [
        {
            "number": paired.number,
            "isOver": True,
            "tables": [
                {
                    "table": pairing.table,
                    "first": pairing.first,
                    "second": pairing.second,
                    "counted": pairing.counted,
                    "match": pairing.match,
                    "race_ids": [f"{paired.number}-{pairing.table}"] if pairing.counted else [],
                    "result": None
                    if (result := tournament.result(paired.number, pairing.table)) is None or not pairing.counted
                    else {
                        "verdict": result.verdict,
                        "first_home": result.home[0],
                        "second_home": result.home[1],
                        "forfeit": result.forfeit,
                    },
                }
                for pairing in paired.pairings
            ],
        }
        for paired in tournament.rounds
    ]


def test_its_times_stand_while_the_server_can_keep_nothing_and_it_says_why() -> None:
    script = """
        const { Followed } = await import(`${web}/tournaments.js`);
        const told = { phase: "between", phase_ms: 60000, entrants: [], rounds: [{ number: 1, open: 0 }],
            options: { format: "swiss", rounds: 3 } };
        const followed = new Followed();
        followed.take(told, 1000);
        followed.hold("Clocks stand still.", 11000);
        followed.hold("Clocks stand still.", 30000);
        const held = [followed.sentence(50000), followed.since(50000)];
        followed.take(told, 60000);
        console.log(JSON.stringify([...held, followed.sentence(70000), followed.since(70000)]));
    """
    sentence = "Round 1 of 3 is over; the next one is paired in 0:50."
    assert node(script, None) == [f"{sentence} Clocks stand still.", 10_000, sentence, 10_000]


def test_the_tree_has_every_match_of_the_bracket_between_those_that_feed_it() -> None:
    fields = [(count, double, rounds) for count in (2, 3, 5, 8, 11, 16) for double in (False, True) for rounds in (1, 2, 99)]
    played = [
        play(field_of(Elimination(double=double), count), by_chance(Random(count), draws=0), rounds) for count, double, rounds in fields
    ]
    script = """
        const { bracketOf } = await import(`${web}/bracket.js`);
        const matchesOf = (groups) => groups.flatMap(({ columns }) => columns.flatMap(({ matches }) => matches));
        console.log(JSON.stringify(given.map(([rounds, isDouble]) => matchesOf(bracketOf(rounds, isDouble)))));
    """
    for (count, double, _), tournament, matches in zip(
        fields,
        played,
        node(script, [[told_rounds(each), double] for (_, double, _), each in zip(fields, played, strict=True)]),
        strict=True,
    ):
        bracket = (double_bracket if double else single_bracket)(count)
        paired = {pairing.match: pairing for each in tournament.rounds for pairing in each.pairings}
        named = {match["name"]: match for match in matches}
        assert list(named) == sorted(
            (match.name for match in bracket if not match.reset or match.name in paired), key=lambda name: "WLFR".index(name[0])
        )
        for match in matches:
            sides = [side["entrant"] for side in match["sides"]]
            if match["name"] in paired:
                assert {*sides} == {*paired[match["name"]].entrants}
                assert match["race"] is not None or match["isBye"]
        # Each winner comes to the next match on their own side of it, whether that is paired yet or not.
        for number in range(2, 6):
            for at in range(1, 9):
                if (match := named.get(f"W{number}-{at}")) is None:
                    continue
                feeding = [named[f"W{number - 1}-{2 * at - 1 + side}"] for side in (0, 1)]
                winners = [next((side["entrant"] for side in each["sides"] if side["hasWon"]), None) for each in feeding]
                assert [side["entrant"] for side in match["sides"]] == winners


def test_no_place_of_a_knock_out_that_is_over_is_open_and_all_others_are_known_as_the_server_knows_them() -> None:
    fields = [
        (count, double, forfeits, seed)
        for count in (2, 3, 4, 5, 6, 7, 9, 12, 17)
        for double in (False, True)
        for forfeits in (0.0, 0.3, 0.9)
        for seed in range(2)
    ]
    script = """
        const { bracketOf } = await import(`${web}/bracket.js`);
        const shown = ({ entrant, isNobody }) => entrant ?? (isNobody ? "nobody" : "open");
        const sidesOf = (groups) => Object.fromEntries(groups.flatMap(({ columns }) => columns.flatMap(({ matches }) =>
            matches.map(({ name, sides, isBye }) => [name, [...sides.map(shown), ...(isBye ? ["nobody"] : [])].sort()]))));
        console.log(JSON.stringify(given.map(([rounds, isDouble]) => sidesOf(bracketOf(rounds, isDouble)))));
    """
    for until in (2, 1000):
        played = [
            play(field_of(Elimination(double=double), count), by_chance(Random(seed), draws=0, forfeits=forfeits), until)
            for count, double, forfeits, seed in fields
        ]
        told = node(script, [[told_rounds(each), double] for (_, double, _, _), each in zip(fields, played, strict=True)])
        for tournament, sides in zip(played, told, strict=True):
            assert isinstance(tournament.format, Elimination)
            known = {
                each.match.name: sorted(side or "nobody" for side in (each.first, each.second))
                for each in tournament.format.standoffs(tournament)
                # Nobody plays it: its sides were those of the final.
                if not each.match.reset or each.match.name in sides
            }
            assert {name: both for name, both in sides.items() if "open" not in both} == known
            if until > 2:
                assert sides.keys() == known.keys()


def test_whoever_would_meet_the_winner_of_a_match_that_both_forfeited_meets_nobody_and_wins() -> None:
    def table(match: str, first: str, second: str, verdict: str) -> dict[str, Any]:
        result = {"verdict": verdict, "first_home": 0, "second_home": 0, "forfeit": True}
        return {"match": match, "first": first, "second": second, "counted": True, "race_ids": [], "result": result}

    def told(*verdicts: str) -> list[dict[str, Any]]:
        pairs = zip(("a", "c", "e", "g"), ("b", "d", "f", "h"), verdicts, strict=True)
        return [{"number": 1, "isOver": True, "tables": [table(f"W1-{at}", *each) for at, each in enumerate(pairs, 1)]}]

    script = """
        const { bracketOf } = await import(`${web}/bracket.js`);
        const shown = ({ entrant, isNobody, hasWon }) => `${isNobody ? "nobody" : entrant ?? "open"}${hasWon ? " won" : ""}`;
        console.log(JSON.stringify(given.map((rounds) => bracketOf(rounds, false)[0].columns.slice(1)
            .flatMap(({ matches }) => matches.map(({ sides }) => sides.map(shown))))));
    """
    one, three, all_four = node(
        script, [told("first", "neither", "second", "second"), told("first", *["neither"] * 3), told(*["neither"] * 4)]
    )
    assert one == [["a won", "nobody"], ["f", "h"], ["a", "open"]]
    assert three == [["a won", "nobody"], ["nobody", "nobody"], ["a won", "nobody"]]
    assert all_four == [["nobody", "nobody"]] * 3


def test_everybody_against_everybody_and_the_way_of_each() -> None:
    tournament = play(field_of(RoundRobin(double=True), 5), by_chance(Random(7)))
    script = """
        const { gridOf, pathOf } = await import(`${web}/crosstable.js`);
        const { rounds, order } = given;
        console.log(JSON.stringify({ grid: gridOf(rounds, order, new Set()), paths: order.map((entrant) => pathOf(rounds, entrant)) }));
    """
    order = list(tournament.seeds)
    told = node(script, {"rounds": told_rounds(tournament), "order": order})
    worth = {"1": 1.0, "½": 0.5, "0": 0.0}
    points = {row.entrant: row.points for row in tournament.standings}
    for at, (entrant, cells, path) in enumerate(zip(order, told["grid"], told["paths"], strict=True)):
        assert cells[at] is None
        others = [cell for column, cell in enumerate(cells[:-1]) if column != at]
        assert [len(cell) for cell in others] == [2] * 4
        # The last column is that of the house.
        assert sum(worth[race["score"]] for cell in [*others, cells[-1]] for race in cell) == points[entrant]
        raced = [step for step in path if not step["isBye"]]
        worths = [({"won": 1.0, "drawn": 0.5, "lost": 0.0}[step["how"]], step["other"]) for step in raced]
        assert sum(each for each, _ in worths) == points[entrant]
        assert sum(worth[race["score"]] for cell in others for race in cell) == sum(each for each, other in worths if other is not None)
        assert [step["round"] for step in path] == sorted(step["round"] for step in path)
        assert all(step["races"] == [f"{step['round']}-{step['table']}"] for step in raced)


def test_the_rows_of_a_round_robin_add_up_to_the_standings_and_what_was_struck_stands_in_brackets() -> None:
    tournament = run_round(pair_next(field_of(RoundRobin(), 5)), by_chance(Random(3))).withdraw("b")
    tournament = play(tournament, by_chance(Random(3)))
    script = f"""{DOCUMENT}
        const {{ Crosstable }} = await import(`${{web}}/crosstable.js`);
        const crosstable = new Crosstable(() => {{}});
        crosstable.details.open = true;
        const [told, rounds] = given;
        crosstable.show(told, rounds, new Map(), null);
        const cellsOf = (row) => row.children.slice(2).map(textOf);
        const caption = textOf(all(crosstable.table, "caption")[0]);
        console.log(JSON.stringify([caption, ...all(crosstable.table, "tr").map(cellsOf)]));
    """
    rows = msgspec.to_builtins(standings_rows(tournament.standings))
    caption, head, *lines = node(script, [{"options": {"format": "round-robin"}, "standings": rows}, told_rounds(tournament)])
    assert caption == "Results of everybody against everybody, best first. What stands in brackets does not count."
    assert head == ["1", "2", "3", "4", "5", "House"]
    worth = {"1": 2, "½": 1, "0": 0}
    for row, line in zip(rows, lines, strict=True):
        assert sum(worth.get(cell, 0) for cell in line) == row["half_points"]
        is_struck = row["entrant"] == "b"
        # The last in the standings.
        assert all(cell.startswith("(") for cell in (line[:4] if is_struck else line[4:5]))


def test_of_a_swiss_a_bye_is_a_result_against_the_house_and_of_a_session_the_cards_home_are_told() -> None:
    script = f"""{DOCUMENT}
        const {{ Crosstable }} = await import(`${{web}}/crosstable.js`);
        const crosstable = new Crosstable(() => {{}});
        crosstable.details.open = true;
        const told = (format) => ({{ options: {{ format }}, standings: [{{ entrant: "a" }}] }});
        console.log(JSON.stringify(["swiss", "session"].map((format) => {{
            crosstable.show(told(format), given, new Map(), null);
            return all(crosstable.table, "td").slice(2).map((cell) => [textOf(cell), cell.attributes.title]);
        }})));
    """
    results = [TableResult(verdict=verdict, first_home=8, second_home=9) for verdict in ("first", "second")]
    tables = [tournament_scenes.table(1, "a", None, result=result) for result in results]
    rounds = [{"number": number, "isOver": False, "tables": [each]} for number, each in enumerate(tables, 1)]
    assert node(script, msgspec.to_builtins(rounds)) == [
        [["1 : house", "won against the house"], ["0 : house", "lost against the house"]],
        [["8", "8 cards home"]] * 2,
    ]


def test_the_page_lets_a_director_say_of_a_table_what_the_terminal_does() -> None:
    script = """
        const { correction, decisionsOf, missingText } = await import(`${web}/directing.js`);
        const told = { id: "KWPRTM", round: 2 };
        const of = (phase, check_in_s = 60) => Object.values(decisionsOf({ phase, rounds: [1], options: { check_in_s } }));
        const [here, gone, ann, ben] = [
          { name: "Cleo", checked_in: true }, { name: "Dan", withdrawn: true }, { name: "Ann" }, { name: "Ben" }];
        const missing = (phase, ...entrants) => missingText({ phase, entrants });
        console.log(JSON.stringify({
          missing: [
            missing("registration", ann), missing("check-in", here, gone), missing("check-in", ann, here),
            missing("check-in", ann, gone, ben)],
          said: given.map((table) => [0, 1, 2, 3, 4, 5, 6].map((at) => correction(told, table, at, "so"))),
          words: [of("registration"), of("registration", 0), of("check-in"), of("running"), of("between"), of("paused"), of("over")],
        }));
    """
    drawn = TableResult(verdict="draw", first_home=9, second_home=9)
    tables = [
        TournamentTable(
            table=3, first="a", second="b", counted=True, match="", result=result, races=races, race=1, race_ids=(), code=None, sides=(),
            elapsed_ms=0, no_show_ms=None,
        )
        for result, races in ((None, ()), (None, (drawn,)), (drawn, (drawn, drawn)))
    ]  # fmt: skip
    told = node(script, msgspec.to_builtins(tables))
    for table, said in zip(tables, told["said"], strict=True):
        cards = {"first_home": 9, "second_home": 9} if table.result else {"first_home": 0, "second_home": 0}
        for result, message in zip(VERDICTS.values(), said, strict=True):
            wanted = None if result is None else msgspec.structs.replace(result, **cards)
            asked = CorrectResult(id="KWPRTM", round=2, table=3, race=race_of(table), result=wanted, reason="so")
            assert msgspec.convert(message, type=CorrectResult) == asked
    assert told["missing"] == ["", "", "Ann", "the 2 who have not checked in"]
    assert told["words"] == [
        ["Open the check-in", "", "", "", "End the tournament"],
        ["Pair the first round", "", "", "", "End the tournament"],
        ["Pair the first round", "Two more minutes", "", "", "End the tournament"],
        ["", "", "Pause", "", "End the tournament"],
        ["", "", "Pause", "Pair round 2 now", "End the tournament"],
        ["", "", "Go on", "", "End the tournament"],
        ["", "", "", "", ""],
    ]


def test_rulings_whose_answers_were_lost_are_asked_about_once_the_tournament_shows_that_they_were_not_carried_out() -> None:
    script = f"""{DOCUMENT}
        const {{ Directing }} = await import(`${{web}}/directing.js`);
        const {{ open, rulings, settled, paired }} = given;
        let dialogs = [];
        document.querySelector = (selector) => dialogs.find(({{ tag }}) => tag === selector) ?? null;
        document.body = {{ append: (node) => dialogs.push(node) }};
        Object.assign(Element.prototype, {{ focus() {{}}, showModal() {{}}, remove() {{}} }});
        Object.defineProperty(Element.prototype, "selectedOptions", {{ value: [] }});
        const opened = (...show) => {{
            const waiting = new Set();
            dialogs.push({{ tag: "dialog", addEventListener: (_, act) => waiting.add(act) }});
            for (const each of show) each();
            dialogs = [];
            for (const act of waiting) act();
        }};
        const again = (more) => ({{ ...structuredClone(open), ...more }});
        const asked = (lost, ...steps) => {{
            dialogs = [];
            const directing = new Directing(() => {{}});
            const show = (told, me = open.director) => directing.show(told, me, []);
            show(open);
            lost.forEach((ruling) => directing.send(ruling));
            directing.lost(lost);
            // Until the server tells of it anew, nothing is known.
            show(open);
            const early = dialogs.length;
            for (const step of steps) typeof step === "function" ? step(directing, show) : show(step);
            return [early, ...dialogs.map(textOf)];
        }};
        console.log(JSON.stringify([
            rulings.map((ruling) => asked([ruling], again())),
            settled.map(([ruling, told]) => asked([ruling], told, again())),
            asked([rulings[0]], again({{ round: 1 }})), asked([rulings[0]], again({{ round: 1 }}), again()),
            asked([rulings[0]], (directing) => directing.lost([]), (_, show) => show(again(), "somebody else")),
            asked([rulings[0]], (_, show) => opened(() => show(again()), () => show(again()))),
            asked([rulings[0]], (_, show) => opened(() => show(open)), again()),
            asked([rulings[0]], (one, show) => opened(() => show(again()), () => one.lost([]))),
            asked([rulings[0]], (directing) => {{ directing.send(rulings[2]); directing.lost([rulings[2]]); }}, again()),
            asked([], again()),
            asked([], (one) => one.send(rulings[0]), again({{ round: 1 }}), (one) => one.lost([rulings[0]]), again()),
            asked([rulings[4]], paired), asked([rulings[4], rulings[5]], paired),
        ]));
    """
    scene = tournament_scenes.running()
    first, second, *others = scene.tables
    anna = scene.entrants[0]
    won, forfeit = TableResult(verdict="second"), TableResult(verdict="neither", forfeit=True)
    # Of the race that followed a strike, with the same verdict as before.
    fresh = TableResult(verdict="first", first_home=52, second_home=3)
    ruled = CorrectResult(id=scene.id, round=scene.round, table=second.table, race=1, result=won)
    forfeited, struck = (msgspec.structs.replace(ruled, result=result) for result in (forfeit, None))
    removed, ended = RemoveEntrant(id=scene.id, entrant=anna.id, reason="so"), EndTournament(id=scene.id)
    given_bye, taken_bye = (GiveBye(id=scene.id, entrant=anna.id, round=3, half_points=points) for points in (2, 0))
    renamed = RenameEntrant(id=scene.id, entrant=anna.id, name="Ann")
    rulings: list[Ruling] = [ruled, forfeited, struck, removed, given_bye, ended]

    def with_races(*races: TableResult) -> Tournament:
        table = msgspec.structs.replace(second, result=races[-1] if races else None, races=races)
        return tournament_scenes.running(tables=(first, table, *others))

    settled = [
        (ruled, with_races(won)),
        (forfeited, with_races(forfeit)),
        (struck, with_races()),
        (struck, with_races(fresh)),
        (removed, tournament_scenes.running(entrants=(msgspec.structs.replace(anna, withdrawn=True), *scene.entrants[1:]))),
        (given_bye, tournament_scenes.running(byes=(TournamentBye(round=3, entrant=anna.id, half_points=2),))),
        (taken_bye, scene),
        (renamed, tournament_scenes.running(entrants=(msgspec.structs.replace(anna, name="Ann"), *scene.entrants[1:]))),
        (ended, tournament_scenes.running(phase="ended")),
    ]
    paired = tournament_scenes.running(rounds=(*scene.rounds, tournament_scenes.paired(3, left=2)))
    given = {"open": scene, "rulings": [*rulings, renamed], "settled": settled, "paired": paired}
    answers = node(script, msgspec.to_builtins(given))
    asked, silent, elsewhere, seen, not_theirs, after_another, told_later, lost_again, two, nothing, turned, late, late_and_more = answers
    # Names are corrected by the page alone: the terminal has a command for it.
    words = [*(_ruling_words(TournamentModel(scene, 0), each) for each in rulings), "Benedikt is called Ann"]
    question = "The connection was lost before this was decided: {}.Decide it nowLeave it as it is"
    assert asked == [[0, question.format(each)] for each in words]
    assert silent == [[0]] * len(settled)
    assert [elsewhere, not_theirs, lost_again, nothing] == [[0]] * 4
    assert [seen, after_another, told_later, turned] == [asked[0]] * 4
    several = f"The connection was lost before these were decided: {words[0]}; {words[2]}.Decide them nowLeave it as it is"
    assert two == [0, several]
    too_late = f"Not done, and too late now that the round is paired: {words[4]}."
    assert late == [0, f"{too_late}Close"]
    assert late_and_more == [0, f"{too_late} {question.format(words[5])}"]


def test_what_a_director_has_confirmed_is_what_was_asked_whatever_the_tournament_has_become_and_a_reason_is_that_of_one_decision() -> None:
    script = f"""{DOCUMENT}
        const {{ Directing }} = await import(`${{web}}/directing.js`);
        const [before, after, me] = given;
        let dialog = null, sent = null;
        document.querySelector = () => null;
        document.body = {{ append: (node) => {{ dialog = node; }} }};
        Object.assign(Element.prototype, {{ focus() {{}}, showModal() {{}}, close() {{}}, click() {{ this.act(); }} }});
        Element.prototype.addEventListener = function (type, act) {{ if (type === "click") this.act = act; }};
        const decided = (reason, press, ...choices) => {{
            const directing = new Directing((message) => {{ sent = message; }});
            directing.show(before, me, []);
            for (const [field, value] of [["reason", reason], ...choices]) directing[field].value = value;
            directing[press].click();
            const asked = textOf(dialog.children[0]);
            directing.show(after, me, []);
            all(dialog, "button")[0].click();
            return [asked, sent, directing.reason.value];
        }};
        console.log(JSON.stringify([
            decided("the sheet says so", "correct", ["table", "1"], ["verdict", "1"]),
            decided("", "correct", ["table", "1"], ["verdict", "0"]),
            decided("asked me to", "remove", ["entrant", "p1"]), decided("", "rename", ["entrant", "p1"], ["newName", "Ann"]),
            decided("ill", "bye", ["entrant", "p1"]), decided("no light", "end"),
        ]));
    """
    scene = tournament_scenes.running(round=2)
    out = [msgspec.structs.replace(each, withdrawn=True) for each in scene.entrants]
    third = tournament_scenes.paired(3, left=1)
    other = tournament_scenes.table(1, "p3", "p1", code="WWWWWW", result=TableResult(verdict="draw", first_home=7, second_home=7))
    later = tournament_scenes.running(entrants=tuple(out), rounds=(*scene.rounds, third), round=3, tables=(other,))
    anna, id_, because = "p1", scene.id, "the sheet says so"
    won, lost = (TableResult(verdict=verdict) for verdict in ("second", "first"))
    told = node(script, msgspec.to_builtins([scene, later, scene.director]))
    assert [
        [asked, msgspec.convert(sent, type=CorrectResult | RemoveEntrant | RenameEntrant | GiveBye | EndTournament), reason]
        for asked, sent, reason in told
    ] == [
        [
            f"Round 2, table 1: Anna wins? Reason: {because}",
            CorrectResult(id=id_, round=2, table=1, race=1, result=won, reason=because),
            "",
        ],
        ["Round 2, table 1: Benedikt wins?", CorrectResult(id=id_, round=2, table=1, race=1, result=lost), ""],
        ["Remove: Anna? Reason: asked me to", RemoveEntrant(id=id_, entrant=anna, reason="asked me to"), ""],
        ["Anna is called Ann from now on, in this tournament?", RenameEntrant(id=id_, entrant=anna, name="Ann"), ""],
        ["Full-point bye of Anna in round 3? Reason: ill", GiveBye(id=id_, entrant=anna, round=3, half_points=2, reason="ill"), ""],
        ["End the tournament now? The standings stay. Reason: no light", EndTournament(id=id_, reason="no light"), ""],
    ]


def test_the_answer_to_one_request_is_not_taken_for_that_to_another() -> None:
    script = f"""{DOCUMENT}
        const {{ TakingPart }} = await import(`${{web}}/entering.js`);
        const {{ identity }} = await import(`${{web}}/identity.js`);
        identity.keep("t", "Ada");
        const sent = [];
        const part = new TakingPart({{ send: (message) => sent.push(message), restart() {{}} }}, "KWPRTM");
        const refs = () => sent.map(({{ type, ref }}) => [type, ref]);
        part.send({{ type: "end-tournament" }});
        part.up({{ player: "p", token: "t", name: "Ada" }});
        part.send({{ type: "remove-entrant" }});
        part.send({{ type: "correct-result" }});
        part.hear({{ type: "error", code: "tournament/not-now", message: "Not now.", ref: 8 }});
        const lost = part.lost().map(({{ type }}) => type);
        const notes = [textOf(part.notice)];
        part.send({{ type: "check-in" }});
        for (const type of ["end-tournament", "rename-entrant", "give-bye"]) part.send({{ type }});
        lost.push(part.lost().map(({{ type }}) => type), part.lost());
        notes.push(textOf(part.notice));
        console.log(JSON.stringify([refs(), lost, notes]));
    """
    refs, lost, notes = node(script, None)
    requests = ("end-tournament", "remove-entrant", "correct-result", "check-in", "end-tournament", "rename-entrant", "give-bye")
    assert refs == [[request, ref] for request, ref in zip(requests, (7, 8, 9, 7, 8, 9, 10), strict=True)]
    assert lost == ["end-tournament", "correct-result", ["end-tournament", "rename-entrant", "give-bye"], []]
    assert notes == ["Not now.", "The connection was lost before the answer came. When it is back, look whether it was done."]


def test_each_is_told_what_they_can_do_in_a_tournament_and_where_their_table_is() -> None:
    script = """
        const { ownPart } = await import(`${web}/entering.js`);
        const own = { id: "me", name: "Ida 2", withdrawn: false, checked_in: false };
        const told = (phase, more = {}) => ({
          phase, entrants: [own], rounds: [], round: 0, tables: [], standings: [{ entrant: "me", place: 2, won: 1, drawn: 0, lost: 0 }],
          options: { format: "swiss", check_in_s: 60 }, log: [], ...more });
        const table = { table: 4, first: "a", second: "me", code: "KXQWZP", result: null };
        const result = { verdict: "second", first_home: 5, second_home: 5 };
        const round = { rounds: [{ open: 0 }, { open: 1 }], round: 2, tables: [table] };
        const raced = { ...table, first: "b", second: "c", counted: true, sides: [{ state: "racing" }] };
        const struck = { entrants: [{ ...own, checked_in: true }], tables: [raced, { ...table, code: null, sides: [] }] };
        const cases = [
          [told("registration"), ""], [told("registration"), "me"], [told("check-in"), "me"], [told("running", round), "me"],
          [told("running", { ...round, round: 1 }), "me"], [told("running", { ...round, tables: [{ ...table, result }] }), "me"],
          [told("running", round), "other"], [told("running", { ...round, options: { format: "elimination" } }), "other"],
          [told("between", { entrants: [{ ...own, withdrawn: true }] }), "me"], [told("over"), "me"],
          [told("paused", { options: { format: "swiss", check_in_s: 0 } }), "me"],
          [told("running", { ...round, ...struck }), "me"],
          [told("running", { ...round, ...struck, tables: struck.tables.slice(1) }), "me"],
          ...[["running", 1, false], ["running", 1, true], ["running", 2, true], ["paused", 0, false]].map(([phase, lost, double]) =>
            [told(phase, { entrants: [{ ...own, checked_in: true }], standings: [{ entrant: "me", lost }],
              options: { format: "elimination", double } }), "me"]),
        ];
        console.log(JSON.stringify(cases.map(([told, me]) => {
          const { canEnter, canCheckIn, canLeave, table, sentence } = ownPart(told, me);
          return [["enter", canEnter], ["check in", canCheckIn], ["leave", canLeave]].filter(([, can]) => can).map(([word]) => word)
            .concat(table ? [table.code] : [], sentence.split(/[,:.]/)[0]);
        })));
    """
    assert node(script, None) == [
        ["enter", "To play"],
        ["leave", "You have entered as Ida 2"],
        ["check in", "leave", "Check in"],
        ["check in", "leave", "KXQWZP", "Table 4 is yours"],
        ["check in", "leave", "You are in as Ida 2"],
        ["check in", "leave", "You won your table"],
        ["enter", "You can still enter"],
        [""],
        ["enter", "You are not playing any more"],
        ["You came 2nd of 1"],
        ["leave", "You are in as Ida 2"],
        ["leave", "Your table races again when the other tables are done"],
        ["leave", "You are in as Ida 2"],
        ["leave", "You are out"],
        ["leave", "You are in as Ida 2"],
        ["leave", "You are out"],
        ["leave", "You are in as Ida 2"],
    ]


def test_the_page_says_why_somebody_is_out_as_the_terminal_does() -> None:
    script = """
        const { ownPart, outWord } = await import(`${web}/entering.js`);
        console.log(JSON.stringify(given.map((told) => [ownPart(told, told.entrants[0].id).sentence, outWord(told.entrants[0])])));
    """
    anna = tournament_scenes.running().entrants[0]
    out = [
        tournament_scenes.running(entrants=(msgspec.structs.replace(anna, withdrawn=True, out=why, out_reason=reason),))
        for why in ("", *OUT_WORDS)
        for reason in ("", "two names")
    ]
    assert node(script, msgspec.to_builtins(out)) == [[out_sentence(told, told.entrants[0]), out_word(told.entrants[0])] for told in out]


def test_whoever_is_called_to_their_table_is_told_how_long_they_have() -> None:
    script = f"""{DOCUMENT}
        const {{ Call }} = await import(`${{web}}/calling.js`);
        const called = (more) => ({{ type: "called", id: "KWPRTM", name: "Open", round: 2, table: 1, race: 1, code: "HKTRWM",
            opponent: "Tom", bot: null, until_ms: 45_900, ...more }});
        const call = new Call({{ send() {{}} }});
        const said = (here, now) => {{
            call.show(here, null, now);
            return [call.node.hidden ? "" : textOf(call.node), call.left("HKTRWM", now)];
        }};
        const steps = [said(null, 0)];
        call.hear(called({{}}), 1000);
        steps.push(said(null, 1000), said("QWRTPS", 31_000), said(null, 99_000));
        // At the table itself.
        steps.push(said("HKTRWM", 2000));
        call.lost();
        steps.push(said(null, 3000));
        call.hear(called({{ opponent: "", until_ms: null }}), 4000);
        steps.push(said(null, 4000));
        console.log(JSON.stringify(steps));
    """
    waits = "Round 2: your table against Tom waits for you. Be there and ready within {}, or you forfeit.Go to your table"
    assert node(script, None) == [
        ["", None],
        [waits.format("0:45"), 45_900],
        [waits.format("0:15"), 15_900],
        [waits.format("0:00"), 0],
        ["", 44_900],
        ["", None],
        ["Round 2: your table waits for you.Go to your table", None],
    ]


def test_a_call_stands_until_the_race_runs_the_table_is_decided_or_the_tournament_is_over() -> None:
    script = f"""{DOCUMENT}
        const {{ Call }} = await import(`${{web}}/calling.js`);
        const called = {{ type: "called", id: "KWPRTM", name: "Open", round: 1, table: 1, race: 1, code: "HKTRWM", opponent: "Tom",
            bot: null, until_ms: 45_900 }};
        const told = (more = {{}}, table = {{}}) => ({{ type: "tournament", id: "KWPRTM", phase: "running", round: 1, entrants: [], log: [],
            standings: [], options: {{ format: "swiss", rounds: 9 }}, rounds: [{{ number: 1 }}],
            tables: [{{ table: 1, result: null, no_show_ms: 30_000, ...table }}], ...more }});
        const after = (...steps) => {{
            const sent = [];
            const call = new Call({{ send: ({{ id, follow = true }}) => sent.push(follow ? `follow ${{id}}` : `leave ${{id}}`) }});
            call.hear(called, 0);
            call.show(null, null, 0);
            for (const step of steps) typeof step === "function" ? step(call) : call.hear(step, 1000);
            call.show(null, null, 11_000);
            return [call.node.hidden, call.left("HKTRWM", 11_000), sent];
        }};
        const at = (phase) => (call) => call.show("HKTRWM", {{ code: "HKTRWM", isToBegin: phase === "waiting" }}, 2000);
        const held = {{ type: "error", code: "server/cannot-write", message: "Clocks stand still.", ref: 0 }};
        console.log(JSON.stringify([
            after(), after(told()), after({{ ...told({{ phase: "over" }}), id: "QWRTPS" }}), after(at("waiting")),
            after(held), after(held, told()), after(told({{ phase: "over" }})),
            after(told({{ phase: "ended" }})), after(told({{}}, {{ result: {{ forfeit: true }} }})),
            after(told({{ round: 2, rounds: [{{ number: 2 }}], tables: [] }})), after(at("racing")), after((call) => call.lost()),
        ]));
    """
    follows = ["follow KWPRTM"]
    stands = [[False, left, follows] for left in (34_900, 20_000, 34_900, 34_900, 44_900, 20_000)]
    gone = [True, None, [*follows, "leave KWPRTM"]]
    # What comes next is told as well, but with its connection nothing is followed any more.
    assert node(script, None) == [*stands, *[gone] * 2, [True, None, follows], *[gone] * 2, [True, None, follows]]


def test_whoever_forfeited_a_table_is_told_even_where_the_next_one_waits_at_once_and_of_no_race_that_they_have_raced() -> None:
    script = f"""{DOCUMENT}
        const {{ Call }} = await import(`${{web}}/calling.js`);
        const call = (round, id = "KWPRTM") => ({{ type: "called", id, name: "Open", round, table: 1, race: 1, code: `CODE-${{round}}`,
            opponent: "Tom", bot: null, until_ms: 45_900 }});
        const room = (round, phase) => ({{ code: `CODE-${{round}}`, isToBegin: phase === "waiting", phase, tournament: "KWPRTM",
            shared: {{ kind: "round", id: `KWPRTM/${{round}}` }} }});
        const entrants = [{{ id: "me", name: "Ida", withdrawn: false, checked_in: true }}];
        const told = (round, result, more) => ({{ type: "tournament", id: "KWPRTM", phase: "running", round, entrants, log: [],
            standings: [], options: {{ format: "swiss", rounds: 9, check_in_s: 0 }}, rounds: [{{ number: 1, open: 1 }}],
            tables: [{{ table: 1, first: "tom", second: "me", code: null, sides: [], result, no_show_ms: null }}], ...more }});
        const [lost, won, raced] = given;
        const paired = {{ rounds: [{{ number: 1, open: 0 }}, {{ number: 2, open: 1 }}] }};
        const after = (...steps) => {{
            const followed = [];
            const call = new Call({{
                send: ({{ type, follow = true, round }}) => type === "follow-tournament" && followed.push(follow ? round : 0) }});
            call.up("me");
            let seat = null;
            for (const step of steps) {{
                if (step.me) call.up(step.me);
                else if (step.isRead) call.dismiss();
                else if (step.type) call.hear(step, 1000);
                else if (step.left) call.closed(step.left);
                else seat = step.seat;
                if (step.left) seat = null;
                call.show(seat?.code ?? null, seat, 1000);
            }}
            return [call.became?.sentence ?? "", followed];
        }};
        const at = (round, phase = "waiting") => ({{ seat: room(round, phase) }});
        const left = (round, phase = "waiting") => ({{ left: room(round, phase) }});
        const between = {{ phase: "between", rounds: [{{ number: 1, open: 0 }}] }};
        const paused = {{ phase: "paused" }};
        const second = (result) => ({{ ...told(1, result, paired), id: "QWRTPS" }});
        const ruled = [call(1), at(1), at(1, "racing"), left(1, "racing"), told(1, raced)];
        const open = {{ tables: [{{ table: 1, first: "tom", second: "me", counted: true, code: "CODE-2", sides: [], result: null }}] }};
        const [alone, over] = [{{ ...paired, tables: [] }}, {{ phase: "ended" }}];
        const third = {{ rounds: [...paired.rounds.slice(0, 1), {{ number: 2, open: 0 }}, {{ number: 3, open: 1 }}] }};
        console.log(JSON.stringify([
            after(call(1), at(1), left(1), told(1, lost)), after(call(1), at(1), left(1), told(1, won, between)),
            // Before they have come to it.
            after(call(1), told(1, lost)),
            after(call(1), at(1), left(1), call(2), told(1, lost, paired), at(2)),
            // By a page that knows nothing yet.
            after(call(2), told(1, lost, paired)), after(call(2), told(1, raced, paired)),
            after(at(1, "racing"), at(1, "over"), call(2), told(1, raced, paired)),
            after(at(1, "over"), left(1, "over"), told(1, raced, between), call(2)),
            after(call(1), at(1), left(1), told(1, null, paused)), after(call(1), at(1), left(1), told(1, null, paused), call(1), at(1)),
            after(call(2), told(1, lost, paired), at(2), at(2, "racing")),
            after(call(1), at(1), left(1), told(1, lost, {{ phase: "ended", log: [{{ kind: "end", reason: "no light" }}] }})),
            // To another player in the same page, and to who has turned to something else.
            after(call(1), told(1, lost), {{ me: "other" }}), after(call(1), told(1, lost), {{ isRead: true }}, told(1, lost, between)),
            // Another tournament calls: the first is followed no longer.
            after(call(1), told(1, lost), call(1, "QWRTPS")), after(call(1), told(1, lost), call(2, "QWRTPS"), second(raced)),
            after(call(1), told(1, lost), call(2, "QWRTPS"), second(won)),
            // The third round is called to before the second is told to be over.
            after(call(1), told(1, lost), call(2), call(3)), after(call(1), told(1, lost), call(2), call(3), told(2, lost, third)),
            after(call(1), told(1, lost), call(2), call(3), told(2, raced, third)),
            // A table that was left, and of which nothing was told yet.
            after(call(1), at(1), left(1), call(3), told(2, lost, third)),
            // Nobody calls them in the round after: their table there was decided as it was paired, they are out of it, or all is over.
            after(...ruled, told(1, raced, paired), told(2, won, paired)), after(...ruled, told(1, raced, paired), told(2, null, alone)),
            after(...ruled, told(1, raced, paired), told(2, null, {{ ...paired, ...open }}), call(2)),
            after(...ruled, told(1, raced, {{ ...paired, ...over }}), told(2, null, {{ ...paired, ...over, ...open }})),
            after(call(1), told(1, null, over)),
        ]));
    """
    lost, won = (TableResult(verdict=verdict, forfeit=True) for verdict in ("first", "second"))
    raced = TableResult(verdict="second", first_home=9, second_home=10)
    next_ = "You are in as Ida. When the next round is paired, this page takes you to your table."
    is_lost, is_raced = "You lost your table by forfeit.", "You won your table, 10 : 9 cards."
    assert node(script, msgspec.to_builtins([lost, won, raced])) == [
        [f"{is_lost} The round goes on.", [1]],
        [f"You won your table by forfeit. {next_}", [1]],
        [f"{is_lost} The round goes on.", [1]],
        [f"Round 1: {is_lost}", [1, 2]],
        [f"Round 1: {is_lost}", [1, 2]],
        ["", [1, 2]],
        ["", [2]],
        [f"Round 1: {is_raced}", [1, 2]],
        ["You are in as Ida. When the tournament goes on, this page takes you to your table.", [1]],
        ["", [1]],
        ["", [1, 2, 0]],
        [f"{is_lost} Called off before it was decided. Reason: no light.", [1, 0]],
        ["", [1]],
        ["", [1, 0]],
        [is_lost, [1, 0, 1]],
        [is_lost, [1, 0, 1, 2]],
        ["Round 1: You won your table by forfeit.", [1, 0, 1, 2]],
        ["", [1, 2]],
        [f"Round 2: {is_lost}", [1, 2, 3]],
        ["", [1, 2, 3]],
        [f"Round 2: {is_lost}", [1, 2, 3]],
        ["You won your table by forfeit. The round goes on.", [1, 0, 1, 2]],
        [next_, [1, 0, 1, 2]],
        [f"Round 1: {is_raced}", [1, 0, 1, 2]],
        ["Called off before it was decided.", [1, 0, 1, 2, 0]],
        ["Called off before it was decided.", [1, 0]],
    ]


def test_of_two_tournaments_that_call_at_once_the_more_urgent_stands_first_and_is_gone_to_first_and_then_the_other() -> None:
    script = f"""{DOCUMENT}
        const {{ Call }} = await import(`${{web}}/calling.js`);
        document.querySelector = () => null;
        const went = [], followed = [];
        globalThis.location = {{ assign: (to) => went.push(to) }};
        const call = new Call({{ send: ({{ id, follow = true }}) => follow && followed.push(id) }});
        const called = (name, code, until_ms) => call.hear({{ type: "called", id: name.toUpperCase(), name, round: 1, table: 1, race: 1,
            code, opponent: "Tom", bot: null, until_ms }}, 0);
        const after = (here, room) => {{
            call.show(here, room, 1000);
            if (!room) call.follow(here, null, 1000);
            return [call.node.hidden ? [] : call.node.children.map(textOf), went.splice(0), followed.splice(0)];
        }};
        const room = (code, isToBegin) => ({{ code, isToBegin, tournament: "CUP" }});
        call.up("me");
        called("Open", "HKTRWM", null);
        called("Cup", "QWRTPS", 60_000);
        console.log(JSON.stringify([after(null, null), after("QWRTPS", room("QWRTPS", true)), after("QWRTPS", room("QWRTPS", false)),
            after(null, null), after(null, null)]));
    """
    both = [
        "Cup, round 1: your table against Tom waits for you. Be there and ready within 0:59, or you forfeit.Go to your table",
        "Open, round 1: your table against Tom waits for you.Go to your table",
    ]
    other = ["Round 1: your table against Tom waits for you.Go to your table"]
    assert node(script, None) == [
        [both, ["/play/QWRTPS#sit"], ["CUP"]],
        [both[1:], [], []],
        [other, [], ["OPEN"]],
        [other, ["/play/HKTRWM#sit"], []],
        [other, [], []],
    ]


def test_the_next_table_is_gone_to_when_the_result_was_seen_and_nothing_is_written_or_there_is_no_time_for_that() -> None:
    script = f"""{DOCUMENT}
        const {{ Call }} = await import(`${{web}}/calling.js`);
        const {{ tables }} = await import(`${{web}}/identity.js`);
        const call = new Call({{ send() {{}} }});
        const went = [];
        globalThis.location = {{ assign: (to) => went.push(to) }};
        const due = (until_ms, resultAt, now, {{ text = "", isAsked = false }} = {{}}) => {{
            document.activeElement = {{ matches: () => true, value: text }};
            document.querySelector = () => (isAsked ? {{}} : null);
            tables.keep("HKTRWM", false);
            call.hear({{ type: "called", id: "KWPRTM", round: 1, table: 1, code: "HKTRWM", opponent: "Tom", until_ms }}, 0);
            call.follow(null, resultAt, now);
            return went.splice(0).length > 0;
        }};
        console.log(JSON.stringify([
            [due(60_000, null, 300), due(null, null, 300), due(60_000, null, 299)],
            [[60_000, 7000], [60_000, 8000], [20_000, 4000], [20_000, 5000], [null, 7000], [null, 8000]]
                .map(([left, now]) => due(left, 0, now)),
            [[60_000, 44_000], [60_000, 45_000], [null, 99_000]].map(([left, now]) => due(left, 0, now, {{ text: "Well" }})),
            [44_000, 45_000].map((now) => due(60_000, null, now, {{ isAsked: true }})),
        ]));
    """
    assert node(script, None) == [[True, True, False], [False, True, False, True, False, True], [False, True, False], [False, True]]


def test_a_table_is_gone_to_once_in_a_tab_whether_it_waited_before_the_page_was_opened_or_is_called_to_then() -> None:
    script = f"""{DOCUMENT}
        document.querySelector = () => null;
        document.visibilityState = "visible";
        const went = [], kept = new Map();
        globalThis.location = {{ assign: (to) => went.push(to) }};
        globalThis.sessionStorage = {{ getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) }};
        const {{ Call }} = await import(`${{web}}/calling.js`);
        const {{ TakingPart }} = await import(`${{web}}/entering.js`);
        const {{ tables }} = await import(`${{web}}/identity.js`);
        const called = (code) => ({{ type: "called", id: "KWPRTM", round: 1, table: 1, code, opponent: "Tom", until_ms: null }});
        const menu = () => {{
            const call = new Call({{ send() {{}} }});
            call.up("me");
            return (code) => [call.hear(called(code), 0), call.follow(null, null, 300)] && went.splice(0);
        }};
        const [open, again] = [menu(), menu()];
        const at = (code, here = false) => {{
            const part = new TakingPart({{ send() {{}} }}, "KWPRTM");
            part.me = "me";
            const entrants = [{{ id: "me", name: "Ida", withdrawn: false, checked_in: true, here }}];
            const table = {{ table: 1, first: "me", second: "tom", code, result: null, no_show_ms: 9000 }};
            part.show({{ id: "KWPRTM", phase: "running", round: 1, rounds: [{{ number: 1, open: 1 }}], entrants, log: [], standings: [],
                options: {{ format: "swiss", rounds: 9 }}, tables: [table] }}, 0);
            return went.splice(0);
        }};
        console.log(JSON.stringify([
            open("FIRST"), open("FIRST"), again("FIRST"), at("FIRST"), open("SECOND"), at("THIRD", true), at("THIRD"), at("THIRD"),
            // One that is closed may be raced once more.
            (tables.keep("FIRST", false), open("FIRST")), [...kept.values()],
        ]));
    """
    first, second, third = (f"/play/{code}#sit" for code in ("FIRST", "SECOND", "THIRD"))
    # Not from the page that looks on while they are connected elsewhere.
    elsewhere: list[str] = []
    assert node(script, None) == [[first], [], [], [], [second], elsewhere, [third], [], [first], ["FIRST THIRD SECOND"]]


def test_a_big_screen_says_how_long_somebody_is_waited_for() -> None:
    script = f"""{DOCUMENT}
        const {{ Field, pairingNodes }} = await import(`${{web}}/scenes.js`);
        const entrants = [{{ id: "a", name: "Ann" }}, {{ id: "b", name: "Ben" }}];
        const side = (entrant, present) => ({{ entrant, present, state: "waiting", home: 0 }});
        const table = (no_show_ms, second, ...sides) =>
            ({{ table: 1, first: "a", second, counted: true, result: null, no_show_ms, sides }});
        const shown = [45_900, null].flatMap((left) => {{
            const field = new Field();
            field.show({{ entrants, tables: [table(left, null, side("a", false))] }}, 52, 1000);
            const pair = {{ entrants, tables: [table(left, "b", side("a", true), side("b", false))] }};
            return [pairingNodes(pair, 1000).map(textOf), textOf(field.list)];
        }});
        console.log(JSON.stringify(shown));
    """
    assert node(script, None) == [
        ["Ann – Ben not there yet, 0:44 left"],
        "Ann not there yet, 0:44 left · 0/52",
        ["Ann – Ben not there yet"],
        "Ann not there yet · 0/52",
    ]


def test_the_page_says_why_a_tournament_was_called_off() -> None:
    script = """
        const { ownPart } = await import(`${web}/entering.js`);
        const { phaseSentence } = await import(`${web}/tournaments.js`);
        const ended = (rounds, author, won) => {
          const told = { phase: "ended", entrants: [{ id: "me", name: "Ida", withdrawn: false }], rounds, round: 0, tables: [],
            standings: [{ entrant: "me", place: 1, won, drawn: 0, lost: 0 }], options: { format: "swiss" },
            log: [{ kind: "end", text: "", author, reason: "no light" }] };
          return `${phaseSentence(told, null)} ${ownPart(told, "me").sentence}`;
        };
        console.log(JSON.stringify([ended([], "Grace", 0), ended([], "", 0), ended([{ number: 1 }], "Grace", 1)]));
    """
    assert node(script, None) == [
        "Called off by its director before the first round. Reason: no light.",
        "Called off before the first round. Reason: no light.",
        "Called off by its director before it was decided. Reason: no light. You came 1st of 1, as it stood.",
    ]


def test_formats_and_phases_have_the_words_of_the_terminal() -> None:
    script = """
        const { formatWord, phaseSentence, phaseWord } = await import(`${web}/tournaments.js`);
        const { formats, phases, stands } = given;
        console.log(JSON.stringify([
          formats.map(formatWord), phases.map(phaseWord), stands.map(([told, left]) => phaseSentence(told, left))]));
    """
    formats = [
        TournamentOptions(name="x", format=each, rounds=rounds, double=double)
        for each in FORMAT_WORDS
        for rounds, double in ((0, False), (1, False), (9, False), (0, True))
        if not double or each in ("round-robin", "elimination")
    ]
    tables = tuple(tournament_scenes.paired(number, tables=1) for number in (1, 2))
    begun: list[Callable[..., Tournament]] = [
        tournament_scenes.running,
        partial(tournament_scenes.running, rounds=tables),
        tournament_scenes.told,
    ]
    stands = [
        (tell(phase=phase), left_ms)
        for tell in begun
        for phase in PHASE_WORDS
        for left_ms in (None, -5, 0, 61_000, 3_700_000)
        if phase not in ("between", "over") or tell is not tournament_scenes.told
    ]
    told = node(script, msgspec.to_builtins({"formats": formats, "phases": list(PHASE_WORDS), "stands": stands}))
    assert told == [[format_text(each) for each in formats], [*PHASE_WORDS.values()], [phase_sentence(*each) for each in stands]]


def test_results_and_what_can_be_said_have_the_words_of_the_terminal() -> None:
    script = """
        globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
        const { VERDICTS } = await import(`${web}/tournament.js`);
        const { PHRASES } = await import(`${web}/play.js`);
        console.log(JSON.stringify([VERDICTS, Object.entries(PHRASES)]));
    """
    assert node(script, None) == [VERDICT_WORDS, [[*each] for each in PHRASES.items()]]


def test_the_page_says_who_has_won_and_that_nobody_has_as_the_terminal_does() -> None:
    script = """
        const { phaseSentence, winners } = await import(`${web}/tournaments.js`);
        console.log(JSON.stringify(given.map((told) => [phaseSentence(told, null), winners(told)])));
    """
    first, second = (msgspec.structs.replace(row, place=1) for row in tournament_scenes.STANDINGS[:2])
    forfeited = tuple(msgspec.structs.replace(row, half_points=0, home=0) for row in (first, second))
    over = [tournament_scenes.running(phase="over", standings=rows) for rows in ((first,), (first, second), forfeited)]
    told = node(script, msgspec.to_builtins(over))
    assert [sentence for sentence, _ in told] == [phase_sentence(each, None) for each in over]
    assert [names for _, names in told] == [["Benedikt"], ["Benedikt", "Anna"], []]
    assert told[-1][0] == "It is over. Nobody won."


def test_it_says_who_has_won_where_the_cards_home_do_not() -> None:
    script = """
        const { winnerText } = await import(`${web}/tournaments.js`);
        console.log(JSON.stringify(given.map((result) => winnerText(result, "Ada", "Zoë"))));
    """
    results = [
        TableResult(verdict="second", first_home=5, second_home=5),
        TableResult(verdict="first", first_home=5, second_home=5),
        TableResult(verdict="draw", first_home=5, second_home=5),
        TableResult(verdict="first", first_home=6, second_home=5),
        TableResult(verdict="first", first_home=5, second_home=5, forfeit=True),
        TableResult(verdict="second", forfeit=True),
        TableResult(verdict="neither", forfeit=True),
        # Alone with no card home.
        TableResult(verdict="second"),
    ]
    assert node(script, msgspec.to_builtins(results)) == [
        *["Zoë won", "Ada won", "", ""],
        *["Ada won by forfeit", "Zoë won by forfeit", "both forfeited", ""],
    ]


def test_the_page_says_of_a_result_what_has_decided_it_and_each_is_told_their_own_as_in_the_terminal() -> None:
    script = f"""{DOCUMENT}
        const {{ resultNodes }} = await import(`${{web}}/tournament.js`);
        const {{ ownResultSentence }} = await import(`${{web}}/entering.js`);
        const {{ nameOf }} = await import(`${{web}}/dom.js`);
        console.log(JSON.stringify(given.map((table) => [
            resultNodes(table.result, ["Ada", "Zoë"].map(nameOf)).map(textOf).join(""),
            ...["a", "z"].map((me) => ownResultSentence({{ options: {{ format: "swiss" }} }}, table, me)),
            ownResultSentence({{ options: {{ format: "session" }} }}, table, "a"),
        ])));
    """
    drawn = TableResult(verdict="draw", first_home=11, second_home=11)
    won, lost = (msgspec.structs.replace(drawn, verdict=verdict) for verdict in ("first", "second"))
    results = [
        (won, "Ada 1 : 0 Zoë (11 : 11 cards), Ada had them first"),
        (lost, "Ada 0 : 1 Zoë (11 : 11 cards), Zoë had them first"),
        (drawn, "Ada ½ : ½ Zoë (11 : 11 cards)"),
        (TableResult(verdict="second", first_home=11, second_home=12), "Ada 0 : 1 Zoë (11 : 12 cards)"),
        (msgspec.structs.replace(won, ruled=True), "Ada 1 : 0 Zoë (11 : 11 cards), by ruling"),
        (msgspec.structs.replace(won, walkover=True), "Ada 1 : 0 Zoë (11 : 11 cards), walkover"),
        (TableResult(verdict="second", forfeit=True), "Ada 0 : 1 Zoë, by forfeit"),
        (TableResult(verdict="neither", forfeit=True), "Ada 0 : 0 Zoë, by forfeit"),
    ]
    tables = [tournament_scenes.table(1, "a", second, result=result) for result, _ in results for second in ("z", None)]
    told = node(script, msgspec.to_builtins(tables))
    assert [text for text, *_ in told[::2]] == [text for _, text in results]
    for table, (_, *own, alone) in zip(tables, told, strict=True):
        assert alone == own_result_sentence(table, "a", alone=True)
        # At a table of the house nobody else is to be told.
        sides = [side for side in (table.first, table.second) if side is not None]
        assert own[: len(sides)] == [own_result_sentence(table, side) for side in sides]


def test_of_who_plays_a_session_alone_the_cards_are_told_and_bots_are_marked_as_in_other_tournaments() -> None:
    script = f"""{DOCUMENT}
        const {{ resultNodes }} = await import(`${{web}}/tournament.js`);
        const {{ standingsNodes }} = await import(`${{web}}/scenes.js`);
        const row = {{ place: 1, entrant: "a", half_points: 0, won: 0, drawn: 0, lost: 1, home: 9 }};
        const entrants = [{{ id: "a", name: "random 1", bot: "random" }}];
        const told = (format) => ({{ options: {{ format }}, entrants, standings: [row], rounds: [] }});
        console.log(JSON.stringify([given.map((result) => resultNodes(result, ["Ada"]).join("")),
            ["session", "swiss"].map((format) => standingsNodes(told(format)).flatMap((node) => all(node, "th")).map(textOf).at(-1))]));
    """
    results = [TableResult(verdict="second", **more) for more in ({"first_home": 9}, {"forfeit": True}, {"first_home": 1, "ruled": True})]
    assert node(script, msgspec.to_builtins(results)) == [
        ["Ada: 9 cards home", "Ada: forfeited", "Ada: 1 card home, by ruling"],
        ["random 1 (bot)"] * 2,
    ]


def test_who_is_missing_at_a_table_is_not_there_yet_and_in_its_race_away() -> None:
    script = f"""{DOCUMENT}
        const {{ sideWord }} = await import(`${{web}}/tournament.js`);
        console.log(JSON.stringify([true, false].map((present) => [["waiting", true], ["waiting", false], ["racing", true], ["won", true]]
            .map(([state, ready]) => sideWord({{ state, present, ready }})))));
    """
    assert node(script, None) == [["ready", "not ready yet", "", "all home"], ["not there yet", "not there yet", "away", "all home"]]


def test_a_big_screen_names_the_players_of_a_race_as_its_director_has_corrected_them() -> None:
    script = f"""{DOCUMENT}
        globalThis.ResizeObserver = class {{ observe() {{}} }};
        globalThis.setInterval = () => {{}};
        document.addEventListener = () => {{}};
        document.body = createElement("body");
        location.hash = "";
        const {{ ScreenPage }} = await import(`${{web}}/screen.js`);
        const page = new ScreenPage({{ send() {{}} }}, "KWPRTM");
        const seat = (number, name) => ({{ seat: number, name, bot: null, state: "racing", home: 3, foundations: [] }});
        const room = {{ code: "HKTRWM", race: 1, version: 1, phase: "racing", seats: ["brt", "Clara"].map((name, at) => seat(at, name)),
            options: {{ rules: "carpet", time_limit_s: 600, delay_s: 10, series: {{ format: "single" }} }}, series: null,
            record: null, chat: [], elapsed_ms: 5000, starts_in_ms: null }};
        page.up({{ rules: [] }});
        page.hear(given);
        page.hear({{ type: "watched", room, boards: [], watchers: 0, lines: [] }});
        console.log(JSON.stringify(all(page.bars, "bdi").map(textOf)));
    """
    told = tournament_scenes.running(tables=tournament_scenes.TABLES[:1], rounds=())
    renamed = msgspec.structs.replace(told.entrants[0], name="Bert", entered_as="brt")
    named = node(
        script, msgspec.to_builtins(msgspec.structs.replace(told, entrants=(renamed, *told.entrants[1:]))) | {"type": "tournament"}
    )
    assert named == ["Bert", "Clara"]


def test_nobody_is_shown_under_the_name_of_an_entrant_who_once_had_theirs() -> None:
    script = """
        const { seatsIn } = await import(`${web}/tournaments.js`);
        const entrants = [["Anna", "Bob"], ["Bob", ""], ["Bert", "brt"]].map(([name, entered_as]) => ({ name, entered_as }));
        const seats = ["Bob", "Anna", "brt"].map((name, seat) => ({ seat, name }));
        console.log(JSON.stringify([{ entrants }, null].map((told) => seatsIn(told, seats).map((seat) => seat.name))));
    """
    assert node(script, None) == [["Bob", "Anna", "Bert"], ["Bob", "Anna", "brt"]]


def test_a_big_screen_says_of_the_other_tables_who_won_by_forfeit() -> None:
    script = f"""{DOCUMENT}
        const {{ otherTables, pairingNodes }} = await import(`${{web}}/scenes.js`);
        const entrants = [{{ id: "a", name: "greedy 2" }}, {{ id: "b", name: "Tom" }}];
        const sides = [3, 4].map((home) => ({{ home, present: true, state: "racing" }}));
        const table = (result, more) => ({{ table: 1, first: "b", second: "a", counted: true, code: null, sides: [], result, ...more }});
        const result = (verdict, home, forfeit) => ({{ verdict, first_home: home, second_home: home, forfeit }});
        const tables = [table(null, {{ sides }}), table(result("draw", 9, false)), table(result("second", 0, true)),
            table(result("first", 0, true), {{ second: null }}), table(result("neither", 0, true)), table(null, {{ table: 2, sides }})];
        const told = {{ entrants, tables }};
        const paired = pairingNodes(told, 0).flatMap((list) => list.children.map(textOf));
        console.log(JSON.stringify([otherTables(told, ({{ table }}) => table === 2), paired]));
    """
    assert node(script, None) == [
        [
            ["Tom", "3 : 4", "greedy 2", None],
            ["Tom", "9 : 9", "greedy 2", None],
            ["Tom", "–", "greedy 2", " greedy 2 won by forfeit"],
            ["Tom", "–", "the house", " Tom won by forfeit"],
            ["Tom", "–", "greedy 2", " both forfeited"],
        ],
        [
            "Tom – greedy 2",
            "Tom 9 : 9 greedy 2",
            "Tom – greedy 2 greedy 2 won by forfeit",
            "Tom – the house Tom won by forfeit",
            "Tom – greedy 2 both forfeited",
            "Tom – greedy 2",
        ],
    ]


def test_a_screen_goes_round_the_closest_races_stays_where_it_is_told_to_and_shows_a_result_to_its_end() -> None:
    script = """
        const { Rotation } = await import(`${web}/showing.js`);
        const races = new Rotation();
        const told = [];
        const at = (now, names, act = null) => { act?.(now); told.push(races.pick(names, now)); };
        const all = ["A", "B", "C", "D"];
        at(0, all); at(19999, all); at(20000, all); at(40000, all); at(60000, all);
        at(61000, all, (now) => races.next(all, now));
        at(62000, all, () => { races.isHeld = true; }); at(500000, all);
        at(501000, ["C", "D"]); at(502999, ["C", "D"]); at(503000, ["C", "D"]);
        at(504000, ["D"], (now) => races.end(now)); at(511000, ["D"], (now) => races.end(now)); at(512000, ["D"]);
        at(513000, []); at(514000, [], (now) => races.end(now)); at(521999, [], (now) => races.end(now)); at(522000, []);
        console.log(JSON.stringify(told));
    """
    # The three closest by turns; a race that is gone is left after two seconds, or eight after its result, which may come later.
    assert node(script, None) == [*"AABCABBB", "B", "B", "C", "C", "C", "D", "D", "D", "D", None]


def test_the_closest_table_what_is_shown_and_what_the_clock_says() -> None:
    script = """
        const { closestTables, closestFinished, partsOf, clockOf } = await import(`${web}/showing.js`);
        const { originToTell, isOwnMachine } = await import(`${web}/connection.js`);
        const table = (number, one, other, more = {}) => ({
          table: number, second: "b", counted: true, code: `T${number}`, result: null, race_ids: [], elapsed_ms: 1000 * number,
          sides: [one, other].map((home) => ({ home, state: "racing" })), ...more });
        const tables = [table(1, 9, 3), table(2, 5, 5), table(3, 20, 20), table(4, 1, 1, { result: { verdict: "draw" } }),
          table(5, 2, 2, { code: null }), table(6, 7, 7, { counted: false })];
        const over = (number, one, other, more = {}) => ({
          table: number, second: "b", race_ids: [`R${number}`], result: { first_home: one, second_home: other, forfeit: false }, ...more });
        const told = (phase, more = {}) => ({
          phase, tables, rounds: [1], phase_ms: null, options: { format: "elimination", time_limit_s: 600 }, ...more });
        const none = { tables: [] };
        console.log(JSON.stringify([
          closestTables(tables).map((each) => each.code),
          closestFinished([over(1, 9, 3), over(2, 30, 29), over(3, 8, 8, { race_ids: [] }), over(4, 5, 4)]).table,
          closestFinished([over(1, 0, 0, { second: null })]),
          partsOf(told("running"), true), partsOf(told("running", none), true), partsOf(told("between"), true),
          partsOf(told("paused", none), false), partsOf(told("check-in"), false), partsOf(told("ended", { rounds: [] }), false),
          clockOf(told("running"), 500), clockOf(told("check-in", { phase_ms: 400 }), 500), clockOf(told("between", none), 0),
          originToTell("?at=https://carpet.example/x", "http://a"), originToTell("?at=javascript:alert(1)", "http://a"), originToTell("", "http://a"),
          ["http://localhost:1", "http://127.0.0.1", "http://[::1]:2", "http://localhost.example"].map(isOwnMachine),
        ]));
    """
    assert node(script, None) == [
        ["T3", "T2", "T1", "T6"],
        2,
        None,
        *[["race"], ["tables"], ["standings", "bracket", "replay"], ["standings", "bracket"], ["join"], ["join"]],
        *[{"ms": 6500, "isLeft": False}, {"ms": 0, "isLeft": True}, None],
        *["https://carpet.example", "http://a", "http://a"],
        [True, True, True, False],
    ]


def test_a_session_is_shown_as_all_who_play_it_and_its_best_are_replayed_side_by_side() -> None:
    script = """
        const { partsOf, replayOf } = await import(`${web}/showing.js`);
        const { together } = await import(`${web}/replaying.js`);
        const over = (number, home, more = {}) => ({
          table: number, second: null, race_ids: [`R${number}`], result: { first_home: home, second_home: 0, forfeit: false }, ...more });
        const sides = [{ home: 9, state: "racing" }];
        const racing = { table: 1, second: null, counted: true, code: "T", result: null, race_ids: [], sides };
        const told = (phase, more = {}) => ({ phase, tables: [racing], rounds: [1], options: { format: "session" }, ...more });
        const race = (name, ended_at_ms, ...at) => ({
          record: { seats: [{ name }], ended_at_ms },
          boards: { rules: "rules", firsts: [name], steps: at.map((at_ms, ply) => ({ seat: 0, ply, at_ms })) } });
        const one = together([race("Ada", 90, 10, 30), race("Zoë", 50, 20, 30)]);
        console.log(JSON.stringify([
          replayOf([over(1, 9), over(2, 52), over(3, 60, { race_ids: [] }), over(4, 30)], "session").races, replayOf([], "session"),
          partsOf(told("running"), false), partsOf(told("running", { tables: [] }), false),
          partsOf(told("paused"), true), partsOf(told("over"), true),
          [one.seats.map(({ name }) => name), one.end, one.boards.firsts, one.boards.steps.map(({ seat, at_ms }) => [seat, at_ms])],
        ]));
    """
    assert node(script, None) == [
        *[["R2", "R4"], None],
        *[["field"], ["tables"], ["field", "standings", "replay"], ["standings", "replay"]],
        [["Ada", "Zoë"], 90, ["Ada", "Zoë"], [[0, 10], [1, 20], [0, 30], [1, 30]]],
    ]


def test_the_page_tells_of_byes_on_request_as_the_terminal_does_and_lets_players_ask_for_those_that_they_may_have() -> None:
    script = f"""{DOCUMENT}
        const {{ byesText }} = await import(`${{web}}/tournament.js`);
        const {{ ownPart }} = await import(`${{web}}/entering.js`);
        const {{ pathNodes, pathOf }} = await import(`${{web}}/crosstable.js`);
        const {{ roundsOf }} = await import(`${{web}}/bracket.js`);
        const [running, asking] = given;
        const rounds = roundsOf(null, running), names = new Map();
        console.log(JSON.stringify([
            byesText(running, 2), byesText(running, 1), pathNodes(rounds, "p9", names).map(textOf), pathOf(rounds, "p9").length,
            asking.map((told) => ownPart(told, "p1").bye),
            ["between", "paused"].map((phase) => ownPart({{ ...asking[2], phase }}, "p1").sentence)]));
    """
    away = TournamentBye(round=2, entrant="p9", half_points=2)
    running = tournament_scenes.running(byes=(away,))
    own = msgspec.structs.replace(tournament_scenes.entrant("p1", "Anna", 1), checked_in=True)

    def told(*byes: TournamentBye, **options: Any) -> Tournament:
        swiss = TournamentOptions(name="Open", **{"rounds": 3, "byes": 1, **options})
        rounds = (tournament_scenes.paired(1),)
        return tournament_scenes.told("between", options=swiss, entrants=(own,), rounds=rounds, round=1, tables=(), byes=byes)

    def bye(number: int, half_points: int) -> TournamentBye:
        return TournamentBye(round=number, entrant="p1", half_points=half_points)

    asking = [
        *(told(), told(byes=0), told(bye(2, 1)), told(bye(2, 2)), told(bye(1, 1)), told(bye(1, 2)), told(rounds=2)),
        *(told(format="session"), msgspec.structs.replace(told(), phase="over")),
    ]
    now, before, path, steps, may, sentences = node(script, [msgspec.to_builtins(each) for each in (running, asking)])
    assert (now, before) == (byes_sentence(running, 2), "")
    assert (path, steps) == (["A bye on request, 1"], 1)
    assert may == ["ask", "", "back", "", "", "ask", "", "", ""]
    assert sentences == ["You have a bye in round 2: ½. Nobody waits for you."] * 2
