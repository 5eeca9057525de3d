"""The pages of a whole server in memory: records, histories, the lobby, and what is said if there are none."""

from __future__ import annotations

import gzip
import math
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from msgspec import structs

from protocol.client_messages import Resign
from protocol.codec import JSON, Decoder
from protocol.errors import ErrorCode
from protocol.pages import PAGE_RACES, History, HistorySeat, RaceBoards, RaceReview, is_race_id
from protocol.record import from_json, to_json
from protocol.room_events import Result
from protocol.server_messages import Lobby, ServerMessage
from protocol.views import SeatRating, SharedDeal
from protocol.watch_messages import Watched
from server.net.http import Asked, NoPage
from server.pages.races import race_routes
from server.pages.readers import READING, WAITING, Readers
from server.pages.review_text import review_document
from server.race.audit import audit
from server.race.boards import boards_document
from server.race.replay import frames
from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.clock import Clock
from server.rules.catalogue import RULE_SETS
from server.store.availability import Outage
from server.store.database import open_database
from server.store.errors import StoreBusy, StoreCorrupt
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.port import PlayerMade, RaceAborted, SharedDealMade
from server.store.store import Store
from tests.server.net.wire import House
from tests.server.runs.running import begin, play
from tests.server.store.keeping import NOW, made, opened, over, rated_over, seat, won, write

RACE = "ABCDEF-1-00ff00ff00ff"


def race(number: int) -> str:
    return f"ABCDEF-{number}-00ff00ff00ff"


def history(document: Any) -> History:
    return msgspec.convert(document, History)


def finish(house: House, number: int, *players: str | None, at: int = 0) -> None:
    write(house.store, opened(race(number)), over(race(number), *players, at=at))


# ---- records


@pytest.mark.parametrize("rules", RULE_SETS)
async def test_the_positions_of_a_race_are_those_that_its_players_saw(house: House, rules: str) -> None:
    async with house.guest("Ann") as ann:
        await ann.open(seats=1, rules=rules)
        await begin(ann)
        await play(ann, 25, pause_s=1)
        seen = ann.view
        record = (await ann.ask(Resign(race=1, seat=0), Result)).record
    documents: list[RaceBoards] = []
    for zipped in (False, True):
        answered = await house.ask(f"/races/{record.id}/boards.json", headers="Accept-Encoding: br, gzip\r\n" if zipped else "")
        assert (answered.headers.get("content-encoding"), answered.headers["vary"]) == ("gzip" if zipped else None, "Accept-Encoding")
        documents.append(msgspec.json.decode(gzip.decompress(answered.body) if zipped else answered.body, type=RaceBoards))
        # What is made of a record may have more in it by the next version: it is asked for again, and sent again only where it has.
        assert answered.headers["cache-control"] == "public, max-age=3600"
        again = await house.ask(f"/races/{record.id}/boards.json", headers=f"If-None-Match: {answered.headers['etag']}\r\n")
        assert (again.status, again.body) == (304, b"")
    document, replay = documents[-1], frames(record)
    assert (document.race, document.rules) == (record.id, replay.rules)
    (view,) = document.firsts
    assert view == structs.replace(replay.first, moves=())
    for step, frame in zip(document.steps, replay.frames, strict=True):
        view = structs.replace(
            view,
            piles={**view.piles, **step.piles},
            waste=(*view.waste[: step.waste_kept], *step.waste_more),
            foundations={**view.foundations, **step.foundations},
            **{name: getattr(step, name) for name in ("stock", "stock_next", "pending", "redeals", "home")},
        )
        assert view == structs.replace(frame.view, moves=())
    assert seen is not None
    assert view == structs.replace(seen, moves=())
    reviewed = msgspec.json.decode((await house.ask(f"/races/{record.id}/review.json")).body, type=RaceReview)
    assert (reviewed.race, len(reviewed.seats)) == (record.id, 1 if replay.rules.decks == 1 else 0)
    # It is worked out where it keeps nobody waiting, and once.
    assert house.computed.count(boards_document) == house.computed.count(review_document) == 1


async def test_the_record_of_a_race_is_there_once_it_is_over(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob):
        room = house.only_room
        number = room.core.race.id
        running = await house.ask(f"/races/{number}.json")
        assert running.problem == (409, "That race is still running; its record is available once it is over.")
        assert running.headers["retry-after"] == "10"
        await ann.say_map({"type": "stop", "race": 1, "seat": ann.seat})
        await bob.say_map({"type": "stop", "race": 1, "seat": bob.seat})
        while room.core.race.record is None:
            await ann.hear()
        answered = await house.ask(f"/races/{number}.json")
        assert answered.status == 200
        record = from_json(answered.body)
        assert record == room.core.race.record
        assert record.id == number
        assert answered.body.decode() == to_json(record) + "\n"
        assert answered.headers["cache-control"] == "public, max-age=31536000, immutable"
        audit(record)


async def test_what_came_of_a_race_is_not_shown_while_others_have_yet_to_play_its_deal(house: House) -> None:
    shared = SharedDeal(kind="daily", id="2001-02-03", nonces=("7c" * 16,))
    reveals = house.clock.wall_ms() + 60_000
    deal = SharedDealMade(kind="daily", id=shared.id, secret=bytes(32), at_ms=NOW, reveals_at_ms=reveals)
    spec = SharedDealSpec(deal=shared, invited=("ann",))
    write(house.store, made("ann"), deal, replace(opened(RACE), spec=spec), over(RACE, "ann", None))
    finish(house, 2, "ann", None)
    minute = datetime.fromtimestamp(math.ceil(reveals / 60_000) * 60, UTC)
    moment = f"from {minute:%H:%M} UTC on {minute:%Y-%m-%d} on"
    sentence = f"Others have yet to play the deal of that race; its record is available {moment}."
    assert (await house.ask(f"/races/{RACE}.json")).problem == (403, sentence)
    assert [line.id for line in history((await house.ask("/players/Ann/races.json")).document).races] == [race(2)]
    await trio.sleep(60)
    assert from_json((await house.ask(f"/races/{RACE}.json")).body) == won()
    assert [line.id for line in history((await house.ask("/players/Ann/races.json")).document).races] == [race(2), RACE]


@pytest.mark.parametrize(
    "race_id", ["ABCDEF-1-00", "nothing", "%2e%2e%2fetc%2fpasswd", "..", "a" * 300, "ABCDEF-1-00FF", "'%20OR%201=1--", RACE + "%20"]
)
async def test_a_race_nobody_knows_is_not_found(house: House, race_id: str) -> None:
    assert (await house.ask(f"/races/{race_id}.json")).problem == (404, "There is no race with that id.")


async def test_a_race_that_was_aborted_is_gone_with_its_reason(house: House) -> None:
    write(house.store, opened(RACE), RaceAborted(race=RACE, reason="race x cannot be brought back: '\x1b[31mred'", at_ms=NOW))
    assert (await house.ask(f"/races/{RACE}.json")).problem == (
        410,
        "That race was aborted and has no record: race x cannot be brought back: 'red'.",
    )


# ---- histories


async def test_a_history_is_newest_first_and_read_page_by_page(house: House) -> None:
    write(house.store, made("ann"), made("bob"))
    for number in range(1, 8):
        finish(house, number, "ann", "bob", at=number // 2)
    seen: list[str] = []
    target = "/players/Ann/races.json?limit=3"
    pages = 0
    before = ""
    while True:
        page = history((await house.ask(target + before)).document)
        assert (page.player, page.name) == ("ann", "Ann")
        seen += [line.id for line in page.races]
        pages += 1
        if page.next is None:
            break
        before = f"&before={page.next}"
    assert pages == 3
    assert seen == [race(number) for number in (7, 6, 5, 4, 3, 2, 1)]


async def test_a_page_that_holds_the_last_race_says_that_there_is_no_other(house: House) -> None:
    write(house.store, made("ann"))
    for number in (1, 2):
        finish(house, number, "ann", None)
    assert history((await house.ask("/players/Ann/races.json?limit=2")).document).next is None
    assert history((await house.ask("/players/Ann/races.json?limit=1")).document).next is not None


async def test_a_line_of_history_says_who_raced_and_what_came_of_it(house: House) -> None:
    write(house.store, made("ann"))
    finish(house, 1, None, "ann", at=5)
    answered = await house.ask("/players/Ann/races.json")
    (line,) = history(answered.document).races
    assert (line.id, line.room, line.race, line.rules, line.finished_at_ms) == (race(1), "ABCDEF", 1, "carpet", NOW + 5)
    assert (line.seat, line.aborted) == (1, None)
    assert line.seats == tuple(
        HistorySeat(
            player=player,
            name=kept.name,
            bot=kept.bot,
            state=kept.state,
            place=kept.place,
            home=kept.home,
            ended_at_ms=kept.ended_at_ms,
        )
        for player, kept in zip((None, "ann"), won().seats, strict=True)
    )
    assert answered.headers["cache-control"] == "no-cache"


async def test_a_line_of_history_says_what_a_race_that_counts_did_to_ratings(house: House) -> None:
    write(house.store, made("ann"), made("bob"))
    write(house.store, opened(race(1)), rated_over(race(1), {"bob": 2, "ann": 1}))
    (line,) = history((await house.ask("/players/Ann/races.json")).document).races
    assert [seated.rating for seated in line.seats] == [SeatRating(before=1000, after=927), SeatRating(before=1000, after=1138)]
    # The page of the race has it as well.
    page = (await house.ask(f"/race/{race(1)}", headers="Accept: text/html\r\n")).body.decode()
    assert '{"ratings":[{"before":1000,"after":927},{"before":1000,"after":1138}]}' in page


async def test_a_race_that_was_aborted_is_in_a_history_with_its_reason_and_no_places(house: House) -> None:
    write(house.store, made("ann"), opened(RACE))
    write(house.store, RaceAborted(race=RACE, reason="the power failed", at_ms=NOW, seats=(seat("ann"), seat(None, bot="deep"))))
    (line,) = history((await house.ask("/players/Ann/races.json")).document).races
    assert (line.id, line.aborted, line.seat) == (RACE, "the power failed", 0)
    assert [(seated.place, seated.state, seated.home, seated.ended_at_ms) for seated in line.seats] == [(None, "racing", 7, None)] * 2


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("Zoë /.. 💚", "Zo%C3%AB%20%2F..%20%F0%9F%92%9A"),
        ("..", "%2E%2E"),
        ("..", ".."),
        ("a+b&c=d?", "a+b&c=d%3F"),
        ("100%", "100%25"),
        ("STRASSE", "stra%C3%9Fe"),
        ("races.json", "races.json"),
    ],
)
async def test_any_name_can_be_asked_for(house: House, name: str, quoted: str) -> None:
    write(house.store, PlayerMade(player="p", name=name, token_hash=b"1", at_ms=NOW))
    assert history((await house.ask(f"/players/{quoted}/races.json")).document) == History(player="p", name=name, races=(), next=None)


@pytest.mark.parametrize(
    ("target", "status", "says"),
    [
        ("/players/Nobody/races.json", 404, "There is no player with that name."),
        ("/players/%20Ann/races.json", 404, "There is no player with that name."),
        ("/players/" + "a" * 25 + "/races.json", 404, "There is no player with that name."),
        ("/players//races.json", 404, "There is nothing here."),
        ("/players/Ann/../races.json", 404, "There is nothing here."),
        ("/players/Ann%1b/races.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        *[
            (f"/players/Ann/races.json?limit={limit}", 400, f"limit must be a number from 1 to {PAGE_RACES}.")
            for limit in ("0", "101", "-1", "", "ten", "1e1", "%D9%A3", "9" * 900)
        ],
        *[
            (f"/players/Ann/races.json?before={before}", 400, "before must be the next of a page of this history.")
            for before in ("", "1", "x-" + RACE, "1-", "1-../x", "-1-" + RACE, "9" * 16 + "-" + RACE, "1-" + RACE + "%20")
        ],
    ],
)
async def test_what_is_no_history_is_one_sentence(house: House, target: str, status: int, says: str) -> None:
    write(house.store, made("ann"))
    assert (await house.ask(target)).problem == (status, says)


async def test_fields_nobody_knows_are_ignored(house: House) -> None:
    write(house.store, made("ann"))
    assert (await house.ask("/players/Ann/races.json?utm_source=mail")).status == 200


# ---- the lobby


async def test_the_lobby_is_shown_to_who_is_not_in_it(house: House) -> None:
    async with house.guest("Ann") as ann:
        code = (await ann.open()).code
        await trio.sleep(1)
        answered = await house.ask("/races.json")
        shown: ServerMessage = Decoder(ServerMessage, JSON).decode(answered.body)
        assert isinstance(shown, Lobby)
        assert shown == house.lobby.state()
        assert [open_race.code for open_race in shown.races] == [code]
        assert (shown.players, shown.players_here, shown.races_running) == (("Ann",), 1, 0)
        assert answered.headers["cache-control"] == "max-age=1"


async def test_however_many_ask_for_the_lobby_the_rooms_are_not_looked_at_each_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[float] = []
    state = house.lobby.state

    def counted() -> Lobby:
        looked.append(trio.current_time())
        return state()

    monkeypatch.setattr(house.lobby, "state", counted)
    for _ in range(10):
        assert (await house.ask("/races.json")).status == 200
    assert len(looked) == 1


# ---- a store that is slow, busy or damaged


class Broken(MemoryStore):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def race_status(self, race: str) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (StoreBusy("/home/host/carpet.sqlite3 is held"), 503, "The store cannot be read now; try again later."),
        (StoreCorrupt("/home/host/carpet.sqlite3 is damaged"), 500, "What is kept of that is damaged; the host has to look into it."),
    ],
)
async def test_what_is_wrong_with_the_store_is_said_without_its_innards(
    error: Exception, status: int, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Broken(error)
    readers = Readers(Journal(store))
    with pytest.raises(NoPage) as refused:
        await readers.ask(lambda store: store.race_status("r"))
    assert (refused.value.status, refused.value.sentence) == (status, says)
    assert "/home/host" in caplog.text


async def test_few_read_at_once_some_wait_and_the_others_are_told_to_ask_again() -> None:
    class Slow(MemoryStore):
        waits = True

    store = Slow()
    readers = Readers(Journal(store))
    release = threading.Event()
    reading = 0
    most = 0
    lock = threading.Lock()
    as_many_as_may = threading.Event()

    def read(store: Store) -> str:
        nonlocal reading, most
        with lock:
            reading += 1
            most = max(most, reading)
            if reading == READING:
                as_many_as_may.set()
        release.wait(60)
        with lock:
            reading -= 1
        return "read"

    done: list[str] = []

    async def ask() -> None:
        done.append(await readers.ask(read))

    async with trio.open_nursery() as nursery:
        for _ in range(READING + WAITING):
            nursery.start_soon(ask)
        # By then all of them have asked; their threads may begin late.
        assert await trio.to_thread.run_sync(as_many_as_may.wait, 60)
        with pytest.raises(NoPage, match="ask again in a moment") as refused:
            await readers.ask(read)
        assert (refused.value.status, refused.value.retry_after_s) == (503, 1)
        release.set()
    assert len(done) == READING + WAITING
    assert most == READING
    assert await readers.ask(read) == "read"


async def test_whoever_asks_for_boards_keeps_no_reader_and_what_many_ask_for_is_made_once() -> None:
    store = MemoryStore()
    write(
        store,
        made("ann"),
        made("bob"),
        *(entry for number in (1, 2, 3) for entry in (opened(race(number)), over(race(number), "ann", "bob"))),
    )
    release = trio.Event()
    working: list[bytes] = []

    async def compute(job: object, document: bytes) -> tuple[bytes, bytes]:
        working.append(document)
        await release.wait()
        return b"boards", b"zipped"

    record, boards, *_ = race_routes(Readers(Journal(store)), Clock(), compute)
    shown: list[bytes] = []

    async def show(number: int) -> None:
        shown.append((await boards.show(Asked({"id": race(number)}, {}))).body)

    async with trio.open_nursery() as nursery:
        for number in (1, 1, 1, 2):
            nursery.start_soon(show, number)
        await trio.testing.wait_all_tasks_blocked()
        assert len(working) == 1
        with trio.fail_after(60):
            assert (await record.show(Asked({"id": race(3)}, {}))).body == working[0]
        release.set()
    assert shown == [b"boards"] * 4
    assert len(working) == 2


async def no_worker(function: object, record: bytes) -> tuple[bytes, bytes]:
    raise AssertionError(function)


async def test_a_database_shows_the_same_pages_as_the_memory(tmp_path: Path) -> None:
    shown: list[list[bytes]] = []
    database = open_database(str(tmp_path / "carpet.sqlite3"))
    for store in (MemoryStore(), database):
        write(store, made("ann"), made("bob"), opened(race(1)), over(race(1), "ann", "bob", at=1), opened(race(2)))
        write(store, RaceAborted(race=race(2), reason="no", at_ms=NOW, seats=(seat("ann"), seat("bob"))))
        record, _, _, history = race_routes(Readers(Journal(store)), Clock(), no_worker)
        pages = []
        for route, path in ((record, f"/races/{race(1)}.json"), (history, "/players/ann/races.json")):
            asked = route.ask(path)
            assert asked is not None
            pages.append((await route.show(asked)).body)
        shown.append(pages)
    database.close()
    assert shown[0] == shown[1]


def test_ids_of_races_can_name_a_file_and_stand_in_a_path() -> None:
    assert is_race_id(RACE)
    for text in (
        "",
        "..",
        "ABCDEF-1-00ff\n",
        "ABCDEF-1-00/ff",
        "../ABCDEF-1-00ff",
        "abcdef-1-00ff",
        "ABCDEF-1-00FF",
        "ABCDEF--00",
        "A-1-" + "0" * 33,
    ):
        assert not is_race_id(text)


# ---- private rooms


async def test_no_page_says_the_code_of_a_private_room(house: House) -> None:
    async with house.race("Ann", "Bob", public=False) as (ann, bob), house.guest("Eve") as eve:
        room = house.only_room
        for client in (ann, bob):
            await client.say_map({"type": "stop", "race": 1, "seat": client.seat})
        while room.core.race.record is None:
            await ann.hear()
        await trio.testing.wait_all_tasks_blocked()
        record = (await house.ask(f"/races/{room.core.race.id}.json")).body.decode()
        told = [(await house.ask(target)).body.decode() for target in ("/players/Ann/races.json", "/races.json")]
        assert all(room.code not in text for text in (record, *told, room.core.race.id))
        (line,) = history((await house.ask("/players/Ann/races.json")).document).races
        assert line.id == room.core.race.id
        assert is_race_id(line.id)
        assert line.room == from_json(record).room == line.id.partition("-")[0]
        await eve.say_map({"type": "watch-race", "code": line.room})
        assert (await eve.error()).code == ErrorCode.NO_SUCH_ROOM
        await eve.say_map({"type": "watch-race", "code": room.code})
        assert (await eve.hear_of(Watched)).room.code == room.code


async def test_a_public_rooms_code_stands_in_what_is_kept_of_its_races(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _):
        room = house.only_room
        await ann.say_map({"type": "resign", "race": 1, "seat": ann.seat})
        while room.core.race.record is None:
            await ann.hear()
        assert room.core.race.record.room == room.code
        assert room.core.race.id.startswith(f"{room.code}-1-")


# ---- health


async def test_a_server_that_can_take_players_says_that_it_is_ready(house: House) -> None:
    answered = await house.ask("/readyz")
    assert (answered.status, answered.body) == (200, b"ready\n")


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("broken", "the store cannot be read just now"),
        ("hanging", "the store has not answered for 2 seconds"),
        ("full", "it holds 100 races, as many as it may"),
        ("outage", "nothing can be written just now"),
        ("behind", "more is to be written than the store can take just now"),
    ],
)
async def test_a_server_that_cannot_take_players_says_why_not_and_is_alive_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch, trouble: str, reason: str
) -> None:
    def broken(player: str) -> None:
        raise StoreBusy("disk I/O error")

    async def hanging(*_: object) -> None:
        await trio.sleep_forever()

    # What a server writes at its start is written.
    await trio.testing.wait_all_tasks_blocked()
    match trouble:
        case "broken":
            monkeypatch.setattr(house.store, "player", broken)
        case "hanging":
            monkeypatch.setattr(house.journal, "ask", hanging)
        case "full":
            monkeypatch.setattr(type(house.rooms), "__len__", lambda rooms: 100)
        case "outage":
            monkeypatch.setattr(house.journal, "outage", Outage(0.0, "the disk is full"))
        case _:
            monkeypatch.setattr(type(house.journal), "has_room", property(lambda journal: False))
    assert (await house.ask("/readyz")).problem == (503, f"Not ready: {reason}.")
    assert (await house.ask("/healthz")).body == b"ok\n"
