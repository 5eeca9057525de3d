"""The short-lived facts that all nodes share, in Valkey or Redis: the lobby, who is connected where, who has a seat in which room.

None of it is the truth, which is in PostgreSQL. While the engine is gone, races go on and each node shows only its own part of the lobby;
once it is back, everything is told again. Each node writes its own entries again and again, and they expire when it is gone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, cast

import anyio
import trio
from coredis import Redis
from coredis.exceptions import RedisError
from coredis.patterns.pipeline import Pipeline

from protocol.codec import MSGPACK, encode, server_message_decoder
from protocol.errors import Refusal
from protocol.server_messages import Lobby
from server.cluster.bus import Bus, node_channel
from server.cluster.node import ClusterNode

logger = logging.getLogger("carpet.cluster")

_BROKEN: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)
"""What coredis also raises, while it cleans up after a lost connection."""

TICK_S: Final = 0.5
"""Seconds between two looks at what the other nodes have written."""

ANSWER_S: Final = 1.0
"""Seconds that the engine has to answer. A hello waits no longer for it."""

AGAIN_S: Final = 1.0
"""Seconds between two attempts to reach the engine."""

LAPSES_S: Final = 5
"""Seconds after which a node's entries expire unless it writes them again."""

ARRIVAL_LAPSES_S: Final = 86_400
ARRIVALS_AGAIN_S: Final = 6 * 3600
"""Seconds after which a node says again who is connected to it, before those entries expire."""

ARRIVALS_AT_ONCE: Final = 500

_ARRIVE: Final = """
local player, arrival, age, prefix = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local key, time = prefix .. ':player:' .. player, redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000) - age
local code = ''
for i = 6, #ARGV do
  code = redis.call('HGET', prefix .. ':seats:' .. ARGV[i], player) or code
end
local before = redis.call('GET', key)
local told = prefix .. ':told:' .. arrival
if age > 0 then
  redis.call('SET', told, '', 'EX', 60)
elseif redis.call('EXISTS', told) == 1 then
  return {before and string.match(before, '^(.*):%d+$') == arrival and 1 or 0, code}
end
if before then
  local last, known = string.match(before, '^(.*):(%d+)$')
  if last ~= arrival then
    if age > 0 and tonumber(known) and tonumber(known) > at then return {0, code} end
    local node = string.match(before, '^%d+')
    if node and node ~= string.match(arrival, '^%d+') then
      redis.call('RPUSH', prefix .. ':moved-on:' .. node, player .. ' ' .. before)
      redis.call('EXPIRE', prefix .. ':moved-on:' .. node, 60)
    end
  end
end
redis.call('SET', key, arrival .. ':' .. string.format('%d', at), 'EX', ARGV[5])
return {1, code}
"""
"""Decides which of a player's connections, over all nodes, said hello last: in one step, by the engine's clock. Returns whether it is this
one, and the code of the room in which the player has a seat at one of the nodes in the last arguments. A hello that is said now always
wins. One that is told later, because the engine was away or has forgotten it, counts with its real age. Where its first telling comes only
after that it changes nothing more: if it won once again, both connections would go.
"""

_CLAIM: Final = """
local player, prefix, own = ARGV[1], ARGV[2], ARGV[2] .. ':seats:' .. ARGV[3]
for i = 4, #ARGV do
  local code = redis.call('HGET', prefix .. ':seats:' .. ARGV[i], player)
  if code then return code end
end
if redis.call('EXISTS', own) == 1 then redis.call('HSETNX', own, player, '') end
return false
"""
"""Notes, in one step, that a player is about to get a seat at this node, unless they have one at another or are about to: then it returns
its code, which is empty until that node has told it. Nothing is noted where nothing is known of this node's seats: it would not be told
that they are forgotten.
"""

AWAY: Final = (RedisError, OSError, trio.TooSlowError, RuntimeError, *_BROKEN)
"""What a request may raise while the engine is away. RuntimeError: the client is being closed because its connection broke."""

TOLD_AT_ONCE: Final = 500
"""Players that a node hears of in one look as having moved on to another node, at most."""


@dataclass(frozen=True, slots=True)
class Topic:
    """Something else that every node tells all others twice a second. say: gives it, empty for nothing. hear: is told the others'."""

    name: str
    say: Callable[[], bytes]
    hear: Callable[[Sequence[bytes]], None]


@dataclass(slots=True)
class _Arrival:
    """A player's connection here. name: unique in the whole place. at: in Trio's time. is_known: whether the engine was told."""

    name: str
    at: float
    is_known: bool = False


class Directory:
    """`run` is its one task. place: a name that all nodes of one place share, and no other place has."""

    def __init__(self, url: str, node: ClusterNode, place: str) -> None:
        self._url = url
        self._node = node
        self._prefix = f"carpet:{place}"
        self.bus = Bus(self._prefix)
        # coredis logs every attempt while the engine is gone; this module says so once.
        logging.getLogger("coredis").setLevel(logging.CRITICAL)
        self._client: Redis[bytes] | None = None  # while it is connected
        self._told_seats: dict[str, str] = {}
        self._was_told = False
        self._serials = count(1)
        self._here: dict[str, _Arrival] = {}
        self._told_all_at = 0.0
        self._decoder = server_message_decoder(MSGPACK)

    @property
    def available(self) -> bool:
        return self._client is not None

    async def run(
        self,
        lobby: Callable[[], Lobby],
        seats: Callable[[], Mapping[str, str]],
        hear: Callable[[Sequence[Lobby]], None],
        moved_on: Callable[[str], None],
        topics: Sequence[Topic] = (),
    ) -> None:
        """Say and hear until cancelled; reconnects by itself after the engine was gone.

        lobby: gives this node's part of the lobby. seats: gives the code of the room in which each player holds a seat here. hear: is told
        the others' parts of the lobby. moved_on: is told of a player who has a newer connection at another node.
        """
        while True:
            try:
                async with Redis.from_url(self._url, max_connections=8, connect_timeout=ANSWER_S, stream_timeout=ANSWER_S) as client:
                    # A seat may have been left meanwhile, or a claim not been given up.
                    await client.delete([self._key("seats", self._node.id)])
                    self._client, self._told_seats = client, {}
                    if self._was_told:
                        logger.warning("the Valkey or Redis of this place answers again")
                    self._was_told = False
                    try:
                        async with trio.open_nursery() as nursery:
                            nursery.start_soon(self.bus.serve, client, node_channel(self._node.id))
                            while True:
                                with trio.fail_after(4 * ANSWER_S):
                                    said = await self._tick(client, lobby(), seats(), topics, moved_on)
                                    hear([told for text in said["lobby"] if (told := self._read(text)) is not None])
                                    for topic in topics:
                                        topic.hear(said[topic.name])
                                    for player in await self._tell_arrivals(client):
                                        moved_on(player)
                                await trio.sleep(TICK_S)
                    finally:
                        # Before the client is closed, which takes a moment.
                        self._client = None
            except* (RedisError, OSError, trio.TooSlowError, *_BROKEN) as group:
                self._lose(group)
            hear(())
            for topic in topics:
                topic.hear(())
            await trio.sleep(AGAIN_S)

    def _lose(self, group: BaseExceptionGroup[Exception]) -> None:
        # When the server ends, the client raises much the same for connections that it closes itself.
        if not self._was_told and trio.current_effective_deadline() > -math.inf:
            self._was_told = True
            why = reason_of(group)
            logger.error("the Valkey or Redis of this place does not answer; races go on, and each server shows its own lobby: %s", why)

    async def _tick(
        self, client: Redis[bytes], lobby: Lobby, seats: Mapping[str, str], topics: Sequence[Topic], moved_on: Callable[[str], None]
    ) -> dict[str, list[bytes]]:
        """Say all that this node has to say, and return what the others have said, by topic. Raises the client's errors.

        Takes one round trip, and one more if the engine knows nothing of the seats here.
        """
        told: list[Awaitable[object]] = []
        heard: dict[str, list[bytes]] = {name: [] for name in ("lobby", *(topic.name for topic in topics))}
        keys = [(name, self._key(name, other)) for name in heard for other in self._others]
        # From now on `claim` adds to it.
        before, self._told_seats = self._told_seats, dict(seats)
        # A full engine refuses to store anything, but still hands out what LPOP takes from it: that must not be lost.
        async with client.pipeline(transaction=False, raise_on_error=False) as pipeline:
            newer = pipeline.lpop(self._key("moved-on", self._node.id), count=TOLD_AT_ONCE)
            told.append(pipeline.set(self._key("lobby", self._node.id), encode(lobby, MSGPACK), ex=LAPSES_S))
            is_known = pipeline.expire(self._key("seats", self._node.id), LAPSES_S)
            told += self._tell_seats(pipeline, before, seats)
            for topic in topics:
                if text := topic.say():
                    told.append(pipeline.set(self._key(topic.name, self._node.id), text, ex=LAPSES_S))
            said = pipeline.mget([key for _, key in keys]) if keys else None
        for player in self._gone_elsewhere(await newer or ()):
            moved_on(player)
        for each in told:
            await each
        if not await is_known:
            # This node or the engine was away, or the engine has forgotten everything. The empty name, no player's, makes sure of a key.
            self._forget_told()
            async with client.pipeline(transaction=False) as pipeline:
                self._tell_seats(pipeline, {}, {**seats, "": ""})
        texts = await said if said is not None else ()
        for (name, _), words in zip(keys, texts, strict=True):
            if words is not None:
                heard[name].append(words)
        return heard

    @property
    def _others(self) -> list[int]:
        return [node for node in self._node.alive if node != self._node.id]

    def _key(self, name: str, node: int) -> str:
        return f"{self._prefix}:{name}:{node}"

    def _gone_elsewhere(self, told: Iterable[bytes]) -> list[str]:
        """Players whose connection here is not their newest."""
        gone: list[str] = []
        for text in told:
            player, _, arrival = text.decode(errors="replace").partition(" ")
            here = self._here.get(player)
            if here is not None and arrival.rpartition(":")[0] == here.name:
                del self._here[player]
                gone.append(player)
        return gone

    def _tell_seats(self, pipeline: Pipeline[bytes], before: Mapping[str, str], seats: Mapping[str, str]) -> list[Awaitable[object]]:
        """Add to the pipeline the seats that have changed."""
        key, told = self._key("seats", self._node.id), list[Awaitable[object]]()
        if gone := [player for player in before if player not in seats]:
            told.append(pipeline.hdel(key, gone))
        if new := {player: code for player, code in seats.items() if before.get(player) != code}:
            told += [pipeline.hset(key, new), pipeline.expire(key, LAPSES_S)]
        return told

    def _read(self, text: bytes) -> Lobby | None:
        try:
            message = self._decoder.decode(text)
        except Refusal:
            # From a node with a newer version.
            return None
        return message if isinstance(message, Lobby) else None

    async def arrive(self, player: str) -> str | None:
        """A player has said hello here: any connection of theirs at another node goes. Returns the code of the room at another node in
        which they have a seat; None if there is none, or nobody answers.
        """
        client, now, code = self._client, trio.current_time(), None
        arrival = self._here[player] = _Arrival(f"{self._node.id}:{next(self._serials)}:{now:.3f}", now)
        if client is None:
            return None
        try:
            with trio.fail_after(ANSWER_S):
                _, code = _answered(await client.eval(*self._arrive(player, arrival, age_ms=0)))
                arrival.is_known = True
        except* AWAY:
            logger.debug("the directory does not answer where a player is connected")
        return code

    def _arrive(self, player: str, arrival: _Arrival, *, age_ms: int) -> tuple[str, list[str], list[str]]:
        """The script, its keys and its arguments."""
        return _ARRIVE, [], [player, arrival.name, str(age_ms), self._prefix, str(ARRIVAL_LAPSES_S), *map(str, self._others)]

    async def _tell_arrivals(self, client: Redis[bytes]) -> list[str]:
        """Tell the engine of hellos that it has not heard. Returns the players who have a newer connection at another node."""
        if trio.current_time() - self._told_all_at > ARRIVALS_AGAIN_S:
            self._forget_told()
        untold = [(player, arrival) for player, arrival in self._here.items() if not arrival.is_known][:ARRIVALS_AT_ONCE]
        if not untold:
            return []
        now = trio.current_time()
        async with client.pipeline(transaction=False) as pipeline:
            answers = [
                pipeline.eval(*self._arrive(player, arrival, age_ms=max(round(1000 * (now - arrival.at)), 1))) for player, arrival in untold
            ]
        gone: list[str] = []
        for (player, arrival), answer in zip(untold, answers, strict=True):
            arrival.is_known = True
            is_last, _ = _answered(await answer)
            if not is_last and self._here.get(player) is arrival:
                del self._here[player]
                gone.append(player)
        return gone

    def _forget_told(self) -> None:
        self._told_all_at = trio.current_time()
        for arrival in self._here.values():
            arrival.is_known = False

    async def claim(self, player: str) -> str | None:
        """They are to get a seat at this node: until the next tick, which tells whether they have, no other gives them one.

        Returns None if they may, or nobody answers. Otherwise the code of the room at another node in which they hold a seat; empty while
        it is only claimed there.
        """
        client, code = self._client, None
        if client is not None:
            arguments = [player, self._prefix, str(self._node.id), *map(str, self._others)]
            try:
                with trio.fail_after(ANSWER_S):
                    code = cast(bytes | None, await client.eval(_CLAIM, [], arguments))
            except* AWAY:
                logger.debug("the directory does not answer where a player has a seat")
            finally:
                # Even if nobody knows whether it came to that.
                self._told_seats.setdefault(player, "")
        return code.decode(errors="replace") if code is not None else None

    def depart(self, player: str) -> None:
        """Their connection here has ended."""
        self._here.pop(player, None)


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a server has to do with the others of its place. A server on its own has no such thing."""

    node: ClusterNode
    directory: Directory


def reason_of(why: BaseException) -> str:
    """The error in one sentence, without the request: a pipeline's error quotes that in full, boards and all, before what was wrong."""
    while isinstance(why, BaseExceptionGroup):
        why = why.exceptions[0]
    return str(why).rpartition(" of pipeline caused error: ")[2] or type(why).__name__


def _answered(answer: object) -> tuple[bool, str | None]:
    """The script's answer: whether this is the player's newest connection, and the code of their room elsewhere."""
    is_last, code = cast(list[Any], answer)
    return bool(is_last), code.decode(errors="replace") or None
