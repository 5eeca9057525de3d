"""protocol/README.md against the code: every message, field, type, limit, error and example in it is what the program sends.

A test that fails prints the table that the code calls for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec import inspect

from protocol import DEFAULT_PORT, room_events, text, views
from protocol.cards import card_text, fresh_deck, rank
from protocol.client_messages import PRICES, ClientMessage
from protocol.codec import JSON, MAX_CLIENT_MESSAGE, MAX_DEPTH, MAX_SERVER_MESSAGE, MSGPACK, SUBPROTOCOLS, Decoder, encode
from protocol.errors import ERRORS, CloseCode, Fault
from protocol.pages import (
    LADDER_PLAYERS,
    PAGE_RACES,
    SEARCH_CHARACTERS,
    BoardStep,
    Found,
    FoundPlayer,
    FoundRace,
    History,
    HistoryRace,
    HistorySeat,
    Ladder,
    LadderPlayer,
    Problem,
    RaceBoards,
    RaceReview,
    SeatReview,
)
from protocol.phrases import PHRASES
from protocol.record import check_deal, digest
from protocol.room_events import Dealt, PlayerView, Result, Room, RoomEvent
from protocol.run_messages import Challenge, Challenges, Dailies, Runs
from protocol.server_messages import (
    CurrentView,
    Error,
    Left,
    Lobby,
    LobbyChanges,
    Moved,
    Nodes,
    Rated,
    ServerMessage,
    WaitingMatch,
    WaitingOver,
    Welcome,
    YouAre,
)
from protocol.shuffle import DEAL_LABEL, shuffle
from protocol.tournament_messages import TournamentMessage
from protocol.tournaments import (
    LISTED_DECISIONS,
    LISTED_TOURNAMENTS,
    MAX_ENTRANTS,
    MAX_ROUNDS,
    REASON_LENGTH,
    TITLE_LENGTH,
    EntrantDocument,
    RoundDocument,
    TableDocument,
    TournamentDocument,
    TournamentFormat,
    TournamentPhase,
    TournamentsDocument,
    Verdict,
)
from protocol.watch_messages import Board, Watched, WatchMessage
from server.config import Settings
from server.lobby.match_queue import APART_MS
from server.net.connection import BAD_MESSAGES
from server.net.http import PAGES_A_SECOND, PAGES_AT_ONCE, QUERY_FIELDS, TARGET_CHARACTERS
from server.pages.ladder import USUAL_PLAYERS
from server.pages.races import USUAL_RACES
from server.race.timing import KEPT_ROUND_TRIPS, MAX_CREDIT_MS
from server.rooms.core import PHRASES_A_SECOND, PHRASES_AT_ONCE
from server.rooms.deal_finder import STEP_S
from server.rooms.ready_timeout import MATCH_READY_S, READY_S
from server.rules.position import Family
from server.solver.winnable import BUDGET, MAX_SEEDS
from server.spectate import spectator
from server.spectate.room_spectators import COUNT_S, LINES_A_SECOND, LINES_AT_ONCE, LINES_KEPT
from server.spectate.spectator_registry import FORGIVEN_S, RESULT_S
from server.tournaments.events import KIND
from tests.protocol.specification import README, Section, chapter, sections, table

CLIENT = get_args(ClientMessage)
TO_ONE = (
    Welcome,
    Nodes,
    Moved,
    YouAre,
    Error,
    Lobby,
    LobbyChanges,
    WaitingMatch,
    WaitingOver,
    Left,
    Rated,
    CurrentView,
    Dailies,
    Challenge,
    Challenges,
    Runs,
)
EVENTS = get_args(RoomEvent)
TO_WATCHERS = get_args(WatchMessage)
OF_TOURNAMENTS = get_args(TournamentMessage)

SETS: dict[str, tuple[str, ...]] = {
    "Phase": get_args(views.Phase),
    "SeatState": get_args(views.SeatState),
    "Family": get_args(get_type_hints(views.RulesInfo)["family"]),
    "Fault": tuple(Fault),
    "SeriesFormat": get_args(views.SeriesFormat),
    "SharedKind": get_args(views.SharedKind),
    "RunKind": get_args(views.RunKind),
    "Verdict": get_args(Verdict),
    "TournamentFormat": get_args(TournamentFormat),
    "TournamentPhase": get_args(TournamentPhase),
}


# ---- what the code says


def info(struct: type) -> inspect.StructType:
    found = inspect.type_info(struct)
    assert isinstance(found, inspect.StructType)
    return found


def tag(struct: type) -> str:
    found = info(struct).tag
    assert isinstance(found, str)
    return found


def power(number: int) -> str:
    """Large bounds are one below a power of two and written so."""
    return f"2^{number.bit_length()}−1" if number >= 2**31 - 1 and (number + 1).bit_count() == 1 else str(number)


def type_text(kind: inspect.Type) -> str:
    """A field's type as the specification writes it."""
    match kind:
        case inspect.StrType(pattern=str(pattern)):
            digits = re.fullmatch(r"\^\[0-9a-f\]\{(\d+)\}\$", pattern)
            assert digits is not None, f"no words for the pattern {pattern}"
            return f"hex {digits.group(1)}"
        case inspect.StrType(max_length=None):
            return "text"
        case inspect.StrType(min_length=least, max_length=most):
            return f"text {most}" if least == most else f"text {least or 0}–{most}"
        case inspect.IntType(ge=None, lt=None, le=None):
            return "integer"
        case inspect.IntType(ge=int(least), lt=None, le=None):
            return f"integer ≥ {least}"
        case inspect.IntType(ge=int(least), lt=lt, le=le):
            most = le if le is not None else (lt or 0) - 1
            return f"integer {least}–{power(most)}"
        case inspect.BoolType():
            return "boolean"
        case inspect.UnionType(types=types) if {each.cls for each in types if isinstance(each, inspect.StructType)} == set(EVENTS):
            return "room event"
        case inspect.UnionType(types=(one, inspect.NoneType())):
            inner = type_text(one)
            return f"({inner}) or null" if " of " in inner else f"{inner} or null"
        case inspect.VarTupleType(item_type=item, min_length=least, max_length=most):
            inner = type_text(item)
            return f"list of {f'{least or 0}–{most} ' if most is not None else ''}{f'({inner})' if ' or ' in inner else inner}"
        case inspect.DictType(key_type=key, value_type=value):
            return f"map of {type_text(key)} to {type_text(value)}"
        case inspect.LiteralType(values=values):
            return next(f"`{name}`" for name, texts in SETS.items() if set(texts) == set(values))
        case inspect.EnumType(cls=cls) | inspect.StructType(cls=cls):
            return f"`{cls.__name__}`"
    raise AssertionError(f"no words for {kind}")


def default_text(field: inspect.Field) -> str:
    if field.required:
        return "required"
    return json.dumps(msgspec.to_builtins(field.default), ensure_ascii=False)


def rows_of(struct: type, *, from_client: bool) -> list[list[str]]:
    """The table's cells up to the meaning, without the fields that its chapter tells of all."""
    common = {field.name for base in COMMON.values() if issubclass(struct, base) for field in info(base).fields}
    return [
        [f"`{field.encode_name}`", type_text(field.type), *([default_text(field)] if from_client else [])]
        for field in info(struct).fields
        if field.name not in common
    ]


def structs_within(kind: inspect.Type) -> Iterator[type]:
    """Every struct that a type is made of, itself included."""
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            yield cls
            for field in fields:
                yield from structs_within(field.type)
        case inspect.UnionType(types=types):
            for each in types:
                yield from structs_within(each)
        case inspect.VarTupleType(item_type=item):
            yield from structs_within(item)
        case inspect.DictType(value_type=value):
            yield from structs_within(value)


MESSAGES = (*CLIENT, *TO_ONE, *OF_TOURNAMENTS, *EVENTS, *TO_WATCHERS)
FROM_CLIENT = {struct for message in CLIENT for struct in structs_within(info(message))}
WITHIN = {struct for message in MESSAGES for struct in structs_within(info(message))}
SHARED = sorted(WITHIN - set(MESSAGES), key=lambda struct: struct.__name__)
CHAPTERS = {
    "Messages from the client": CLIENT,
    "Messages to one connection": TO_ONE,
    "Messages of tournaments": OF_TOURNAMENTS,
    "Room events": EVENTS,
    "Messages to watchers": TO_WATCHERS,
}
COMMON: dict[str, type] = {"Messages from the client": views.Request, "Room events": room_events.Versioned}
SECTIONS = {name: section for title in CHAPTERS for name, section in sections(title).items()}
SHARED_SECTIONS = sections("Shared values")


def check_table(struct: type, section: Section) -> None:
    from_client = struct in FROM_CLIENT
    expected = rows_of(struct, from_client=from_client)
    assert section.header == (["field", "type", *(["if absent"] if from_client else []), "meaning"] if expected else [])
    assert [row[:-1] for row in section.rows] == expected, "\n".join(f"| {' | '.join(row)} | … |" for row in expected)
    assert all(row[-1] for row in section.rows), "a field without a meaning"


# ---- messages and shared values


def test_the_chapters_hold_every_message_and_no_other() -> None:
    assert set(get_args(ServerMessage)) == {*TO_ONE, *OF_TOURNAMENTS, *EVENTS, *TO_WATCHERS}
    for title, messages in CHAPTERS.items():
        assert list(sections(title)) == [tag(message) for message in messages], title


def test_every_shared_value_is_described_and_no_other() -> None:
    assert set(SHARED_SECTIONS) - {"Sets of texts"} == {struct.__name__ for struct in SHARED}


@pytest.mark.parametrize("title", COMMON)
def test_a_chapter_tells_of_the_field_that_all_its_messages_have(title: str) -> None:
    (field,) = info(COMMON[title]).fields
    absent = "" if field.required else f", {default_text(field)} if absent"
    assert f"Each has also the field `{field.encode_name}`, {type_text(field.type)}{absent}:" in chapter(title)
    assert {message for message in MESSAGES if issubclass(message, COMMON[title])} == set(CHAPTERS[title])


@pytest.mark.parametrize("message", MESSAGES, ids=tag)
def test_a_message_has_the_fields_of_its_table(message: type) -> None:
    assert info(message).tag_field == "type"
    check_table(message, SECTIONS[tag(message)])


@pytest.mark.parametrize("struct", SHARED, ids=lambda struct: struct.__name__)
def test_a_shared_value_has_the_fields_of_its_table(struct: type) -> None:
    check_table(struct, SHARED_SECTIONS[struct.__name__])


@pytest.mark.parametrize("message", CLIENT, ids=tag)
def test_each_request_says_what_its_answer_is(message: type) -> None:
    prose = SECTIONS[tag(message)].text.partition("\n|")[0].partition("\n```")[0]
    answer = " ".join(prose.split()).partition(" Answer: ")[2]
    assert re.match(r"(`[a-z-]+`|\[`[a-z-]+`\]\(#[a-z-]+\))", answer), "no `Answer:` followed by the name of a message"
    assert {*re.findall(r"^\[?`([a-z-]+)`", answer)} <= set(SECTIONS)


def test_only_move_records_are_lists() -> None:
    assert [struct.__name__ for struct in SHARED if info(struct).array_like] == ["MoveRecord"]
    assert not any(info(message).array_like for message in MESSAGES)


def test_the_closed_sets_of_texts_are_those_of_the_code() -> None:
    header, rows = SHARED_SECTIONS["Sets of texts"].header, SHARED_SECTIONS["Sets of texts"].rows
    assert header == ["closed set", "texts"]
    assert {row[0].strip("`"): tuple(row[1].replace("`", "").split()) for row in rows} == SETS


def test_the_open_sets_are_fields_in_which_any_text_is_valid() -> None:
    closed_too = chapter("Shared values").partition("\n### Sets of texts\n")[2]
    header, rows = table(closed_too.partition("The texts of these fields are **open**")[2])
    assert header == ["open", "what to do about a text that you do not know"]
    for field, _ in rows:
        owner, _, name = field.strip("`").partition(".")
        cells = (SECTIONS.get(owner) or SHARED_SECTIONS[owner]).rows
        assert next(kind for of, kind, *_ in cells if of == f"`{name}`") in ("text", "text or null", "list of text"), field


def test_the_kinds_of_decisions_are_those_of_the_code() -> None:
    meaning = next(row[-1] for row in SHARED_SECTIONS["LoggedDecision"].rows if row[0] == "`kind`")
    assert set(re.findall("`(.+?)`", meaning)) == set(KIND.values())


# ---- examples


@pytest.mark.parametrize("message", MESSAGES, ids=tag)
def test_an_example_is_the_whole_message(message: type) -> None:
    example = SECTIONS[tag(message)].example
    assert example is not None
    direction = ClientMessage if message in CLIENT else ServerMessage
    decoded: Any = Decoder(direction, JSON).decode(example.encode())
    # The same map again means that no field is missing from the example and none is in it that the wire does not have.
    assert json.loads(encode(decoded, JSON)) == json.loads(example)
    assert Decoder(direction, MSGPACK).decode(encode(decoded, MSGPACK)) == decoded
    assert type(decoded) is message


def example_of(message: type) -> Any:
    return msgspec.json.decode(SECTIONS[tag(message)].example or "", type=message)


def test_the_example_of_a_record_can_be_checked_as_the_specification_says() -> None:
    result, room, dealt = example_of(Result), example_of(Room), example_of(Dealt)
    check_deal(result.record.deal)
    assert result.record.digest == digest(result.record)
    assert result.record.deal.commitment == room.commitment
    deck = [card for card in shuffle(fresh_deck(), bytes.fromhex(result.record.deal.seed), DEAL_LABEL) if rank(card) != 1]
    assert [cards for pile in dealt.view.piles.values() for cards in pile] == [card_text(card) for card in deck[:20]]
    assert list(dealt.view.piles) == [f"{column}{row}" for row in "1234" for column in "abcde"]
    assert dealt.view.stock == len(deck) - 20 == 28


def test_the_examples_of_views_are_of_one_game() -> None:
    played = [move for move in example_of(Result).record.moves if move.seat == 0]
    for message in (PlayerView, CurrentView):
        example = example_of(message)
        last = played[example.ply - 1]
        assert (example.elapsed_ms, example.view.home) == (last.at_ms, last.home)
    assert example_of(PlayerView).move == played[example_of(PlayerView).ply - 1].move
    for board in (*example_of(Watched).boards, example_of(Board).board):
        last = played[board.ply - 1]
        assert (board.elapsed_ms, board.view.home) == (last.at_ms, last.home)
    assert example_of(Board).board.view == example_of(PlayerView).view


# ---- errors, close codes, limits, names


def test_the_error_table_is_the_one_of_the_code() -> None:
    header, rows = table(chapter("Errors"))
    assert header == ["code", "fault", "sentence", "what to do"]
    assert [row[:3] for row in rows] == [[f"`{code}`", kind.fault, kind.sentence] for code, kind in ERRORS.items()]
    assert all(row[3] for row in rows)


def test_errors_named_in_the_text_exist() -> None:
    areas = "|".join({code.partition("/")[0] for code in ERRORS})
    assert set(re.findall(rf"`((?:{areas})/[^`]+)`", README)) == set(ERRORS)


def test_the_close_codes_are_those_of_the_code() -> None:
    _, rows = table(chapter("Close codes"))
    assert [row[:2] for row in rows] == [[str(code.value), code.name.lower().replace("_", "-")] for code in CloseCode]
    assert {int(code) for code in re.findall(r"\((4\d{3})\)", README)} <= set(CloseCode)


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("bytes in a message from a client", MAX_CLIENT_MESSAGE),
        ("bytes in a message from a server", MAX_SERVER_MESSAGE),
        ("maps and lists within each other, the message itself included", MAX_DEPTH),
        ("characters in a cleaned name", text.NAME_LENGTH),
        ("characters in a cleaned line of chat", text.CHAT_LENGTH),
        ("seats in a race", views.MAX_SEATS),
        ("messages a second from a client", f"{Settings().rate:g}"),
        ("messages in a burst", Settings().burst),
        ("messages that are none, before the connection is closed", BAD_MESSAGES),
        ("characters in the cleaned name of a tournament", TITLE_LENGTH),
        ("characters in a cleaned reason", REASON_LENGTH),
        ("entrants of a tournament", MAX_ENTRANTS),
        ("milliseconds of credit for half a round trip", MAX_CREDIT_MS),
    ],
)
def test_a_limit_is_the_one_of_the_code(limit: str, value: object) -> None:
    _, rows = table(chapter("Limits"))
    assert dict(rows)[limit] == str(value)


def test_figures_in_the_text_are_those_of_the_code() -> None:
    assert f"The port is {DEFAULT_PORT} unless" in " ".join(chapter("Transport").split())
    assert f"min(round_trip_ms // 2, {MAX_CREDIT_MS})" in chapter("Time")
    assert KEPT_ROUND_TRIPS == 8, "the chapter on time says eight"
    deals = " ".join(chapter("Fair deals").split())
    assert f"looking at no more than {BUDGET[Family.CARPET]:,} positions of a number's deal with one deck" in deals
    assert f"{BUDGET[Family.TWIN]:,} with two" in deals
    assert BUDGET[Family.TWIN] == BUDGET[Family.QUILT]
    assert f"At most {MAX_SEEDS} numbers are tried" in deals
    race = " ".join(chapter("A race, second by second").split())
    assert f"is not ready {READY_S} seconds after all seats are taken and another player is ready" in race
    assert f"In the first race of a [quick match](#quick-matches) it is {MATCH_READY_S} seconds." in race
    assert f"the other one has {MATCH_READY_S} seconds from then on" in " ".join(chapter("A room").split())
    assert APART_MS == 60_000, "the chapter on quick matches says a minute"
    assert f"The `countdown` comes {STEP_S:.0f} seconds after the last player was ready, or a multiple of {STEP_S:.0f}" in race


def test_the_prices_of_requests_are_those_of_the_code() -> None:
    told = re.search(r"Some requests count for several: (.+?)\. ", " ".join(chapter("A connection").split()))
    assert told is not None
    priced = [(re.findall("`(.+?)`", names), int(price)) for names, price in re.findall(r"(.+?) for (\d+)(?:; |$)", told[1])]
    assert {name: price for names, price in priced for name in names} == {tag(message): price for message, price in PRICES.items()}


def test_the_quick_phrases_are_those_of_the_code() -> None:
    phrases = chapter("Quick phrases")
    assert (PHRASES_AT_ONCE, PHRASES_A_SECOND) == (10, 1)
    assert "ten in a row, then one a second" in " ".join(phrases.split())
    _, rows = table(phrases)
    assert {row[0].strip("`"): row[1] for row in rows} == PHRASES


def test_the_figures_of_watching_are_those_of_the_code() -> None:
    watching = " ".join(chapter("Watching").split())
    assert (RESULT_S, FORGIVEN_S, LINES_KEPT, COUNT_S) == (5, 60, 50, 1)
    assert "Five seconds after that race is over" in watching
    assert "again within a minute they are closed (4008)" in watching
    assert "as far as the last 50 lines go" in watching
    assert "at most once a second" in watching
    assert (spectator.LINES_AT_ONCE, spectator.LINES_A_SECOND, LINES_AT_ONCE, LINES_A_SECOND) == (3, 0.5, 20, 5)
    assert "three lines in a row, then one in two seconds, and all who watch one race together twenty and then five a second" in watching
    assert (spectator.ASKS_AT_ONCE, spectator.ASKS_A_SECOND) == (5, 1)
    assert "can be sent five times in a row and then once a second" in watching


def test_the_figures_of_tournaments_are_those_of_the_code() -> None:
    text = " ".join(chapter("Tournaments, round by round").split())
    assert f"SHA-256 applied {MAX_ROUNDS} times" in text
    assert f"round r is SHA-256 applied {MAX_ROUNDS} − r times" in text
    assert f"at most {LISTED_TOURNAMENTS} in all" in " ".join(chapter("Messages of tournaments").split())
    assert f"the last {LISTED_DECISIONS}, oldest first" in " ".join(chapter("Messages of tournaments").split())


def test_the_subprotocols_are_in_the_order_of_the_code() -> None:
    _, rows = table(chapter("Transport"))
    assert [row[0].strip("`") for row in rows] == list(SUBPROTOCOLS)


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    # A link leads to the first of two equal anchors; the message `view` stands before the value `View`.
    assert {anchor for anchor in anchors if anchors.count(anchor) > 1} == {"view"}
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= set(anchors)


# ---- over HTTP

PAGES = (
    RaceBoards,
    BoardStep,
    RaceReview,
    SeatReview,
    History,
    HistoryRace,
    HistorySeat,
    Ladder,
    LadderPlayer,
    Found,
    FoundPlayer,
    FoundRace,
    TournamentsDocument,
    TournamentDocument,
    EntrantDocument,
    RoundDocument,
    TableDocument,
    Problem,
)
PAGE_SECTIONS = sections("Over HTTP")


def test_the_documents_over_http_are_those_of_the_code() -> None:
    assert list(PAGE_SECTIONS) == [page.__name__ for page in PAGES]
    for page in PAGES:
        check_table(page, PAGE_SECTIONS[page.__name__])


@pytest.mark.parametrize(
    "page", [RaceBoards, RaceReview, History, Ladder, TournamentsDocument, TournamentDocument, Problem], ids=lambda page: page.__name__
)
def test_an_example_of_a_document_is_the_whole_of_it(page: type) -> None:
    example = PAGE_SECTIONS[page.__name__].example
    assert example is not None
    assert json.loads(msgspec.json.encode(msgspec.json.decode(example, type=page))) == json.loads(example)


def test_figures_about_pages_are_those_of_the_code() -> None:
    text = " ".join(chapter("Over HTTP").split())
    assert f"`limit`, 1–{PAGE_RACES} races on the page, {USUAL_RACES} if absent" in text
    assert f"1–{LADDER_PLAYERS} players, {USUAL_PLAYERS} if absent" in text
    assert f"400 `q` has more than {SEARCH_CHARACTERS} characters, or `rules` is not the id of a rule set |" in text
    assert f"it has a query field twice or more than {QUERY_FIELDS} of them" in text
    assert f"longer than {TARGET_CHARACTERS} characters" in text
    assert f"more than {PAGES_A_SECOND:g} a second from one address, after {PAGES_AT_ONCE} at once" in text


# ---- the minimal client


def test_the_minimal_client_is_short_and_says_only_what_is_in_the_tables() -> None:
    found = re.findall(r"^<!-- minimal-client -->\n```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    source: str = found[0]
    compile(source, "minimal client", "exec")
    assert len([line for line in source.splitlines() if line.strip()]) <= 30
    assert set(re.findall(r"^(?:import|from) (.+?)(?:\.| import|$)", source, re.MULTILINE)) == {"asyncio, os, sys", "msgpack", "websockets"}
    for name, fields in re.findall(r'await send\("([a-z-]+)", (.*)\)$', source, re.MULTILINE):
        message = next(message for message in CLIENT if tag(message) == name)
        assert set(re.findall(r"(\w+)=", fields)) <= {field.encode_name for field in info(message).fields}
