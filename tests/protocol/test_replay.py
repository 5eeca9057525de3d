"""The document of a replay: it reads back unchanged, and one whose parts do not fit together is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from protocol.replay import BadReplay, from_json, to_json
from server.race.replay import frames
from tests.client.replays import record

REPLAY = frames(record("carpet", 2))


def test_it_reads_back_as_it_was() -> None:
    assert from_json(to_json(REPLAY)) == REPLAY


def test_a_field_of_a_later_server_is_ignored() -> None:
    document = json.loads(to_json(REPLAY))
    document["later"] = document["frames"][0]["later"] = 1
    assert from_json(json.dumps(document).encode()) == REPLAY


def swapped(document: Any) -> None:
    document["frames"].reverse()


def lost(document: Any) -> None:
    del document["frames"][3]


def of_nobody(document: Any) -> None:
    document["frames"][-1]["seat"] = 7


def too_early(document: Any) -> None:
    document["frames"][0]["at_ms"] = -1


def empty(document: Any) -> None:
    document["record"]["seats"] = document["frames"] = []


def unseen(document: Any) -> None:
    del document["frames"][2]["view"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (swapped, "the frames are not in the order of their times"),
        (lost, "frame 4 is out of place"),
        (of_nobody, f"frame {len(REPLAY.frames)} is out of place"),
        (too_early, "frame 1 is out of place"),
        (empty, "the record has no seats"),
        (unseen, "not a replay of a race: Object missing required field `view` - at `$.frames[2]`"),
    ],
)
def test_what_does_not_fit_together_is_refused(damage: Callable[[Any], None], said: str) -> None:
    document = json.loads(to_json(REPLAY))
    damage(document)
    with pytest.raises(BadReplay) as caught:
        from_json(json.dumps(document).encode())
    assert said in str(caught.value)


@pytest.mark.parametrize("document", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_replay_is_refused(document: bytes) -> None:
    with pytest.raises(BadReplay, match="not a replay of a race"):
        from_json(document)
