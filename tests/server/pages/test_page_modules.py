"""The page's modules that need no document, run by Node: they agree with the terminal client and with the specification.

Python works out the expected results, over games of all twelve rule sets; Node imports the very files that browsers are served.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from client.game.board import Board, board_of, free_slots
from client.game.hints import hint, why_not
from client.game.moves import choices, homeward, next_home, press, suggested
from client.game.preview import preview
from client.state.evidence import Evidence, check
from client.text.formatting import rated_sentence
from client.text.runs import run_line
from client.tui.chips import CHIPS, Chip, chips_of, dealt, keyed
from client.tui.race.outcome import headline
from client.tui.table.playing import all_fit
from protocol.cards import FACE_DOWN
from protocol.fairness import derive_seed
from protocol.record import from_json
from protocol.seat_ends import SEAT_ENDS, end_word, word_among
from protocol.server_messages import Lobby, Rated
from protocol.text import ordinal
from protocol.views import OpenRaceInfo, RaceOptions, RunningRaceInfo, RunningSeatInfo, SeatRating, SeatState, SeriesOptions, View
from server.lobby.lobby import changes
from server.race.view import see
from server.rules.catalogue import RULE_SETS, describe
from tests.client import runs, scenes
from tests.client.text.test_formatting import OWN_FIRST, SCORES, WON, ended
from tests.conftest import NO_NODE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
WEB = ROOT / "server" / "pages" / "web"
VECTORS = ROOT / "tests" / "data" / "vectors"
RECORD = ROOT / "tests" / "data" / "records" / "format-1.json"
VIEWS = 40
"""Positions of each rule set's game."""
RULES = {row.id: describe(row) for row in RULE_SETS.values()}


def node(script: str, given: Any) -> Any:
    """What the script, a module's text, prints as JSON: it has `given` and `web`, the address of the modules."""
    program = shutil.which("node")
    if program is None:
        pytest.skip(f"{NO_NODE}: install node")
    read = "let input = ''; for await (const chunk of process.stdin) input += chunk; const given = JSON.parse(input);"
    ran = subprocess.run(
        [program, "--input-type=module", "--eval", f"{read} const web = {json.dumps(WEB.as_uri())};\n{script}"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def walk(rules: str) -> list[tuple[View, str]]:
    """Positions of one game, each with the move that is made there: home first, else by turns of whatever is legal."""
    position = RULE_SETS[rules].deal(hashlib.sha256(rules.encode()).digest())
    made: list[tuple[View, str]] = []
    for number in range(VIEWS):
        view = see(position)
        if not view.moves:
            break
        move = next_home(view) if number % 3 else view.moves[number % len(view.moves)]
        move = move or view.moves[number % len(view.moves)]
        made.append((view, move))
        position = position.play(move)
    return made


@cache
def games() -> dict[str, list[tuple[View, str]]]:
    return {rules: walk(rules) for rules in RULE_SETS}


def places(view: View) -> list[str]:
    return [*view.piles, *view.foundations, "w", "s", "r"]


def test_presses_previews_and_chips_are_those_of_the_terminal() -> None:
    script = """
        const { press, suggested, preview, choices, dealtChips, chipsOf, homeward, nextHome, allFit } = await import(`${web}/moves.js`);
        const told = given.map((game) => {
            let chips = [];
            return game.map(({ family, view, move, places, helds }) => {
                chips = dealtChips(chips, view);
                return {
                    presses: helds.flatMap((held) => places.map((place) => Object.values(press(view, held, place)))),
                    suggested: places.map((place) => suggested(view, place)),
                    choices: helds.map((held) => [...choices(view, held)].sort()),
                    preview: preview(view, move),
                    chips: chips.map(({ key, place, card }) => [key, place, card]),
                    held: helds.map((held) => chipsOf(chips, view, held).map(({ key, place }) => [key, place])),
                    home: homeward(view, chips),
                    next: nextHome(view, chips),
                    fits: allFit(family, view),
                };
            });
        });
        console.log(JSON.stringify(told));
    """
    given, expected = [], []
    for rules, game in games().items():
        cases, answers = [], []
        chips: tuple[Chip, ...] = ()
        for view, move in game:
            chips = dealt(chips, view)
            named = places(view)
            helds = ["", *[place for place in named if press(view, "", place).held == place]]
            board = board_of(RULES[rules], view)
            cases.append({"family": board.family, "view": msgspec.to_builtins(view), "move": move, "places": named, "helds": helds})
            answers.append(
                {
                    "presses": [list(press(view, held, place)) for held in helds for place in named],
                    "suggested": [suggested(view, place) for place in named],
                    "choices": [sorted(choices(view, held)) for held in helds],
                    "preview": json.loads(msgspec.json.encode(preview(view, move))),
                    "chips": [list(chip) for chip in chips],
                    "held": [[[chip.key, chip.place] for chip in chips_of(chips, view, held)] for held in helds],
                    "home": list(homeward(view, keyed(chips))),
                    "next": next_home(view, keyed(chips)),
                    "fits": all_fit(board, view),
                }
            )
        given.append(cases)
        expected.append(answers)
    told = node(script, given)
    for rules, ours, theirs in zip(games(), expected, told, strict=True):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert one == other, f"{rules}, position {number}"


def test_the_keys_of_chips_are_those_of_the_terminal() -> None:
    assert node("const { CHIPS } = await import(`${web}/moves.js`); console.log(JSON.stringify(CHIPS));", None) == CHIPS


def test_the_cards_of_a_quilt_that_lie_free_are_those_of_the_terminal() -> None:
    script = """
        const { freeSlots } = await import(`${web}/moves.js`);
        console.log(JSON.stringify(given.map(({ rules, view }) => [...freeSlots(rules, view)].sort())));
    """
    given, expected = [], []
    for rules, game in games().items():
        if RULES[rules].family != "quilt":
            continue
        for view, _ in game:
            given.append({"rules": msgspec.to_builtins(RULES[rules]), "view": msgspec.to_builtins(view)})
            expected.append(sorted(free_slots(board_of(RULES[rules], view), view)))
    assert node(script, given) == expected


def test_what_can_go_home_is_told_with_the_terminals_words_and_key() -> None:
    script = """
        const { hint } = await import(`${web}/hints.js`);
        const told = (hasKeys) => given.map(({ view, chips }) => hint(view, { has_waste: true }, "", hasKeys, chips));
        console.log(JSON.stringify([true, false].map(told)));
    """
    given, expected = [], []
    for game in games().values():
        chips: tuple[Chip, ...] = ()
        for view, _ in game:
            chips = dealt(chips, view)
            if not homeward(view) or view.pending is not None:
                continue
            said = hint(view, board_of(None, view), columns=1000, first=keyed(chips)).partition(";")[0].removesuffix(".")
            given.append({"view": msgspec.to_builtins(view), "chips": [chip._asdict() for chip in chips]})
            expected.append(f"{said.replace('waste (w)', 'the waste')}.")
    for key in ("g", "G"):
        assert any(f"({key}: all)" in said for said in expected)
    by_key, by_touch = node(script, given)
    assert by_key == expected
    assert by_touch == [re.sub(r" \([gG]: all\)", "", said) for said in expected]


def test_a_first_race_teaches_each_thing_once_when_the_table_has_a_use_for_it() -> None:
    script = """
        const { Lessons } = await import(`${web}/hints.js`);
        const told = (hasKeys) => {
            const lessons = new Lessons();
            let before = null;
            return given.map(({ move, view }) => {
                if (move) lessons.take(move, before, view);
                before = view;
                const chips = [{ key: "3", place: "a1", card: "2S" }];
                return lessons.sentence(view, { has_waste: true }, chips, hasKeys);
            });
        };
        console.log(JSON.stringify([told(true), told(false)]));
    """

    def at(move: str, piles: str, waste: str, stock: int, moves: str, pending: str | None = None) -> dict[str, Any]:
        cards = {f"{column}1": [] if card == "--" else [card] for column, card in zip("ab", piles.split(), strict=True)}
        view = {"piles": cards, "waste": waste.split(), "stock": stock, "stock_next": [], "foundations": {"S": 1}, "pending": pending}
        return {"move": move, "view": {**view, "redeals": 0, "home": 1, "moves": moves.split()}}

    steps = [
        at("", "2S 9D", "", 9, "a1 s"),
        at("a1", "3S 9D", "", 8, "a1 s"),
        # It was told, and the table has no use for anything new.
        at("a1", "8H 9D", "", 7, "s"),
        at("s", "8H 9D", "4S", 6, "w s"),
        at("w", "8H 9D", "", 6, "s"),
        at("s", "8H 9D", "KS", 5, "s"),
        at("s", "5S 9D", "KS KH", 4, "a1 s"),
        at("a1", "-- 9D", "KS KH", 4, "w:a1 s:a1", "a1"),
        at("w:a1", "KH 9D", "KS", 4, "s"),
        at("s", "6S 9D", "KS KC", 3, "a1 s"),
        at("s", "6S 9D", "KS KC QC", 2, "a1 s"),
    ]
    refilled = "The gap has been filled by itself, from the stock: there was nothing to choose."
    hold = "It may pay to hold a card back: turn the stock first, and the gap of 6♠ can take a card off the waste."
    assert node(script, steps) == [
        [
            "2♠ at a1 can go home, to the pile of its suit. Click it (key 3).",
            refilled,
            "Nothing fits now. Click the stock (key s): its next card comes onto the waste, and may fit.",
            "4♠ on the waste can go home, too. Click it (key w).",
            *("" for _ in range(3)),
            "Now fill the gap at a1. Click the waste (key w) for its top card, which frees the one under it, or the stock (key s).",
            "",
            hold,
            "",
        ],
        [
            "2♠ at a1 can go home, to the pile of its suit. Tap it.",
            refilled,
            "Nothing fits now. Tap the stock: its next card comes onto the waste, and may fit.",
            "4♠ on the waste can go home, too. Tap it.",
            *("" for _ in range(3)),
            "Now fill the gap at a1. Tap the waste for its top card, which frees the one under it, or the stock.",
            "",
            hold,
            "",
        ],
    ]


def test_lessons_are_given_in_a_race_of_the_carpet_that_is_not_of_a_tournament_and_never_twice_in_a_page() -> None:
    script = f"""{DOCUMENT}
        Object.assign(globalThis, {{ scrollTo() {{}}, localStorage: {{ getItem() {{ throw 1; }}, setItem() {{ throw 1; }} }} }});
        const {{ Table }} = await import(`${{web}}/table.js`);
        Table.prototype.show = () => {{}};
        const {{ Game }} = await import(`${{web}}/game.js`);
        const options = {{ autoplay: false }};
        const seats = [{{ seat: 0, name: "Ada", bot: null, state: "racing", ply: 0, home: 1 }}];
        const player = {{ takenBack: [], ahead: [], held: "", inFlight: null, isOnline: true, chips: [], room: {{}}, press() {{}} }};
        const game = new Game(player, () => {{}});
        const shown = (race, {{ rules, view, move = "", tournament = null }}) => {{
            player.shown = view;
            player.room = {{ code: "HKTRWM", race, phase: "racing", isRacing: true, seat: 0, own: seats[0], seats, ghosts: [],
                options, view, move, tournament }};
            game.show(rules);
            return game.lesson.hidden ? null : game.told.textContent;
        }};
        const steps = given.map((steps, race) => steps.map((step) => shown(race, step)));
        game.end();
        console.log(JSON.stringify([...steps, shown(99, given.at(-1)[0])]));
    """
    position = RULE_SETS["carpet"].deal(hashlib.sha256(b"carpet").digest())
    first = see(position)
    able = next(place for place in homeward(first) if place != "w")
    then = see(position.play(able))
    quilt = next(row for row in RULE_SETS.values() if describe(row).family == "quilt")

    def step(view: View, move: str = "", rules: str = "carpet", **told: Any) -> dict[str, Any]:
        return {"rules": msgspec.to_builtins(RULES[rules]), "view": msgspec.to_builtins(view), "move": move, **told}

    elsewhere = [[step(see(quilt.deal(bytes(32))), rules=quilt.id)], [step(first, tournament="KWPRTM")]]
    told = node(script, [*elsewhere, [step(first), step(then, able)], [step(first)]])
    assert told[:2] == [[None], [None]]
    assert f" at {able} can go home, to the pile of its suit." in told[2][0]
    assert "to the pile of its suit" not in told[3][0]
    assert told[4] is None


def test_the_card_for_a_gap_is_called_by_its_name_where_it_is_known() -> None:
    script = """
        const { hint, whyNot } = await import(`${web}/hints.js`);
        const rules = { has_waste: true };
        console.log(JSON.stringify(given.map((view) => [hint(view, rules), whyNot(view, rules, "a1")])));
    """
    gap = scenes.view_with("w:c1 s:c1", pending="c1", waste=("KC", "7H"))
    views = [gap, replace(gap, waste=(FACE_DOWN,)), replace(gap, stock_next=("TS",), moves=("s:c1",))]
    fills = scenes.view_with("w:a1 s", piles=gap.piles | {"a1": ()}, waste=("QD",))
    *said, (fill, _) = node(script, msgspec.to_builtins([*views, fills]))
    for (told, why), ways in zip(
        said,
        (
            "the 7 of hearts from the waste or the next stock card",
            "the waste’s top card or the next stock card",
            "the 10 of spades from the stock",
        ),
        strict=True,
    ):
        assert told == f"Fill the gap at c1: take {ways}."
        assert why == f"First fill the gap at c1: take {ways}."
    assert fill == "Nothing goes home; the queen of diamonds from the waste can go to a1, or turn the stock."


def test_why_there_is_no_redeal_is_said_as_in_the_terminal() -> None:
    script = """
        const { whyNot } = await import(`${web}/hints.js`);
        console.log(JSON.stringify(given.map(([view, redeals]) => whyNot(view, { has_waste: true, redeals }, "r"))));
    """
    cases = [(scenes.view_with("s"), 0), (scenes.view_with("s"), 1), (scenes.view_with("s", redeals=1), 1)]
    said = [why_not(view, Board(redeals=redeals > 0), "r", None) for view, redeals in cases]
    assert node(script, msgspec.to_builtins(cases)) == said
    assert len(set(said)) == 3


def test_a_card_that_is_played_glides_from_where_it_lay() -> None:
    script = """
        const { glides, preview } = await import(`${web}/moves.js`);
        console.log(JSON.stringify(given.map(({ view, move }) => glides(view, preview(view, move)))));
    """
    steps = [(view, move) for game in games().values() for view, move in game if move != "r"]
    told = node(script, [{"view": msgspec.to_builtins(view), "move": move} for view, move in steps])
    for (view, move), glides in zip(steps, told, strict=True):
        start, _, end = move.rstrip("+-").partition(":")
        if move == "s" and not view.waste and not end and FACE_DOWN not in preview(view, move).waste:
            continue  # a row is dealt: nobody knows yet where to
        assert [glide["from"] for glide in glides] == [start], (move, glides)
        assert not end or glides[0]["to"] == end


def test_the_shuffle_the_digest_and_the_checks_are_those_of_the_specification() -> None:
    script = """
        const { shuffled, canonical, checks, verdict } = await import(`${web}/fairness.js`);
        const { sha256, hmac, hex, utf8, fromHex } = await import(`${web}/sha256.js`);
        const { vectors, texts, evidences, text } = given;
        console.log(JSON.stringify({
            shuffles: vectors.map(({ decks, seed }) => shuffled(decks, fromHex(seed)).join(" ")),
            digests: texts.map((each) => hex(sha256(utf8(each)))),
            macs: texts.map((each) => hex(hmac(utf8("key"), utf8(each)))),
            canonical: canonical(text),
            shared: verdict([{ isTrue: true }], { deal: { name: null, shared: {}, winnable: false } }).sentence,
            checks: evidences.map(([altered, evidence]) => {
                const made = checks(altered, evidence, 0, 1);
                return [made.map((each) => each.isTrue), verdict(made, altered).isTrue];
            }),
        }));
    """
    vectors = [vector for vector in json.loads((VECTORS / "shuffle.json").read_text()) if vector["label"] == "deal"]
    texts = ["", "abc", *("ä" * length for length in (27, 28, 31, 32, 500))]
    text = {"b": ['\u2028\x7f\x1f\b"\\é', 1, None, True], "a": {"ß": -5, "é": {}}}
    record = from_json(RECORD.read_text())
    document = msgspec.to_builtins(record)
    position = RULE_SETS[record.rules].deal(bytes.fromhex(record.deal.seed))
    first = see(position)
    evidence = {
        "commitment": record.deal.commitment,
        "nonce": record.deal.nonces[0],
        "winnable": record.deal.winnable,
        "first": msgspec.to_builtins(first),
    }
    other = msgspec.to_builtins(see(RULE_SETS[record.rules].deal(bytes(32))))

    def numbered(kind: str) -> dict[str, Any]:
        """The record as of another shuffle than the first of those that races of this kind share."""
        nonce, deal = "7c" * 16, document["deal"]
        seed = derive_seed(bytes.fromhex(deal["secret"]), [bytes.fromhex(nonce)], 1).hex()
        shared = {"kind": kind, "id": "KWPRTM/1", "nonces": [nonce], "number": 2}
        return {**document, "deal": {**deal, "winnable": False, "k": 1, "seed": seed, "shared": shared}}

    evidences = [
        (document, evidence),
        (document, None),
        (document, {**evidence, "commitment": "0" * 64}),
        (document, {**evidence, "nonce": "0" * 32}),
        (document, {**evidence, "winnable": not record.deal.winnable}),
        (document, {**evidence, "first": other}),
        ({**document, "ended_at_ms": 1}, evidence),
        ({**document, "deal": {**document["deal"], "seed": "0" * 64}}, evidence),
        ({**document, "deal": {**document["deal"], "secret": "0" * 64}}, evidence),
        *((numbered(kind), None) for kind in ("round", "challenge")),
    ]
    told = node(script, {"vectors": vectors, "texts": texts, "evidences": evidences, "text": text})
    assert told["shuffles"] == [vector["cards"] for vector in vectors]
    assert told["digests"] == [hashlib.sha256(each.encode()).hexdigest() for each in texts]
    assert told["canonical"].encode() == msgspec.json.encode(text, order="sorted")
    assert told["checks"][0] == [[True] * 5, True]
    assert told["checks"][1][1] is None
    # Nobody saw for how long its secret had been known.
    assert told["shared"] == "The deal checks out: it is the shuffle that was committed to."
    assert [whole for _, whole in told["checks"][2:]] == [False] * 9
    assert [does_seed_follow for (_, does_seed_follow, *_), _ in told["checks"][-2:]] == [True, False]
    # The terminal's client says the same of the same race.
    own = Evidence(record.room, record.race, record.deal.commitment, record.deal.nonces[0], record.deal.winnable, first)
    assert all(made.ok for made in check(record, own, 0))


SCRIPTED = """
    const { Player } = await import(`${web}/player.js`);
    const sent = [];
    const told = [];
    const kept = new Map();
    const keeping = {
        proposedName: () => "Nobody",
        identity: { token: "t", name: "Ada", keep() {}, forget() { this.token = null; } },
        proofs: { find: (code, race) => kept.get(code + race) ?? null, keep: (code, race, proof) => kept.set(code + race, proof) },
    };
    const line = { send: (message) => sent.push(message), restart: () => sent.push("restart") };
    const later = [];
    const player = new Player(line, keeping, {
        tell: (kind, about) => told.push([kind, about]), random: () => new Uint8Array(16).fill(7), later: (act) => later.push(act),
    });
    const welcome = (room) => ({ type: "welcome", player: "p", name: "Ada", token: "t", rules: [], bots: [], room, rating: null });
    const take = () => sent.splice(0);
    // Ada's seat, and her room in the midst of a race, but for what is told of them.
    const seatOf = (told) => ({ seat: 0, name: "Ada", bot: null, connected: true, ready: true, state: "racing", ply: 3, home: 4,
        foundations: {}, elapsed_ms: 0, ...told });
    const roomOf = ({ seats = [{}], ...told }) => ({ type: "room", version: 20, code: "HKTRWM", race: 1, phase: "racing", commitment: "00",
        seat: 0, starts_in_ms: null, elapsed_ms: 5, view: null, options: { series: { format: "single" }, autoplay: true },
        record: null, chat: [], ratings: [], series: null, shared: null, ended: [], ghosts: [], seats: seats.map(seatOf), ...told });
"""


def test_a_player_is_told_who_watches_and_that_somebody_sees_every_card() -> None:
    script = f"""{SCRIPTED}
        const room = roomOf({{ version: 1, phase: "waiting", seats: [{{ ready: false, state: "waiting" }}] }});
        const watchers = (code, count, whole) => player.hear({{ type: "watchers", code, count, whole }}, 0);
        player.up(welcome("HKTRWM"), "HKTRWM");
        player.hear(room, 0);
        const steps = [player.room.watchers];
        watchers("HKTRWM", 2, true);
        watchers("QWRTPS", 9, false);
        steps.push(player.room.watchersText);
        watchers("HKTRWM", 1, false);
        steps.push(player.room.watchersText);
        player.hear({{ ...room, version: 2 }}, 0);
        console.log(JSON.stringify([...steps, player.room.watchers]));
    """
    assert node(script, None) == [0, "2 watching, all cards", "1 watching", 0]


def test_a_player_is_told_for_whom_the_race_waits_by_name_as_long_as_they_are_few() -> None:
    script = """
        const { sentence } = await import(`${web}/waiting.js`);
        const told = (late) => {
            const seats = [{ name: "Ada", ready: true }, ...late.map((name) => ({ name, ready: false }))];
            return sentence({ phase: "waiting", tournament: "", seats }, 0, true, 0);
        };
        console.log(JSON.stringify(given.map(told)));
    """
    assert node(script, [["Zoë"], ["Zoë", "Bea"], ["Zoë", "Bea", "Cy"], []]) == [
        "Waiting for Zoë to be ready.",
        "Waiting for Zoë and Bea to be ready.",
        "Waiting for 3 others to be ready.",
        "Looking for a deal …",
    ]


def test_a_player_is_told_how_long_whoever_is_not_ready_has_left() -> None:
    script = f"""{SCRIPTED}
        const {{ sentence }} = await import(`${{web}}/waiting.js`);
        const seats = [{{ name: "Ada", ready: false }}, {{ seat: 1, name: "Zoë", ready: false }}];
        player.hear({{ ...roomOf({{ version: 1, phase: "waiting", seats }}), ready_left_ms: null }}, 0);
        const says = (now) => sentence({{ phase: "waiting", tournament: "", seats: player.room.seats }}, 0, player.room.own.ready, now,
            player.room.readyLeft(now));
        const steps = [says(0)];
        player.hear({{ type: "player-ready", version: 2, seat: 1 }}, 0);
        player.hear({{ type: "ready-due", version: 3, left_ms: 20000 }}, 1000);
        steps.push(says(6000));
        player.hear({{ type: "player-ready", version: 4, seat: 0 }}, 7000);
        player.room.seats[1].ready = false;
        steps.push(says(9000));
        player.hear({{ type: "unseated", version: 5, seat: 1 }}, 9000);
        steps.push(player.room.readyLeft(9000));
        player.hear({{ ...roomOf({{ version: 6, phase: "waiting", seats }}), ready_left_ms: 500 }}, 10000);
        steps.push(player.room.readyLeft(10000));
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [
        "Everybody is here. The race starts when all are ready.",
        "Zoë is ready. Press Ready within 0:15, or you lose your seat.",
        "Waiting for Zoë to be ready, with 0:12 left.",
        None,
        500,
    ]


def test_whoever_is_put_back_in_the_queue_is_told_and_asks_again_on_the_next_connection() -> None:
    script = f"""{SCRIPTED}
        player.up(welcome(null), null);
        player.want({{ type: "quick-match", rules: null }});
        player.hear(roomOf({{ version: 1, phase: "waiting", seats: [{{ ready: true, state: "waiting" }}] }}), 0);
        player.hear({{ type: "left", code: "HKTRWM", reason: "no-opponent", ref: 0 }}, 0);
        const waiting = {{ type: "waiting-match", rules: "carpet", waited_ms: 25000, window: 350, waiting: 1, ref: 0 }};
        player.hear(waiting, 0);
        const before = take();
        player.lost();
        player.up(welcome(null), null);
        console.log(JSON.stringify([before.map((message) => message.type), player.waiting?.window, take()]));
    """
    assert node(script, None) == [["quick-match"], 350, [{"type": "quick-match", "rules": "carpet"}]]


def test_whoever_is_kept_out_of_the_queue_on_the_next_connection_looks_no_more() -> None:
    script = f"""{SCRIPTED}
        player.up(welcome(null), null);
        player.want({{ type: "quick-match", rules: "carpet" }});
        player.hear({{ type: "waiting-match", rules: "carpet", waited_ms: 0, window: 100, waiting: 1, ref: 0 }}, 0);
        player.lost();
        take();
        player.up(welcome(null), null);
        const asked = take();
        const isLooking = () => player.waiting !== null;
        const before = isLooking();
        player.hear({{ type: "error", code: "room/kept-waiting", message: "no", path: "", retry_after_ms: 30000, ref: 0 }}, 0);
        console.log(JSON.stringify([asked.length, before, isLooking(), player.wish]));
    """
    assert node(script, None) == [1, True, False, None]


@pytest.mark.parametrize("code", ["room/no-such-code", "room/closed"])
def test_whoever_is_back_in_the_queue_and_is_led_to_the_seat_that_they_lost_looks_on(code: str) -> None:
    script = f"""{SCRIPTED}
        player.up(welcome(null), null);
        player.hear({{ type: "waiting-match", rules: "carpet", waited_ms: 25000, window: 350, waiting: 1, ref: 0 }}, 0);
        player.lost();
        player.up(welcome("HKTRWM"), null);
        const [peek] = take();
        player.hear({{ type: "error", code: given, message: "no", fault: "request", path: null, retry_after_ms: null, ref: peek.ref }}, 0);
        console.log(JSON.stringify([peek.type, take(), told.filter(([kind]) => kind === "refused")]));
    """
    assert node(script, code) == ["join-race", [{"type": "quick-match", "rules": "carpet"}], []]


def test_a_player_at_their_table_is_told_how_long_they_have_to_be_ready() -> None:
    script = """
        const { sentence } = await import(`${web}/waiting.js`);
        const told = ([own, other, left]) =>
            sentence({ phase: "waiting", tournament: "KWPRTM", seats: [{ ready: own }, { ready: other }] }, 0, own, 0, left);
        console.log(JSON.stringify(given.map(told)));
    """
    cases = [(own, other, left) for left in (None, 45_900) for own, other in ((False, False), (True, False), (True, True))]
    others = "Waiting for the other tables: all of the round start at once."
    assert node(script, cases) == [
        "This is your table of the round. Press Ready when you are: whoever is not ready in time forfeits.",
        "Waiting for the other player to be ready.",
        others,
        "This is your table of the round. Press Ready within 0:45, or you forfeit.",
        "Waiting for the other player to be ready. Whoever is not ready within 0:45 forfeits.",
        others,
    ]


def test_a_player_is_told_whether_the_race_is_rated_in_the_words_of_the_terminal() -> None:
    script = """
        const { ratedSentence } = await import(`${web}/waiting.js`);
        console.log(JSON.stringify(given.map(ratedSentence)));
    """
    options = [
        RaceOptions(),
        RaceOptions(rated=False, bots=("random",)),
        RaceOptions(seats=1, deal="tea"),
        RaceOptions(bots=("random",), delay_s=0),
        RaceOptions(deal="tea"),
        RaceOptions(series=SeriesOptions(format="swap", races=2)),
        RaceOptions(delay_s=9),
    ]
    assert node(script, msgspec.to_builtins(options)) == [f"{rated_sentence(each)}.".replace("'", "’") for each in options]


def test_how_long_a_challenge_is_open_is_told_in_minutes_in_hours_once_there_is_one_and_in_days_once_there_are_two() -> None:
    script = """
        const { timeLeft } = await import(`${web}/tables.js`);
        console.log(JSON.stringify(given.map((hours) => timeLeft(hours * 3_600_000))));
    """
    hours = [-1, 0.01, 0.2, 0.98, 0.99, 47, 47.5, 720]
    assert node(script, hours) == ["a moment", "a moment", "12 minutes", "59 minutes", "1 hour", "47 hours", "2 days", "30 days"]


def test_the_forms_are_those_of_the_server_that_answers_and_asked_for_again_where_there_are_none() -> None:
    script = """
        const { forms } = await import(`${web}/choices.js`);
        globalThis.location = { origin: "http://x" };
        const asked = [];
        const answers = [{ ok: false, json: async () => ({ error: "gone" }) }, { ok: true, json: async () => "forms" }];
        globalThis.fetch = async (address) => { asked.push(String(address)); return answers.shift(); };
        const told = [];
        for (let times = 0; times < 3; times += 1) told.push(await forms().catch(() => null));
        console.log(JSON.stringify([told, asked]));
    """
    assert node(script, None) == [[None, "forms", "forms"], ["http://x/web/forms.json", "http://x/web/forms.json"]]


def test_nothing_is_said_of_a_player_who_could_not_be_read_and_they_are_read_when_the_connection_is_back() -> None:
    script = """
        const made = () => ({ textContent: "", setAttribute() {}, addEventListener() {}, append() {}, replaceChildren() {} });
        Object.assign(globalThis, { document: { createElement: made }, location: { search: "" } });
        const { tablePage } = await import(`${web}/tables.js`);
        const answers = [];
        globalThis.fetch = () => new Promise((answer, fail) => { answers.push({ answer, fail }); });
        const page = tablePage("player", "Ada");
        const told = [];
        const tell = async () => { await new Promise((later) => { setImmediate(later); }); told.push(page.facts.textContent); };
        await tell();
        page.up({ rules: [] });
        await tell();
        answers[0].fail(new TypeError("Failed to fetch"));
        await tell();
        page.up({ rules: [] });
        await tell();
        answers[1].answer({ ok: true, json: async () => ({ name: "Ada", races: [], next: null }) });
        await tell();
        console.log(JSON.stringify([told, answers.length]));
    """
    unread = "It could not be read. Try again in a moment."
    assert node(script, None) == [["", "", unread, unread, "Not rated yet · 0 races · 0 won"], 2]


DOCUMENT = """
    // Of a document as much as the pages take to be made; `textOf` tells what stands on one of its elements.
    class Element {
        constructor(tag) {
            const [style, classList] = [{ setProperty() {} }, { add() {}, remove() {}, toggle() {} }];
            Object.assign(this, { tag, children: [], attributes: {}, dataset: {}, style, classList });
        }
        get firstElementChild() { return this.children.find((each) => each instanceof Element); }
        setAttribute(name, value) { this.attributes[name] = value; }
        append(...nodes) { this.children.push(...nodes); }
        cloneNode() { return Object.assign(new Element(this.tag), { children: this.children }); }
        insertBefore(node, before) {
            node.remove();
            const at = this.children.indexOf(before);
            this.children.splice(at < 0 ? this.children.length : at, 0, Object.assign(node, { parent: this }));
        }
        remove() {
            if (this.parent?.children.includes(this)) this.parent.children.splice(this.parent.children.indexOf(this), 1);
        }
        replaceChildren(...nodes) { this.children = nodes; }
        set textContent(text) { this.children = [text]; }
        get textContent() { return textOf(this); }
        addEventListener() {}
        scrollIntoView() {}
    }
    const textOf = (node) => (node instanceof Element ? node.children.map(textOf).join("") : String(node));
    const all = (node, tag) => (node.children ?? []).flatMap((each) => [...(each.tag === tag ? [each] : []), ...all(each, tag)]);
    const createElement = (tag) => new Element(tag);
    const getElementById = (id) => (id === "first" ? null : createElement(id));
    const document = { createElement, createElementNS: (_, tag) => createElement(tag), getElementById };
    Object.assign(globalThis, { document, matchMedia: () => ({ matches: false }), addEventListener() {} });
    globalThis.location = { search: "", protocol: "http:", hostname: "x", port: "80", host: "x" };
"""


def test_leaving_is_asked_about_anew_where_it_has_another_price_by_the_time_of_the_answer() -> None:
    script = f"""{DOCUMENT}
        const {{ Game }} = await import(`${{web}}/game.js`);
        let dialog = null;
        document.body = {{ append: (node) => {{ dialog = node; }} }};
        Object.assign(Element.prototype, {{ focus() {{}}, showModal() {{}}, close() {{}}, click() {{ this.act(); }} }});
        Element.prototype.addEventListener = function (type, act) {{ if (type === "click") this.act = act; }};
        const said = [];
        const player = {{ room: {{ isRacing: false, givesUpSeries: true }}, send: ({{ type }}) => said.push(type) }};
        const yes = () => {{
            said.push(textOf(dialog.children[0]));
            all(dialog, "button")[0].click();
        }};
        new Game(player, () => {{}}).leave();
        player.room = {{ isRacing: true, givesUpSeries: true }};
        yes();
        yes();
        console.log(JSON.stringify(said));
    """
    both = "Leave the race? You will be placed last and give up the series."
    assert node(script, None) == ["Leave this room? You will give up the series.", both, "leave-race"]


def test_what_is_pressed_as_a_race_ends_moves_nothing_and_space_never_scrolls_its_result_away() -> None:
    script = f"""{DOCUMENT}
        let [now, press] = [0, null];
        Object.assign(performance, {{ now: () => now }});
        globalThis.addEventListener = (kind, act) => {{ press = act; }};
        document.querySelector = () => null;
        const {{ Game }} = await import(`${{web}}/game.js`);
        const game = new Game({{ room: {{ phase: "over" }} }}, () => {{}});
        game.table = {{}};
        const pressed = (key, on = "body") => {{
            let isTaken = false;
            const target = {{ closest: (names) => (names.split(", ").includes(on) ? target : null) }};
            press({{ key, target, preventDefault: () => {{ isTaken = true; }} }});
            return isTaken;
        }};
        const steps = given.map((presses, at) => {{
            const begun = now = 10000 * (at + 1);
            game.end();
            return presses.map(([ms, ...keys]) => {{ now = begun + ms; return pressed(...keys); }});
        }});
        console.log(JSON.stringify(steps));
    """
    given = [
        # One that comes soon after another goes on with it, for a while.
        [[900, "ArrowDown"], [1250, "w"], [1400, "ArrowDown"], [1501, "ArrowDown"]],
        [[1001, "ArrowDown"], [1002, "w"]],
        # Who goes to a button wants to, once the moment is over; what is no key of the table is never taken.
        [[10, "Tab"], [11, "Enter", "button"], [12, " ", "button"], [2000, "Enter", "button"], [2001, " ", "button"]],
        [[2000, " "], [4000, " "], [4001, " ", "input"]],
        # The browser's own.
        [[10, "/"], [11, "w"]],
    ]
    assert node(script, given) == [
        [True, True, True, False],
        [False, False],
        [False, True, True, False, False],
        [True, True, False],
        [False, True],
    ]


def test_every_card_falls_from_its_foundation_to_the_lower_edge_and_any_key_or_press_ends_it_but_those_of_the_race() -> None:
    script = f"""{DOCUMENT}
        let [now, due, drawn, listening] = [0, null, [], new Map()];
        Object.assign(performance, {{ now: () => now }});
        const pen = {{ scale() {{}}, beginPath() {{}}, roundRect: (...box) => drawn.push(box), fill() {{}}, stroke() {{}},
            fillText(text) {{ drawn.push([...drawn.pop(), text]); }} }};
        Object.assign(Element.prototype, {{ getContext: () => pen, remove() {{ this.isConnected = false; }} }});
        document.documentElement = createElement("html");
        document.body = {{ append: (canvas) => Object.assign(canvas, {{ isConnected: true }}) }};
        Object.assign(globalThis, {{ innerWidth: 1000, innerHeight: 800, devicePixelRatio: 1,
            requestAnimationFrame: (show) => {{ due = show; }},
            getComputedStyle: () => ({{ getPropertyValue: () => "", fontFamily: "" }}),
            addEventListener: (kind, act) => listening.set(kind, act), removeEventListener: (kind) => listening.delete(kind) }});
        const {{ fall }} = await import(`${{web}}/falling.js`);
        const box = {{ x: 500, y: 100, width: 50, height: 70 }};
        const homes = [..."SHDC"].map((suit) => ({{ box, cards: [..."KQJT98765432A"].map((rank) => rank + suit) }}));
        const begin = () => {{ now = 0; drawn = []; fall(homes); }};
        const at = (ms) => {{ now = ms; due(); return listening.size; }};
        begin();
        const byItself = [at(3500), at(3601)];
        const cards = [...new Set(drawn.map((card) => card.slice(-2).join("")))];
        const lowest = Math.max(...drawn.map(([, y, , height]) => y + height));
        const byAKey = ["keydown", "pointerdown"].map((kind) => {{
            begin();
            // Each one comes soon after the one before, but the last.
            return [900, 1250, 1600, 2050].map((ms) => {{
                at(ms);
                listening.get(kind)({{}});
                return listening.size;
            }});
        }});
        console.log(JSON.stringify({{ byItself, cards, lowest, byAKey }}));
    """
    told = node(script, None)
    assert (told["byItself"], told["byAKey"]) == ([2, 0], [[2, 2, 2, 0], [2, 2, 2, 0]])
    assert (len(told["cards"]), told["cards"][:5], told["lowest"]) == (52, ["K♠", "K♥", "K♦", "K♣", "Q♠"], 800)


def test_whoever_has_had_their_run_of_a_deal_sees_its_board_and_no_way_to_run_it_again() -> None:
    script = f"""{DOCUMENT}
        const {{ tablePage }} = await import(`${{web}}/tables.js`);
        const {{ identity }} = await import(`${{web}}/identity.js`);
        const dates = {{ days: [], now_ms: Date.UTC(2026, 10, 27, 9) }};
        const row = {{ place: 1, race: "r", player: "p", name: "Ada", state: "stopped", home: 31, plies: 40, home_at_ms: 9000,
            beats: null }};
        const open = {{ type: "runs", kind: "daily", id: "2026-11-27", rules: "carpet", runs: 1, shown: false, rows: [], own: null,
            secret: null, reveals_at_ms: 0, commitment: "" }};
        const told = {{ ...open, shown: true, rows: [row], own: row }};
        globalThis.fetch = async (address) => ({{ ok: true, json: async () => (address === "/daily.json" ? dates : open) }});
        const steps = [];
        for (const [kind, step] of [["daily"], ["challenge", "KXQWZP"]]) {{
            const page = tablePage(kind, step);
            const look = (...more) => {{
                const says = (words) => textOf(page.node).includes(words);
                steps.push([...more, says("Run it"), says("You see the board once"), all(page.body, "tr").slice(1).map(textOf),
                    all(page.body, "a").map((link) => link.attributes.href)]);
            }};
            await new Promise((later) => {{ setTimeout(later, 5); }});
            look(page.asks());
            identity.keep("t".repeat(16), "Ada");
            page.hear(open);
            look(page.asks());
            page.hear(told);
            look();
            page.hear({{ ...told, secret: "00" }});
            look();
            identity.forget();
        }}
        console.log(JSON.stringify(steps));
    """
    row, player = "1Ada (you)31, stopped0:09.040", "/player/Ada"
    ways = ("/play?daily&rules=carpet", "/play?challenge=KXQWZP")
    kinds = ({"kind": "daily", "id": "2026-11-27", "rules": "carpet"}, {"kind": "challenge", "id": "KXQWZP"})
    assert node(script, None) == [
        step
        for way, kind in zip(ways, kinds, strict=True)
        for step in (
            [[], True, True, [], [way]],
            [[{**kind, "type": "list-runs", "token": "t" * 16}], True, True, [], [way]],
            [False, False, [row], [player]],
            [False, False, [row], [player, "/race/r"]],
        )
    ]


def test_whoever_opens_the_link_of_a_challenge_is_told_whose_it_is_and_what() -> None:
    script = f"""{DOCUMENT}
        const {{ tablePage }} = await import(`${{web}}/tables.js`);
        const {{ identity }} = await import(`${{web}}/identity.js`);
        const open = {{ type: "runs", kind: "challenge", id: "KXQWZP", rules: "carpet", runs: 0, shown: false, rows: [], own: null,
            secret: null, reveals_at_ms: 0, commitment: "" }};
        Date.now = () => 0;
        const steps = [];
        for (const [owner, name, {{ closes = 72, ...told }}] of given) {{
            identity.keep("t".repeat(16), name);
            const first = owner === null ? null : {{ textContent: JSON.stringify({{ owner, closes_at_ms: closes * 3600000 }}) }};
            document.getElementById = () => first;
            globalThis.fetch = async () => ({{ ok: true, json: async () => ({{ ...open, ...told }}) }});
            const page = tablePage("challenge", "KXQWZP");
            await new Promise((later) => {{ setTimeout(later, 5); }});
            const said = textOf(page.body.children[0]);
            const waits = textOf(page.body).includes("once you have had your run");
            steps.push([textOf(page.heading), page.facts.textContent, said, all(page.body, "a").length, waits]);
        }}
        console.log(JSON.stringify(steps));
    """
    same = "The same deal for everybody, once each, in your own time."
    given = [
        ("Anna", "Ada", {}),
        ("Anna", "Ada", {"runs": 2}),
        ("Ada", "Ada", {"runs": 1}),
        ("", "Ada", {}),
        (None, "Ada", {}),
        ("Anna", "Ada", {"secret": "00", "shown": True}),
        # Its deal is not revealed as long as runs of it may go on.
        ("Anna", "Ada", {"closes": 0}),
        ("Ada", "Ada", {"closes": -1}),
    ]
    first = f"{same} You are the first: whoever runs it later races your ghost."
    sending = "Send the link of this page to whoever is to run it. Everybody has the same deal, once, in their own time, and races "
    sending += "the ghosts of those who ran it before."
    assert node(script, given) == [
        ["Anna challenges you", "carpet · closes in 3 days", first, 1, True],
        ["Anna challenges you", "carpet · closes in 3 days", f"{same} Those who ran it before run beside you, as ghosts.", 1, True],
        [
            "Your challenge",
            "carpet · closes in 3 days",
            sending,
            1,
            True,
        ],
        ["Challenge KXQWZP", "carpet · closes in 3 days", first, 1, True],
        ["Challenge KXQWZP", "carpet", first, 1, True],
        ["Anna challenges you", "carpet", "It is over.", 0, False],
        ["Anna challenges you", "carpet · closed", "It is closed: nobody can begin a run of it now.", 0, False],
        ["Your challenge", "carpet · closed", "It is closed: nobody can begin a run of it now.", 0, False],
    ]


def test_a_run_beside_ghosts_ends_with_who_won() -> None:
    script = """
        const { ghostSentence } = await import(`${web}/ending.js`);
        console.log(JSON.stringify(given.map(([rows, ghosts]) => ghostSentence({ own: rows.find((row) => row.name === "Ada"), rows },
            ghosts.map(([name, home]) => ({ name, home }))))));
    """

    def row(place: int, name: str, home: int, at_ms: int = 9000) -> dict[str, Any]:
        return {"place": place, "race": name, "name": name, "home": home, "home_at_ms": at_ms, "ended_at_ms": at_ms, "state": "stalled"}

    anna, zoe = row(1, "Anna", 45), row(3, "Zoë", 20)
    of_anna, of_zoe = ["Anna", 45], ["Zoë", 11]
    assert node(
        script,
        [
            ([anna, row(2, "Ada", 31), zoe], [of_zoe, of_anna]),
            ([anna, row(2, "Ada", 44), zoe], [of_anna]),
            ([anna, row(2, "Ada", 45, 9400)], [of_anna]),
            # Whoever has run it meanwhile was none of them.
            ([anna, row(2, "Ada", 31), zoe], [of_zoe]),
            ([row(1, "Ada", 52), row(2, "Anna", 45), zoe], [of_zoe, of_anna]),
            ([anna, row(1, "Ada", 45)], [of_anna]),
            ([anna, row(2, "Ada", 31)], []),
        ],
    ) == [
        "Anna’s ghost won by 14 cards.",
        "So close: Anna’s ghost won by 1 card.",
        "So close: Anna’s ghost won by 0.4 s.",
        "You beat Zoë’s ghost by 11 cards.",
        "You beat Anna’s ghost by 7 cards.",
        "A draw with Anna’s ghost.",
        "",
    ]
    # Of two of one name, the one with fewer cards than the ghost was not the ghost; else it may have been either, or one further down.
    other = {**row(3, "Anna", 20), "race": "other"}
    assert node(
        script,
        [
            ([anna, row(2, "Ada", 31), other], [["Anna", 21]]),
            ([anna, row(2, "Ada", 31), other], [["Anna", 20]]),
            ([anna, row(2, "Ada", 31)], [of_zoe]),
            ([anna, row(2, "Ada", 31)], [of_anna, of_zoe]),
        ],
    ) == ["Anna’s ghost won by 14 cards.", "You ran beside Anna’s ghost.", "You ran beside Zoë’s ghost.", "You ran beside 2 ghosts."]


def test_what_is_said_of_a_press_goes_with_its_race_its_phase_and_its_connection() -> None:
    script = f"""{DOCUMENT}
        const {{ Game }} = await import(`${{web}}/game.js`);
        const room = {{ code: "HKTRWM", race: 1, phase: "racing", view: {{}}, own: {{ state: "racing" }} }};
        const player = {{ room, takenBack: [], ahead: ["w"], isOnline: true }};
        const game = new Game(player, () => {{}});
        const before = {{ ...room, isOnline: true }};
        console.log(JSON.stringify(given.map((after) => {{
            const set = ({{ isOnline, ...told }}) => {{ player.isOnline = isOnline; Object.assign(room, told); }};
            set(before);
            game.note("A note.");
            game.showHint();
            const noted = game.hint.textContent;
            set({{ ...before, ...after }});
            game.showHint();
            const then = game.hint.textContent;
            set(before);
            game.showHint();
            return [noted, then, game.hint.textContent];
        }})));
    """
    waiting = "Waiting to be played: w."
    offline = "Not connected: no moves for now. The clock may run on, and your seat is kept a while."
    steps = [{}, {"race": 2}, {"code": "QWRTPS"}, {"phase": "over"}, {"isOnline": False}]
    then = ["A note.", waiting, waiting, "", offline]
    assert node(script, steps) == [["A note.", text, "A note." if at == 0 else waiting] for at, text in enumerate(then)]


def test_ready_is_for_the_next_document_as_long_as_nobody_has_answered_it() -> None:
    script = f"""{SCRIPTED}
        const room = roomOf({{ version: 1, phase: "waiting", seats: [{{ ready: false, state: "waiting" }}] }});
        const steps = [player.pressed];
        player.up(welcome(null), null);
        const refused = {{ type: "error", code: "room/full", message: "", ref: 0 }};
        for (const isEager of [false, true]) {{
            player.want({{ type: "join-race", code: "HKTRWM" }}, {{ isEager }});
            steps.push(player.pressed);
            player.hear(refused, 0);
            steps.push(player.pressed);
        }}
        player.want({{ type: "join-race", code: "HKTRWM" }});
        player.hear(room, 0);
        steps.push(player.pressed);
        player.ready();
        steps.push(player.pressed);
        player.hear({{ type: "player-ready", version: 2, seat: 0 }}, 0);
        steps.push(player.pressed);
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [None, None, None, "HKTRWM", None, None, "HKTRWM", None]


def test_whoever_asked_for_another_race_is_ready_for_it_unless_that_was_long_ago() -> None:
    script = f"""{SCRIPTED}
        player.up(welcome("HKTRWM"), "HKTRWM");
        const over = roomOf({{ phase: "over", seats: [{{ state: "stalled" }}, {{ seat: 1, name: "Ben", state: "won" }}] }});
        const next = (race) => roomOf({{ version: 30, race, phase: "waiting", seats: [{{ ready: false, state: "waiting" }}] }});
        const steps = [];
        player.hear(over, 0);
        for (const [race, after] of [[1, 29_000], [2, 31_000], [3, 1_000]]) {{
            player.hear({{ ...over, race }}, 100_000 * race);
            take();
            player.again(100_000 * race);
            // A connection that was lost meanwhile changes nothing.
            player.hear({{ ...over, race, version: 25 }}, 100_000 * race + 1);
            if (race === 3) player.hear({{ type: "left", code: "HKTRWM", reason: "left" }}, 300_002);
            player.hear(next(race + 1), 100_000 * race + after);
            steps.push(take().map((each) => [each.type, each.race]));
        }}
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [[["rematch", 1], ["ready", 2]], [["rematch", 2]], [["rematch", 3]]]


def test_a_player_says_again_what_a_lost_connection_has_swallowed_and_nothing_twice() -> None:
    view, move = next((view, move) for view, move in games()["carpet"] if len(view.moves) > 1)
    script = f"""{SCRIPTED}
        const {{ view, move, place }} = given;
        const room = roomOf({{ view, seats: [{{}}, {{ seat: 1, name: "Zoë" }}] }});
        const steps = [];
        player.up(welcome("HKTRWM"), "HKTRWM");
        steps.push(take());
        player.hear(room, 0);
        player.press(place);
        steps.push(take());
        player.press(place);
        steps.push([take(), [...player.ahead]]);
        player.lost();
        player.press(place);
        steps.push([take(), told.at(-1)[0]]);
        player.up(welcome("HKTRWM"), "HKTRWM");
        steps.push(take());
        // It had not been heard: it is sent again, for the same ply.
        player.hear({{ type: "current-view", race: 1, seat: 0, ply: 3, state: "racing", elapsed_ms: 5, view: room.view, ref: 1 }}, 1);
        steps.push(take());
        player.lost();
        player.up(welcome("HKTRWM"), "HKTRWM");
        take();
        // It had: the answer is in the events, and nothing is sent.
        player.hear({{ type: "view", version: 21, seat: 0, ply: 4, move, state: "racing", elapsed_ms: 6, view: room.view }}, 2);
        player.hear({{ type: "current-view", race: 1, seat: 0, ply: 4, state: "racing", elapsed_ms: 6, view: room.view, ref: 1 }}, 2);
        steps.push(take());
        // An event is missing: the race is joined again, once.
        player.hear({{ type: "started", version: 25 }}, 3);
        player.hear({{ type: "started", version: 26 }}, 3);
        steps.push(take());
        player.hear({{ type: "error", code: "hello/unknown-token", ref: 0, message: "" }}, 4);
        steps.push(take());
        console.log(JSON.stringify(steps));
    """
    place = move.rstrip("+-").partition(":")[0]
    pressed = press(view, "", place)
    told = node(script, {"view": msgspec.to_builtins(view), "move": pressed.move, "place": place})
    sent = {"type": "move", "race": 1, "seat": 0, "ply": 3, "move": pressed.move}
    join = {"type": "join-race", "code": "HKTRWM"}
    assert told == [
        [join],
        [sent],
        [[], [place]],
        [[], "note"],
        [{**join, "version": 20, "ref": 1}],
        [sent],
        [],
        [{**join, "version": 21, "ref": 1}],
        [{"type": "hello", "name": "", "watch": True, "software": "web page"}],
    ]


def test_cards_go_home_by_themselves_only_where_the_race_allows_it() -> None:
    script = f"""{SCRIPTED}
        const room = roomOf({{ view: given.view }});
        const steps = [];
        player.up(welcome("HKTRWM"), "HKTRWM");
        for (const [race, autoplay] of [[1, true], [2, false]]) {{
            player.hear({{ ...room, race, options: {{ series: {{ format: "single" }}, autoplay }} }}, 0);
            steps.push(take().map(({{ move }}) => move ?? null));
            player.turnAutoplay();
            player.sendAllHome();
            steps.push([take().map(({{ move }}) => move ?? null), player.isAuto, told.at(-1)[1]]);
        }}
        console.log(JSON.stringify(steps));
    """
    view, best = next((view, home) for view, _ in games()["carpet"] if (home := next_home(view)))
    by_hand = "This race is played by hand: each card home takes a key of its own."
    told = node(script, {"view": msgspec.to_builtins(view)})
    assert told[0] == [None]
    assert told[1][:2] == [[best], True]
    assert told[2:] == [[], [[], True, by_hand]]


def test_the_clock_stands_while_the_server_can_keep_nothing_and_goes_on_from_where_the_server_says() -> None:
    script = f"""{SCRIPTED}
        const room = roomOf({{ version: 1, elapsed_ms: 5000, view: given.view, seats: [{{ ply: 0 }}] }});
        const steps = [];
        const step = (now) => steps.push(player.room.elapsed(now));
        const outage = (now) => player.hear({{ type: "error", code: "server/cannot-write", ref: 0, message: "" }}, now);
        player.up(welcome("HKTRWM"), "HKTRWM");
        player.hear(room, 1000);
        outage(3000);
        outage(9000);
        step(63000);
        player.hear({{ ...given, type: "view", version: 2, seat: 0, ply: 1, state: "racing", elapsed_ms: 7100 }}, 64000);
        step(65000);
        outage(66000);
        step(99000);
        player.hear({{ ...room, version: 3, elapsed_ms: 9000 }}, 99000);
        step(99500);
        console.log(JSON.stringify(steps));
    """
    view = games()["carpet"][0][0]
    assert node(script, {"view": msgspec.to_builtins(view), "move": view.moves[0]}) == [7000, 8100, 9100, 9500]


def test_the_clock_of_who_watches_stands_too_before_the_start_and_after_until_the_server_tells_it_anew() -> None:
    script = """
        const { WatchedRace, holds } = await import(`${web}/model.js`);
        const room = (told) => ({ code: "A", race: 1, version: 1, phase: "racing", seats: [], options: {}, series: null,
            record: null, ended: [], ratings: [], chat: [], elapsed_ms: 5000, starts_in_ms: null, ...told });
        const watched = (told) => ({ room: room(told), boards: [], watchers: 0, lines: [] });
        const race = new WatchedRace(watched({ }), 1000);
        const soon = new WatchedRace(watched({ phase: "countdown", elapsed_ms: 0, starts_in_ms: 3000 }), 1000);
        const steps = [];
        for (const each of [race, soon]) {
            each.hold("It cannot.", 2000);
            each.hold("It cannot.", 60000);
        }
        steps.push(race.elapsed(90000), race.heldBecause, soon.untilStart(90000));
        race.takeRoom(room({ elapsed_ms: 6100 }), 91000);
        soon.apply({ type: "started", version: 2 }, 93000);
        steps.push(race.elapsed(92000), race.heldBecause, soon.elapsed(94000));
        race.hold("It cannot.", 95000);
        race.apply({ type: "ended", version: 2, seats: [] }, 96000);
        race.hold("It cannot.", 97000);
        steps.push(race.heldAt);
        const error = { type: "error", code: "server/cannot-write" };
        steps.push(...[{ ...error, ref: 0 }, { ...error, ref: 3 }, { ...error, code: "server/busy", ref: 0 }].map(holds));
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [6000, "It cannot.", 2000, 7100, "", 1000, None, True, False, False]


def test_what_is_pressed_before_the_start_is_played_at_the_start_and_a_refused_move_holds_up_none() -> None:
    script = f"""{SCRIPTED}
        const {{ view, places }} = given;
        let now = 0;
        performance.now = () => now;
        const before = {{ version: 1, phase: "countdown", starts_in_ms: 100, elapsed_ms: 0 }};
        const room = roomOf({{ ...before, seats: [{{ state: "waiting", ply: 0 }}] }});
        const steps = [];
        const step = () => steps.push([take().map(({{ ply, move }}) => [ply, move]), [...player.ahead], player.inFlight?.move ?? null]);
        player.up(welcome("HKTRWM"), "HKTRWM");
        player.hear(room, now);
        take();
        player.hear({{ type: "dealt", version: 2, seat: 0, starts_in_ms: 100, view }}, now);
        player.press(places[0]);
        step();
        player.sendAllHome();
        step();
        now = 101;
        for (const act of later) act();
        step();
        player.press(places[1]);
        player.hear({{ type: "error", code: "race/not-started", ref: 0, message: "" }}, now);
        step();
        player.press(places[1]);
        step();
        console.log(JSON.stringify(steps));
    """
    view, moves = next(
        (view, moves)
        for view, _ in games()["carpet"]
        if len(moves := [move for move in view.moves if press(view, "", source(move)).move == move]) > 1
    )
    first, second = moves[:2]
    told = node(script, {"view": msgspec.to_builtins(view), "places": [source(move) for move in moves[:2]]})
    assert told == [
        [[], [source(first)], None],
        [[], [source(first)], None],
        [[[0, first]], [], first],
        [[], [], None],
        [[[0, second]], [], second],
    ]


def source(move: str) -> str:
    """The place where a move takes its card."""
    return move.partition(":")[0].rstrip("+-")


def test_what_was_pressed_ahead_and_is_not_played_is_told_and_so_is_why_not_all_go_home() -> None:
    script = f"""{SCRIPTED}
        const {{ view, place, held }} = given;
        const room = roomOf({{ view }});
        const steps = [];
        const step = () => steps.push([player.takenBack, told.splice(0).filter(([kind]) => kind === "note").map(([, about]) => about)]);
        const again = () => {{
            player.up(welcome("HKTRWM"), "HKTRWM");
            player.hear(room, 0);
            player.inFlight = null;
            told.splice(0);
        }};
        again();
        player.press("home");
        player.press(place);
        step();
        player.lost();
        step();
        player.sendAllHome();
        step();
        again();
        player.press("home");
        player.press("r");
        player.press(place);
        player.hear({{ type: "error", code: "race/illegal-move", ref: 0, message: "" }}, 1);
        step();
        player.press(held);
        player.sendAllHome();
        step();
        console.log(JSON.stringify(steps));
    """
    view, held = next(
        (view, source(move))
        for view, _ in games()["persian-rug"]
        for move in view.moves
        if next_home(view) and press(view, "", source(move)).held
    )
    assert node(script, {"view": msgspec.to_builtins(view), "place": "a1", "held": held}) == [
        [[], []],
        [["a1"], []],
        [[], ["Not connected. No moves for now; the clock may run on."]],
        [["r", "a1"], []],
        [[], ["First put the held card back (esc)."]],
    ]


CONNECTED = """
    const made = [];
    globalThis.WebSocket = class {
        static CONNECTING = 0;
        static OPEN = 1;
        readyState = 0;
        log = [];
        constructor(url) { made.push(this); this.url = url; }
        send(text) { this.log.push(JSON.parse(text).type); }
        close() { this.log.push(["closed at", this.readyState]); }
    };
    Object.assign(globalThis, { location: { protocol: "http:", host: "x" }, document: { addEventListener() {} },
        addEventListener() {}, setInterval: (act) => { watch = act; }, fetch: async () => ({ status: 200 }) });
    let watch;
    const settle = () => new Promise(setImmediate);
    const { Connection } = await import(`${web}/connection.js`);
    const nothing = () => {};
    const told = [];
    const connection = new Connection({ hello: () => ({ type: "hello" }), asks: () => [{ type: "follow-lobby" }], onUp: nothing,
        onMessage: nothing, onSlow: () => told.push("slow"), onLost: () => told.push("lost"), onMoved: nothing, onTaken: nothing });
    const stand = (socket) => { socket.readyState = 1; return socket.onopen(); };
"""


def test_a_connection_that_is_begun_anew_closes_no_socket_before_it_stands() -> None:
    script = f"""{CONNECTED}
        connection.open();
        connection.restart();
        await stand(made[0]);
        await stand(made[1]);
        connection.restart();
        console.log(JSON.stringify(made.map(({{ log }}) => log)));
    """
    assert node(script, None) == [[["closed at", 1]], ["hello", "follow-lobby", ["closed at", 1]], []]


def test_a_connection_that_is_not_answered_is_told_of_given_up_and_tried_again_after_growing_pauses() -> None:
    script = f"""{CONNECTED}
        let now = 0;
        performance.now = () => now;
        Math.random = () => 0;
        const pauses = [];
        let retry;
        globalThis.setTimeout = (act, ms) => {{ pauses.push(ms); retry = act; }};
        const look = (at) => {{
            for (; now <= at; now += 1000) {{
                const count = told.length;
                watch();
                if (told.length > count) told[count] += ` at ${{now / 1000}}`;
            }}
        }};
        connection.open();
        look(10_000);
        retry();
        await settle();
        look(30_000);
        retry();
        await settle();
        stand(made[2]);
        await settle();
        // One that is answered in time is not spoken of.
        made[2].onmessage({{ data: JSON.stringify({{ type: "welcome" }}) }});
        look(32_000);
        console.log(JSON.stringify([told, pauses, made.map(({{ log }}) => log)]));
    """
    told, pauses, logs = node(script, None)
    # The line may be slow: the second has twice the time.
    assert told == ["slow at 1", "lost at 8", "slow at 12", "lost at 27"]
    assert pauses == [1000, 2000]
    assert logs == [[["closed at", 0]], [["closed at", 0]], ["hello", "follow-lobby"]]


def test_a_hello_that_the_server_could_not_take_is_said_again_where_nobody_was_welcomed_yet() -> None:
    script = f"""{CONNECTED}
        const later = [];
        globalThis.setTimeout = (act, ms) => later.push([act, ms]);
        const tell = (socket, message) => socket.onmessage({{ data: JSON.stringify(message) }});
        const refused = {{ type: "error", code: "server/busy", ref: 0, message: "", retry_after_ms: 700 }};
        const steps = [];
        const again = () => {{ const [act, ms] = later.shift(); act(); return ms; }};
        connection.open();
        await stand(made[0]);
        tell(made[0], refused);
        steps.push(again(), made[0].log.splice(0));
        tell(made[0], {{ ...refused, retry_after_ms: null }});
        // Another connection has been made meanwhile, which says its own.
        connection.restart();
        await stand(made[1]);
        steps.push(again(), made[0].log, made[1].log);
        tell(made[1], {{ type: "welcome" }});
        tell(made[1], refused);
        console.log(JSON.stringify([...steps, later.length]));
    """
    greeting = ["hello", "follow-lobby"]
    assert node(script, None) == [700, [*greeting, *greeting], 1200, [["closed at", 1]], greeting, 0]


def test_a_page_whose_modules_did_not_come_is_loaded_anew_when_the_server_is_there_once_a_minute() -> None:
    script = f"""{CONNECTED}
        const kept = new Map();
        globalThis.sessionStorage = {{ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) }};
        let now = 1e12;
        Date.now = () => now;
        let reloads = 0;
        globalThis.fetch = async () => ({{ ok: true }});
        location.reload = () => {{ reloads += 1; }};
        connection.page = Promise.reject(new TypeError("Failed to fetch dynamically imported module"));
        connection.page.catch(nothing);
        connection.open();
        const steps = [reloads];
        for (const wait of [0, 59_999, 1]) {{
            now += wait;
            await stand(made[0]);
            steps.push(reloads);
        }}
        now += 60_000;
        for (const answers of [async () => ({{ ok: false }}), async () => {{ throw new TypeError("Failed to fetch"); }}]) {{
            globalThis.fetch = answers;
            await stand(made[0]);
            steps.push(reloads);
        }}
        console.log(JSON.stringify([steps, made[0].log]));
    """
    assert node(script, None) == [[0, 1, 1, 2, 2, 2], []]


def test_a_page_opens_no_socket_to_its_own_server_before_that_answers() -> None:
    script = f"""{CONNECTED}
        const later = [];
        globalThis.setTimeout = (act) => later.push(act);
        globalThis.clearTimeout = nothing;
        const asked = [];
        let status = null;
        globalThis.fetch = async (url) => {{
            asked.push(url);
            if (status === null) throw new TypeError("NetworkError");
            return {{ status }};
        }};
        const tries = async (act) => {{ act(); await settle(); return [made.length, later.length]; }};
        const steps = [];
        connection.open();
        made[0].onclose({{ code: 1006 }});
        steps.push(await tries(later.pop()));
        status = 502;
        // Whoever is impatient asks twice at once.
        steps.push(await tries(() => {{ connection.tryNow(); connection.tryNow(); }}));
        status = 503;
        steps.push(await tries(later.pop()));
        console.log(JSON.stringify([steps, asked]));
    """
    assert node(script, None) == [[[1, 1], [1, 2], [2, 1]], ["/healthz"] * 4]


def test_a_page_gives_a_slow_line_more_time_with_each_try_that_was_too_slow() -> None:
    script = f"""{CONNECTED}
        let later;
        globalThis.setTimeout = (act) => {{ later = act; }};
        AbortSignal.timeout = (ms) => ms;
        const times = [];
        let takes = 40_000;
        globalThis.fetch = async (_, {{ signal }}) => {{
            times.push(signal);
            if (takes === null) throw new TypeError("NetworkError");
            if (takes > signal) throw new DOMException("signal timed out", "TimeoutError");
            return {{ status: 200 }};
        }};
        const lose = () => made.at(-1).onclose({{ code: 1006 }});
        const tries = async (count) => {{ for (let each = 0; each < count; each += 1) {{ later(); await settle(); }} }};
        const steps = [];
        const step = () => steps.push([times.splice(0), made.length]);
        connection.open();
        lose();
        await tries(4);
        step();
        // Not that the server answers is a welcome yet.
        lose();
        takes = 60_000;
        await tries(2);
        step();
        takes = 1000;
        await tries(1);
        await stand(made.at(-1));
        made.at(-1).onmessage({{ data: JSON.stringify({{ type: "welcome" }}) }});
        lose();
        takes = null;
        // One that answers at once that there is nobody is not slow.
        times.length = 0;
        await tries(3);
        step();
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [[[6000, 12_000, 24_000, 48_000], 2], [[48_000, 48_000], 2], [[6000, 6000, 6000], 3]]


def test_a_page_turns_to_another_server_of_its_place_where_its_own_does_not_answer_and_fetches_nothing_of_that() -> None:
    script = f"""{CONNECTED}
        let later;
        globalThis.setTimeout = (act) => {{ later = act; }};
        const asked = [];
        globalThis.fetch = async (url) => {{ asked.push(url); throw new TypeError("NetworkError"); }};
        const steps = [];
        const again = async () => {{ later(); await settle(); steps.push([made.map(({{ url }}) => url).slice(1), asked.length]); }};
        connection.open();
        await stand(made[0]);
        made[0].onmessage({{ data: JSON.stringify({{ type: "welcome", nodes: ["ws://x/", "ws://b.example/", "ws://c.example/"] }}) }});
        made[0].onclose({{ code: 1006 }});
        await again();
        await again();
        made[1].onclose({{ code: 1006 }});
        await again();
        made[2].onclose({{ code: 1006 }});
        await again();
        console.log(JSON.stringify(steps));
    """
    near, far = "ws://b.example/", "ws://c.example/"
    assert node(script, None) == [[[], 1], [[near], 1], [[near, far], 1], [[near, far], 2]]


def test_a_page_goes_to_a_server_that_has_come_to_the_place_since_its_welcome() -> None:
    script = f"""{CONNECTED}
        const later = [];
        globalThis.setTimeout = (act) => later.push(act);
        const tell = (message) => made.at(-1).onmessage({{ data: JSON.stringify(message) }});
        const step = async () => {{ made.at(-1).onclose({{ code: 1006 }}); later.pop()(); await settle(); }};
        connection.open();
        await stand(made[0]);
        tell({{ type: "welcome", nodes: ["ws://x/"] }});
        tell({{ type: "nodes", nodes: ["ws://b.example"] }});
        await step();
        await step();
        await step();
        console.log(JSON.stringify(made.map(({{ url }}) => url)));
    """
    # Its own server is asked once more, and then each in turn.
    assert node(script, None) == ["ws://x/", "ws://x/", "ws://b.example/", "ws://x/"]


def test_a_player_whom_the_server_forgot_is_told_and_can_be_themselves_again() -> None:
    script = """
        const { Player } = await import(`${web}/player.js`);
        const keeping = await import(`${web}/identity.js`);
        const { identity } = keeping;
        const sent = [];
        const told = [];
        const line = { send: (message) => sent.push(message.type), restart() {} };
        const tell = (kind, about) => told.push([kind, about]);
        const player = new Player(line, keeping, { tell, random: () => new Uint8Array(16), later() {} });
        const unknown = { type: "error", code: "hello/unknown-token", ref: 0, message: "" };
        const up = (name, token) => player.up({ type: "welcome", player: "p", name, token, rules: [], room: null, rating: null }, null);
        const steps = [];
        const former = () => identity.former.map(({ name }) => name);
        const step = () => steps.push([identity.token, identity.name, former(), sent.splice(0), told.splice(0)]);
        up("Ada", "a");
        player.want({ type: "run-daily", rules: "carpet" });
        sent.splice(0);
        player.hear(unknown, 0);
        step();
        up("Ada 2", "b");
        step();
        identity.resume("a");
        player.hear(unknown, 0);
        step();
        identity.resume("a");
        up("Ada", "a");
        step();
        player.hear(unknown, 0);
        step();
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [
        [None, "Ada", ["Ada"], ["hello"], [["unknown", "Ada"]]],
        ["b", "Ada 2", ["Ada"], [], []],
        # It still does not know them: who they are now is lost no more than who they were.
        ["b", "Ada 2", ["Ada"], ["hello"], [["unknown", "Ada"]]],
        ["a", "Ada", ["Ada 2"], [], []],
        [None, "Ada", ["Ada", "Ada 2"], ["hello"], [["unknown", "Ada"]]],
    ]


def test_what_was_wished_for_is_asked_once_the_server_takes_the_hello_that_it_could_not_take_before() -> None:
    script = f"""{SCRIPTED}
        keeping.identity.token = null;
        const steps = [];
        const step = () => steps.push([take().map((each) => each.type ?? each), told.splice(0).map(([kind]) => kind)]);
        const refused = (code) => player.hear({{ type: "error", code, ref: 0, message: "", retry_after_ms: null }}, 0);
        player.up({{ ...welcome(null), player: "" }}, "HKTRWM");
        player.want({{ type: "join-race", code: "HKTRWM" }}, {{ isEager: true }});
        refused("server/cannot-write");
        refused("server/busy");
        step();
        player.up(welcome(null), "HKTRWM");
        step();
        refused("server/cannot-write");
        console.log(JSON.stringify([...steps, player.wish]));
    """
    assert node(script, None) == [
        [["restart"], ["refused", "refused"]],
        [["join-race"], []],
        {"type": "join-race", "code": "HKTRWM"},
    ]


def test_who_asks_for_no_race_is_led_to_the_one_they_are_in_and_to_none_that_is_over() -> None:
    script = (
        SCRIPTED
        + """
        const wish = { type: "quick-match", rules: "carpet" };
        const come = (told) => {
            player.room = null;
            player.up(welcome("HKTRWM"), null);
            player.hear(roomOf(told), 0);
            return [take().map((message) => message.type), player.room?.code ?? null, player.last?.code ?? null];
        };
        const over = { phase: "over", seats: [{ state: "stopped" }] };
        const seen = [come({ phase: "waiting" }), come({}), come({ ...over, series: { over: false, seats: [] } }),
            come({ ...over, series: { over: true, seats: [] } }), come(over)];
        // What is asked for from here is asked once the seat is given up, and once, however often it is pressed.
        player.want(wish);
        player.want(wish);
        seen.push(take());
        player.hear({ type: "left", code: "HKTRWM", reason: "left" }, 0);
        seen.push(take());
        // Nor does a line that breaks meanwhile lose it.
        player.up(welcome("HKTRWM"), null);
        player.hear(roomOf(over), 0);
        seen.push(take().map((message) => message.type));
        // Nobody has that race any more: there is nothing to give up.
        player.wish = null;
        player.up(welcome("HKTRWM"), null);
        player.hear({ type: "error", code: "room/no-such-code", message: "", ref: take()[0].ref }, 0);
        player.want(wish);
        seen.push(take());
        console.log(JSON.stringify(seen));
    """
    )
    wish = {"type": "quick-match", "rules": "carpet"}
    seated = [["join-race"], "HKTRWM", None]
    done = [["join-race"], None, "HKTRWM"]
    leave = {"type": "leave-race"}
    assert node(script, None) == [seated, seated, seated, done, done, [leave], [wish], ["join-race", "leave-race"], [wish]]


def test_whoever_is_on_the_menu_hears_when_the_others_of_their_last_race_ask_for_another() -> None:
    script = f"""{SCRIPTED}
        const {{ whoAsks }} = await import(`${{web}}/ending.js`);
        const over = roomOf({{ phase: "over", seats: [{{ state: "stopped" }}, {{ seat: 1, name: "Anna", state: "stopped" }}] }});
        const steps = [];
        const hear = (message) => {{
            player.hear(message, 0);
            const said = player.last ? whoAsks(player.last) : null;
            steps.push([said, player.room?.race ?? null, ...take().map(({{ code, ref }}) => [code, ref])]);
        }};
        player.up(welcome("HKTRWM"), null);
        hear(over);
        hear({{ type: "rematch-asked", version: 21, seat: 1 }});
        // What was missed is asked for.
        hear({{ type: "unseated", version: 23, seat: 1 }});
        hear({{ ...over, version: 23, seats: [over.seats[0], {{ ...over.seats[1], left: true }}] }});
        // And a race that has come about, which takes them too, is gone to.
        hear({{ ...over, version: 25, phase: "waiting", race: 2 }});
        console.log(JSON.stringify([...steps, told.filter(([kind]) => kind === "elsewhere").length]));
    """
    peek = ["HKTRWM", 3]
    assert node(script, None) == [
        ["", None, peek],
        ["Anna would like to race again.", None],
        ["Anna would like to race again.", None, peek],
        ["Anna has left.", None],
        [None, 2],
        3,
    ]


def test_what_somebody_did_in_a_race_stays_theirs_when_they_leave_and_a_seat_that_waits_is_open() -> None:
    script = """
        const { WatchedRace, standing } = await import(`${web}/model.js`);
        const seat = (name, number, state) => ({ seat: number, name, bot: null, connected: true, state, ply: 0, home: 6, elapsed_ms: 0 });
        const room = (phase, state) => ({ code: "A", race: 1, version: 1, phase, seats: [seat("Ada", 0, state), seat("Zoë", 1, state)],
            options: {}, series: null, record: null, ended: [], ratings: [], chat: [], elapsed_ms: 0, starts_in_ms: null });
        const end = (name) => ({ name, bot: null, state: "racing", home: 6, plies: 3, ended_at_ms: 9, place: 1 });
        const shown = (race) => [race.seats[1].name, standing(race.seats[1], race.phase), race.seats[1].home];
        console.log(JSON.stringify([["waiting", "waiting"], ["racing", "racing"], ["over", "racing"]].map(([phase, state]) => {
            const race = new WatchedRace({ room: room(phase, state), boards: [], watchers: 0, lines: [] }, 0);
            race.apply({ type: "unseated", version: 2, seat: 1 }, 0);
            const before = shown(race);
            if (phase === "racing") race.apply({ type: "ended", version: 3, seats: [end("Ada"), end("Zoë")] }, 0);
            return [before, shown(race)];
        })));
    """
    left = ["Zoë", "left", 6]
    assert node(script, None) == [[[None, "open seat", 6]] * 2, [left] * 2, [left] * 2]


def test_the_end_of_a_seat_is_called_what_the_terminal_calls_it() -> None:
    script = "const { OWN_ENDS, STATE_WORDS } = await import(`${web}/model.js`); console.log(JSON.stringify([STATE_WORDS, OWN_ENDS]));"
    words, own = node(script, None)
    assert words == {state: end_word(state) for state in get_args(SeatState)}
    assert own == {state: end.own for state, end in SEAT_ENDS.items()}


def test_whoever_won_since_all_others_had_forfeited_is_not_said_to_have_stopped() -> None:
    first, second = scenes.record().seats
    ahead = replace(first, state="stopped", place=1)
    lists = [
        [replace(second, state=state, place=2) for state in states]
        for states in (("forfeited",), ("forfeited", "forfeited"), ("forfeited", "stopped"), ("stalled",), ())
    ]
    races = [[ahead, *others] for others in lists]
    script = """
        const { endWord, standing } = await import(`${web}/model.js`);
        // A list that is put in order has copies of the seats; on the bars they stand as they were told of in the race.
        const bars = (seats) => seats.map(({ place, ...seat }) => seat);
        console.log(JSON.stringify([given, given.map(bars)].map((races) => races.map((seats) =>
            seats.map((seat) => [endWord({ ...seat }, seats), standing(seat, "over", seats)])))));
    """
    listed, bars = node(script, msgspec.to_builtins(races))
    assert listed == bars == [[[word_among(seat, seats)] * 2 for seat in seats] for seats in races]
    assert [words[0][0] for words in listed] == ["walkover", "walkover", "stopped", "stopped", "stopped"]


def test_a_seat_that_anothers_win_stopped_is_not_said_to_have_stopped() -> None:
    script = """
        const { endWord, standing } = await import(`${web}/model.js`);
        const said = (at) => ["ended_at_ms", "elapsed_ms"].map((when) => {
            const seats = [{ name: "Ada", state: "won", [when]: 9000 }, { name: "Zoë", state: "stopped", [when]: at }];
            return [endWord(seats[1], seats), standing(seats[1], "over", seats)];
        });
        console.log(JSON.stringify([said(8999), said(9000), said(9001)]));
    """
    assert node(script, None) == [[["stopped"] * 2] * 2, [["beaten"] * 2] * 2, [["stopped"] * 2] * 2]


def test_the_line_goes_where_it_is_sent_and_no_further_than_it_may() -> None:
    script = """
        globalThis.location = { protocol: "https:", host: "a.example" };
        const { Route } = await import(`${web}/connection.js`);
        console.log(JSON.stringify(given.map(([home, ...steps]) => {
            const route = new Route(home);
            return steps.map(([what, about]) => [route[what](about), route.current][what === "move" ? 0 : 1]).concat(route.current);
        })));
    """
    home, second, third = "wss://a.example/", "wss://b.example/", "wss://b.example/n3"
    circle = [["move", second], ["move", home]] * 2
    courses = [
        # Whoever is sent on goes there; a line that breaks is tried at all servers in turn, the one of the page among them.
        [
            home,
            ["move", "wss://b.example"],
            ["failed", None],
            ["told", [third, "wss://B.example:443/"]],
            ["failed", None],
            ["failed", None],
        ],
        [home, ["told", [second, third]], ["failed", None], ["failed", None], ["failed", None]],
        [home, *[["move", url] for url in ("ws://b.example/", "https://b.example/", "b", "", None, "javascript:1")]],
        ["ws://a.example/", ["move", "ws://b.example/"], ["move", second]],
        [home, *circle, ["move", second]],
        [home, *circle, ["arrived", None], ["move", second]],
    ]
    assert node(script, courses) == [
        [True, home, home, third, second, second],
        [home, second, third, home, home],
        [*[False] * 6, home],
        [True, True, second],
        [*[True] * 4, False, home],
        [*[True] * 4, home, True, second],
    ]


def test_a_page_that_is_left_holds_no_line_and_has_one_again_when_somebody_comes_back_to_it() -> None:
    script = """
        const heard = {};
        const lines = [];
        class WebSocket {
            static OPEN = 1;
            readyState = 1;
            constructor(url) { this.url = url; lines.push(this); }
            send() {}
            close() { this.readyState = 3; }
        }
        Object.assign(globalThis, { WebSocket, location: { protocol: "http:", host: "a.example" }, document: { addEventListener() {} },
            setInterval() {}, addEventListener: (kind, act) => { heard[kind] = act; }, fetch: async () => ({ status: 200 }) });
        const { Connection } = await import(`${web}/connection.js`);
        const does = Object.fromEntries(["onUp", "onMessage", "onMoved"].map((name) => [name, () => {}]));
        const told = [];
        const onLost = () => told.push("lost");
        const onTaken = () => told.push("taken");
        const connection = new Connection({ ...does, onLost, onTaken, hello: () => ({ type: "hello", name: "" }), asks: () => [] });
        const welcome = JSON.stringify({ type: "welcome", nodes: ["ws://b.example"] });
        const states = () => told.push(lines.map(({ readyState }) => readyState));
        connection.open();
        lines[0].onmessage({ data: welcome });
        heard.pagehide({ persisted: true });
        states();
        heard.pageshow({ persisted: false });
        states();
        heard.pageshow({ persisted: true });
        await new Promise(setImmediate);
        states();
        // Where another window has taken over, coming back takes nothing.
        lines[1].onmessage({ data: welcome });
        lines[1].onclose({ code: 4009 });
        heard.pagehide({ persisted: true });
        heard.pageshow({ persisted: true });
        await new Promise(setImmediate);
        states();
        console.log(JSON.stringify([told, lines.map(({ url }) => url)]));
    """
    told, urls = node(script, None)
    assert told == ["lost", [3], [3], [3, 1], "taken", [3, 1]]
    # The server had not gone.
    assert urls == ["ws://a.example/"] * 2


def test_the_lobby_is_kept_up_by_what_has_changed() -> None:
    def seats(*homes: int) -> tuple[RunningSeatInfo, ...]:
        return tuple(RunningSeatInfo(name=f"P{seat}", bot=None, state="racing", home=home, rating=None) for seat, home in enumerate(homes))

    def running(code: str, *homes: int, watchers: int = 0, elapsed_ms: int = 0) -> RunningRaceInfo:
        return RunningRaceInfo(
            code=code, rules="carpet", time_limit_s=600, delay_s=10, seats=seats(*homes), watchers=watchers, elapsed_ms=elapsed_ms
        )

    def lobby(here: int, *listed: RunningRaceInfo, waiting: tuple[str, ...] = ()) -> Lobby:
        players = tuple(f"P{number}" for number in range(here))
        races = tuple(OpenRaceInfo(code=code, rules="carpet", names=(), seats=2, time_limit_s=600, ratings=()) for code in waiting)
        return Lobby(
            players=players,
            players_here=here,
            races=races,
            races_open=len(races),
            races_running=len(listed),
            ratings=(None,) * here,
            running=listed,
            seeking=here // 3,
        )

    told = [
        lobby(2, running("AAAAAA", 4, 4), running("BBBBBB", 5, 4), waiting=("CCCCCC",)),
        lobby(2, running("BBBBBB", 5, 6, elapsed_ms=900), running("AAAAAA", 4, 7, watchers=2), waiting=("CCCCCC",)),
        lobby(3, running("CCCCCC", 4, 4), running("BBBBBB", 5, 6), waiting=("DDDDDD",)),
        lobby(0),
    ]
    script = """
        const { LobbyModel } = await import(`${web}/model.js`);
        const model = new LobbyModel(given.first, 0);
        const seen = given.changes.map((changes, at) => {
            model.apply(changes, at + 1);
            const { players, playersHere, racesOpen, racesRunning, seeking, closest } = model;
            return { players, playersHere, racesOpen, racesRunning, seeking, closest, races: [...model.races.keys()],
                running: [...model.running.values()]
                    .map(({ code, watchers, seats, heardAt }) => [code, watchers, seats.map(({ home }) => home), heardAt]) };
        });
        const next = new LobbyModel(given.first, 0).replace(given.second, 7);
        console.log(JSON.stringify([seen, [...next.running.keys()], next.closest]));
    """
    found = [msgspec.to_builtins(changes(before, after)) for before, after in pairwise(told)]
    given = {"first": msgspec.to_builtins(told[0]), "changes": found, "second": msgspec.to_builtins(told[1])}
    seen, order, closest = node(script, given)
    for lobby_then, shown in zip(told[1:], seen, strict=True):
        assert shown["players"] == list(lobby_then.players)
        assert [shown["playersHere"], shown["racesOpen"], shown["racesRunning"], shown["seeking"]] == [
            lobby_then.players_here,
            lobby_then.races_open,
            lobby_then.races_running,
            lobby_then.seeking,
        ]
        assert shown["races"] == [info.code for info in lobby_then.races]
        assert shown["closest"] == (lobby_then.running[0].code if lobby_then.running else None)
        wanted = {info.code: [info.watchers, [seat.home for seat in info.seats]] for info in lobby_then.running}
        assert {code: [watchers, homes] for code, watchers, homes, _ in shown["running"]} == wanted
    # What stays is where it was, and knows when it was last heard of.
    assert [[code, heard] for code, _, _, heard in seen[0]["running"]] == [["AAAAAA", 1], ["BBBBBB", 1]]
    assert [[code, heard] for code, _, _, heard in seen[1]["running"]] == [["BBBBBB", 1], ["CCCCCC", 2]]
    assert (order, closest) == (["AAAAAA", "BBBBBB"], "BBBBBB")


def test_the_end_of_a_series_is_said_with_what_decided_it_as_in_the_terminal() -> None:
    script = """
        const { seriesSentence } = await import(`${web}/series.js`);
        console.log(JSON.stringify(given.map(([series, own]) => seriesSentence(series, "over", own))));
    """
    told, sentences = zip(*(case.values for case in SCORES), strict=True)
    own_told, own_sentences = zip(*(case for case in OWN_FIRST if case[0].over), strict=True)
    given = [*((series, None) for series in told), *((series, 1) for series in own_told)]
    assert node(script, msgspec.to_builtins(given)) == [*sentences, *own_sentences]


def test_what_each_has_won_in_a_room_is_said_as_in_the_terminal() -> None:
    script = """
        const { WatchedRace } = await import(`${web}/model.js`);
        const { wonSentence } = await import(`${web}/series.js`);
        console.log(JSON.stringify(given.map((room) => wonSentence(Object.assign(Object.create(WatchedRace.prototype), room)))));
    """
    won, series, rooms, sentences = zip(*(case.values for case in WON), strict=True)
    given = [
        {"won": count, "series": msgspec.to_builtins(standing), **msgspec.to_builtins({"seats": room.seats, "ended": room.ended})}
        for count, standing, room in zip(won, series, rooms, strict=True)
    ]
    assert node(script, given) == list(sentences)


def test_the_end_of_a_rated_race_that_was_left_is_told_as_in_the_terminal() -> None:
    script = """
        const { leftSentence } = await import(`${web}/model.js`);
        console.log(JSON.stringify(given.map((rated) => leftSentence(rated, "Anna"))));
    """
    events = [
        Rated(code=scenes.CODE, race="r", won=won, rating=SeatRating(before=1104, after=after))
        for won in ((), ("Anna",), ("Ber\u202eta",), ("Berta", "Cleo", "Dora"), ("Anna", "Berta"), ("Cleo", "Anna", "Berta"))
        for after in (1057, 1104, 1151)
    ]
    told = [scenes.reduced(scenes.at_home(), event).notice for event in events]
    # The page has the sign that is as wide as a plus.
    expected = [notice.text.replace("(-", "(−") for notice in told if notice is not None]
    assert node(script, msgspec.to_builtins(events)) == expected
    assert len(set(expected)) == len(events)


def test_nobody_is_left_to_wait_for_another_race_with_somebody_who_has_gone() -> None:
    script = f"""{SCRIPTED}
        const {{ whoAsks }} = await import(`${{web}}/ending.js`);
        const end = (name) => ({{ name, bot: null, state: "stopped", home: 6, plies: 3, ended_at_ms: 9, home_at_ms: 9, place: 1 }});
        const said = (shared, ...steps) => {{
            player.room = null;
            player.hear(roomOf({{ phase: "over", shared, seats: [{{}}, {{ seat: 1, name: "Anna" }}, {{ seat: 2, name: "Zoë" }}],
                ended: [end("Ada"), end("Anna"), end("Zoë")] }}), 0);
            return steps.map(([type, seat, connected], at) => {{
                player.hear({{ type, version: 21 + at, seat, connected }}, 0);
                return whoAsks(player.room);
            }});
        }};
        player.up(welcome("HKTRWM"), "HKTRWM");
        console.log(JSON.stringify([
            said(null, ["rematch-asked", 0], ["unseated", 1], ["unseated", 2]),
            said(null, ["rematch-asked", 1], ["unseated", 1]),
            said(null, ["rematch-asked", 1], ["presence", 1, false], ["rematch-asked", 0], ["presence", 2, false], ["presence", 1, true]),
            said({{ kind: "round", id: "KWPRTM/1" }}, ["presence", 1, false], ["unseated", 1]),
        ]));
    """
    assert node(script, None) == [
        ["Waiting for the others to ask for another race too.", "Anna has left.", "Anna and Zoë have left."],
        ["Anna would like to race again.", "Anna has left."],
        [
            "Anna would like to race again.",
            "Anna is not connected.",
            "Waiting for the others to ask for another race too. Anna is not connected.",
            "Waiting for the others to ask for another race too. Anna and Zoë are not connected.",
            "Waiting for the others to ask for another race too. Zoë is not connected.",
        ],
        ["", ""],
    ]


def test_by_how_much_a_race_was_won_is_said_as_in_the_terminal() -> None:
    script = """
        const { headline } = await import(`${web}/ending.js`);
        console.log(JSON.stringify(given.map(([seats, own]) => headline(seats, own))));
    """
    rooms = [
        ended(1, 2),
        ended(1, 2, home=(40, 40)),
        ended(1, 2, home=(40, 39)),
        ended(2, 1, home=(31, 52), states=("stalled", "won")),
        ended(1, 2, states=("stalled", "forfeited")),
        ended(1, 1, home=(40, 40)),
    ]
    close = ended(1, 2, home=(40, 39))
    rooms.append(replace(close, told=(*close.ended, replace(close.ended[1], place=3, home=38))))
    views = [(room, seat) for room in rooms for seat in range(len(room.ended))]
    words = ["".join(text for _, text in headline(replace(room, seat=seat))) for room, seat in views]
    assert node(script, [(msgspec.to_builtins(room.ended), seat) for room, seat in views]) == words
    # Only the first two were close to each other.
    assert ["So close" in told for told in words[-3:]] == [False, True, False]


def test_the_result_before_is_shown_until_the_player_is_ready_or_has_asked_for_the_next_race() -> None:
    script = f"""{SCRIPTED}
        player.up(welcome("HKTRWM"), "HKTRWM");
        const ended = [{{ name: "Ada", place: 1, home: 9, state: "stalled", ended_at_ms: 9, home_at_ms: 9, plies: 3 }}];
        const steps = [];
        for (const again of [false, true]) {{
            player.room = null;
            player.hear(roomOf({{ phase: "over", ended, seats: [{{ state: "stalled", again }}] }}), 0);
            for (const [phase, ready] of [["waiting", false], ["waiting", true], ["countdown", true], ["racing", true]]) {{
                player.hear(roomOf({{ version: 30, race: 2, phase, starts_in_ms: 9, seats: [{{ ready, state: "waiting" }}] }}), 1);
                steps.push(player.room.showsLast);
            }}
        }}
        console.log(JSON.stringify(steps));
    """
    assert node(script, None) == [True, False, False, False, False, False, False, False]


def test_a_series_is_given_up_by_leaving_it_between_its_first_start_and_its_last() -> None:
    script = """
        const { PlayedRace } = await import(`${web}/played.js`);
        const gives = ([phase, series]) => Object.assign(Object.create(PlayedRace.prototype), { phase, series }).givesUpSeries;
        console.log(JSON.stringify(given.map(gives)));
    """

    def at(phase: str, raced: int, *, over: bool = False) -> list[object]:
        return [phase, {"raced": raced, "races": 3, "over": over}]

    kept = [["racing", None], at("waiting", 0), at("racing", 2), at("over", 3, over=True), at("over", 1, over=True)]
    given_up = [at("countdown", 0), at("racing", 1), at("waiting", 1), at("waiting", 2)]
    assert node(script, kept + given_up) == [False] * len(kept) + [True] * len(given_up)


def test_the_start_and_the_result_are_said_at_once_and_no_count_of_a_race_that_is_over() -> None:
    script = f"""{DOCUMENT}
        let [now, timers] = [0, []];
        const news = createElement("p");
        document.getElementById = () => news;
        Object.assign(performance, {{ now: () => now }});
        globalThis.setTimeout = (act, ms) => (timers = [{{ act, at: now + ms }}]);
        globalThis.clearTimeout = () => {{ timers = []; }};
        const {{ announce }} = await import(`${{web}}/dom.js`);
        const said = [];
        const until = (ms) => {{
            for (const {{ act, at }} of timers) if (at <= ms) {{ now = at; timers = []; act(); said.push([now, news.textContent]); }}
            now = ms;
        }};
        const say = (at, text, options) => {{
            until(at);
            announce(text, options);
            if (options.isUrgent) said.push([now, news.textContent]);
        }};
        for (const [at, text, options] of given) say(at, text, options);
        until(100_000);
        console.log(JSON.stringify(said));
    """
    urgent, count = {"isUrgent": True}, {"isCount": True}
    given = [
        [10_000, "You have a seat.", {}],
        [11_000, "Ada: Good luck!", {}],
        [11_500, "It starts in a moment.", urgent],
        [14_500, "Go.", urgent],
        [15_000, "Ada 5 cards home.", count],
        [16_000, "Ada: Nice!", {}],
        [17_000, "Ada 6 cards home.", count],
        [20_000, "Ada 7 cards home.", count],
        [21_000, "The race is over.", urgent],
    ]
    assert node(script, given) == [
        [10_100, "You have a seat."],
        [11_500, "It starts in a moment."],
        [14_500, "Go."],
        [18_500, "Ada: Good luck! Ada: Nice! Ada 6 cards home."],
        [21_000, "The race is over."],
    ]


def test_whoever_is_stopped_by_a_win_is_not_told_that_they_stopped() -> None:
    script = f"""{DOCUMENT}
        const {{ Game }} = await import(`${{web}}/game.js`);
        console.log(JSON.stringify(given.map((other) => {{
            const own = {{ seat: 0, name: "Ada", state: "stopped", elapsed_ms: 9000 }};
            const seats = [own, {{ seat: 1, name: "Zoë", elapsed_ms: 9000, state: other }}];
            const room = {{ code: "HKTRWM", race: 1, phase: "racing", view: {{}}, own, seats, seat: 0 }};
            const game = new Game({{ room, takenBack: [], ahead: [], isOnline: true }}, () => {{}});
            game.showHint();
            return game.hint.textContent;
        }})));
    """
    stopped = "You stopped. The cards you brought home count."
    assert node(script, ["won", "forfeited", "stopped", "racing"]) == ["", "", stopped, f"{stopped} Zoë is still racing."]


def test_places_are_told_as_the_terminal_tells_them() -> None:
    script = "const { ordinal } = await import(`${web}/dom.js`); console.log(JSON.stringify(given.map(ordinal)));"
    numbers = [*range(1, 25), 101, 111, 112, 122, 1013]
    assert node(script, numbers) == [ordinal(number) for number in numbers]


def test_the_code_of_a_race_is_found_in_its_link() -> None:
    script = "const { codeOf } = await import(`${web}/dom.js`); console.log(JSON.stringify(given.map(codeOf)));"
    written = [
        *("hkt rwm", "HKT-RWM", "http://127.0.0.1:7777/play/HKTRWM", "https://x.example/watch/hktrwm?a=b#c", " http://x/play/HKTRWM/ "),
        *("", "http://x.example/"),
    ]
    assert node(script, written) == [*["HKTRWM"] * 5, "", "HTTP://X.EXAMPLE/"]


def test_the_code_of_a_race_is_found_in_what_it_was_told_with_where_it_is_the_only_one() -> None:
    script = """
        const { codeOf, isCode } = await import(`${web}/dom.js`);
        console.log(JSON.stringify(given.map(codeOf).map((code) => isCode(code) && code)));
    """
    written = [
        *("Code: HKTRWM", "HKTRWM.", "“hkt-rwm”, at noon", "carpet join SERVER HKTRWM", "carpet join ws://server.example:7777 hktrwm"),
        *(
            "carpet join HKTRWM",
            "carpet watch wss://x/below HKTRWM",
            "https://x/carpet/play/HKTRWM?a=b#c",
            "Come: https://x/play/HKTRWM soon",
        ),
    ]
    assert node(script, written) == ["HKTRWM"] * len(written)
    assert node(script, ["HKTRWM or KXYWRP", "carpet join HKT", "HKTRWMS.", "HKTRW."]) == [False] * 4


def test_the_curve_of_a_race_that_is_over_begins_at_its_start() -> None:
    record = from_json(RECORD.read_text())
    script = """
        const { WatchedRace } = await import(`${web}/model.js`);
        const { record } = given;
        const seats = record.seats.map((each, seat) => ({ ...each, seat, connected: true, ply: 0, elapsed_ms: 9 }));
        const none = { options: {}, series: null, ended: [], chat: [], starts_in_ms: null };
        const room = { code: "A", race: 1, version: 1, phase: "over", seats, record, ...none };
        const race = new WatchedRace({ room, boards: [], watchers: 0, lines: [] }, 0);
        console.log(JSON.stringify([...race.curves.values()].map((curve) => curve[0])));
    """
    first = see(RULE_SETS[record.rules].deal(bytes.fromhex(record.deal.seed))).home
    assert node(script, {"record": msgspec.to_builtins(record)}) == [[0, first]] * len(record.seats)


def test_a_new_player_is_told_that_they_are_called_something_else() -> None:
    script = f"""{DOCUMENT}
        const {{ otherNameSentence }} = await import(`${{web}}/start.js`);
        console.log(JSON.stringify(given.map(([asked, name]) => otherNameSentence(asked, name))));
    """
    assert node(script, [["Anna", "Anna"], ["Anna", "Anna 2"], ["An\u200bna", "Anna"], ["A  b", "A b"], [None, "Swift Fox"]]) == [
        "",
        "You are called Anna 2 here. Somebody else is Anna.",
        "",
        "You are called A b here.",
        "",
    ]


def test_whoever_comes_back_to_a_race_that_has_ended_without_them_is_told_how() -> None:
    script = f"""{DOCUMENT}
        const {{ lastSentence }} = await import(`${{web}}/ending.js`);
        console.log(JSON.stringify(given.map((ended) => lastSentence({{ ended, seat: 0 }}))));
    """
    first, second = scenes.record().seats
    gone = [replace(first, name="Ada", state="forfeited", place=2), replace(second, name="Zoë", state="stopped", place=1)]
    won = [replace(first, state="stopped", place=1, home=9), replace(second, state="stopped", place=2, home=5)]
    assert node(script, msgspec.to_builtins([gone, won, []])) == [
        "Your last race is over. Zoë won. You forfeited it.",
        "Your last race is over. You won by 4 cards!",
        "",
    ]


def test_a_run_is_told_to_others_in_the_line_of_the_terminal_with_a_link_that_they_can_use() -> None:
    script = f"""{DOCUMENT}
        const {{ runLine }} = await import(`${{web}}/ending.js`);
        const rules = {{ name: "Carpet", decks: 1 }};
        console.log(JSON.stringify(given.map(([told, points, origin]) => runLine(told, rules, points, origin))));
    """
    points = ((0, 4), (30_000, 20), (100_000, 40), (134_600, 51))
    near, far = "http://127.0.0.1:7777", "https://carpet.example"
    daily, challenge = runs.board(), runs.board("challenge")
    cases = [(daily, (), near), (daily, points, near), (daily, points, far), (challenge, points, far)]
    told = node(script, msgspec.to_builtins(cases))
    ways = ["", "", f" Your turn: {far}/play?daily&rules={daily.rules}", f" Your turn: {far}/play?challenge={challenge.id}"]
    assert told == [run_line(run, "Carpet", 52, "", points=course) + way for (run, course, _), way in zip(cases, ways, strict=True)]
