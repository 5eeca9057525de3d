"""The part of coredis that the bus uses, in memory: channels that can lose messages, and connections that can end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio


class Channels:
    """One subscriber."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = set(names)
        self.send, self._receive = trio.open_memory_channel[tuple[str, bytes]](10_000)

    async def subscribe(self, *names: str) -> None:
        await trio.lowlevel.checkpoint()
        self.names.update(names)

    async def unsubscribe(self, *names: str) -> None:
        await trio.lowlevel.checkpoint()
        self.names.difference_update(names)

    async def __aiter__(self) -> AsyncIterator[dict[str, str | bytes]]:
        async for name, data in self._receive:
            yield {"channel": name, "data": data}


@dataclass
class Pipeline:
    engine: FakeRedis

    def publish(self, name: str, data: bytes) -> None:
        self.engine.publish(name, data)


@dataclass
class FakeRedis:
    """published: the number of messages by channel. lose: messages to channels with this in their name are lost."""

    published: dict[str, int] = field(default_factory=dict)
    lose: str = "nothing"
    subscribers: list[Channels] = field(default_factory=list)

    @asynccontextmanager
    async def pubsub(self, *, channels: Sequence[str], **options: object) -> AsyncIterator[Channels]:
        await trio.lowlevel.checkpoint()
        subscriber = Channels(channels)
        self.subscribers.append(subscriber)
        try:
            yield subscriber
        finally:
            if subscriber in self.subscribers:
                self.subscribers.remove(subscriber)

    @asynccontextmanager
    async def pipeline(self, *, transaction: bool) -> AsyncIterator[Pipeline]:
        assert not transaction
        yield Pipeline(self)
        await trio.lowlevel.checkpoint()

    def publish(self, name: str, data: bytes) -> None:
        self.published[name] = self.published.get(name, 0) + 1
        if self.lose in name:
            return
        for subscriber in self.subscribers:
            if name in subscriber.names:
                subscriber.send.send_nowait((name, data))

    def go(self) -> None:
        """End every connection."""
        gone, self.subscribers = self.subscribers, []
        for subscriber in gone:
            subscriber.send.close()
