"""Checking the document of a tournament: a genuine one passes, and any alteration is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given, settings
from msgspec.structs import replace
from typer.testing import CliRunner

from protocol.fairness import shared_nonce
from protocol.record import Record, from_json, to_json
from protocol.record import sealed as with_digest
from protocol.tournament_messages import CorrectResult, Decided, LeaveTournament, StartTournament
from protocol.tournaments import TableResult, TournamentBye, TournamentDocument
from server.cli.commands import app
from server.tournaments import audit
from server.tournaments.audit import BadTournament, audit_tournament, read_tournament
from server.tournaments.events import NO_CHECK_IN, ByeGiven, Entered, Finished, ResultEntered, RoundPaired, Withdrawn
from server.tournaments.pairing.rounds import RaceResult, seat
from server.tournaments.views import document, standings_rows
from tests.server.tournaments.fields import randoms
from tests.server.tournaments.test_state import OPTIONS, played, state_with
from tests.server.tournaments.venue import FAST, Venue

Change = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "elimination", "session"])
@settings(max_examples=25)
@given(chance=randoms)
def test_the_document_of_any_tournament_is_true(kind: str, chance: Random) -> None:
    state = played(msgspec.structs.replace(OPTIONS, format=kind), chance, steps=150)
    told = read_tournament(msgspec.json.encode(document(state)))
    assert told is not None
    assert audit_tournament(told).rounds == sum(shuffle.over_at_ms is not None for shuffle in state.shuffles)


def with_byes(told: TournamentDocument, *byes: tuple[int, str, int]) -> TournamentDocument:
    """The same with other byes, and with the standings that follow."""
    forged = replace(told, byes=tuple(TournamentBye(round=number, entrant=entrant, half_points=points) for number, entrant, points in byes))
    return replace(forged, standings=standings_rows(audit._crosstable(forged).standings))


def test_byes_are_those_that_were_had_and_no_others() -> None:
    """a has a full point in round 1, b asks for half a point in round 2, e is late, and f leaves. Round 3 is to come."""
    state = state_with(replace(OPTIONS, rounds=3)).after_all([Entered(each, each.upper(), None) for each in "abcdf"], at_ms=5)
    state = state.after(ByeGiven("a", 1, 2), at_ms=6, author=state.director).after(ByeGiven("b", 2, 1), at_ms=6, author="b")
    state = state.after_all([ByeGiven("c", 2, 1), ByeGiven("c", 2, 0), ByeGiven("d", 3, 1)], at_ms=6, author=state.director)
    for number in (1, 2):
        paired = state.settled()[0].next_round()
        assert paired is not None
        state = state.after(RoundPaired(paired, 3), at_ms=7)
        for race in state.crosstable.open_races:
            state = state.after(ResultEntered(number, race.pairing.table, 1, RaceResult("first", (52, 10))), at_ms=8)
        if number == 1:
            state = state.after_all([Entered("e", "E", None), Withdrawn("f")], at_ms=9)
    told = document(state)
    true = (1, "a", 2), (2, "b", 1), (3, "d", 1)
    assert with_byes(told, *true) == told
    audit_tournament(told)
    assert any("c" in (table.first, table.second) for table in told.rounds[1].tables)
    forgeries = {
        ((1, "a", 2), (2, "b", 7)): "bye of B in round 2: there is no such bye",
        ((1, "a", 2), (2, "b", -3)): "there is no such bye",
        ((1, "a", 2), (2, "x", 1)): "bye of x in round 2: there is no such bye",
        ((1, "a", 2), (2, "b", 2)): "bye of B in round 2: the log does not have it",
        (*true, (1, "e", 1)): "bye of E in round 1: they were not in it then",
        (*true, (2, "f", 1)): "bye of F in round 2: they were not in it then",
        (*true, (2, "c", 1)): "bye of C in round 2: they had a table",
        (*true, (3, "c", 1)): "bye of C in round 3: the log does not have it",
        (*true, (3, "d", 1)): "bye of D in round 3: it is there twice",
        ((2, "b", 1), (3, "d", 1)): "round 1: its byes are not those of the log",
        ((1, "a", 2), (3, "d", 1)): "round 2: its byes are not those of the log",
    }
    for byes, why in forgeries.items():
        with pytest.raises(BadTournament, match=why):
            audit_tournament(with_byes(told, *byes))
    with pytest.raises(BadTournament, match="bye of A in round 1: there is no such bye"):
        audit_tournament(with_byes(replace(told, options=replace(told.options, format="session"), tie_breaks=("cards-home",)), *true))
    # Of what is there without a log it is only said that it can be.
    audit_tournament(replace(told, log=()))


def test_documents_of_older_servers_list_who_never_came_and_place_both_first_of_a_final_without_players() -> None:
    state = state_with(replace(OPTIONS, format="elimination"))
    state = state.after_all([Entered(each, each, None) for each in "abc"] + [Withdrawn("c", NO_CHECK_IN)], at_ms=5)
    paired = state.settled()[0].next_round()
    assert paired is not None
    state = state.after_all([RoundPaired(paired), ResultEntered(1, 1, 1, RaceResult("neither", forfeit=True))], at_ms=6)
    told = document(state)
    assert [(row.place, row.entrant) for row in told.standings] == [(2, "a"), (2, "b")]
    audit_tournament(told)
    gone = replace(told.standings[1], place=3, entrant="c", lost=0, withdrawn=True)
    everybody = replace(told, standings=(*told.standings, gone))
    audit_tournament(everybody)
    for older in (told, everybody):
        first = tuple(replace(row, place=1) if row.place == 2 else row for row in older.standings)
        audit_tournament(replace(told, standings=first))
        with pytest.raises(BadTournament, match="place is 2"):
            audit_tournament(replace(told, standings=(first[0], *older.standings[1:])))


def test_documents_of_older_servers_do_not_say_who_gets_the_table_of_an_entrant_who_is_out() -> None:
    state = state_with().after_all([Entered(each, each, None) for each in "ab"], at_ms=5)
    state = state.after_all([RoundPaired(seat(1, [("a", "b")]), 1), Withdrawn("a"), Finished()], at_ms=6)
    told = document(state)
    assert told.log[3].text == "a is out; table 1 goes to b."
    for text in (told.log[3].text, "a is out."):
        audit_tournament(replace(told, log=(*told.log[:3], replace(told.log[3], text=text), *told.log[4:])))


def test_who_shares_a_place_may_stand_in_any_order_and_others_may_not() -> None:
    state = played(msgspec.structs.replace(OPTIONS, format="elimination"), Random(1), steps=150)
    told = document(state)
    places = [row.place for row in told.standings]
    equal = next(at for at in range(1, len(places)) if places[at] == places[at - 1])
    apart = next(at for at in range(1, len(places)) if places[at] != places[at - 1])

    def swapped(at: int) -> TournamentDocument:
        rows = list(told.standings)
        rows[at - 1 : at + 1] = rows[at], rows[at - 1]
        return replace(told, standings=tuple(rows))

    audit_tournament(swapped(equal))
    with pytest.raises(BadTournament, match="place is"):
        audit_tournament(swapped(apart))


def leave_out_a_nonce(told: dict[str, Any]) -> None:
    paired = told["rounds"][0]
    paired["nonces"] = paired["nonces"][1:]
    paired["nonce"] = shared_nonce(map(bytes.fromhex, paired["nonces"])).hex()


async def run_one(venue: Venue) -> tuple[TournamentDocument, list[Record]]:
    """Five people and all that can happen: a bye each round, a no-show, a withdrawal, a correction."""
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", habit="keen")
    people.append(await venue.person("Eve", "absent"))
    director = await venue.person("Director")
    identity = await director.make(replace(FAST, rounds=3, check_in_s=60, no_show_s=5), *people)
    await director.ask(StartTournament(id=identity))
    for person in people:
        await person.check_in(identity)
    await venue.until(lambda: venue.state(identity).round == 2)
    await people[3].ask(LeaveTournament(id=identity))
    state = await venue.over(identity)
    ((number, table), _), *_ = state.race_ids.items()
    ruling = TableResult(verdict="first", first_home=30, second_home=7)
    corrected = await director.ask(CorrectResult(id=identity, round=number, table=table, result=ruling))
    assert isinstance(corrected, Decided), corrected
    told = await venue.tournaments.document(identity)
    assert told is not None
    records = [venue.store.record(run.race) for paired in (1, 2, 3) for run in venue.store.runs("round", f"{identity}/{paired}")]
    return told, [record for record in records if record is not None]


async def test_records_of_a_private_tournament_do_not_name_it_and_are_checked_with_its_document_as_older_ones_that_did(
    venue: Venue, tmp_path: Path
) -> None:
    director, ann, ben = await venue.people("Director", "Ann", "Ben", habit="keen")
    for public in (False, True):
        identity = await director.make(replace(FAST, rounds=1, public=public), ann, ben)
        await director.do(StartTournament(id=identity))
        await venue.over(identity)
        told, (run,) = await venue.tournaments.document(identity), venue.store.runs("round", f"{identity}/1")
        record = venue.store.record(run.race)
        assert told is not None
        assert record is not None
        assert record.deal.shared is not None
        assert (identity in to_json(record)) is public
        named = replace(record, deal=replace(record.deal, shared=replace(record.deal.shared, id=f"{identity}/1")))
        for each in (record, with_digest(named)):
            assert audit_tournament(told, [each]).records == 1
        (tmp_path / "race.json").write_text(to_json(record))
        said = CliRunner().invoke(app, ["verify", str(tmp_path / "race.json")]).output
        assert (f"round {identity}/1" if public else "round 1 of a private tournament") in said


async def test_a_whole_tournament_is_checked_with_the_records_of_its_races(venue: Venue) -> None:
    told, records = await run_one(venue)
    checked = audit_tournament(told, records)
    assert (checked.rounds, checked.records, checked.ruled) == (3, len(records), 1)
    assert checked.races == checked.records > 3
    assert audit_tournament(told, records[:2]).records == 2
    wrong: list[tuple[list[Record], str]] = [
        ([records[0], records[0]], "given twice"),
        ([replace(records[0], id="ELSE-1-00")], "of no table"),
        ([with_digest(replace(records[0], id=records[-1].id))], "not dealt the shuffle of this round"),
        ([replace(records[0], software="another")], "the digest"),
    ]
    for given_, words in wrong:
        with pytest.raises(BadTournament, match=words):
            audit_tournament(told, given_)
    # Without the correction in its log the result of that table is a lie.
    with pytest.raises(BadTournament, match="the log has no correction"):
        audit_tournament(replace(told, log=tuple(entry for entry in told.log if entry.kind != "correct")), records)
    # A host could otherwise try which number makes the best shuffle.
    with pytest.raises(BadTournament, match="it has shuffle number 1, and the log does not say why"):
        audit_tournament(replace(told, log=tuple(entry for entry in told.log if entry.kind not in ("result", "correct"))), records)
    assert read_tournament(to_json(records[0]).encode()) is None
    assert from_json(to_json(records[0])) == records[0]

    def altered(change: Change) -> TournamentDocument:
        fields = msgspec.json.decode(msgspec.json.encode(told))
        change(fields)
        found = read_tournament(msgspec.json.encode(fields))
        assert found is not None
        return found

    other = "00" * 32
    changes: list[tuple[Change, str]] = [
        (lambda it: it.update(commitment=other), "round 1: its commitment"),
        (lambda it: it["rounds"][1].update(commitment=other), "round 2: its commitment"),
        (lambda it: it["rounds"][2].update(secret=other), "round 3: SHA-256"),
        (lambda it: it["rounds"][0].update(secret=None), "round 1 is over"),
        (lambda it: it["rounds"][0].update(nonce="00" * 16), "its nonce does not follow"),
        (lambda it: it["rounds"][0].update(nonces=[]), "its nonce does not follow"),
        (lambda it: it["rounds"][0].update(nonces=["00" * 16]), "its nonces are not those of entrants"),
        (leave_out_a_nonce, "round 1: the nonce of (Ann|Ben|Cleo|Dan|Eve), who had checked in, is not among its nonces"),
        (lambda it: it["rounds"][1].update(number=7), "has the number 7"),
        (lambda it: it["rounds"][0]["tables"][0].update(first="nobody"), "who has not entered"),
        (lambda it: it["rounds"][1]["tables"][0].update(result=None), "does not follow from its races"),
        (lambda it: it["rounds"][1]["tables"][0]["races"][0].update(verdict="neither"), "neither side wins"),
        (lambda it: it["entrants"][-1].update(rating=2000), "the order of their ratings"),
        (lambda it: it.update(tie_breaks=["cards-home"]), "tie-breaks of this format"),
        (lambda it: it["standings"].pop(), "rows of standings"),
        *(
            (lambda it, field=field: it["standings"][1].update({field: 99}), f"place .: {field} is 99")
            for field in ("place", "half_points", "won", "drawn", "lost", "home")
        ),
        (lambda it: it["standings"][0]["tie_breaks"].__setitem__(0, 1), "tie_breaks is"),
        (lambda it: it["standings"][0].update(withdrawn=True), "withdrawn is True"),
    ]
    for change, words in changes:
        with pytest.raises(BadTournament, match=words):
            audit_tournament(altered(change), records)
    await trio.lowlevel.checkpoint()


async def test_a_walkover_is_said_and_documents_of_older_servers_which_do_not_say_it_are_true(venue: Venue) -> None:
    ann, ben, director = await venue.person("Ann"), await venue.person("Ben", "resigns"), await venue.person("Director")
    identity = await director.make(replace(FAST, rounds=1), ann, ben)
    await director.ask(StartTournament(id=identity))
    await venue.over(identity)
    told = await venue.tournaments.document(identity)
    assert told is not None
    (paired,) = told.rounds
    (table,) = paired.tables
    assert table.result is not None
    assert (table.result.walkover, table.result.forfeit) == (True, False)
    assert [entry.text for entry in told.log if entry.text.endswith(", a walkover.")]
    record = venue.store.record(table.race_ids[0])
    assert record is not None
    before = replace(table.result, walkover=False)
    older = replace(told, rounds=(replace(paired, tables=(replace(table, result=before, races=(before,)),)),))
    for document_ in (told, older):
        assert audit_tournament(document_, [record]).ruled == 0


@pytest.mark.parametrize("secret", ["", "zz" * 32, "00" * 31])
def test_a_secret_that_is_none_is_said_to_be_none(secret: str) -> None:
    state = played(OPTIONS, Random(0), steps=150)
    fields = msgspec.json.decode(msgspec.json.encode(document(state)))
    fields["rounds"][0]["secret"] = secret
    with pytest.raises(BadTournament, match=r"not the document of a tournament: .* at `\$\.rounds\[0\]\.secret`"):
        read_tournament(msgspec.json.encode(fields))


async def test_the_command_says_what_it_has_checked_and_what_it_cannot(venue: Venue, tmp_path: Path) -> None:
    told, records = await run_one(venue)
    files = [tmp_path / f"{number}.json" for number in range(len(records))]
    for file, record in zip(files, records, strict=True):
        file.write_text(to_json(record))
    whole = tmp_path / "open.json"
    whole.write_bytes(msgspec.json.encode(told))
    all_of_it = CliRunner().invoke(app, ["verify", *map(str, (whole, *files))])
    assert all_of_it.exit_code == 0, all_of_it.output
    assert f"verified: tournament {told.id}, swiss, carpet, " in all_of_it.stdout
    assert "shuffles: the secrets of 3 of 3 rounds" in all_of_it.stdout
    assert f"records: {len(records)} of {len(records)} races" in all_of_it.stdout
    assert "not checked: who was paired with whom" in all_of_it.stdout
    one = CliRunner().invoke(app, ["verify", str(files[0])])
    assert f"round {told.id}/1, a deal that follows from its secret and nonce (not checked: " in one.stdout
    assert "nobody could know" not in one.stdout
    whole.write_bytes(msgspec.json.encode(replace(told, commitment="00" * 32)))
    altered = CliRunner().invoke(app, ["verify", str(whole)])
    assert altered.exit_code == 1
    assert "not a true tournament: round 1: its commitment" in altered.stderr
    assert CliRunner().invoke(app, ["verify", str(files[0]), str(files[1])]).exit_code == 2


def test_what_looks_like_a_tournament_and_is_none_is_said() -> None:
    with pytest.raises(BadTournament, match="not the document of a tournament"):
        read_tournament(b'{"standings": []}')
    assert read_tournament(b"[1]") is None
    assert read_tournament(b"\xff") is None
