"""The deal is judged by what this client saw: each broken link of the chain is noticed by itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from client.state.evidence import Check, Evidence, check, verdict
from protocol.cards import card_text, fresh_deck
from protocol.fairness import named_seed
from protocol.record import Record, sealed
from protocol.shuffle import shuffle
from protocol.views import View
from server.race.view import see
from server.rules.catalogue import RULE_SETS
from tests.client import scenes


def evidence(**fields: Any) -> Evidence:
    model = scenes.dealt()
    assert model.evidence is not None
    return replace(model.evidence, **fields)


def results(checks: list[Check]) -> dict[str, bool | None]:
    return {made.what: made.ok for made in checks}


def test_an_honest_deal_checks_out() -> None:
    checks = check(scenes.record(), evidence(), 0)
    assert all(made.ok for made in checks), checks
    assert verdict(checks).ok is True


def resealed(**deal: Any) -> Record:
    record = scenes.record()
    return sealed(replace(record, deal=replace(record.deal, **deal)))


@pytest.mark.parametrize(
    ("record", "seen", "broken"),
    [
        (replace(scenes.record(), ended_at_ms=1), evidence(), "digest"),
        (resealed(k=1), evidence(), "seed"),
        (resealed(winnable=True), evidence(), "seed"),
        (scenes.record(), evidence(winnable=True), "seed"),
        (resealed(seed="00" * 32), evidence(), "seed"),
        (scenes.record(), evidence(commitment="ab" * 32), "commitment"),
        (scenes.record(), evidence(nonce="ab" * 16), "nonce"),
        (scenes.record(), evidence(first_view=scenes.middle_view()), "cards"),
    ],
)
def test_each_broken_link_is_found(record: Record, seen: Evidence, broken: str) -> None:
    checks = check(record, seen, 0)
    assert results(checks)[broken] is False
    assert verdict(checks).ok is False


def test_a_nonce_at_another_seat_does_not_count() -> None:
    assert results(check(scenes.record(), evidence(), 1))["nonce"] is False
    assert results(check(scenes.record(), evidence(), 7))["nonce"] is False


def test_what_was_not_seen_is_not_called_right() -> None:
    checks = check(scenes.record(), None, 0)
    assert results(checks) == {"digest": True, "seed": True, "commitment": None, "nonce": None, "cards": None}
    assert verdict(checks).ok is None
    assert results(check(scenes.record(), evidence(first_view=None), 0))["cards"] is None


def test_two_cards_changed_places_is_found() -> None:
    view = scenes.first_view()
    piles = dict(view.piles)
    piles["a1"], piles["b1"] = piles["b1"], piles["a1"]
    assert results(check(scenes.record(), evidence(first_view=replace(view, piles=piles)), 0))["cards"] is False


def test_a_named_deal_checks_out_by_its_name() -> None:
    record = resealed(name="garden", seed=named_seed("garden").hex())
    assert results(check(record, None, 0))["seed"] is True
    assert "shuffle of its name" in verdict([Check("seed", True, "")], named=True).sentence


def test_a_named_deal_needs_nothing_that_was_seen_before_the_start() -> None:
    record = resealed(name="garden", seed=named_seed("garden").hex())
    assert verdict(check(record, None, 0), named=True).ok is True


def test_of_a_winnable_deal_it_takes_a_search_to_know_whether_it_is_the_first() -> None:
    record, seen = resealed(winnable=True), evidence(winnable=True)
    checks = check(record, seen, 0)
    assert results(checks) == {"digest": True, "seed": True, "commitment": True, "nonce": True, "cards": True, "number": None}
    assert verdict(checks) == Check("deal", True, "The deal checks out. Whether deal 0 is the first that can be won: carpet verify.")
    for ok, sentence in (
        (True, "The deal checks out: nobody chose the cards, and no deal that can be won was passed over."),
        (False, "The record is false: deal 0 cannot be won."),
    ):
        made = check(record, seen, 0, number=Check("number", ok, "The record is false: deal 0 cannot be won."))
        assert verdict(made) == Check("deal", ok, sentence)
        assert verdict(check(record, None, 0, number=Check("number", ok, ""))).ok is (None if ok else False)


def test_what_was_not_seen_here_is_said_with_what_can_still_be_checked() -> None:
    sentence = "Nothing is wrong, but not seen here: commitment, nonce, cards. carpet verify checks the record."
    for record in (scenes.record(), resealed(winnable=True)):
        assert verdict(check(record, None, 0)) == Check("deal", None, sentence)


def test_of_a_deal_that_others_have_too_no_more_is_said_than_a_race_on_it_can_show() -> None:
    said = verdict(check(scenes.record(), evidence(), 0), shared=True)
    assert said == Check("deal", True, "The deal checks out: it is the shuffle that was committed to.")


def test_two_decks_lose_the_copies_met_first() -> None:
    record = scenes.record()
    order = [card_text(card) for card in shuffle(fresh_deck(2), bytes.fromhex(record.deal.seed), b"deal")]
    for card in ("AS", "KS", "AH", "KH", "AD", "KD", "AC", "KC"):
        order.remove(card)
    slots = [f"{column}{row}" for row in (1, 2) for column in "abcdefghij"]
    view = View(
        piles={slot: (card,) for slot, card in zip(slots, order, strict=False)},
        waste=(),
        stock=76,
        stock_next=(),
        foundations={name: 1 for suit in "SHDC" for name in (f"{suit}+", f"{suit}-")},
        pending=None,
        redeals=0,
        home=8,
        moves=("s",),
    )
    assert results(check(record, evidence(first_view=view), 0, decks=2))["cards"] is True


def test_junk_in_a_record_is_an_answer_not_a_crash() -> None:
    for junk in ("zz", "00", ""):
        record = sealed(replace(scenes.record(), deal=replace(scenes.record().deal, seed=junk, secret=junk)))
        assert verdict(check(record, evidence(), 0)).ok is False


@pytest.mark.parametrize("info", scenes.RULES, ids=lambda info: info.id)
def test_the_first_view_of_every_rule_set_is_as_its_seed_shuffles_it(info: Any) -> None:
    for number in range(20):
        seed = bytes([number]) * 32
        record = resealed(seed=seed.hex())
        first = see(RULE_SETS[info.id].deal(seed))
        assert results(check(record, evidence(first_view=first), 0, decks=info.decks))["cards"] is True
        other = see(RULE_SETS[info.id].deal(bytes([number + 1]) * 32))
        assert results(check(record, evidence(first_view=other), 0, decks=info.decks))["cards"] is False
