"""House bots as members of a room. They hold the last seats, and receive messages and make requests just as players do.

Owns their pace and the thread in which a long thought runs. Must not know the room or the race: a bot has a view, a strategy and a way
to ask.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TypeAlias

import trio

from protocol.client_messages import Move, Rematch
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Dealt, PlayerView, Progress, Result, Room
from protocol.server_messages import CurrentView, Error
from protocol.views import RaceOptions, SeatState, View
from server.bots.house import HouseBot, UnknownBot, house_bot
from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.member import Member, PlayerName
from server.rooms.outgoing import Outgoing

Asking: TypeAlias = "Callable[[BotPlayer, Move | Rematch], None]"

PACE_S = (0.7, 1.9)
"""Seconds that a bot takes for a move, evenly distributed: about what a person who knows the game needs."""

HURRY = 0.1
"""The share of such a pause that a bot takes once no person plays any more: everybody waits for the result then. It makes no move that it
would not have had the time for at its usual pace."""

THOUGHTS = 1
"""How many long thoughts run at once in the whole server. Threads share one interpreter lock, so each one that computes delays the moves of
all rooms a little. Other bots wait their turn."""


class BotPlayer(Member):
    """One bot in one room, as a `Member`; `run` plays whenever there is something to play."""

    def __init__(
        self,
        *,
        player: PlayerName,
        bot: HouseBot,
        options: RaceOptions,
        seed: int,
        waits: bool,
        thoughts: trio.CapacityLimiter,
        ask: Asking,
    ) -> None:
        """seed: of all its randomness. waits: play at a person's pace, not as fast as it thinks. thoughts: shared by all bots."""
        self.player = player
        self._bot = bot
        self._rules = options.rules
        self._random = random.Random(seed)  # noqa: S311  (a bot's whims, not a secret)
        self._waits = waits
        self._thoughts = thoughts
        self._ask = ask
        self._strategy = bot.make(options.rules, self._random.getrandbits(32))
        self._race = 1
        self._seat = 0
        # Only the newest view matters, so it replaces the one before: there is no queue that could fill up.
        self._ply = 0
        self._view: View | None = None
        self._starts_in_s = 0.0
        # The seats of people, and those of them who still play. The bots have the last seats.
        self._people = frozenset(range(options.seats - len(options.bots)))
        self._playing = set(self._people)
        # When its time is up; and how many seconds it is ahead of its usual pace.
        self._limit_s = options.time_limit_s
        self._ends_at = math.inf
        self._ahead_s = 0.0
        self._again = False
        self._done = False
        self._news = trio.Event()

    @property
    def round_trip_ms(self) -> int:
        return 0

    def post(self, outgoing: Outgoing) -> None:
        match outgoing.message:
            case Progress(seat=seat, state=state):
                if state != "racing":
                    self._playing.discard(seat)
                return
            case Room(race=race, phase=phase, seat=int(seat), seats=seats, view=view, elapsed_ms=elapsed_ms):
                # It need not be a new race: the room is sent again after an outage of the store, or after the process was suspended.
                if race != self._race:
                    self._race, self._done = race, False
                    self._strategy = self._bot.make(self._rules, self._random.getrandbits(32))
                # A race is already over at this point only if the server has brought the room back.
                self._again = phase == "over"
                self._playing = {number for number in self._people if seats[number].state in ("waiting", "racing")}
                self._ends_at = trio.current_time() + self._limit_s - elapsed_ms / 1000
                self._stand(seat, seats[seat].ply, seats[seat].state, view)
            case Dealt(seat=seat, view=view, starts_in_ms=starts_in_ms):
                self._seat, self._ply, self._view = seat, 0, view
                self._starts_in_s = starts_in_ms / 1000
                self._ends_at, self._ahead_s = trio.current_time() + self._starts_in_s + self._limit_s, 0.0
            case PlayerView(ply=ply, view=view, state=state):
                self._ply, self._view = ply, view if state == "racing" else None
            case CurrentView(race=race, seat=seat, ply=ply, view=view, state=state):
                self._race = race
                self._stand(seat, ply, state, view)
            case Result(record=record):
                self._race, self._view, self._again = record.race, None, True
            case Error(code=ErrorCode.RACE_OVER):
                # Somebody has won. Until the race is settled this seat is racing on paper only: none of its later moves can count either.
                self._done, self._view = True, None
            case _:
                return
        self._news.set()

    def _stand(self, seat: int, ply: int, state: SeatState, view: View | None) -> None:
        """Take over the state of its seat, whatever it was told before."""
        self._seat, self._ply = seat, ply
        self._view = view if state == "racing" and not self._done else None

    async def run(self) -> None:
        """Play until cancelled."""
        while True:
            await self._news.wait()
            self._news = trio.Event()
            try:
                if self._again:
                    self._again = False
                    self._ask(self, Rematch(race=self._race))
                elif self._view is not None:
                    await self._play(self._view, self._ply)
            except Refusal:
                # The room has closed.
                return

    async def _play(self, view: View, ply: int) -> None:
        began = trio.current_time()
        if self._bot.thinks:
            # Other rooms must not wait for a thought. Abandoning it is safe: all a strategy does is return a move.
            move = await trio.to_thread.run_sync(self._strategy.choose, view, abandon_on_cancel=True, limiter=self._thoughts)
        else:
            move = self._strategy.choose(view)
        pause = self._random.uniform(*PACE_S) if self._waits else 0.0
        if self._people and not self._playing:
            thought = trio.current_time() - began
            usual, pause = max(pause, thought), max(pause * HURRY, thought)
            if began + self._ahead_s + usual > self._ends_at:
                return
            self._ahead_s += usual - pause
        starts_in_s, self._starts_in_s = self._starts_in_s, 0.0
        await trio.sleep_until(began + starts_in_s + pause)
        # It may have been sent the same view again meanwhile, so compare by value.
        if self._view == view:
            self._ask(self, Move(race=self._race, seat=self._seat, ply=ply, move=move))


def house_bots(options: RaceOptions, *, alone: bool = False) -> dict[int, HouseBot]:
    """The bots by seat. alone: they may take every seat. Raises Refusal for an unknown bot, or if no seat is left for the opener."""
    if len(options.bots) >= options.seats + alone:
        raise Refusal(ErrorCode.BAD_OPTIONS, f"{len(options.bots)} bots leave no seat of {options.seats}", path="$.options.bots")
    try:
        bots = [house_bot(name) for name in options.bots]
    except UnknownBot as error:
        raise Refusal(ErrorCode.UNKNOWN_BOT, str(error), path="$.options.bots") from error
    return dict(enumerate(bots, options.seats - len(bots)))


def bot_players(
    options: RaceOptions,
    spec: SharedDealSpec | None,
    *,
    entropy: Callable[[int], bytes],
    waits: bool,
    thoughts: trio.CapacityLimiter,
    ask: Asking,
) -> dict[int, BotPlayer]:
    """The bots by seat, as members of a room. Raises as `house_bots` does."""
    bots = house_bots(options, alone=spec is not None)
    names = (spec.bots if spec is not None else ()) or tuple(bot.name for bot in bots.values())
    return {
        seat: BotPlayer(
            player=PlayerName(house_id(seat), name),
            bot=bot,
            options=options,
            seed=int.from_bytes(entropy(8), "big"),
            waits=waits,
            thoughts=thoughts,
            ask=ask,
        )
        for (seat, bot), name in zip(bots.items(), names, strict=True)
    }


def house_id(seat: int) -> str:
    """The id of the bot on this seat: the same on every server that the race passes through."""
    return f"bot:{seat}"
