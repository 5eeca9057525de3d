"""A message on its way out, encoded at most once for each encoding however many it goes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from protocol.codec import encode
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import Error, ServerMessage


class Outgoing(Struct, eq=False, gc=False):
    """One message to any number of members. `frames` is for the transport to keep what it makes of the message.

    payloads: what it has been encoded to already; None where that is nothing.
    """

    message: ServerMessage
    frames: dict[str, bytes] = {}
    payloads: dict[str, bytes] | None = None

    def payload(self, subprotocol: str) -> bytes:
        """The encoded message, for who does not keep what they make of it."""
        payloads = self.payloads
        if payloads is None:
            payloads = self.payloads = {}
        elif subprotocol in payloads:
            return payloads[subprotocol]
        payload = payloads[subprotocol] = encode(self.message, subprotocol)
        return payload


class Bundle:
    """Messages that go to many connections together, in their order. `frames` is for the transport, as that of one message is."""

    __slots__ = ("frames", "messages")

    def __init__(self, messages: Iterable[Outgoing]) -> None:
        self.messages = tuple(messages)
        self.frames: dict[str, bytes] = {}


def refused(refusal: Refusal, ref: int) -> Outgoing:
    """The answer to the request that has this `ref`, or 0 where none is meant: why it was refused."""
    return Outgoing(
        Error(
            code=refusal.code,
            fault=refusal.fault,
            message=refusal.sentence,
            path=refusal.path,
            ref=ref,
            retry_after_ms=refusal.retry_after_ms,
        )
    )


CANNOT_WRITE: Final = refused(Refusal(ErrorCode.CANNOT_WRITE), 0)
"""For everybody who is shown a clock: it stands still, and the answers to what they ask have to wait."""
