"""A room's inbox: the one way in for whoever is not the room's own task. Knows the requests as values, and nothing of what they lead to."""

from __future__ import annotations

from contextlib import suppress

import trio

from protocol.errors import ErrorCode, Refusal
from server.rooms.requests import Ask, CallOff, Close, DealFound, Enter, Exit, Reveal, RoomRequest

INBOX = 256
"""Requests that may wait for the room's task. When it is full, a request is refused with `server/busy` and the player asks again;
comings and goings wait in the task of the connection that has them, which has nothing else to do."""


class Inbox:
    """`ask` and `tell` are for all tasks, the rest is for the room's own."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[RoomRequest](INBOX)

    def ask(self, request: Enter | Ask) -> None:
        """Put a request in. Raises Refusal `server/busy` when there is no space and `room/closed` when nobody reads it any more."""
        try:
            self._send.send_nowait(request)
        except trio.WouldBlock:
            raise Refusal(ErrorCode.SERVER_BUSY) from None
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise Refusal(ErrorCode.ROOM_CLOSED) from None

    async def tell(self, request: Exit | Close | CallOff | Reveal | DealFound) -> None:
        """Put in what must not be lost, waiting for space. Returns at once when the inbox is closed."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._send.send(request)

    def waiting(self) -> RoomRequest | None:
        """The next request that is there already, or None."""
        try:
            return self._receive.receive_nowait()
        except trio.WouldBlock:
            return None

    async def next(self, deadline: float) -> RoomRequest | None:
        """The next request, or None when there was none by `deadline`, a Trio time."""
        # What has arrived is taken before what is due: its stamp is older than the present moment.
        request = self.waiting()
        if request is None:
            with trio.move_on_at(deadline):
                return await self._receive.receive()
        return request

    def close(self) -> list[RoomRequest]:
        """Let nothing in any more; all that is still there."""
        left = []
        while (request := self.waiting()) is not None:
            left.append(request)
        self._receive.close()
        self._send.close()
        return left
