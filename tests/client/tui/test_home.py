"""The home screen: its races and forms, the search for an opponent, the rules and the help.

The whole app over a fake link and a fake screen: what it sends for what is typed, clicked and heard. Time stands still unless moved.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.connection.events import Connecting, Lost, RoundTrip
from client.tui.lobby.daily import DAILY_REFERENCE, SETTLES_MS
from client.tui.start import StartBots, StartMatch, StartRace, StartRequest
from client.tui.terminal import Terminal
from protocol.client_messages import (
    FollowLobby,
    JoinRace,
    OpenRace,
    QuickMatch,
    Rename,
)
from protocol.errors import ErrorCode
from protocol.forms import RACE_FORM
from protocol.run_messages import ListDailies, ListRuns, RunDaily
from protocol.server_messages import Left, LobbyChanges, Rated, WaitingMatch, WaitingOver, YouAre
from protocol.text import ordinal
from protocol.views import BotInfo, OpenRaceInfo, RaceOptions, SeatRating, SeriesOptions
from protocol.watch_messages import WatchRace
from tests.client import runs, scenes
from tests.client.tui.hands import DEFAULTS, STEADY, UP, HandScreen, racing, running
from tests.client.tui.screens import Shown, rows_of

pytestmark = pytest.mark.usefixtures("mock_clock")


DEAL_LINE, SERIES_LINE = ([field.name for field in RACE_FORM].index(name) for name in ("deal", "series"))


async def test_the_home_screen_follows_the_lobby_and_shows_the_connection() -> None:
    async with running() as run:
        await run.say(Connecting(1))
        assert run.screen.shows("connecting")
        await run.say(UP, RoundTrip(17), scenes.welcome(), scenes.lobby())
        assert run.screen.shows("17 ms")
        assert run.screen.shows("Benedikt")
        assert run.link.taken() == [FollowLobby(changes=True)]


async def test_an_opponent_is_looked_for_once_the_race_that_is_over_is_left() -> None:
    async with running(StartMatch("colorado")) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), replace(scenes.room(), phase="over"))
        assert QuickMatch(rules="colorado") not in run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.link.taken() == [QuickMatch(rules="colorado"), FollowLobby(changes=True)]


async def test_whoever_left_a_rated_race_reads_at_home_who_won_it_and_their_new_rating() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(), Left(code=scenes.CODE, reason="left"))
        assert run.screen.shows("You are Anna, rated 1138.")
        await run.say(Rated(code=scenes.CODE, race="r", won=("Benedikt",), rating=SeatRating(before=1138, after=1057)))
        assert run.screen.shows("You are Anna, rated 1057.")
        assert run.screen.shows("Benedikt won the race you left. Your rating: 1057 (-81).")


WAITING = WaitingMatch(rules=None, waited_ms=0, window=100, waiting=1)


async def test_keys_and_clicks_begin_the_search_for_an_opponent_and_escape_and_the_like_end_it() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        for begin, end in (("m", "esc"), ("m", "m"), (None, None)):
            await (run.give(begin) if begin else run.click("Quick match"))
            assert run.link.taken() == [QuickMatch()]
            await run.say(WAITING)
            assert run.screen.shows("Looking for an opponent within 100 points (1 waiting, 0:00); esc stops.")
            await (run.give(end) if end else run.click("Stop looking"))
            assert run.link.taken() == [QuickMatch(cancel=True)]
            await run.say(WaitingOver(reason="cancelled"))
            assert not run.screen.shows("Looking for")
        await run.give("esc")
        assert run.link.taken() == []


async def test_those_at_home_see_how_many_look_for_an_opponent_until_they_look_themselves() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), replace(scenes.lobby(), seeking=1))
        assert run.screen.shows("1 looking for a race (m)")
        await run.give("m")
        await run.say(WAITING)
        assert not run.screen.shows("looking for a race")
        await run.say(WaitingOver(reason="cancelled"), replace(lobby_change(), seeking=0))
        assert not run.screen.shows("looking for a race")


async def test_the_seconds_of_the_search_are_counted() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), WAITING)
        await run.later(7.2)
        assert run.screen.shows("(1 waiting, 0:07)")


async def test_a_start_with_a_search_asks_for_it_once_and_a_found_opponent_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[bool] = []
    monkeypatch.setattr(Terminal, "bell", lambda terminal: rung.append(True))
    async with running(StartMatch("colorado")) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [QuickMatch(rules="colorado"), FollowLobby(changes=True)]
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [FollowLobby(changes=True)]
        await run.say(WaitingMatch(rules="colorado", waited_ms=0, window=100, waiting=1))
        assert rung == []
        await run.say(scenes.room())
        assert rung == [True]
        assert not run.screen.shows("Looking for")


@pytest.mark.parametrize(
    ("kind", "heard"),
    [("linux", "\x1b[10;1046]\x1b[11;125]\a\x1b[10]\x1b[11]"), ("xterm-256color", "\x1b[3;4;13,~")],
    ids=["Linux console", "DECPS"],
)
async def test_a_tone_takes_the_bells_place_where_that_is_wished_for(kind: str, heard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(HandScreen, "term", kind, raising=False)
    monkeypatch.setattr(Terminal, "_write", lambda terminal, text: written.append(text))
    async with racing(settings=replace(DEFAULTS, bell=True, tones=True)) as run:
        assert written == [heard]
        await run.give("B")
        assert run.screen.shows("The bell is on.")
        await run.give("B")
        assert run.screen.shows("The bell is off.")
        await run.give("B")
        assert run.screen.shows("Tones in place of the bell")


async def test_a_start_with_a_bot_asks_for_its_race_once() -> None:
    async with running(STEADY) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [OpenRace(options=RaceOptions(bots=("Steady",), public=False)), FollowLobby(changes=True)]
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [FollowLobby(changes=True)]


async def test_whoever_chooses_among_the_bots_finds_the_last_choice_marked_and_it_is_kept() -> None:
    chosen_last = replace(DEFAULTS, bot="Steady", rules="colorado")
    async with running(StartBots(), settings=chosen_last) as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        assert run.screen.shows("▸ Steady")
        assert run.screen.shows("On your own")
        run.link.taken()
        await run.give("enter")
        assert run.screen.shows("Race Steady: by which rules?")
        await run.give("enter")
        assert run.link.taken() == [OpenRace(options=RaceOptions(rules="colorado", bots=("Steady",), public=False))]
        await run.say(scenes.room(), Left(code=scenes.CODE, reason="left"))
        await run.click("Magpie")
        await run.give("k", "enter", "q")
    assert run.outcome is not None
    kept = run.outcome.settings
    assert (kept.bot, kept.by_key) == ("Magpie", frozenset({"bot", "rules"}))
    assert kept.rules not in ("", "colorado")


async def test_rules_that_were_chosen_at_another_server_and_are_unknown_here_are_not_offered() -> None:
    async with running(StartBots(), settings=replace(DEFAULTS, bot="Steady", rules="nope")) as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("o")
        assert not run.screen.shows("nope")
        await run.give("enter")
        assert [(each.options.rules) for each in run.link.taken() if isinstance(each, OpenRace)] == ["carpet"]


async def test_what_is_to_be_said_first_stays_until_a_key_is_pressed_and_hides_nothing_that_is_said_later() -> None:
    first = "carpet.example does not answer; joined through n2.carpet.example, one of its other servers."
    for at in (WAITING, scenes.room()):
        async with running(note=first) as run:
            await run.say(UP, scenes.welcome(), at)
            assert run.screen.shows("does not answer; joined through n2.carpet.example")
            assert run.screen.shows("Looking for an opponent") == (at is WAITING)
            await run.later(60)
            assert run.screen.shows("does not answer; joined through n2.carpet.example")
            await run.give("down")
            assert not run.screen.shows("joined through")


async def test_whoever_has_chosen_no_bot_yet_finds_the_first_one_marked() -> None:
    async with running(StartBots()) as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        assert run.screen.shows("▸ Dawdle")


async def test_home_is_walked_and_clicked() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.click("Steady")
        assert run.link.taken() == []
        await run.give("enter")
        assert run.link.taken() == [OpenRace(options=RaceOptions(bots=("Steady",), public=False))]
        await run.give("r", "enter")
        assert run.link.taken() == [JoinRace(code="ABCDEF")]
        for typed in ("kx-qw zp", "KX QWZP", "carpet join 127.0.0.1:7777 KXQWZP", "http://carpet.example:7777/play/KXQWZP"):
            await run.give("c", *typed, "enter")
            assert run.link.taken() == [JoinRace(code="KXQWZP")]
        for typed in ("kxq", " - ", "carpet join 127.0.0.1"):
            await run.give("c", *typed, "enter")
            assert run.screen.shows("That is not the code of a race, which is six letters.")
            assert run.screen.shows(f"Race code: {typed.strip()}"), "to be mended"
            await run.give("esc")
        assert run.link.taken() == []
        await run.give("o")
        assert run.screen.shows("Time limit")
        await run.give("down", "down", "right", "up", "enter")
        await run.give("esc", "esc")
        await run.click("Open a race")
        await run.click("Open this race")
        assert run.link.taken() == [OpenRace(options=RaceOptions())]


def lobby_change(*, gone: tuple[str, ...] = (), races: tuple[OpenRaceInfo, ...] = (), closest: str | None = None) -> LobbyChanges:
    return LobbyChanges(players_here=4, races_open=2, races_running=7, gone=gone, races=races, running=(), progress=(), closest=closest)


async def test_enter_takes_the_race_that_was_marked_wherever_it_has_come_to_stand() -> None:
    first, second = scenes.lobby().races
    closest, other = scenes.running()
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("r", "down")
        await run.say(lobby_change(gone=(first.code,), closest=closest.code))
        await run.give("enter")
        assert run.link.taken() == [JoinRace(code=second.code)]
        await run.give("w", "down")
        await run.say(lobby_change(races=(first, replace(first, code="NEWONE")), closest=other.code))
        await run.give("enter")
        (watch,) = run.link.taken()
        assert isinstance(watch, WatchRace)
        assert watch.code == other.code


async def test_the_mark_stays_in_place_when_its_race_is_gone_and_there_is_always_a_line_for_enter() -> None:
    first, second = scenes.lobby().races
    async with running() as run:
        await run.say(UP, scenes.welcome(), replace(scenes.lobby(), running=()))
        await run.give("r", "down")
        run.link.taken()
        await run.say(lobby_change(gone=(second.code,)))
        await run.give("enter")
        assert run.link.taken() == [JoinRace(code=first.code)]
        await run.say(Lost("no route", 3000))
        await run.give("enter")
        assert run.screen.shows("enter or a second click chooses"), "the line above it, a bot's"


async def test_what_was_said_at_home_is_not_said_again_in_the_room() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.refusal(ErrorCode.NO_SUCH_ROOM, message="No race has that code."))
        assert run.screen.shows("No race has that code")
        await run.say(scenes.room())
        assert not run.screen.shows("No race has that code")


async def test_what_was_refused_at_home_is_not_said_again_on_the_screens_that_keys_lead_to_and_another_refusal_is() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby(), scenes.refusal(ErrorCode.ONCE_ONLY))
        assert run.screen.shows("That deal can be raced only once.")
        await run.give("down")
        assert run.screen.shows("That deal can be raced only once."), "it is the same screen"
        await run.give("o")
        assert not run.screen.shows("That deal can be raced only once.")
        await run.give("esc")
        assert not run.screen.shows("That deal can be raced only once.")
        await run.later(0.1)
        await run.say(scenes.refusal(ErrorCode.ONCE_ONLY))
        assert run.screen.shows("That deal can be raced only once.")


async def test_what_the_host_says_is_shown_on_every_screen() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby(), scenes.refusal(ErrorCode.HOST_SAYS, message="We restart at eight."))
        await run.give("o")
        assert run.screen.shows("We restart at eight.")


async def test_the_form_changes_every_value() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("o", "down", "right", "down", "right", "down", "right", "down", "left", "down", *["enter"])
        await run.give(*"garden", "enter", *["down", "right"] * 6, "down", "enter")
        (opened,) = run.link.taken()
        assert isinstance(opened, OpenRace)
        assert opened.options == RaceOptions(
            rules="carpet-aces-in",
            seats=3,
            bots=("Dawdle",),
            public=False,
            deal="garden",
            time_limit_s=900,
            countdown_s=4,
            grace_s=120,
            series=SeriesOptions(format="best-of", races=3),
            rated=False,
            autoplay=False,
        )


async def test_the_form_makes_room_for_a_series_and_takes_back_one_that_has_none() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        # From the line that opens the race: the series before the first one, which is the swap, with a third player before.
        await run.give("o", "down", "down", "right", *["down"] * (SERIES_LINE - 1), "left")
        assert run.screen.shows("Series       swap")
        assert run.screen.shows("Players      2")
        await run.give(*["up"] * (SERIES_LINE - 1), "right")
        assert run.screen.shows("Players      3")
        assert run.screen.shows("Series       single race")
        await run.give(*["down"] * (SERIES_LINE - 1), "right")
        assert run.screen.shows("Series       best of 3")
        await run.give(*["up"] * (SERIES_LINE - 1), "left", "left")
        assert run.screen.shows("Players      1")
        assert run.screen.shows("Series       single race")
        await run.give(*["down"] * (SERIES_LINE - 1), "left", *["up"] * (SERIES_LINE - DEAL_LINE), "enter", *"garden", "enter")
        assert run.screen.shows("Deal         garden")
        assert run.screen.shows("Series       single race")


async def test_help_is_scrolled_by_keys_and_wheel_and_closed() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("?")
        assert run.screen.shows("How to play")
        assert run.screen.shows("more lines: j or page down")
        await run.give(*["page down"] * 20)
        assert not run.screen.shows("more lines")
        await run.give(*["page up"] * 20)
        await run.give(("mouse press", 5, 3, 3), "down", "page down")
        assert not run.screen.shows("How to play")
        await run.give("page up", "page up", "page up")
        assert run.screen.shows("How to play")
        await run.give("esc")
        assert run.screen.shows("Open a race")


async def test_the_rules_are_chosen_from_a_list_that_explains_them() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("o", "down", "enter")
        assert run.screen.shows("Rules of the race")
        assert run.screen.shows("The four Aces lie ready")
        await run.give("up")
        assert run.screen.shows("2 decks, moderate")
        assert run.screen.shows("Sixty-four cards of two packs are woven")
        await run.give("enter")
        assert run.screen.shows("Rules        Persian Rug")
        await run.click("Open this race")
        assert run.link.taken() == [OpenRace(options=RaceOptions(rules="persian-rug"))]
        await run.click("Rules   ")
        await run.give("up", "esc")
        assert run.screen.shows("Rules        Persian Rug")


async def test_a_bot_is_raced_at_the_rules_that_were_chosen_last() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.click("Magpie")
        assert run.screen.shows("Race Magpie: by which rules?")
        await run.click("Colorado")
        assert run.screen.shows("Two packs.")
        assert run.link.taken() == []
        await run.click("▸ Colorado")
        options = RaceOptions(rules="colorado", bots=("Magpie",), public=False)
        assert run.link.taken() == [OpenRace(options=options)]
        await run.give("enter", "enter")
        assert run.link.taken() == [OpenRace(options=options)]
        await run.give("o")
        assert run.screen.shows("Rules        Colorado")


async def test_in_a_window_that_is_too_small_to_show_a_menu_keys_choose_nothing_there_but_quit() -> None:
    async with running(size=(60, 20)) as run:
        await run.say(UP, scenes.welcome())
        run.link.taken()
        await run.give("down", "enter", "o", "enter", "m")
        assert run.link.taken() == []
        await run.give("q")
    assert run.outcome is not None


async def test_a_name_is_changed_by_a_key_and_the_answer_is_told() -> None:
    async with running(size=(80, 24)) as run:
        await run.say(UP, scenes.welcome())
        run.link.taken()
        await run.give("n", *["backspace"] * 4, *"Berta ", "enter")
        assert run.link.taken() == [Rename(name="Berta")]
        await run.say(YouAre(player="p1", name="Berta 2", ref=1))
        assert run.screen.shows("You are now called Berta 2.")
        assert run.screen.shows("You are Berta 2, rated 1138.")
        for typed, told in ((" ", ""), ("x" * 25, "A name has 24 characters at most.")):
            await run.give("n", *["backspace"] * 7, *typed, "enter")
            assert run.link.taken() == []
            assert run.screen.shows(told)


async def test_the_board_of_the_day_is_shown_for_each_rule_set_and_leads_to_ones_run() -> None:
    async with running(size=(120, 40)) as run:
        await run.say(UP, scenes.welcome())
        run.link.taken()
        await run.give("d")
        assert run.link.taken() == [ListDailies(), ListRuns(kind="daily", rules="carpet")]
        assert run.screen.shows("Loading...")
        await run.say(runs.board(shown=False, rows=(), own=None))
        assert run.screen.shows("3 runs so far")
        assert run.screen.shows("You see the runs once you have had your own, or the deal is revealed.")
        assert run.screen.shows("Enter begins your run, or goes on with it.")
        # Of those that keys only pass by, nothing is asked.
        await run.give("left", "left", "tab", "tab")
        await run.later(SETTLES_MS / 1000)
        assert run.link.taken() == [ListRuns(kind="daily", rules="carpet")]
        await run.give("enter")
        assert run.link.taken() == [RunDaily(rules="carpet", ref=DAILY_REFERENCE)]
        await run.give("esc")
        assert run.screen.shows("Race a house bot")


async def test_at_the_deal_of_the_day_esc_stops_the_search_for_an_opponent_first() -> None:
    async with running(size=(120, 40)) as run:
        await run.say(UP, scenes.welcome(), WAITING)
        await run.give("d")
        run.link.taken()
        await run.give("esc")
        assert run.link.taken() == [QuickMatch(cancel=True)]
        await run.say(WaitingOver(reason="cancelled"))
        await run.give("esc")
        assert run.screen.shows("Race a house bot")


async def test_who_has_had_their_run_of_the_day_sees_its_board_and_asks_for_no_other_run() -> None:
    async with running(size=(120, 40)) as run:
        await run.say(UP, scenes.welcome())
        await run.give("d", "enter")
        run.link.taken()
        await run.say(scenes.refusal(ErrorCode.ALREADY_RUN, DAILY_REFERENCE))
        assert run.link.taken() == [ListDailies(), ListRuns(kind="daily", rules="carpet")]
        assert run.screen.shows("You have had your run of this deal. The next one comes at midnight UTC.")
        board = runs.board()
        assert board.own is not None
        await run.say(board)
        assert run.screen.shows(f"You came {ordinal(board.own.place)} of {board.runs}. That makes {board.own.days} days in a row.")
        await run.say(replace(board, own=replace(board.own, days_won=3)))
        assert run.screen.shows("days in a row, the last 3 with every card home.")
        await run.say(board)
        # It may be of yesterday, so the server is asked all the same.
        await run.give("enter")
        assert run.link.taken() == [RunDaily(rules="carpet", ref=DAILY_REFERENCE)]
        await run.give("s")
        line = "Carpet Race, deal of 2026-11-21, Carpet: 51/52 in 2:14.6, place 2 of 3, 10 days in a row."
        assert f"Copied, if your terminal lets programs copy: {line}" in " ".join(" ".join(run.screen.last_text).split())


async def test_who_comes_to_run_a_deal_of_the_day_once_more_sees_the_board_of_its_rules() -> None:
    async with running(StartRequest(RunDaily(rules="crazy-quilt"))) as run:
        await run.say(UP, scenes.welcome())
        assert RunDaily(rules="crazy-quilt", ref=DAILY_REFERENCE) in run.link.taken()
        await run.say(scenes.refusal(ErrorCode.ALREADY_RUN, DAILY_REFERENCE))
        assert run.link.taken() == [ListDailies(), ListRuns(kind="daily", rules="crazy-quilt")]
        assert run.screen.shows("You have had your run of this deal. The next one comes at midnight UTC.")


async def test_after_ones_run_of_the_day_its_board_is_shown_again_and_after_another_race_the_home_screen() -> None:
    async with running(size=(120, 40)) as run:
        await run.say(UP, scenes.welcome())
        await run.give("d", "enter")
        await run.say(runs.run_room("daily"))
        run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert ListRuns(kind="daily", rules="carpet") in run.link.taken()
        assert run.screen.shows("Deal of the day")
        await run.say(scenes.room())
        run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.link.taken() == [FollowLobby(changes=True)]
        assert run.screen.shows("Race a house bot")


async def test_the_help_in_a_form_begins_with_the_keys_that_work_there() -> None:
    async with running(size=(100, 400)) as run:
        await run.say(UP, scenes.welcome())
        await run.give("o", "?")
        text = "\n".join(run.screen.last_text)
        assert text.index("How to play") < text.index("Keys here") < text.index("How to move") < text.index("At home")


async def test_the_help_at_home_explains_all_keys_and_every_rule_set() -> None:
    async with running(size=(100, 400)) as run:
        await run.say(UP, scenes.welcome())
        await run.give("?")
        text = "\n".join(run.screen.last_text)
        assert text.index("How to play") < text.index("Keys here") < text.index("How to move") < text.index("In a race")
        assert "At home" not in text.split("In a race")[0], "told once"
        for info in scenes.RULES:
            assert text.count(f"({info.id})") == 1


async def test_the_help_in_a_room_has_its_keys_first_then_its_rules_and_no_others() -> None:
    async with running(size=(100, 400)) as run:
        await run.say(UP, scenes.welcome(), scenes.room(options=RaceOptions(rules="teppich")))
        await run.give("?")
        text = "\n".join(run.screen.last_text)
        assert text.index("Keys here") < text.index("(teppich)") < text.index("In a race") < text.index("How to move")
        assert [info.id for info in scenes.RULES if f"({info.id})" in text] == ["teppich"]
        assert "Say something to everybody" in text.partition("This race")[0], "rows that other screens have too are among the first"


async def test_the_form_offers_a_deal_that_can_be_won() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("o", "down", "down", "down", "down", "down", "right")
        assert run.screen.shows("random, one that can be won")
        await run.give(*["down"] * (len(RACE_FORM) - DEAL_LINE), "enter")
        assert run.link.taken()[-1] == OpenRace(options=RaceOptions(winnable=True))


async def test_other_rules_in_the_form_take_the_wish_for_a_winnable_deal_back_where_there_are_none() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        # One after the other: five variants of Carpet with winnable deals, then Colorado.
        await run.give("o", "down", *["down"] * DEAL_LINE, "right", *["up"] * DEAL_LINE, *["right"] * 5)
        assert run.screen.shows("Rules        Whist-pack Carpet")
        assert run.screen.shows("random, one that can be won")
        await run.give("right")
        assert run.screen.shows("Rules        Colorado")
        assert run.screen.shows("random, provably fair")
        # Under Colorado the wish is not to be had.
        await run.give(*["down"] * DEAL_LINE, "right")
        assert run.screen.shows("random, provably fair")


async def test_other_rules_from_the_list_take_the_wish_for_a_winnable_deal_back_where_there_are_none() -> None:
    for chosen, winnable in (("Persian Rug", True), ("Teppich", False)):
        async with running() as run:
            await run.say(UP, scenes.welcome())
            await run.give("o", "down", *["down"] * DEAL_LINE, "right", *["up"] * DEAL_LINE, "enter")
            await run.click(chosen)
            await run.give("enter")
            assert run.screen.shows(f"Rules        {chosen}")
            assert run.screen.shows("random, one that can be won") is winnable
            await run.click("Open this race")
            rules = {"Persian Rug": "persian-rug", "Teppich": "teppich"}[chosen]
            assert run.link.taken()[-1] == OpenRace(options=RaceOptions(rules=rules, winnable=winnable))


async def test_a_race_against_a_bot_can_ask_for_a_winnable_deal() -> None:
    async with running(StartRace(RaceOptions(bots=("Steady",), winnable=True))) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken()[0] == OpenRace(options=RaceOptions(bots=("Steady",), public=False, winnable=True))


async def test_on_a_server_of_ones_own_nothing_waits_for_others_who_cannot_come() -> None:
    async with running(StartRace(RaceOptions(bots=("greedy",)))) as run:
        await run.say(UP, scenes.welcome(), scenes.room(), Left(code=scenes.CODE, reason="left"))
        run.link.taken()
        await run.give(*"crwmdt")
        assert run.link.taken() == []
        assert run.screen.shows("Nobody else can come to this server")
        assert not run.screen.shows("Quick match")
        # A race is opened with a bot in it, and one with a free seat promises nobody.
        await run.give("o", "enter")
        (asked,) = run.link.taken()
        assert asked == OpenRace(options=RaceOptions(public=False, bots=("Dawdle",)))
        await run.say(scenes.room(seats=(scenes.seat(0, "Anna"), scenes.seat(1, None))))
        assert run.screen.shows("Nobody can come: this server is yours alone.")
        assert not run.screen.shows("Give this code")


def test_in_a_narrow_window_a_house_bots_first_sentence_is_told_whole() -> None:
    bots = (BotInfo(name="magpie", explanation="Harder: sends home all that can go. It fills every gap at once, and turns when it must."),)
    model = scenes.at_home()
    assert model.welcome is not None
    welcome = replace(model.welcome, bots=bots)
    text = "\n".join(rows_of(Shown(lambda: replace(model, welcome=welcome)), (80, 24)))
    assert "Harder: sends home all that can go. " in text
    assert "can go. ..." not in text


async def test_where_there_are_no_colours_the_key_for_them_says_so_and_changes_nothing() -> None:
    settings = replace(DEFAULTS, colours=1)
    async with running(settings=settings) as run:
        await run.give("C")
        assert run.screen.shows("Colours are off (NO_COLOR, or TERM has none).")
        await run.give("q")
    assert run.outcome is not None
    assert run.outcome.settings == settings
