"""What really leaves the server: whole races are recorded, message by message and member by member, and every card in them is checked.

The model of what a player may have seen is written independently here, from the rules of Carpet: twenty cards of the deal and the four
Aces, then each stock card that one of their own accepted moves has revealed. It shares only the shuffle with the server. Until the result
is out, no message may hold any other card, nor the secret, the seed or anybody's nonce.

For the other rule sets the model is simpler: cards are revealed in the order of the deck, so a view that says how many are left in the
stock may hold those before them and no more.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from protocol.cards import CARD_TEXT, fresh_deck, rank
from protocol.client_messages import Move
from protocol.fairness import derive_seed
from protocol.record import Record
from protocol.room_events import Dealt, Hidden, PlayerView, Progress, Result, Room
from protocol.server_messages import CurrentView, ServerMessage
from protocol.shuffle import shuffle
from protocol.views import View
from server.rooms.driver import Room as ServedRoom
from server.rules.catalogue import RULE_SETS
from tests.server.rooms.playing import Guest, Table

RACES = 120
CARDS = frozenset(CARD_TEXT)
SLOTS = [f"{column}{row}" for row in range(1, 5) for column in "abcde"]


class CarpetBySight:
    """The game of one player, as far as it says which cards they have seen."""

    def __init__(self, seed: bytes) -> None:
        deck = shuffle(fresh_deck(), seed, b"deal")
        aces = [card for card in deck if rank(card) == 1]
        rest = [card for card in deck if rank(card) != 1]
        self.carpet: dict[str, int | None] = dict(zip(SLOTS, rest[:20], strict=True))
        self.stock = rest[20:]
        self.waste: list[int] = []
        self.seen = {CARD_TEXT[card] for card in [*aces, *rest[:20]]}

    def play(self, move: str) -> None:
        source, _, target = move.partition(":")
        if source == "s":
            card = self._reveal()
            if target:
                self.carpet[target] = card
            else:
                self.waste.append(card)
        elif target:
            self.carpet[target] = self.waste.pop()
        elif source == "w":
            self.waste.pop()
        else:
            self.carpet[source] = None
            # With both a waste and a stock the player chooses, by a move of its own; with one of them it fills the gap at once.
            if self.waste and not self.stock:
                self.carpet[source] = self.waste.pop()
            elif self.stock and not self.waste:
                self.carpet[source] = self._reveal()

    def _reveal(self) -> int:
        card = self.stock.pop(0)
        self.seen.add(CARD_TEXT[card])
        return card


def texts(value: Any) -> Iterator[str]:
    """Every text in a message, the keys of its maps too."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield from texts(key)
                yield from texts(item)
        case list() | tuple():
            for item in value:
                yield from texts(item)
        case _:
            pass


def cards_in(message: ServerMessage) -> set[str]:
    return {text for text in texts(msgspec.to_builtins(message)) if text in CARDS}


def check(guest: Guest, seat: int, record: Record) -> int:
    """Go through all that this guest was told of a race, in order; the number of messages that held cards."""
    seed = derive_seed(bytes.fromhex(record.deal.secret), [bytes.fromhex(nonce) for nonce in record.deal.nonces], record.deal.k)
    secrets = [record.deal.secret, seed.hex(), record.deal.seed, *record.deal.nonces]
    game = CarpetBySight(seed)
    dealt = False
    with_cards = 0
    plies = 0
    own_moves = [move.move for move in record.moves if move.seat == seat]
    for message in guest.heard:
        if isinstance(message, Result) or (isinstance(message, Room) and message.record is not None):
            assert message.record == record
            break
        match message:
            case Dealt():
                dealt = True
            case PlayerView(ply=ply) | CurrentView(ply=ply):
                while plies < ply:
                    game.play(own_moves[plies])
                    plies += 1
            case Room(view=view, seats=seats) if view is not None:
                dealt = True
                while plies < seats[seat].ply:
                    game.play(own_moves[plies])
                    plies += 1
            case _:
                pass
        shown = cards_in(message)
        assert dealt or not shown, f"a card before the deal: {message}"
        assert shown <= game.seen, f"{guest.player.name} was shown {shown - game.seen} by {message}"
        if isinstance(message, (Progress, Hidden)):
            assert not shown
        written = msgspec.json.encode(message).decode()
        assert not any(secret in written for secret in secrets)
        with_cards += bool(shown)
    else:
        raise AssertionError("the race had no result")
    return with_cards


async def play_at_random(table: Table, room: ServedRoom, guests: list[Guest], chance: random.Random) -> None:
    while room.core.race.phase != "over":
        guest = chance.choice(guests)
        if guest.state != "racing" or guest.view is None or not guest.view.moves:
            await trio.sleep(0.5)
            continue
        what = chance.random()
        if what < 0.80:
            guest.move(room, chance.choice(guest.view.moves))
        elif what < 0.86:
            guest.ask(
                room,
                Move(race=1, seat=guest.seat or 0, ply=chance.randrange(guest.ply + 3), move=chance.choice(["s", "a1", "w", "w:b2", "?"])),
            )
        elif what < 0.91:
            await guest.vanish(room)
            await table.settle()
            guest.enter(room)
        elif what < 0.96:
            guest.enter(room, version=0)
        elif what < 0.98:
            room.catch_up(guest.player.id, guest)
        elif what < 0.985:
            guest.stop(room)
        else:
            guest.move(room, "s", seat=(guest.seat or 0) ^ 1)
        await table.settle()
        if chance.random() < 0.3:
            await trio.sleep(chance.random())
        if guest.ply > 40 and chance.random() < 0.02:
            guest.stop(room)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
async def test_no_message_of_whole_races_holds_a_card_its_reader_has_not_seen(
    autojump_clock: MockClock, nursery: trio.Nursery, seed: int
) -> None:
    chance = random.Random(seed)
    table = Table(nursery, seed=seed, max_rooms=RACES)
    with_cards = refused = 0
    for number in range(RACES // 4):
        guests = [table.guest(f"Ann {number}", round_trip_ms=chance.choice([None, 0, 90, 400])), table.guest(f"Bob {number}")]
        room = await table.seated(*guests, bots=("random", "greedy") if number % 3 == 0 else ("random",), grace_s=600)
        for guest in guests:
            guest.ready(room, nonce=chance.randbytes(16).hex())
            guest.say(room, "KD? QS!")
        await play_at_random(table, room, guests, chance)
        await table.settle()
        record = room.core.race.record
        assert record is not None
        for seat, guest in enumerate(guests):
            assert guest.gaps == []
            with_cards += check(guest, seat, record)
            refused += len(guest.codes)
        for guest in guests:
            guest.leave(room)
        await table.settle()
    assert with_cards > 200
    assert refused > 20


ALL_ACES_LIFTED = ("carpet", "carpet-redeal", "carpet-strategy", "carpet-free")
NOTHING_LIFTED = ("carpet-aces-in", "carpet-whist")
SHOWN_OF_THE_STOCK = {"carpet-strategy": 3}


def order_of_light(rules: str, seed: bytes) -> list[str]:
    """The cards that are not lifted before the deal, in the order in which they come to light."""
    decks = RULE_SETS[rules].decks
    deck = shuffle(fresh_deck(decks), seed, b"deal")
    lifted = set()
    if rules not in NOTHING_LIFTED:
        lifted = {deck.index(card) for card in fresh_deck() if rank(card) == 1 or (rank(card) == 13 and rules not in ALL_ACES_LIFTED)}
    return [CARD_TEXT[card] for place, card in enumerate(deck) if place not in lifted]


def cards_of_view(view: View) -> Counter[str]:
    return Counter([*chain.from_iterable(view.piles.values()), *view.waste, *view.stock_next])


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULE_SETS)
async def test_under_every_rule_set_cards_come_to_light_in_the_order_of_the_deck(
    autojump_clock: MockClock, nursery: trio.Nursery, rules: str
) -> None:
    chance = random.Random(rules)
    table = Table(nursery, seed=len(rules))
    for number in range(5):
        guests = [table.guest(f"Ann {number}"), table.guest(f"Bob {number}")]
        room = await table.seated(*guests, rules=rules, bots=("random",), grace_s=600)
        for guest in guests:
            guest.ready(room, nonce=chance.randbytes(16).hex())
        await play_at_random(table, room, guests, chance)
        await table.settle()
        record = room.core.race.record
        assert record is not None
        order = order_of_light(rules, bytes.fromhex(record.deal.seed))
        stock = least = len(order)
        for guest in guests:
            for message in guest.heard:
                if isinstance(message, Result) or (isinstance(message, Room) and message.record is not None):
                    break
                view = getattr(message, "view", None)
                if view is None:
                    assert not cards_in(message)
                    continue
                assert isinstance(view, View)
                # What has been in the stock and is there again after a redeal has all been seen.
                stock = view.stock if not view.redeals < RULE_SETS[rules].redeals else 0
                least = min(least, stock)
                seen = Counter(order[: len(order) - stock + SHOWN_OF_THE_STOCK.get(rules, 0)])
                assert cards_of_view(view) <= seen
        assert least < len(order)
        assert guests[0].gaps == guests[1].gaps == []
