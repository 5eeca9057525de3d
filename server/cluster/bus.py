"""Messages between nodes, by channels of a Valkey or Redis: each hears its own, and one for each race of another node that it shows.

What is said within a tick goes out together: one message per channel, all in one pipeline. Nothing is kept. A node that does not listen at
that moment, or is cut off, misses the message, and notices the gap at the next one it hears. So nothing may depend on a message arriving.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec
import trio

if TYPE_CHECKING:
    from coredis import Redis
    from coredis.patterns.pubsub import PubSub

logger = logging.getLogger("carpet.cluster")

TICK_S: Final = 0.1
"""Seconds between two messages on a channel. Publishing in a pipeline costs a tenth of publishing alone."""

QUEUE_BYTES: Final = 8 * 2**20
"""Bytes that may wait for a tick. When they are used up, more is dropped; listeners notice the gap."""

MESSAGE_BYTES: Final = 2 * QUEUE_BYTES
"""No node says more in a tick: a longer message is not read."""

NODE: Final = "node:"

_UNREADABLE: Final = (ValueError, RecursionError)
"""What msgspec raises for bytes that it cannot read. Not all are its own errors: bad UTF-8 and deep nesting raise others."""

Told = TypeVar("Told")

OnMessage: TypeAlias = Callable[[list[bytes], bool], None]
"""Called with the parts of one message, and whether it directly follows the one heard before. Must not block or raise."""


def readable(texts: Iterable[bytes], decoder: msgspec.msgpack.Decoder[Told]) -> list[Told]:
    """Those of these that can be read: a server of another version may say something else."""
    read: list[Told] = []
    for text in texts:
        with suppress(*_UNREADABLE):
            read.append(decoder.decode(text))
    return read


def node_channel(node: int) -> str:
    """The channel of what is said to this node."""
    return f"{NODE}{node}"


class _Message(msgspec.Struct, array_like=True, frozen=True):
    """publisher: names one connection of a process. serial: numbers its messages on the channel, from 1 up without gaps."""

    publisher: bytes
    serial: int
    parts: list[bytes]


@dataclass(slots=True)
class _Subscription:
    on_message: OnMessage
    others_only: bool
    publisher: bytes = b""
    serial: int = 0


class Bus:
    """`serve` is run by the directory, once for each of its connections. place: a prefix that no other place has."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._publisher = secrets.token_bytes(6)
        self._subscriptions: dict[str, _Subscription] = {}
        self._queue: dict[str, list[bytes]] = {}
        self._queued = 0
        self._serials: dict[str, int] = {}
        self._is_queued = trio.Event()
        self._subscriptions_changed = trio.Event()
        self._decoder = msgspec.msgpack.Decoder(_Message)
        self.is_up = False
        """Whether messages get through, as far as is known."""

    def publish(self, channel: str, part: bytes) -> None:
        """Publish on this channel, at the next tick. Does nothing while the engine is gone."""
        if not self.is_up:
            return
        if self._queued + len(part) > QUEUE_BYTES:
            # Use up a serial, so that listeners notice.
            self._serials[channel] = self._serials.get(channel, 0) + 1
            return
        self._queued += len(part)
        self._queue.setdefault(channel, []).append(part)
        self._is_queued.set()

    def serial(self, channel: str) -> int:
        """Serial of the last message that this process published there, including one that still waits; 0 if there is none."""
        return self._serials.get(channel, 0) + (channel in self._queue)

    def discard(self, channel: str) -> None:
        """Drop what still waits to be published there: nothing more will be for now."""
        self._serials.pop(channel, None)
        for part in self._queue.pop(channel, ()):
            self._queued -= len(part)

    def subscribe(self, channel: str, on_message: OnMessage, *, others_only: bool = False) -> None:
        """Begin, in a moment, to receive what is published there. others_only: except by this node itself."""
        self._subscriptions[channel] = _Subscription(on_message, others_only)
        self._subscriptions_changed.set()

    def heard(self, channel: str) -> int:
        """Serial of the last message that was heard there; 0 if there is none."""
        return self._subscriptions[channel].serial if channel in self._subscriptions else 0

    def unsubscribe(self, channel: str) -> None:
        self._subscriptions.pop(channel, None)
        self._subscriptions_changed.set()

    async def serve(self, client: Redis[bytes], own: str) -> None:
        """Carry messages until cancelled. own: the channel that is always heard. Raises the client's errors when the engine is gone."""
        names = {self._name(channel): channel for channel in (own, *self._subscriptions)}
        try:
            async with client.pubsub(channels=list(names), ignore_subscribe_messages=True, retry_policy=None) as channels:
                self.is_up = True
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._publish_queued, client)
                    nursery.start_soon(self._keep_subscribed, channels, names, own)
                    async for message in channels:
                        channel = names.get(message["channel"].decode() if isinstance(message["channel"], bytes) else message["channel"])
                        if channel is not None and isinstance(message["data"], bytes):
                            self._receive(channel, message["data"])
                    # The loop only ends when the engine is gone.
                    raise ConnectionResetError("nothing is heard any more")
        finally:
            self.is_up = False
            self._queue.clear()
            self._queued = 0
            # The next messages, sent or received, follow nothing.
            self._publisher = secrets.token_bytes(6)
            self._serials.clear()
            for subscription in self._subscriptions.values():
                subscription.publisher, subscription.serial = b"", 0

    def _name(self, channel: str) -> str:
        return f"{self._place}:{channel}"

    def _receive(self, channel: str, data: bytes) -> None:
        subscription = self._subscriptions.get(channel)
        if subscription is None:
            return
        try:
            if len(data) > MESSAGE_BYTES:
                raise ValueError(len(data))
            message = self._decoder.decode(data)
        except _UNREADABLE:
            logger.warning("a message on %s cannot be read", channel)
            return
        follows = subscription.publisher == message.publisher and message.serial == subscription.serial + 1
        subscription.publisher, subscription.serial = message.publisher, message.serial
        if not subscription.others_only or message.publisher != self._publisher:
            subscription.on_message(message.parts, follows)

    async def _keep_subscribed(self, channels: PubSub[bytes], names: dict[str, str], own: str) -> None:
        while True:
            await self._subscriptions_changed.wait()
            self._subscriptions_changed = trio.Event()
            wanted = {self._name(channel): channel for channel in (own, *self._subscriptions)}
            new, gone = [name for name in wanted if name not in names], [name for name in names if name not in wanted]
            names.update(wanted)
            if new:
                await channels.subscribe(*new)
            if gone:
                for name in gone:
                    del names[name]
                await channels.unsubscribe(*gone)

    async def _publish_queued(self, client: Redis[bytes]) -> None:
        while True:
            await self._is_queued.wait()
            self._is_queued = trio.Event()
            queue, self._queue, self._queued = self._queue, {}, 0
            if queue:
                await self._send(client, queue)
            await trio.sleep(TICK_S)

    async def _send(self, client: Redis[bytes], queue: Mapping[str, list[bytes]]) -> None:
        async with client.pipeline(transaction=False) as pipeline:
            # Nodes come last: what is said to one may be about what was said to all.
            for channel, parts in sorted(queue.items(), key=lambda each: each[0].startswith(NODE)):
                serial = self._serials[channel] = self._serials.get(channel, 0) + 1
                pipeline.publish(self._name(channel), msgspec.msgpack.encode(_Message(self._publisher, serial, parts)))
