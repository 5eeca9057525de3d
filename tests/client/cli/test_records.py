"""`carpet history` and `carpet export` against a scripted web server, and against none at all."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from client.connection.events import Identity
from client.storage.commitments import CommitmentStore
from client.storage.evidence import Entry, EvidenceStore, SeenRace
from client.storage.identity import IdentityStore
from client.storage.saved_records import keep_record
from protocol.pages import History
from protocol.record import Record, from_json, sealed, to_json
from protocol.run_messages import DailyDeal
from protocol.views import SharedDeal
from tests.client.cli.test_main import run
from tests.client.page_server import PageServer, page, problem
from tests.client.scenes import first_view, record
from tests.client.text.test_past_races import raced, seat

RACE = "HKTRWM-1-0a1b2c3d4e5f"
RECORD = sealed(replace(record(), id=RACE))
HISTORY = History(player="p", name="Anna", races=(raced(seat("Anna", 2), seat("Be\x1b[31mn\u202e")).race,), next=None)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The player's data folder; the current folder is another one."""
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("CARPET_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(here)
    return home


# ---- history


def test_a_players_races_are_a_table(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(HISTORY)))
    ran = run(capsys, "history", server.url, "--player", " Anna ")
    assert (ran.status, ran.err) == (0, "")
    head, line = ran.out.splitlines()
    assert head.split() == ["date", "rules", "against", "place", "ended", "home", "took", "id"]
    assert line.split()[1:] == ["carpet", "Ben", "2/2", "stopped", "31", "3:41", RACE]
    assert server.asked == ["/players/Anna/races.json?limit=20"]


def test_ones_own_races_are_those_of_the_name_one_has_there(capsys: pytest.CaptureFixture[str], server: PageServer, home: Path) -> None:
    server.says(page(msgspec.json.encode(HISTORY)))
    IdentityStore(home).keep(server.url, Identity("Anna 2", "token"))
    assert run(capsys, "history", server.url, "--limit", "7").status == 0
    assert server.asked == ["/players/Anna%202/races.json?limit=7"]


def test_history_as_json_is_what_the_server_said_and_harmless_to_a_terminal(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(HISTORY)))
    ran = run(capsys, "history", server.url, "--player", "Anna", "--json")
    assert json.loads(ran.out) == json.loads(msgspec.json.encode(HISTORY.races))
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


def test_where_one_has_not_been_one_has_no_races(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    ran = run(capsys, "history", server.url)
    assert ran.status == 1
    assert ran.sentence == (
        f"carpet: You have not been at {server.url} yet, so you have no races there; --player NAME shows somebody else's."
    )
    assert server.asked == []


def test_a_player_who_has_not_raced_has_no_table(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(replace(HISTORY, races=()))))
    assert run(capsys, "history", server.url, "--player", "Anna").out == "No races yet.\n"
    assert run(capsys, "history", server.url, "--player", "Anna", "--json").out == "[]\n"


def test_without_a_server_the_races_kept_here_are_listed(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert (
        run(capsys, "history").out
        == "No races yet. Deals of the day and challenges have boards of their own: carpet daily board, carpet challenge board.\n"
    )
    for number in (1, 2, 3):
        path = keep_record(home, sealed(replace(record(), id=f"HKTRWM-{number}-0a1b2c3d4e5f", race=number)))
        os.utime(path, (1_700_000_000 + number,) * 2)
    ids = [line.split()[-1] for line in run(capsys, "history", "--limit", "2").out.splitlines()[1:]]
    assert ids == ["HKTRWM-3-0a1b2c3d4e5f", "HKTRWM-2-0a1b2c3d4e5f"]
    name = record().seats[1].name
    listed = json.loads(run(capsys, "history", "--player", name, "--json").out)
    assert [race["seat"] for race in listed] == [1, 1, 1]
    assert run(capsys, "history", "--player", "Nobody").out == "No races yet.\n"


# ---- export


def test_a_record_is_saved_under_its_id_and_over_nothing_unless_forced(
    capsys: pytest.CaptureFixture[str], server: PageServer, tmp_path: Path
) -> None:
    server.says(page(to_json(RECORD).encode()))
    ran = run(capsys, "export", server.url, RACE)
    assert (ran.status, ran.out) == (0, f"The record of race {RACE} is in {RACE}.json.\n")
    file = Path(f"{RACE}.json")
    assert from_json(file.read_bytes()) == RECORD
    file.write_text("precious")
    file.chmod(0o640)
    ran = run(capsys, "export", server.url, RACE)
    assert (ran.status, ran.sentence) == (1, f"carpet: {RACE}.json exists already: name another file, or add --force to overwrite it.")
    assert file.read_text() == "precious"
    assert len(server.asked) == 1
    assert run(capsys, "export", server.url, RACE, "--force").status == 0
    assert file.read_text(encoding="utf-8") == to_json(RECORD) + "\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert os.listdir() == [f"{RACE}.json"]


def test_a_file_that_has_come_meanwhile_is_not_written_over(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    def come(target: str) -> bytes:
        Path("race.json").write_text("precious")
        return page(to_json(RECORD).encode())

    server.script = come
    assert "exists already" in run(capsys, "export", server.url, RACE, "race.json").sentence
    assert Path("race.json").read_text() == "precious"


def test_a_record_for_a_pipe_is_the_same_value_and_harmless_to_a_terminal(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    hostile = sealed(replace(RECORD, seats=tuple(replace(seat, name="\x1b[31m\x9b1m\u202e") for seat in RECORD.seats)))
    server.says(page(to_json(hostile).encode()))
    ran = run(capsys, "export", server.url, RACE, "-")
    assert (ran.status, ran.err) == (0, "")
    assert from_json(ran.out) == hostile
    assert not {"\x1b", "\x9b", "\u202e"} & set(ran.out)
    assert os.listdir() == []


@pytest.mark.parametrize("target", ["missing/race.json", "folder", "/dev/null", "x" * 300])
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "forced"])
def test_what_cannot_be_written_is_one_sentence(
    capsys: pytest.CaptureFixture[str], server: PageServer, target: str, force: list[str]
) -> None:
    Path("folder").mkdir()
    server.says(page(to_json(RECORD).encode()))
    ran = run(capsys, "export", server.url, RACE, target, *force)
    assert ran.status == 1
    assert target in ran.sentence
    assert os.listdir() == ["folder"]


@pytest.mark.parametrize("race", ["..", "../../etc/passwd", "HKTRWM", "HKTRWM-1-0a1b2c3d4e5f\n", "\x1b[31m", "races.json?x", ""])
def test_what_is_no_id_is_said_before_anybody_is_asked(capsys: pytest.CaptureFixture[str], server: PageServer, race: str) -> None:
    ran = run(capsys, "export", server.url, race)
    assert ran.status == 2
    assert ran.sentence.endswith("is not the id of a race: it looks like HKTRWM-1-0a1b2c3d4e5f, and carpet history shows it.")
    assert "\x1b" not in ran.err
    assert server.asked == []


def test_what_the_server_refuses_leaves_no_file(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(problem("409 Conflict", "That race is still running; its record is available once it is over."))
    ran = run(capsys, "export", server.url, RACE)
    place = server.url.removeprefix("ws://")
    assert (ran.status, ran.sentence) == (
        1,
        f"carpet: The server at {place} says: That race is still running; its record is available once it is over.",
    )
    assert os.listdir() == []


# ---- verify and review


def test_without_a_file_the_last_race_is_checked_and_by_its_id_any_that_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    asked: list[str] = []

    def answered(command: list[str], **more: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(command[-1])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("client.cli.replay.subprocess.run", answered)
    for command in ("verify", "review"):
        none = run(capsys, command).sentence
        assert none == "carpet: No race of yours has been kept here yet. For another one, name its id or the file of its record."
        unknown = run(capsys, command, RACE).sentence
        assert unknown == f"carpet: Race {RACE} is not kept here: carpet export saves it from the server that has it."
    keep_record(home, RECORD)
    for command in ("verify", "review"):
        assert (run(capsys, command).status, run(capsys, command, RACE).status) == (0, 0)
    assert asked == [str(home / "last-race.json"), str(home / "races" / f"{RACE}.json")] * 2


@pytest.mark.parametrize(
    ("commitment", "nonce", "status", "told"),
    [
        ("c", "1", 0, "yours: what you gave when you checked in is in the shuffles, which were committed to before"),
        ("d", "1", 1, "carpet: not a true tournament: when you checked in, it had committed to other shuffles"),
        ("c", "2", 1, "carpet: what you gave when you checked in here is not in its shuffles: "),
        (None, "", 0, ""),
    ],
)
def test_a_tournament_is_compared_with_what_was_seen_and_given_at_the_check_in(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    commitment: str | None,
    nonce: str,
    status: int,
    told: str,
) -> None:
    monkeypatch.setattr("client.cli.replay.subprocess.run", lambda command, **more: subprocess.CompletedProcess(command, 0))
    document = home.parent / "tournament.json"
    document.write_text(json.dumps({"id": "KWPRTM", "commitment": "c" * 64, "entrants": [{"nonce": None}, {"nonce": "1" * 32}]}))
    store = EvidenceStore(home)
    store.keep_entry(Entry(id="ANOTHER", commitment="e" * 64, nonce="3" * 32))
    if commitment is not None:
        store.keep_entry(Entry(id="KWPRTM", commitment=commitment * 64, nonce=nonce * 32))
    ran = run(capsys, "verify", str(document))
    assert (ran.status, (ran.out + ran.err)[: len(told)]) == (status, told)
    assert bool(ran.out + ran.err) is bool(told)


def test_a_race_that_was_left_before_its_result_is_fetched_and_is_the_last_one(
    capsys: pytest.CaptureFixture[str], server: PageServer, home: Path
) -> None:
    left_early(server, home)
    other = sealed(replace(RECORD, id="AAAAAA-1-0a1b2c3d4e5f", started_at_ms=1_000, deal=replace(RECORD.deal, nonces=("8" * 32, "9" * 32))))
    keep_record(home, other, late=True)
    server.script = lambda target: page(to_json(RECORD).encode() if target == f"/races/{RACE}.json" else msgspec.json.encode(HISTORY))
    ran = run(capsys, "history")
    assert (ran.status, ran.err) == (0, "")
    assert [line.split()[-1] for line in ran.out.splitlines()] == ["id", RACE, other.id]
    assert server.asked == ["/players/Anna/races.json?limit=20", f"/races/{RACE}.json"]
    assert from_json((home / "last-race.json").read_bytes()) == RECORD
    assert run(capsys, "history").out == ran.out
    assert len(server.asked) == 2
    assert json.loads(run(capsys, "best", "--json").out)["rules"][RECORD.rules]["tries"] == 1, "it counts, once"


def test_a_race_whose_record_cannot_be_had_is_named_and_what_is_kept_is_shown(
    capsys: pytest.CaptureFixture[str], server: PageServer, home: Path
) -> None:
    left_early(server, home)
    place = server.url.removeprefix("ws://")
    lacks = f"carpet: your race HKTRWM at {place} is not kept here. "
    strange = sealed(replace(RECORD, deal=replace(RECORD.deal, nonces=("8" * 32, "9" * 32))))
    aborted = replace(HISTORY, races=(replace(HISTORY.races[0], aborted="nobody came"),))
    for answers, why in (
        (page(msgspec.json.encode(aborted)), "It was aborted: nobody came."),
        (problem("404 Not Found", "There is no player with that name."), f"The server at {place} says: There is no player with that name."),
    ):
        server.says(answers)
        assert " ".join(run(capsys, "history").err.split()) == lacks + why
    server.script = lambda target: page(to_json(strange).encode() if target.startswith("/races/") else msgspec.json.encode(HISTORY))
    told = " ".join(run(capsys, "replay", "--text").err.split())
    assert told.startswith(f"carpet: your race HKTRWM at {place} has no record yet. carpet: No race of yours has been kept here yet.")
    assert not (home / "races").exists()


def test_that_a_race_has_no_record_yet_is_told_only_where_the_last_race_is_asked_for(
    capsys: pytest.CaptureFixture[str], server: PageServer, home: Path
) -> None:
    left_early(server, home)
    server.says(page(msgspec.json.encode(replace(HISTORY, races=()))))
    keep_record(home, sealed(replace(RECORD, deal=replace(RECORD.deal, nonces=("8" * 32, "9" * 32)))))
    assert [run(capsys, command).err for command in ("history", "best", "stats")] == ["", "", ""]
    told = " ".join(run(capsys, "replay", "--text").err.split())
    place = server.url.removeprefix("ws://")
    assert told.startswith(f"carpet: your race HKTRWM at {place} has no record yet. The race before it stands as your last one.")


def test_a_late_race_that_cannot_be_counted_keeps_no_other_from_being_fetched_and_is_counted_later(
    capsys: pytest.CaptureFixture[str], server: PageServer, home: Path
) -> None:
    records = (RECORD, raced_next("9" * 32))
    left_early(server, home, *records)
    answer_with(server, *records)
    (home / "bests.json").write_text("{broken")
    ran = run(capsys, "history")
    assert [line.split()[-1] for line in ran.out.splitlines()] == ["id", *(record.id for record in reversed(records))]
    told = " ".join(ran.err.split())
    place = server.url.removeprefix("ws://")
    kept = f"carpet: your race HKTRWM at {place} is kept here, but not counted among your best times. The file {home}/bests.json with"
    assert (told.startswith(kept), told.count("carpet: ")) == (True, 1)
    asked = len(server.asked)
    assert run(capsys, "history").err == "", "it is told once"
    (home / "bests.json").unlink()
    for _ in range(2):
        assert json.loads(run(capsys, "best", "--json").out)["rules"][RECORD.rules]["tries"] == 2
    assert len(server.asked) == asked


def test_of_a_swap_either_race_is_fetched_though_they_have_the_same_nonces(
    capsys: pytest.CaptureFixture[str], server: PageServer, home: Path
) -> None:
    second = raced_next(RECORD.deal.nonces[0])
    left_early(server, home, RECORD, second)
    keep_record(home, RECORD, late=True)
    answer_with(server, second)
    ran = run(capsys, "history")
    assert (ran.err, [line.split()[-1] for line in ran.out.splitlines()]) == ("", ["id", second.id, RACE])
    assert json.loads(run(capsys, "best", "--json").out)["rules"][RECORD.rules]["tries"] == 2


def left_early(server: PageServer, home: Path, *records: Record) -> None:
    """This machine's Anna has seen the races of these records begin, or that of RECORD, and nothing after that."""
    IdentityStore(home).keep(server.url, Identity("Anna", "token"))
    never = SeenRace(url=server.url, code="NEVER", race=RECORD.race, commitment="c" * 64, nonce="e" * 32)
    EvidenceStore(home).keep(never)
    for raced_here in records or (RECORD,):
        seen = replace(never, code="HKTRWM", race=raced_here.race, nonce=raced_here.deal.nonces[0], first_view=first_view())
        EvidenceStore(home).keep(seen)


def raced_next(nonce: str) -> Record:
    """The record of the race after that of RECORD in the same room, with this nonce of Anna's."""
    deal = replace(RECORD.deal, nonces=(nonce, *RECORD.deal.nonces[1:]))
    race, started_at_ms = RECORD.race + 1, RECORD.started_at_ms + 1
    return sealed(replace(RECORD, id=f"HKTRWM-{race}-0a1b2c3d4e5f", race=race, started_at_ms=started_at_ms, deal=deal))


def answer_with(server: PageServer, *records: Record) -> None:
    """The server tells of these races in Anna's history, and gives their records."""
    told = replace(HISTORY, races=tuple(replace(HISTORY.races[0], id=record.id, race=record.race) for record in records))
    pages = {f"/races/{record.id}.json": to_json(record).encode() for record in records}
    server.script = lambda target: page(pages.get(target, msgspec.json.encode(told)))


@pytest.mark.parametrize("command", ["verify", "review", "replay"])
def test_whoever_names_a_race_by_its_code_is_told_that_it_has_an_id(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("client.cli.replay.need_terminal", lambda *_, **__: None)
    told = run(capsys, command, "hktrwm").sentence
    assert told == "carpet: There is no file hktrwm; name a race by its id, which carpet history shows, not by its code."


@pytest.mark.parametrize(
    ("shown", "status", "told"),
    [
        ({}, 0, "not checked: whether it is the deal that others had on 2026-11-21, since you were not shown its commitment then\n"),
        ({"a": "kept"}, 0, "the day's: it is the deal of 2026-11-21 that you were shown the commitment of, at ws://a.example:7777\n"),
        (
            {"a": "other", "b": "kept"},
            0,
            "the day's: it is the deal of 2026-11-21 that you were shown the commitment of, at ws://b.example",
        ),
        ({"a": "other"}, 1, "not the deal of 2026-11-21: what you were shown of that day at ws://a.example:7777 is another commitment"),
    ],
)
def test_a_run_of_the_day_is_compared_with_what_this_machine_was_shown_of_that_day(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path, shown: dict[str, str], status: int, told: str
) -> None:
    deal = replace(RECORD.deal, shared=SharedDeal(kind="daily", id="2026-11-21", nonces=("1b" * 16,)))
    kept = sealed(replace(RECORD, deal=deal))
    Path("run.json").write_text(to_json(kept))
    for name, what in shown.items():
        commitment = deal.commitment if what == "kept" else "ab" * 32
        days = [DailyDeal(date="2026-11-21", commitment=commitment, made_at_ms=1, reveals_at_ms=2, secret=None)]
        CommitmentStore(home).keep(f"ws://{name}.example:7777", days, 1)
    # The server's own part of the command is not what this is about.
    monkeypatch.setattr("client.cli.replay._ask_server", lambda arguments: 0)
    ran = run(capsys, "verify", "run.json")
    assert ran.status == status
    assert told in ran.out + ran.err
