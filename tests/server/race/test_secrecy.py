"""Nobody is ever told what they may not know: whole races of random commands, every message to every viewer."""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from protocol.errors import Refusal
from server.race.commands import (
    Command,
    GetReady,
    LeaveSeat,
    LoseConnection,
    MeasureConnection,
    PlayMove,
    RegainConnection,
    ResignSeat,
    StopSeat,
    TakeSeat,
)
from server.race.view import see
from server.rules.carpet import Aces, CarpetRules, Refill, Turning
from server.rules.catalogue import RULE_SETS, rule_set
from server.rules.position import RuleSet
from tests.server.race.racing import Driven, options, started
from tests.server.race.watching import Watch

_carpet = rule_set("carpet")
assert isinstance(_carpet, CarpetRules)
ROWS: tuple[RuleSet, ...] = (
    *RULE_SETS.values(),
    replace(_carpet, id="test-aces-in", aces=Aces.IN_DECK),
    replace(_carpet, id="test-surfacing", aces=Aces.SURFACING, refill=Refill.WASTE_FIRST, turning=Turning.WHEN_STUCK),
    replace(_carpet, id="test-three-shown", visible_stock=3, refill=Refill.FREE),
    replace(_carpet, id="test-redeal", redeals=1),
)


def random_command(driven: Driven, random: Random) -> Command:
    """Mostly legal moves, sometimes anything."""
    seat = random.randrange(driven.race.options.seats)
    position = driven.race.seats[seat].position
    choices: list[Command]
    if driven.race.phase == "waiting":
        ready = GetReady(seat, random.randbytes(16))
        choices = [TakeSeat(f"player-{seat}", "Ann", None, seat), ready, ready, ready, LoseConnection(seat), LeaveSeat(seat)]
    elif position is not None and random.random() < 0.9:
        choices = [PlayMove(seat, driven.seat(seat).ply, move) for move in position.legal_moves() or ("s",)]
    else:
        moves: list[Command] = [PlayMove(seat, random.randrange(3), move) for move in ("s", "w", "a1", "nonsense")]
        line: list[Command] = [LoseConnection(seat), RegainConnection(seat), MeasureConnection(seat, random.randrange(400))]
        choices = [*moves, *moves, *line, *line, StopSeat(seat), ResignSeat(seat), LeaveSeat(seat)]
    return random.choice(choices)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rules", ROWS, ids=lambda rules: rules.id)
def test_no_message_holds_a_card_its_reader_has_not_seen_or_a_secret(rules: RuleSet, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.race.machine.rule_set", lambda _: rules)
    random = Random(f"{rules.id} {seed}")
    driven = Driven(options(deal=None, seats=random.choice([1, 2, 2, 3]), grace_s=20, time_limit_s=300))
    watch = Watch(driven)
    at = -20_000
    watch.check((), at)
    while driven.race.phase != "over":
        at += random.choice([0, 0, 3, 40, 150, 900, 2500])
        watch.check(driven.advance(at), at)
        with suppress(Refusal):
            watch.check(driven.do(random_command(driven, random), at), at)
    watch.check(driven.advance(at + 1000), at + 1000)


def test_the_watch_sees_a_card_that_was_never_turned() -> None:
    driven = started()
    watch = Watch(driven)
    with pytest.raises(AssertionError, match="is shown"):
        watch.check((), 0)


def test_the_watch_sees_a_view_that_goes_to_the_wrong_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    driven = started(options(deal=None))
    watch = Watch(driven)
    watch.check(driven.events, 0)
    monkeypatch.setattr("server.race.view.see", lambda position: see(position.play("s")))
    with pytest.raises(AssertionError, match="is shown"):
        watch.check((), 0)


def test_the_watch_sees_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    driven = started(options(deal=None))
    watch = Watch(driven)
    watch.check(driven.events, 0)
    driven.race.commitment = driven.race.deal.secret
    with pytest.raises(AssertionError, match="told a secret"):
        watch.check((), 0)
