"""`carpet daily` and `carpet challenge` against a scripted web server: what works without a WebSocket."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from client.connection.events import Identity
from client.storage.commitments import CommitmentStore
from client.storage.identity import IdentityStore
from protocol.run_messages import Challenges, Dailies, DailyDeal
from tests.client import runs
from tests.client.cli.test_main import run
from tests.client.page_server import PageServer, page, problem
from tests.client.text.test_runs import challenge

NOW = 1_795_262_400_000
SECRETS = {date: sha256(date.encode()).hexdigest() for date in ("2026-11-19", "2026-11-20", "2026-11-21", "2026-11-22")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    return tmp_path


def days(*revealed: str, **false: str) -> bytes:
    """false: dates whose secret is another than was committed to, without hyphens."""
    told = tuple(
        DailyDeal(
            date=date,
            commitment=sha256(bytes.fromhex(secret)).hexdigest(),
            made_at_ms=NOW,
            reveals_at_ms=NOW + 1,
            secret=None if date not in revealed else false.get(f"d{date.replace('-', '')}", secret),
        )
        for date, secret in reversed(SECRETS.items())
    )
    return page(msgspec.json.encode(Dailies(now_ms=NOW, days=told)))


def test_verify_holds_the_secrets_against_what_was_shown(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(days("2026-11-19"))
    first = run(capsys, "daily", "verify", server.url)
    assert (first.status, first.err) == (0, "")
    assert [line.partition("  ")[2].split(":")[0].split(";")[0] for line in first.out.splitlines()] == [
        "committed to",
        "committed to",
        "committed to",
        "not checked",
    ]
    server.says(days("2026-11-19", "2026-11-20", "2026-11-21"))
    second = run(capsys, "daily", "verify", server.url, "--json")
    assert second.status == 0
    assert [(day["date"], day["outcome"]) for day in json.loads(second.out)["days"]] == [
        ("2026-11-22", "sealed"),
        ("2026-11-21", "true"),
        ("2026-11-20", "true"),
        ("2026-11-19", "unseen"),
    ]


def test_verify_fails_where_a_secret_is_not_the_one_that_was_committed_to(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(days())
    run(capsys, "daily", "verify", server.url)
    server.says(days("2026-11-20", "2026-11-21", d20261120="00" * 32))
    ran = run(capsys, "daily", "verify", server.url)
    assert ran.status == 1
    assert [line for line in ran.out.splitlines() if "WRONG" in line] == ["2026-11-20  WRONG: the secret does not fit the commitment"]


def test_a_board_is_asked_for_as_anybody_by_a_stranger(capsys: pytest.CaptureFixture[str], server: PageServer, folder: Path) -> None:
    unseen = page(msgspec.json.encode(runs.board(shown=False, rows=(), own=None)))
    server.script = lambda target: days() if target == "/daily.json" else unseen
    ran = run(capsys, "daily", "board", server.url, "--rules", "crazy-quilt")
    assert ran.status == 0
    assert ran.out.startswith("The deal of 2026-11-21, carpet: 3 runs so far.\nYou see the runs once")
    assert server.asked[-1] == "/daily/2026-11-21/crazy-quilt.json"
    # On the way the commitments were kept.
    assert set(CommitmentStore(folder).seen(server.url)) == set(SECRETS)
    run(capsys, "daily", "board", server.url, "--date", "2026-11-20")
    assert server.asked[-1] == "/daily/2026-11-20/carpet.json"


def test_challenges_are_listed_as_for_anybody_where_one_has_not_been(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(msgspec.json.encode(Challenges(now_ms=0, challenges=(challenge(),)))))
    ran = run(capsys, "challenge", "list", server.url)
    assert ran.status == 0
    assert "WUKMRT  carpet-free" in ran.out
    assert server.asked == ["/challenges.json"]
    assert json.loads(run(capsys, "challenge", "list", server.url, "--json").out)["challenges"][0]["id"] == "WUKMRT"


def test_what_the_server_refuses_is_its_sentence(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(problem("404 Not Found", "There is no such deal to run."))
    ran = run(capsys, "challenge", "board", server.url, "ABCDEF")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.endswith("says: There is no such deal to run.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("daily",), "Which server? Name it (you have been at none yet)."),
        (("daily", "verify"), "Which server? Name it (you have been at none yet)."),
        (
            ("challenge", "run", "localhost", "12"),
            "'12' is not the id of a challenge: it is six letters, as carpet challenge list shows them.",
        ),
        (("challenge", "create", "localhost", "--days", "31"), "--days takes a number from 0.042 (an hour) to 30."),
        (
            ("daily", "localhost", "--rules", "twenty"),
            "carpet daily needs a terminal, and there is none here; carpet demo shows a race in plain text.",
        ),
    ],
)
def test_what_was_typed_is_judged_before_anybody_is_asked(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    ran = run(capsys, *arguments)
    assert (ran.status, ran.out, ran.err) == (2, "", f"carpet: {sentence}\n")


def test_the_only_server_one_has_been_at_need_not_be_named(capsys: pytest.CaptureFixture[str], server: PageServer, folder: Path) -> None:
    IdentityStore(folder).keep(server.url, Identity("Anna", "token", "p1"))
    server.says(days())
    assert run(capsys, "daily", "verify").status == 0
    IdentityStore(folder).keep("ws://two.example:7777", Identity("Anna", "token", "p1"))
    ran = run(capsys, "daily", "verify")
    assert (ran.status, ran.err) == (2, "carpet: Which server? Name it (you have been at 2).\n")
