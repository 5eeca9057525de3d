"""The tournament screens at any size, whatever a server sends: nothing overflows, nothing breaks, every line can be clicked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from urwid.testing import render_text

from client.state.store import Model
from client.text.width import text_width
from client.tui.actions import Pick
from client.tui.drawing.theme import theme_for
from client.tui.scene import Scene
from client.tui.start import UiSettings
from client.tui.step import Step
from client.tui.terminal import Painted
from client.tui.tournament_view_state import TournamentPage, TournamentView, lines_of
from client.tui.ui_state import Ui
from client.tui.view import view
from protocol.forms import TournamentDraft, tournament_fields
from protocol.tournament_messages import Tournament
from protocol.tournaments import TableResult, TournamentBye, TournamentFormat, TournamentOptions, TournamentSide, TournamentTable
from tests.client import scenes
from tests.client import tournament_scenes as tournaments

_texts = st.sampled_from(["", "Anna", "\x1b[31mred", "カーペット選手権", "W" * 60, "a\nb", "\u202eabc", "é" * 24])
_ids = st.sampled_from(["p1", "p2", "p3", "p7", "bot:greedy:1"])
_counts = st.integers(0, 120)
_states = st.sampled_from(["waiting", "racing", "won", "stalled", "stopped", "forfeited", "out-of-time"])
_results = st.builds(
    TableResult, verdict=st.sampled_from(["first", "second", "draw"]), first_home=_counts, second_home=_counts, forfeit=st.booleans()
)
_sides = st.builds(tournaments.side, st.none() | _ids, _texts, _counts, _states, present=st.booleans())
_tables = st.builds(
    tournaments.table,
    st.integers(1, 256),
    _ids,
    st.none() | _ids,
    counted=st.booleans(),
    match=st.sampled_from(["", "W1-3", "L12-128"]),
    result=st.none() | _results,
    race=st.integers(1, 9),
    code=st.none() | st.just("HKTRWM"),
    sides=st.lists(_sides, max_size=3).map(tuple),
    elapsed_ms=st.integers(0, 10**7),
    no_show_ms=st.none() | st.integers(0, 10**6),
)
_rows = st.builds(
    lambda place, id_, points, ties: tournaments.row(place, id_, points, *ties),
    st.integers(1, 256),
    _ids,
    st.integers(0, 400),
    st.lists(st.integers(0, 10**5), min_size=1, max_size=6),
)
_entrants = st.builds(
    tournaments.entrant,
    _ids,
    _texts,
    st.integers(1, 256),
    rating=st.none() | st.integers(-99, 3000),
    bot=st.none() | st.just("greedy"),
    checked_in=st.booleans(),
    withdrawn=st.booleans(),
    first_round=st.integers(1, 9),
)
TOLD = st.builds(
    tournaments.told,
    st.sampled_from(["registration", "check-in", "running", "between", "paused", "over", "ended"]),
    director=_ids,
    director_name=_texts,
    phase_ms=st.none() | st.integers(-10, 10**7),
    entrants=st.lists(_entrants, max_size=6).map(tuple),
    rounds=st.integers(0, 3).map(lambda count: tuple(tournaments.paired(number) for number in range(1, count + 1))),
    round=st.integers(0, 3),
    tables=st.lists(_tables, max_size=40).map(tuple),
    tie_breaks=st.lists(_texts, max_size=6).map(tuple),
    standings=st.lists(_rows, max_size=8).map(tuple),
    log=st.lists(st.builds(tournaments.decision, st.integers(1, 99), _texts, _texts, _texts, _texts), max_size=5).map(tuple),
)
_pages = st.sampled_from([None, "tables", "standings", "log"])
_sizes = st.tuples(st.sampled_from([80, 99, 120, 149, 150, 200]), st.sampled_from([24, 30, 60]))


def scene_at(model: Model, page: TournamentPage | None, item: int, *, ascii_only: bool = False) -> Scene:
    ui = Ui(tournament_view=TournamentView(tournaments.ID, page), item=item, settings=UiSettings(ascii=ascii_only))
    return Scene(model, ui, theme_for("classic", ascii_only=ascii_only, colours=256, own=None), 50_000)


@given(TOLD, _pages, st.integers(0, 50), _sizes, st.booleans())
def test_whatever_is_told_is_drawn_within_the_terminal(
    told: Tournament, page: TournamentPage | None, item: int, size: tuple[int, int], ascii_only: bool
) -> None:
    lines = render_text(Painted(view(scene_at(tournaments.at(told), page, item, ascii_only=ascii_only), size)), size)
    assert len(lines) == size[1]
    assert {text_width(line) for line in lines} == {size[0]}
    assert all(line.isprintable() for line in lines)
    assert "? help" in lines[-1]


@settings(max_examples=30)
@given(TOLD, _pages, _sizes)
def test_every_click_is_on_a_line_that_is_there(told: Tournament, page: TournamentPage | None, size: tuple[int, int]) -> None:
    model = tournaments.at(told)
    drawn = view(scene_at(model, page, 0), size)
    clicks = {drawn.click_at(column, row) for row in range(size[1] - 1) for column in (5, size[0] - 20)}
    picked = {click.line for click in clicks if isinstance(click, Pick)}
    assert picked <= set(range(len(lines_of(model, TournamentView(tournaments.ID, page)))))


def test_every_table_of_a_large_field_can_be_reached_and_is_seen_when_marked() -> None:
    model = tournaments.at(tournaments.large())
    for item in range(32):
        lines = render_text(Painted(view(scene_at(model, "tables", item), (80, 24))), (80, 24))
        assert any(line.startswith(f"▸ {item + 1:>3} ") for line in lines), item
    for item in range(64):
        lines = render_text(Painted(view(scene_at(model, "standings", item), (80, 24))), (80, 24))
        assert any(line.startswith("▸") for line in lines), item


def test_on_a_wide_terminal_tables_and_standings_stand_side_by_side() -> None:
    lines = render_text(Painted(view(scene_at(tournaments.at(tournaments.running()), "tables", 1), (160, 40))), (160, 40))
    (header,) = (line for line in lines if "points" in line)
    assert header.index("points") > 100
    assert any(line.startswith("▸   2 Clara") and "1 Benedikt" in line[78:] for line in lines)


@pytest.mark.parametrize("format_", ["swiss", "round-robin", "elimination", "session"])
def test_the_form_of_each_format_stays_with_its_words_and_a_remark_in_the_smallest_terminal(format_: TournamentFormat) -> None:
    fields = tournament_fields(format_)
    options = TournamentDraft(name="Open", format=format_)
    for item in range(len(fields) + 1):
        ui = Ui(tournament_view=TournamentView(), tournament_form=options, item=item, note="Not now.")
        model = scenes.reduced(scenes.at_home(), tournaments.listed())
        scene = Scene(model, ui, theme_for("classic", ascii_only=False, colours=256, own=None), 50_000)
        lines = [line.strip() for line in render_text(Painted(view(scene, (80, 24))), (80, 24))]
        shown = "\n".join(lines)
        assert all(field.label in shown for field in fields)
        for words in ("Create a tournament", "Create it", "the last one makes it.", "Not now.", "esc back"):
            assert words in shown
        if item < len(fields) and fields[item].name != "rules":
            assert "enter shows the rest" not in shown


def test_of_two_decks_the_bar_is_twice_as_long() -> None:
    def bar(rules: str) -> int:
        told = tournaments.running(options=TournamentOptions(name="Open", rules=rules))
        lines = render_text(Painted(view(scene_at(tournaments.at(told), "tables", 0), (80, 24))), (80, 24))
        return next(line for line in lines if "31 : 18" in line).count("█")

    assert (bar("carpet"), bar("crazy-quilt")) == (8, 3)


def test_a_player_is_told_what_to_do_at_every_stage() -> None:
    def told(tournament: Tournament, **more: Any) -> str:
        model = scenes.reduced(scenes.at_home(), tournament, now_ms=45_000)
        return render_text(Painted(view(scene_at(model, None, 0), (80, 24))), (80, 24))[2].strip()

    absent = tuple(each for each in tournaments.ENTRANTS if each.id != tournaments.ANNA)
    assert told(tournaments.told(entrants=absent)) == "You have not entered. Press i to enter."
    watching = scenes.reduced(scenes.at_home(), replace(scenes.welcome(), player="", token=""), tournaments.told(entrants=absent))
    sentence = render_text(Painted(view(scene_at(watching, None, 0), (80, 24))), (80, 24))[2].strip()
    assert sentence == "You are only watching. To play, run carpet tournament join."
    assert told(tournaments.told()) == "You have entered as Anna. The director will open the check-in."
    assert told(tournaments.told("check-in")) == "You are in. When the next round is paired, you are taken to your table."
    assert told(tournaments.running(entrants=absent)) == "You are not playing."
    assert told(tournaments.running()) == "Table 1 against Benedikt is waiting for you: press enter to go there."
    done = tuple(tournaments.table(1, "p2", tournaments.ANNA, result=tournaments.WON) for _ in range(1))
    assert told(tournaments.running(tables=done)) == "You lost your table, 31 : 52 cards. The round goes on."
    # It may have been the last one of its round, or of the tournament.
    between = told(tournaments.running(tables=done, phase="between", phase_ms=20_000))
    assert between.startswith("You lost your table, 31 : 52 cards. You are in.")
    assert told(tournaments.running(tables=done, phase="over")) == "You lost your table, 31 : 52 cards. You came 2nd of 5."
    assert told(tournaments.running(phase="over")) == "You came 2nd of 5."
    # Of an earlier round it is old.
    assert told(tournaments.running(tables=done, round=1)) == "You are in. When the next round is paired, you are taken to your table."


def sentence(tournament: Tournament, line: int = 2, width: int = 120) -> str:
    return render_text(Painted(view(scene_at(tournaments.at(tournament), None, 0), (width, 24))), (width, 24))[line].strip()


def test_a_director_is_told_who_holds_up_the_round_and_which_key_moves_it_on() -> None:
    def told(phase: str, *tables: TournamentTable, **more: Any) -> str:
        tournament = tournaments.running(phase=phase, tables=tables or tournaments.TABLES[:1], **more)
        entrants = tuple(each for each in tournament.entrants if each.id != tournaments.ANNA)
        return sentence(replace(tournament, entrants=entrants, director=tournaments.ANNA))

    def waiting(*sides: TournamentSide, **more: Any) -> TournamentTable:
        return tournaments.table(3, "p2", "p3", code="QWERTZ", sides=sides, **more)

    here = tournaments.side("p2", "Benedikt", state="waiting", ready=True)
    lost, slow = replace(here, name="Clara", present=False, ready=False), replace(here, name="Dan", ready=False)
    assert told("running", waiting(here, slow)) == "Not ready yet: Dan at table 3."
    late = waiting(lost, slow, no_show_ms=66_000)
    assert told("running", late) == "Not there yet (they forfeit in 1:01): Clara at table 3."
    keys = "E gives the selected table a result, X removes a player, P pauses."
    assert told("running") == told("running", replace(late, result=tournaments.WON)) == keys
    assert told("between") == "N pairs the next round."
    assert told("between", phase_ms=20_000) == "N pairs the next round now; P keeps it waiting."
    assert told("paused") == "P goes on."


def test_the_check_in_begins_with_those_who_are_missing_and_says_who_is_away() -> None:
    lines = page(tournaments.told("check-in"), "standings")[6:11]
    names = ("Benedikt", "Clara", "Anna", "greedy", "Dan")
    assert all(name in line for name, line in zip(names, lines, strict=True))
    assert [line.strip().split("  ")[-1].strip() for line in lines[:3]] == ["○ not checked in", "○ away", "✓ checked in"]


def with_anna(tournament: Tournament, **changes: Any) -> Tournament:
    entrants = tuple(replace(each, **changes) if each.id == tournaments.ANNA else each for each in tournament.entrants)
    return replace(tournament, entrants=entrants)


def test_without_a_check_in_nobody_is_asked_to_check_in() -> None:
    options = replace(tournaments.OPTIONS, check_in_s=0)
    told = with_anna(tournaments.told(options=options), checked_in=False)
    assert sentence(told) == "You have entered as Anna. The director will start it."
    paused = with_anna(tournaments.running(phase="paused", options=options, tables=()), checked_in=False)
    assert sentence(paused) == "You are in. When the tournament goes on, you are taken to your table."
    lines = render_text(Painted(view(scene_at(tournaments.at(paused), None, 0), (120, 24))), (120, 24))
    assert "check in" not in lines[-1]


def test_who_is_out_is_told_why_and_how_to_come_back_while_that_is_so() -> None:
    def out(why: str, reason: str = "", **options: Any) -> str:
        options = {"options": replace(tournaments.OPTIONS, rounds=0, **options)} if options else {}
        told = tournaments.running(tables=(), **options)
        return sentence(with_anna(told, withdrawn=True, checked_in=False, out=why, out_reason=reason))

    left_out = "You were left out, since you had not checked in."
    assert out("not-checked-in") == f"{left_out} Press i to come back."
    assert out("not-checked-in", format="elimination") == left_out
    assert out("withdrew") == "You have withdrawn. Press i to come back."
    assert out("missed") == "You are out, since you missed two rounds running. Press i to come back."
    assert out("removed", "plays under two names") == "Grace has removed you: plays under two names."
    assert out("banned", "bot") == "You are out, since the host of this server has banned you: bot. Press i to come back."
    for unknown in ("", "abducted"):
        assert out(unknown) == "You are not playing any more. Press i to come back.", "for a reason of a newer server"


def page(told: Tournament, name: TournamentPage) -> list[str]:
    return render_text(Painted(view(scene_at(tournaments.at(told), name, 0), (100, 24))), (100, 24))


def test_the_standings_say_why_somebody_is_out_and_list_those_who_never_came_last() -> None:
    told = with_anna(tournaments.running(), withdrawn=True, out="removed")
    gone = replace(told.entrants[0], id="p9", name="Cleo", withdrawn=True, out="not-checked-in")
    lines = page(replace(told, entrants=(*told.entrants, gone)), "standings")
    assert any("Anna (you) (removed)" in line for line in lines)
    (last,) = (line for line in lines if "Cleo" in line)
    assert last.split() == ["Cleo", "(no", "check-in)"]


def test_what_was_called_off_says_by_whom_and_why_and_gives_no_places_where_nothing_was_raced() -> None:
    def told(author: str, reason: str, **more: Any) -> list[str]:
        log = (tournaments.decision(4, "end", "The tournament is called off.", author, reason),)
        tournament = tournaments.running(phase="ended", log=log, **more)
        return [sentence(tournament, 1).split("  ")[0], sentence(tournament)]

    unraced = tuple(replace(each, won=0, lost=0, drawn=0) for each in tournaments.STANDINGS)
    assert told("Grace", "no light", rounds=(), round=0, tables=(), standings=unraced) == [
        "Called off by its director before the first round.",
        "Reason: no light.",
    ]
    assert told("", "too few have checked in", rounds=(), standings=unraced) == [
        "Called off before the first round.",
        "Reason: too few have checked in.",
    ]
    assert told("Grace", "") == ["Called off by its director before it was decided.", "You came 2nd of 5, as it stood."]
    assert told("Grace", "no light", standings=unraced)[1] == "Reason: no light."


def test_at_a_table_that_is_waited_for_it_is_seen_who_is_ready() -> None:
    sides = (
        tournaments.side("p2", "Benedikt", state="waiting", ready=True),
        tournaments.side(tournaments.ANNA, "Anna", state="waiting"),
    )
    told = tournaments.running(tables=(tournaments.table(1, "p2", tournaments.ANNA, code="HKTRWM", sides=sides, no_show_ms=61_000),))
    lines = render_text(Painted(view(scene_at(tournaments.at(told), "tables", 0), (80, 24))), (80, 24))
    (line,) = (line for line in lines if "Benedikt" in line and "Anna" in line)
    assert line.split()[2:8] == ["Benedikt", "✓", "ready", "0", ":", "0"]
    assert "not ready  Anna" in line


def test_a_bye_on_request_is_told_to_whoever_has_it_and_below_the_tables_and_in_the_check_in() -> None:
    byes = (TournamentBye(round=2, entrant=tournaments.ANNA, half_points=1), TournamentBye(round=1, entrant="p3", half_points=2))
    running = tournaments.running(byes=byes)
    assert "  Byes on request: Anna ½." in [line.rstrip() for line in page(running, "tables")]
    others = replace(running, tables=tournaments.running().tables[1:])
    assert "You have a bye in round 2: ½. Nobody waits for you." in "\n".join(page(others, "tables"))
    # The bye of a round to come.
    first = tournaments.running(rounds=(tournaments.paired(1),), round=1, byes=byes, tables=())
    assert "a bye in round 2" not in "\n".join(page(first, "tables"))
    between = replace(first, phase="between")
    assert "You have a bye in round 2: ½." in "\n".join(page(between, "tables"))
    # Everybody who was left had one, so the round has no table.
    assert [line.strip() for line in page(between, "tables") if "Byes on request" in line or "No round" in line] == [
        "Byes on request: Clara 1."
    ]
    # One that is paused is between two rounds once no table of the last is open.
    paused = replace(first, phase="paused")
    assert "You have a bye in round 2: ½." in "\n".join(page(paused, "tables"))
    raced = replace(paused, rounds=(tournaments.paired(1, left=1),))
    assert "a bye in round 2" not in "\n".join(page(raced, "tables"))
    waiting = page(tournaments.told("check-in", byes=byes), "standings")
    assert next(line for line in waiting if " Clara" in line).rstrip().endswith("bye")


def test_the_log_says_how_many_decisions_came_before_those_it_shows_and_where_they_are() -> None:
    log = tuple(tournaments.decision(number, "enter", f"Bot {number} enters.") for number in range(83, 133))
    told = tournaments.running(log=log, decisions=132)
    assert "the last 50; time since it was made" in "\n".join(page(told, "log"))
    lines = render_text(Painted(view(scene_at(tournaments.at(told), "log", 49), (80, 24))), (80, 24))
    said = " ".join(" ".join(lines).split())
    assert "Bot 83 enters. Before that: 82 decisions. To read all: carpet tournament log, or the page in a browser." in said
    whole = "\n".join(page(tournaments.running(), "log"))
    assert "the last" not in whole
    assert "Before that" not in whole


def test_every_decision_in_the_log_is_told_in_full_and_the_marked_one_is_seen() -> None:
    long = "Round 3, table 1: the race was called off and is run again."
    log = tuple(tournaments.decision(number, "broken-race", long, "Grace", f"its room was closed {number}") for number in range(1, 31))
    model = tournaments.at(tournaments.running(log=log, decisions=30))
    for item in (0, 12, 29):
        lines = render_text(Painted(view(scene_at(model, "log", item), (80, 24))), (80, 24))
        text = " ".join(line.strip() for line in lines)
        assert f"Reason: its room was closed {30 - item}" in text
        assert len(lines) == 24


def test_whoever_is_knocked_out_is_told_so_and_a_pause_promises_no_next_round() -> None:
    def lines(phase: str, losses: int, **options: Any) -> list[str]:
        rows = tuple(replace(each, lost=losses) for each in tournaments.STANDINGS)
        tournament = tournaments.running(
            phase=phase, tables=(), standings=rows, options=TournamentOptions(name="Cup", **{"format": "elimination", **options})
        )
        model = scenes.reduced(scenes.at_home(), tournament, now_ms=45_000)
        return render_text(Painted(view(scene_at(model, None, 0), (80, 24))), (80, 24))

    def told(phase: str, losses: int, **options: Any) -> str:
        return lines(phase, losses, **options)[2].strip()

    out = "You are out, and can watch the rest of it here."
    in_, paused = (f"You are in. When the {what}, you are taken to your table." for what in ("next round is paired", "tournament goes on"))
    assert [told("running", 1), told("paused", 1), told("between", 1)] == [out] * 3
    assert [told("running", 0), told("running", 1, double=True), told("running", 5, format="swiss")] == [in_] * 3
    assert told("running", 2, double=True) == out
    assert told("paused", 0) == paused
    assert ["L withdraw" in lines("running", losses)[-1] for losses in (0, 1)] == [True, False]


def test_a_table_whose_result_is_struck_says_that_it_waits_for_the_others() -> None:
    struck = tournaments.table(2, tournaments.ANNA, "p2")
    first = tournaments.TABLES[0]
    raced = replace(first, first="p3", second="p4", sides=(tournaments.side("p3", "Clara", 31), tournaments.side("p4", "Dan", 18)))
    told = tournaments.running(tables=(raced, struck))
    assert any("after the other tables" in line for line in page(told, "tables"))
    assert sentence(told) == "Your table races again when the other tables are done. You are taken there."
    # Once no other is raced, its room is opened.
    alone = tournaments.running(tables=(replace(raced, code=None, sides=(), result=tournaments.WON), struck))
    assert any("setting up" in line for line in page(alone, "tables"))


def test_where_a_name_or_a_sentence_has_no_room_it_is_the_rest_that_is_cut_and_marked() -> None:
    names = tournaments.running(director_name="Maximiliane-Wilhelmine 1")
    assert sentence(names, line=1, width=80) == "Round 2 of 9 is being raced: 1 of 3 tables done. director Maximiliane-Wilhe ..."
    absent = [tournaments.side("p2", f"Maximiliane-Wilhelmine {number}", state="waiting", present=False) for number in (1, 2)]
    waiting = tournaments.table(3, "p2", "p3", code="QWERTZ", sides=tuple(absent))
    directed = tournaments.running(director=tournaments.ANNA, tables=(waiting,))
    directed = replace(directed, entrants=tuple(each for each in directed.entrants if each.id != tournaments.ANNA))
    told = sentence(directed, width=80)
    assert told.startswith("Not there yet: Maximiliane-Wilhelmine 1 at table 3, ")
    assert told.endswith(" ...")


def test_a_table_of_a_bracket_shows_the_number_that_commands_ask_for_beside_its_name() -> None:
    told = tournaments.running(tables=(tournaments.table(7, "p2", "p3", match="W2-1"),))
    assert any("  7 W2-1 Benedikt" in line for line in page(told, "tables"))


def test_a_house_bot_at_a_table_bears_its_mark_however_long_its_name() -> None:
    entrants = (*tournaments.ENTRANTS[:3], replace(tournaments.ENTRANTS[3], name="W" * 24))
    told = tournaments.running(
        entrants=entrants, tables=(tournaments.table(1, "bot:greedy:1", "p2"), tournaments.table(2, "p3", "bot:greedy:1"))
    )
    lines = render_text(Painted(view(scene_at(tournaments.at(told), "tables", 0), (80, 24))), (80, 24))
    first, second = (line for line in lines if "WWW" in line)
    assert "W (bot) " in first
    assert "W (bot) " in second


def test_the_marked_table_is_not_of_one_piece_with_its_bars() -> None:
    drawn = view(scene_at(tournaments.at(tournaments.running()), "tables", 0), (80, 24))
    line = next(line for line in drawn.lines if any("31 : 18" in text for _, text in line))
    chosen = [at for at, (role, _) in enumerate(line) if role == "chosen"]
    assert len(chosen) == 3
    assert (line[chosen[1] + 1], line[chosen[2] - 1]) == (("felt", " "),) * 2


def test_below_a_question_the_line_that_it_is_about_stays_marked() -> None:
    scene = scene_at(tournaments.at(tournaments.told(director=tournaments.ANNA)), "standings", 2)
    asked = Step(scene.model, scene.ui, 0).ask("Remove Clara?", ("Remove", "Keep"), (None, None))
    lines = render_text(Painted(view(replace(scene, ui=asked.ui), (80, 24))), (80, 24))
    assert [line[:30].split() for line in lines if line.startswith("▸")] == [["▸", "3", "Clara"]]
    assert any("▸ n  Keep" in line for line in lines)


def test_a_side_that_waits_is_ready_or_not_ready() -> None:
    table = tournaments.running().tables[2]
    for ready in (True, False):
        sides = tuple(replace(side, present=True, state="waiting", ready=ready) for side in table.sides)
        told = tournaments.running(tables=(replace(table, sides=sides),))
        (line,) = (line for line in page(told, "tables") if "until" in line)
        assert " ready " in line
        assert ("not ready" in line) is not ready
