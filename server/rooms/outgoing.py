"""A message on its way out, encoded at most once per encoding, no matter how many it goes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from protocol.codec import encode
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import Error, ServerMessage


class Outgoing(Struct, eq=False, gc=False):
    """One message to any number of members.

    frames: where the transport keeps what it makes of the message. payloads: the message as encoded so far; None before the first time.
    """

    message: ServerMessage
    frames: dict[str, bytes] = {}
    payloads: dict[str, bytes] | None = None

    def payload(self, subprotocol: str) -> bytes:
        """The encoded message, for callers that do not use `frames`."""
        payloads = self.payloads
        if payloads is None:
            payloads = self.payloads = {}
        elif subprotocol in payloads:
            return payloads[subprotocol]
        payload = payloads[subprotocol] = encode(self.message, subprotocol)
        return payload


class Bundle:
    """Messages that go to many connections together, in their order. frames: for the transport, as in `Outgoing`."""

    __slots__ = ("frames", "messages")

    def __init__(self, messages: Iterable[Outgoing]) -> None:
        self.messages = tuple(messages)
        self.frames: dict[str, bytes] = {}


def refused(refusal: Refusal, ref: int) -> Outgoing:
    """The error that tells why the request with this `ref` was refused; a ref of 0 answers no request."""
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
"""For everybody who is shown a clock: it stands still, and answers to their requests have to wait."""
