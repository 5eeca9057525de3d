"""`carpet tournament`, as far as it works without a WebSocket: pages, files, and wrong arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from client.cli import tournament, tournament_pages
from client.cli.tournament_pages import listing_lines, log_lines, standings_lines, table_list
from client.connection.address import Address
from client.connection.errors import Unreachable
from client.connection.http import fetch_record
from client.local.tournament_client import NoSuchEntrant, NoSuchTable, entrant_named, table_asked_for, verdict_of
from protocol.record import Record, from_json, sealed, to_json
from protocol.tournament_messages import CorrectResult, CreateTournament, Decided
from protocol.tournaments import (
    EntrantDocument,
    RoundDocument,
    TableDocument,
    TableResult,
    TournamentBye,
    TournamentDocument,
    TournamentEntrant,
    TournamentOptions,
    TournamentPhase,
    TournamentsDocument,
)
from tests.client import tournament_scenes as tournaments
from tests.client.cli.test_main import run
from tests.client.page_server import PageServer, page, problem
from tests.client.replays import record

ID = tournaments.ID


def test_a_tournament_that_was_made_names_each_command_once_and_its_pages(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tournament, "_decided", lambda url, request, name: Decided(id=ID, number=1, ref=1))
    ran = run(capsys, "tournament", "create", "wss://carpet.example", "Open")
    said = ran.out.splitlines()
    assert said == [
        f"Tournament {ID} is made, and you direct it.",
        f"Join it, to play or to direct it by keys: carpet tournament join wss://carpet.example:443 {ID}",
        f"To start it: carpet tournament start wss://carpet.example:443 {ID}",
        f"The same in a browser: https://carpet.example:443/tournament/{ID}",
        f"On a projector: https://carpet.example:443/tournament/{ID}/screen",
    ]
    with_code = run(capsys, "tournament", "create", "wss://carpet.example", "Open", "--code", "red tulip").out
    assert f": carpet tournament join wss://carpet.example:443 {ID} --code 'red tulip'\n" in with_code


def kept(entrant: TournamentEntrant) -> EntrantDocument:
    """As the document has them."""
    fields = {name: getattr(entrant, name) for name in ("id", "name", "seed", "rating", "bot", "withdrawn", "first_round")}
    return EntrantDocument(nonce=None, **fields)


LISTED = TournamentsDocument(tournaments=tournaments.listed().tournaments)
DOCUMENT = TournamentDocument(
    format=1,
    id=ID,
    options=tournaments.OPTIONS,
    by_code=False,
    director="Grace",
    phase="running",
    made_at_ms=1_767_225_000_000,
    commitment="ef" * 32,
    entrants=tuple(map(kept, tournaments.ENTRANTS)),
    rounds=(
        RoundDocument(
            number=1,
            commitment="ab" * 32,
            nonces=(),
            nonce="cd" * 16,
            secret=None,
            paired_at_ms=1_767_225_100_000,
            tables=(TableDocument(table=1, first="p2", second="p1", counted=True, match="", result=None, races=(), race_ids=()),),
        ),
    ),
    tie_breaks=tournaments.TIE_BREAKS,
    standings=tournaments.STANDINGS,
    log=tournaments.LOG,
)
TABLE = "place,entrant,points\n1,Benedikt,2.5\n2,'=Anna,2\n"


def test_the_list_is_printed_for_people_and_for_programs(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(LISTED)))
    ran = run(capsys, "tournament", "list", server.url)
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[:3] == [
        "id      format       rules        status        round  entrants  title",
        "KWPRTM  Swiss        carpet       open                        5  Carpet Open (director Grace)",
        "PLMNBV  elimination  persian-rug  running           3         5  Rug knock-out (director Grace)",
    ]
    assert [line[34:46].strip() for line in lines[3:]] == ["open by code", "over"]
    assert msgspec.json.decode(run(capsys, "tournament", "list", server.url, "--json").out, type=TournamentsDocument) == LISTED
    assert server.asked == ["/tournaments.json"] * 2


def test_an_empty_list_says_how_one_is_made() -> None:
    assert listing_lines(()) == ["No tournaments yet; carpet tournament create makes one."]


def test_the_standings_have_points_tie_breaks_and_marks(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(DOCUMENT)))
    ran = run(capsys, "tournament", "standings", server.url, "kw prtm")
    assert ran.out.splitlines() == [
        "Carpet Open: Swiss, running, round 1.",
        "place  points  Buchh  SonnB  among  cards  w  d  l  entrant",
        "    1      2½     6½     4¼      1    130  2  1  2  Benedikt",
        "    2       2     7½      4      1    122  2  0  2  Anna",
        "    2       2     7½      4      1    122  2  0  2  greedy 1 (bot)",
        "    4       1     5½      ¾      1    75¼  1  0  2  Clara",
        "    5       ½     4½      ½      1     24  0  1  2  Dan (out)",
        "Buchh: Buchholz (points of those met); SonnB: Sonneborn-Berger (of those",
        "beaten); among: place among equals by their own races; cards: cards home.",
    ]
    assert server.asked == [f"/tournaments/{ID}.json"]
    as_json = json.loads(run(capsys, "tournament", "standings", server.url, ID, "--json").out)
    assert [row["half_points"] for row in as_json["standings"]] == [5, 4, 4, 2, 1]
    assert as_json["tie_breaks"] == list(tournaments.TIE_BREAKS)


def test_before_the_first_round_the_standings_say_who_has_checked_in(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    entrants = tuple(replace(each, nonce="ab" * 16) if each.name == "Anna" else each for each in DOCUMENT.entrants)
    server.says(page(msgspec.json.encode(replace(DOCUMENT, phase="check-in", rounds=(), entrants=entrants))))
    assert run(capsys, "tournament", "standings", server.url, ID).out.splitlines() == [
        "Carpet Open: Swiss, check-in.",
        "seed  rating  checked in  entrant",
        "   1    1204              Benedikt",
        "   2    1138  yes         Anna",
        "   3     988              Clara",
        "   4          yes         greedy 1 (bot)",
        "   5                      Dan (out)",
    ]


def test_the_tables_of_a_round_are_printed_with_their_results(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    (first,) = DOCUMENT.rounds
    done = replace(first.tables[0], table=2, first="p3", second="bot:greedy:1", match="W1-2", result=tournaments.WON)
    given_up = replace(done, table=4, match="", result=replace(tournaments.WON, first_home=4, second_home=4, walkover=True))
    bye = replace(first.tables[0], table=3, first="p4", second=None, counted=False)
    rounds = (first, replace(first, number=2, tables=(first.tables[0], done, bye, given_up)))
    server.says(page(msgspec.json.encode(replace(DOCUMENT, rounds=rounds))))
    assert run(capsys, "tournament", "tables", server.url, ID).out.splitlines() == [
        "Carpet Open: round 2.",
        "table   player     against         result",
        "1       Benedikt   Anna",
        "2 W1-2  Clara      greedy 1 (bot)  1 : 0 (52 : 31 cards)",
        "3       Dan (out)  the house       bye",
        "4       Clara      greedy 1 (bot)  1 : 0 (4 : 4 cards), walkover",
    ]
    as_json = json.loads(run(capsys, "tournament", "tables", server.url, ID, "--round", "1", "--json").out)
    assert (as_json["round"], [row["first"] for row in as_json["tables"]]) == (1, ["p2"])
    missing = run(capsys, "tournament", "tables", server.url, ID, "--round", "3")
    assert (missing.status, missing.sentence) == (1, "carpet: Round 3 has not been paired yet.")


def test_the_whole_log_is_printed_from_the_first_decision(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(DOCUMENT)))
    lines = run(capsys, "tournament", "log", server.url, ID).out.splitlines()
    assert [line.split() for line in lines[:2]] == [["number", "after", "decision"], ["1", "0:09", "Anna", "enters.", "(Anna)"]]
    assert lines[3].endswith("in place of a draw. (Grace) Reason: The line of the hall was down for two minutes.")
    told = json.loads(run(capsys, "tournament", "log", server.url, ID, "--json").out)
    assert [entry["number"] for entry in told["log"]] == [1, 2, 3]
    server.says(page(msgspec.json.encode(replace(DOCUMENT, log=()))))
    assert run(capsys, "tournament", "log", server.url, ID).out == "No decisions yet.\n"


def test_byes_on_request_stand_below_the_tables_of_their_round() -> None:
    byes = (TournamentBye(round=1, entrant="p3", half_points=1), TournamentBye(round=2, entrant="p4", half_points=2))
    lines = table_list(replace(DOCUMENT, byes=byes), DOCUMENT.rounds[0], plain=True)
    assert [line.split() for line in lines[3:]] == [["Clara", "bye", "on", "request,", "0.5"]]


def test_of_a_session_the_cards_are_told_that_each_brought_home() -> None:
    alone = replace(DOCUMENT.rounds[0].tables[0], second=None, result=TableResult(verdict="second", first_home=13))
    document = replace(DOCUMENT, options=replace(DOCUMENT.options, format="session"))
    lines = table_list(document, replace(DOCUMENT.rounds[0], tables=(alone,)), plain=True)
    assert lines[2].split() == ["1", "Benedikt", "alone", "13", "cards", "home"]


def test_names_cannot_touch_the_terminal() -> None:
    enemy = replace(DOCUMENT.entrants[0], name="\x1b[31mBen\n")
    document = replace(DOCUMENT, entrants=(enemy,), options=replace(DOCUMENT.options, name="\x1b]0;x\x07Open"))
    for each in (document, replace(document, rounds=())):
        assert all(line.isprintable() for line in standings_lines(each, plain=True))
    assert all(line.isprintable() for line in table_list(document, document.rounds[0], plain=True))
    assert all(line.isprintable() for line in log_lines(replace(document, log=(replace(DOCUMENT.log[0], text="\x1b[31mBen\n"),))))


def test_an_export_is_a_new_file_of_all_of_it(capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path) -> None:
    server.says(page(msgspec.json.encode(DOCUMENT)))
    file = tmp_path / "open.json"
    ran = run(capsys, "tournament", "export", server.url, ID, str(file))
    assert (ran.status, ran.out) == (0, f"Tournament {ID} is in {file}.\n")
    assert msgspec.json.decode(file.read_bytes(), type=TournamentDocument) == DOCUMENT
    again = run(capsys, "tournament", "export", server.url, ID, str(file))
    assert (again.status, again.sentence) == (1, f"carpet: {file} exists already: name another file, or add --force to overwrite it.")
    assert run(capsys, "tournament", "export", server.url, ID, str(file), "--force").status == 0
    printed = run(capsys, "tournament", "export", server.url, ID, "-")
    assert msgspec.json.decode(printed.out, type=TournamentDocument) == DOCUMENT


RACES = ("HKTRWM-1-0a1b2c3d4e5f", "HKTRWM-2-0a1b2c3d4e5f")


def raced(*, is_over: bool = True) -> TournamentDocument:
    """With two races at the only table, and a second round that goes on."""
    first = DOCUMENT.rounds[0]
    tables = (replace(first.tables[0], race_ids=RACES),)
    over = replace(first, secret="ab" * 32 if is_over else None, tables=tables)
    return replace(DOCUMENT, rounds=(over, replace(first, number=2, tables=tables)))


def telling(document: TournamentDocument, *known: str) -> Callable[[str], bytes]:
    """The pages of a server that has the records of these races."""
    pages = {f"/tournaments/{ID}.json": page(msgspec.json.encode(document))}
    pages |= {f"/races/{race}.json": page(to_json(sealed(replace(record(), id=race))).encode()) for race in known}
    return lambda target: pages.get(target) or problem("404 Not Found", "There is no race with that id.")


@pytest.mark.parametrize(
    ("phase", "why"),
    [
        ("running", "Round 2 is not over: nobody gets its records before it is."),
        ("ended", "The tournament ended within round 2: nobody gets its records."),
    ],
)
def test_the_records_of_all_rounds_that_are_over_are_exported_into_a_folder(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path, phase: TournamentPhase, why: str
) -> None:
    document = replace(raced(), phase=phase)
    server.script = telling(document, *RACES)
    folder = tmp_path / "open"
    ran = run(capsys, "tournament", "export", server.url, ID, str(folder), "--records")
    assert ran.status == 0
    assert ran.out.splitlines() == [
        f"Tournament {ID} and 2 records of its races are in {folder}.",
        why,
        f"To check all of it: carpet verify {folder}/tournament.json {folder}/races/*.json",
    ]
    assert sorted(file.name for file in (folder / "races").iterdir()) == [f"round-01-table-01-{race}.json" for race in RACES]
    assert [from_json(file.read_text()).id for file in sorted((folder / "races").iterdir())] == list(RACES)
    assert msgspec.json.decode((folder / "tournament.json").read_bytes(), type=TournamentDocument) == document


OTHERS_ANSWER = {
    "a refusal": problem("410 Gone", "That race came to nothing."),
    "what is no record": page(b'{"odd": 1}'),
    "half a record": page(to_json(record()).encode())[:2000],
    "a connection that breaks off": b"",
}


@pytest.mark.parametrize("answer", OTHERS_ANSWER.values(), ids=OTHERS_ANSWER)
def test_records_that_cannot_be_had_are_named_and_the_others_saved_and_the_next_export_gets_only_what_is_missing(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path, answer: bytes
) -> None:
    whole, folder = telling(raced(), *RACES), tmp_path / "open"
    server.script = lambda target: answer if RACES[0] in target else whole(target)
    again = f"carpet tournament export {server.url.removeprefix('ws://')} {ID} {folder} --records"
    ran = run(capsys, *again.split()[1:])
    assert ran.status == 1
    first, last = ran.err.splitlines()
    assert first.startswith(f"carpet: no record of round 1, table 1, race {RACES[0]}: ")
    assert last == f"carpet: 1 record could not be had; to try again, for what is missing: {again}"
    assert ran.out.startswith(f"Tournament {ID} and 1 record of its races are in {folder}.\n")
    assert [file.name for file in (folder / "races").iterdir()] == [f"round-01-table-01-{RACES[1]}.json"]
    assert msgspec.json.decode((folder / "tournament.json").read_bytes(), type=TournamentDocument) == raced()

    server.script = whole
    server.asked.clear()
    mended = run(capsys, *again.split()[1:])
    assert (mended.status, mended.err) == (0, "")
    assert mended.out.startswith(f"Tournament {ID} and 2 records of its races are in {folder}.\n")
    assert server.asked == [f"/tournaments/{ID}.json", f"/races/{RACES[0]}.json"]
    assert len(list((folder / "races").iterdir())) == 2


def test_an_export_goes_on_after_a_record_for_which_the_server_could_not_be_reached(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: PageServer, tmp_path: Path
) -> None:
    def fetch(address: Address, race: str) -> Record:
        if race == RACES[0]:
            raise Unreachable("Nothing answers there now.")
        return fetch_record(address, race)

    monkeypatch.setattr(tournament_pages, "fetch_record", fetch)
    server.script = telling(raced(), *RACES)
    ran = run(capsys, "tournament", "export", server.url, ID, str(tmp_path / "open"), "--records")
    assert (ran.status, f"{RACES[0]}: Nothing answers there now.\n" in ran.err) == (1, True)
    assert [file.name for file in (tmp_path / "open" / "races").iterdir()] == [f"round-01-table-01-{RACES[1]}.json"]


def test_a_later_export_into_the_same_folder_has_the_tournament_as_it_stands_then_and_force_fetches_all_again(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path
) -> None:
    folder = tmp_path / "open"
    command = ("tournament", "export", server.url, ID, str(folder), "--records")
    server.script = telling(raced(is_over=False))
    assert run(capsys, *command).status == 0
    server.script = telling(raced(), *RACES)
    assert run(capsys, *command).status == 0
    assert msgspec.json.decode((folder / "tournament.json").read_bytes(), type=TournamentDocument) == raced()
    assert len(list((folder / "races").iterdir())) == 2
    server.asked.clear()
    assert run(capsys, *command, "--force").status == 0
    assert len(server.asked) == 3


def test_before_any_record_can_be_had_the_tournament_alone_is_to_be_checked(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path
) -> None:
    server.script = telling(raced(is_over=False))
    ran = run(capsys, "tournament", "export", server.url, ID, str(tmp_path / "open"), "--records")
    assert ran.out.splitlines()[-1] == f"To check all of it: carpet verify {tmp_path}/open/tournament.json"


def test_a_record_that_is_not_this_tournaments_is_named_and_left_alone_and_nothing_saved_beside_it(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path
) -> None:
    folder = tmp_path / "open"
    command = ("tournament", "export", server.url, ID, str(folder), "--records")
    server.script = telling(raced(), *RACES)
    assert run(capsys, *command).status == 0
    before = {file: file.read_bytes() for file in folder.rglob("*.json")}
    other = replace(raced().rounds[0].tables[0], race_ids=RACES[1:])
    server.script = telling(replace(raced(), rounds=(replace(raced().rounds[0], tables=(other,)),)), *RACES)
    for options in ((), ("--force",)):
        ran = run(capsys, *command, *options)
        assert ran.status == 1
        assert ran.sentence.startswith(f"carpet: {folder}/races/round-01-table-01-{RACES[0]}.json is no record of tournament {ID} ")
        assert {file: file.read_bytes() for file in folder.rglob("*.json")} == before


def test_an_export_that_is_told_to_wait_says_for_how_long_unless_it_is_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: PageServer, tmp_path: Path
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(tournament_pages, "sleep", waited.append)
    whole, pauses = telling(raced(), *RACES), [60, 1]

    def script(target: str) -> bytes:
        busy = target.startswith("/races/") and pauses
        return page(b"", status="429 Many", headers=f"Retry-After: {pauses.pop(0)}\r\n") if busy else whole(target)

    server.script = script
    ran = run(capsys, "tournament", "export", server.url, ID, str(tmp_path / "open"), "--records")
    assert (ran.status, waited) == (0, [60, 1])
    assert ran.err == f"carpet: the server at {server.url.removeprefix('ws://')} wants a pause; going on in 60 seconds.\n"


def test_a_folder_of_something_else_is_refused_unless_forced(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path
) -> None:
    server.script = telling(raced(), *RACES)
    for name, content in (("none", None), ("no-json", b"notes"), ("other", msgspec.json.encode(replace(raced(), id="PLMNBV")))):
        folder = tmp_path / name
        folder.mkdir()
        if content is not None:
            (folder / "tournament.json").write_bytes(content)
        ran = run(capsys, "tournament", "export", server.url, ID, str(folder), "--records")
        assert (ran.status, "exists already" in ran.sentence) == (1, True)
        assert run(capsys, "tournament", "export", server.url, ID, str(folder), "--records", "--force").status == 0


def test_no_record_is_asked_for_before_its_round_is_over_nor_by_what_is_no_id(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path
) -> None:
    server.script = telling(raced(is_over=False))
    assert run(capsys, "tournament", "export", server.url, ID, str(tmp_path / "running"), "--records").status == 0
    assert server.asked == [f"/tournaments/{ID}.json"]
    hostile = raced()
    hostile = replace(hostile, rounds=(replace(hostile.rounds[0], tables=(replace(hostile.rounds[0].tables[0], race_ids=("../x",)),)),))
    server.script = telling(hostile)
    assert "a race without an id" in run(capsys, "tournament", "export", server.url, ID, str(tmp_path / "hostile"), "--records").sentence


@pytest.mark.parametrize("arguments", [("-", "--records"), ("--records", "--csv")])
def test_records_are_many_files(capsys: pytest.CaptureFixture[str], server: PageServer, arguments: tuple[str, ...]) -> None:
    assert run(capsys, "tournament", "export", server.url, ID, *arguments).status == 2
    assert server.asked == []


def test_the_table_is_exported_as_the_server_writes_it(capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path) -> None:
    server.says(page(TABLE.encode()))
    file = tmp_path / "open.csv"
    assert run(capsys, "tournament", "export", server.url, ID, str(file), "--csv").status == 0
    assert file.read_text() == TABLE
    assert server.asked == [f"/tournaments/{ID}.csv"]
    server.says(page(b"place\n1,\x1b[31mBen\n"))
    assert run(capsys, "tournament", "export", server.url, ID, "-", "--csv").out == "place\n1,[31mBen\n"


@pytest.mark.parametrize("command", ["standings", "export"])
def test_what_the_server_says_is_one_sentence(capsys: pytest.CaptureFixture[str], server: PageServer, command: str) -> None:
    server.says(problem("404 Not Found", "There is no tournament with that id."))
    ran = run(capsys, "tournament", command, server.url, ID)
    assert (ran.status, "There is no tournament with that id." in ran.sentence) == (1, True)
    server.says(page(msgspec.json.encode(replace(DOCUMENT, id="OTHERS"))))
    assert f"is not tournament {ID}" in run(capsys, "tournament", command, server.url, ID).sentence


def test_how_often_a_drawn_race_is_run_again_is_for_the_maker_of_an_elimination_to_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TournamentOptions] = []

    async def decide(url: str, request: CreateTournament, *, name: str | None) -> Decided:
        del url, name
        asked.append(request.options)
        return Decided(id=ID, number=0, ref=0)

    monkeypatch.setattr("client.cli.tournament.decide", decide)
    for replays in ([], ["--replays", "0"], ["--replays", "5"]):
        assert run(capsys, "tournament", "create", "here", "Cup", "--format", "elimination", *replays).status == 0
    assert [options.replays for options in asked] == [TournamentOptions(name="Cup").replays, 0, 5]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["create", "here", "\x1b"], "Nothing printable"),
        (["create", "here", "x", "--format", "ladder"], "swiss, round-robin, elimination or session"),
        (["create", "here", "x", "--double"], "--double is for"),
        (["create", "here", "x", "--format", "session", "--byes", "1"], "--byes is for swiss"),
        (["bye", "here", ID, "2", "--half"], "--half and --reason are for the director"),
        (["bye", "here", ID, "2", "--for", "bert", "--half", "--back"], "leave --half out"),
        (["rename", "here", ID, "brt", "\x1b[31m"], "Nothing printable"),
        (["create", "here", "x", "--replays", "2"], "--replays is for elimination"),
        (["create", "here", "x", "--format", "elimination", "--replays", "11"], "'--replays': it is at most 10"),
        (["create", "here", "x", "--format", "elimination", "--rounds", "4"], "--rounds is for"),
        (["create", "here", "x", "--fill", "9", "--places", "8"], "--fill 9 does not fit into --places 8"),
        (["create", "here", "x", "--places", "257"], "--places"),
        (["create", "here", "x", "--code", ""], "--code takes"),
        (["create", "here", "x", "--bot", "b" * 25], "--bot does not fit"),
        (["create", "ftp://here", "x"], "begins with ws:// or wss://"),
        (["create", "here"], "TITLE"),
        *[
            ([command, "here", "KW-PRT"], "six letters")
            for command in ("join", "leave", "start", "extend", "pause", "resume", "pair", "end", "watch")
        ],
        *[([command, "here", "KWPRT1"], "six letters") for command in ("standings", "export", "add-bot")],
        (["remove", "here", "KWPRTM"], "ENTRANT"),
        (["correct", "here", "KWPRTM", "1", "1", "2-0"], "is not a result"),
        (["correct", "here", "KWPRTM", "0", "1", "1-0"], "ROUND"),
        (["correct", "here", "KWPRTM", "1", "1", "1-0", "--cards", "105:3"], "two numbers up to 104"),
        (["correct", "here", "KWPRTM", "1", "1", "1-0", "--cards", "3"], "two numbers up to 104"),
        (["extend", "here", "KWPRTM", "3601"], "SECONDS"),
        (["add-bot", "here", "KWPRTM", "b" * 25], "not the name of a bot"),
        (["watch", "here", "KWPRTM", "--four-colour", "--colour-blind"], "choose one"),
        (
            ["join", "here", "KWPRTM"],
            "needs a terminal, and there is none here; --plain takes part by lines, and --no-screen enters without one.",
        ),
        (["watch", "here", "KWPRTM"], "carpet tournament standings prints how it stands"),
    ],
)
def test_what_is_typed_wrong_is_one_sentence_before_any_connection_is_opened(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    ran = run(capsys, "tournament", *arguments)
    assert ran.status == 2
    assert says in ran.sentence


COMMANDS = [
    *("create", "join", "leave", "start", "extend", "pause", "resume", "pair", "correct", "remove", "rename", "add-bot", "end", "watch"),
    *("bye", "list", "tables", "standings", "export"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_it_does_and_shows_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    ran = run(capsys, "tournament", command, "--help")
    assert ran.status == 0
    assert "Example" in ran.out
    # What a director decides is sent beside an open screen of theirs.
    takes_over = command in ("create", "join", "leave", "bye")
    assert ("is disconnected" in " ".join(ran.out.split())) is takes_over


def test_a_result_is_written_as_it_is_said() -> None:
    assert verdict_of("1-0") == TableResult(verdict="first")
    assert verdict_of("0-1f") == TableResult(verdict="second", forfeit=True)
    assert verdict_of("DRAW") == TableResult(verdict="draw")
    assert verdict_of("0-0") == TableResult(verdict="neither", forfeit=True)
    assert verdict_of("strike") is None
    for wrong in ("", "f", "drawf", "strikef", "1:0", "2-0"):
        with pytest.raises(ValueError, match="^" + wrong + "$"):
            verdict_of(wrong)


def test_an_entrant_is_found_by_their_name_or_their_id() -> None:
    told = tournaments.told()
    assert entrant_named(told, "benedikt") == "p2"
    assert entrant_named(told, "bot:greedy:1") == "bot:greedy:1"
    with pytest.raises(NoSuchEntrant, match="Nobody called Dan plays there; who plays: Benedikt, Anna, Clara, greedy 1"):
        entrant_named(told, "Dan")
    twice = replace(told, entrants=(*told.entrants, tournaments.entrant("p8", "ANNA", 6)))
    with pytest.raises(NoSuchEntrant, match="More than one entrant is called Anna; name one by id: p1, p8"):
        entrant_named(twice, "Anna")


def test_a_table_or_a_round_that_is_not_there_is_said_to_be_so() -> None:
    told = tournaments.running()

    def asked(round_: int, table: int) -> CorrectResult:
        return CorrectResult(id=ID, round=round_, table=table, result=None)

    assert table_asked_for(told, asked(2, 3)) == told.tables[2]
    with pytest.raises(NoSuchTable, match="There is no table 4 in round 2: it has 3 tables"):
        table_asked_for(told, asked(2, 4))
    with pytest.raises(NoSuchTable, match="There is no round 3 in that tournament: 2 rounds so far"):
        table_asked_for(told, asked(3, 1))
    with pytest.raises(NoSuchTable, match="There is no round 1 in that tournament: no round yet"):
        table_asked_for(tournaments.told(), asked(1, 1))


@pytest.mark.parametrize(
    ("races", "result", "told"),
    [
        ((), None, "is open again"),
        ((tournaments.WON,), tournaments.WON, "has its result"),
        ((TableResult(verdict="draw"),), None, "has a draw, and no result yet: race 2 is to follow"),
    ],
)
def test_a_director_is_told_what_their_correction_has_made_of_a_table(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    races: tuple[TableResult, ...],
    result: TableResult | None,
    told: str,
) -> None:
    monkeypatch.setattr(tournament, "run", lambda _: tournaments.table(1, "p2", "p3", races=races, result=result))
    assert run(capsys, "tournament", "correct", "here", ID, "2", "1", "draw").out == f"Table 1 of round 2 {told}.\n"


def test_whoever_is_let_back_in_is_found_by_name_among_those_who_have_withdrawn() -> None:
    told = tournaments.told()
    assert entrant_named(told, "dan", back=True) == "p4"
    with pytest.raises(NoSuchEntrant, match="Nobody called Anna has withdrawn there; who has withdrawn: Dan"):
        entrant_named(told, "Anna", back=True)
