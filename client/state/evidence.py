"""Whether the deal of a race checks out, judged by what this client saw itself. Pure.

Each check is one link of the chain from the commitment, shown before this player's nonce was sent, to the cards they were dealt. A server
that chose the cards cannot satisfy all of them. Must not know of screens or the rules of the games: whether the moves were legal is for
`carpet verify`.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from client.game.board import run_home
from client.state.room import RoomModel
from protocol.cards import card_text, fresh_deck
from protocol.record import BadRecord, Record, check_deal, check_nonces, digest, seed_of
from protocol.shuffle import DEAL_LABEL, shuffle
from protocol.text import clean_chat
from protocol.views import View


class Evidence(Struct, frozen=True):
    """What this client saw itself of one race, to check its record against."""

    code: str
    race: int
    commitment: str
    nonce: str
    winnable: bool = False
    first_view: View | None = None

    def is_of_first_race(self, room: RoomModel) -> bool:
        """Whether this is evidence of the first race of the swap whose second race the room waits for."""
        second = room.options.swaps and room.series is not None and room.series.raced == 1
        return second and (self.code, self.race + 1) == (room.code, room.race)

    def has_nonce_of(self, room: RoomModel) -> bool:
        """Whether the nonce of the race that the room waits for was sent before: of two, the server takes the first."""
        return (self.code, self.race, self.commitment) == (room.code, room.race, room.commitment) or self.is_of_first_race(room)


class Check(NamedTuple):
    """One thing that was checked. ok: None if this client has not seen enough to check it."""

    what: str
    ok: bool | None
    sentence: str


def check(record: Record, evidence: Evidence | None, seat: int | None, *, decks: int = 1, number: Check | None = None) -> list[Check]:
    """Make every check, in order. evidence: of this record's race; None if there is none. seat: this client's own.

    number: for a winnable deal, whether it is the first such one, if somebody else has made the search that this takes.
    """
    checks = [
        _digest(record),
        _derivation(record, evidence),
        _commitment(record, evidence),
        _nonce(record, evidence, seat),
        _dealt(record, evidence, seat, decks),
    ]
    if record.deal.winnable:
        # A host who passed over winnable deals would have chosen the cards nevertheless.
        checks.append(number or Check("number", None, f"Whether deal {record.deal.k} is the first that can be won: carpet verify."))
    return checks


def verdict(checks: list[Check], *, named: bool = False, shared: bool = False) -> Check:
    """All checks in one: false if any is false, otherwise unknown if any could not be made."""
    for wrong in checks:
        if wrong.ok is False:
            return Check("deal", False, wrong.sentence)
    made_of = {made.what: made for made in checks}
    unknown = {made.what for made in checks if made.ok is None}
    if named:
        # The name determines the whole deal: nothing seen or missed before the start could change it.
        return Check("deal", True, "The deal checks out: it is the shuffle of its name.")
    if unknown - {"number"}:
        missing = ", ".join(made.what for made in checks if made.ok is None and made.what != "number")
        return Check("deal", None, f"Nothing is wrong, but not seen here: {missing}. carpet verify checks the record.")
    if unknown:
        return Check("deal", True, f"The deal checks out. {made_of['number'].sentence}")
    if "number" in made_of:
        return Check("deal", True, "The deal checks out: nobody chose the cards, and no deal that can be won was passed over.")
    if shared:
        # No race on the deal can show who drew its secret, or how long they have known it.
        return Check("deal", True, "The deal checks out: it is the shuffle that was committed to.")
    return Check("deal", True, "The deal checks out: nobody chose the cards.")


def _digest(record: Record) -> Check:
    ok = digest(record) == record.digest
    return Check("digest", ok, "The record is as the server sealed it." if ok else "The record was altered: its digest does not fit.")


def _derivation(record: Record, evidence: Evidence | None) -> Check:
    try:
        check_nonces(record)
        check_deal(record.deal)
    except (BadRecord, ValueError) as error:
        return Check("seed", False, f"The seed does not follow: {error}.")
    if evidence is not None and record.deal.winnable != evidence.winnable:
        other = "Only a deal that can be won was asked for" if evidence.winnable else "Just any deal was asked for"
        return Check("seed", False, f"{other}, and the record says otherwise.")
    if record.deal.past is not None:
        return Check("seed", None, f"The deal is that of race {clean_chat(record.deal.past.race)}, whose record tells where it came from.")
    if record.deal.name is not None:
        return Check("seed", True, "The seed is the one of the deal's name.")
    if record.deal.shared is not None:
        return Check("seed", True, "The seed follows from the secret and the nonces of the deal.")
    return Check("seed", True, "The seed follows from the secret and everybody's nonces.")


def _commitment(record: Record, evidence: Evidence | None) -> Check:
    if evidence is None:
        return Check("commitment", None, "The commitment was not seen here before the start.")
    ok = evidence.commitment == record.deal.commitment
    return Check(
        "commitment", ok, "The secret was fixed before your nonce was sent." if ok else "The commitment is not the one shown before."
    )


def _nonce(record: Record, evidence: Evidence | None, seat: int | None) -> Check:
    if evidence is None or seat is None:
        return Check("nonce", None, "No nonce was sent from here.")
    nonces = record.deal.nonces
    ok = 0 <= seat < len(nonces) and nonces[seat] == evidence.nonce
    if ok and record.deal.past is not None:
        return Check("nonce", True, "Your nonce is in the record; a race that is played on does not use it.")
    if ok and record.deal.shared is not None:
        return Check("nonce", True, "Your nonce is in the record; a deal that others share was fixed before it.")
    if ok and record.deal.name is not None:
        return Check("nonce", True, "Your nonce is in the record; a named deal does not use it.")
    return Check("nonce", ok, "Your nonce took part in the shuffle." if ok else "The nonce at your seat is not the one you sent.")


def _dealt(record: Record, evidence: Evidence | None, seat: int | None, decks: int) -> Check:
    if evidence is None or evidence.first_view is None or seat is None:
        return Check("cards", None, "The first cards were not seen here.")
    try:
        order = [card_text(card) for card in shuffle(fresh_deck(decks), seed_of(record, seat), DEAL_LABEL)]
    except ValueError as error:
        return Check("cards", False, f"The seed cannot be dealt from: {error}.")
    if record.deal.past is not None:
        return Check("cards", None, "The race began after its first moves, not with the deal.")
    ok = _begins_with(order, evidence.first_view)
    return Check("cards", ok, "Your cards lay as the seed shuffles them." if ok else "Your cards did not lie as the seed shuffles them.")


def _begins_with(order: list[str], view: View) -> bool:
    """Whether the shuffle, without the cards on the foundations, begins with the cards of the view's slots, in slot order."""
    for name, count in view.foundations.items():
        for rank in run_home(name)[: max(count, 0)]:
            card = rank + name[:1]
            if card not in order:
                return False
            order.remove(card)  # the first copy
    laid = [card for pile in view.piles.values() for card in pile]
    return len(laid) <= len(order) and order[: len(laid)] == laid
