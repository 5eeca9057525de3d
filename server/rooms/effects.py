"""What a request to a room leads to, as one value: entries for the journal, messages to its members, and notices to everybody else.

A driver submits the entries and delivers the rest once they are safe; only `bindings` hold from the moment of the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from msgspec import Struct

from protocol.record import Record
from protocol.room_events import Room as RoomMessage
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing
from server.rooms.spectator_port import Happened, Shown, SpectatorPort
from server.rooms.summary import RoomSummary
from server.store.port import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Nothing happens in the room any more.

    reason: as its members are told. goes_on: the next server goes on with it. entries: to be kept although nobody waits for that.
    """

    reason: str
    goes_on: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Greeting:
    """A member has come back, and is to be told about the spectators. racing: their race is being run."""

    member: Member
    racing: bool


SpectatorNotice: TypeAlias = Happened | RoomMessage | Greeting
"""A whole room where another race has begun."""


class Effects(Struct, gc=False):
    """In the order of delivery, but for `entries` and `bindings`, which come first.

    bindings: players who hold a seat here from now on (True) or no longer (False). summary: None where others see no difference.
    told: messages, each with its recipient, and what is for the spectators. shown: who asked to be shown the room, and what they see.
    ended: records of races that are over. changed: seats, names or phase are not what they were, as where a race has ended, or the room
    closes. moved: only how seats stand.
    """

    entries: list[Entry] = []
    bindings: tuple[tuple[str, bool], ...] = ()
    summary: RoomSummary | None = None
    told: list[tuple[Member, Outgoing] | SpectatorNotice] = []
    shown: tuple[tuple[Callable[[Shown], None], Shown], ...] = ()
    ended: tuple[Record, ...] = ()
    changed: bool = False
    moved: bool = False
    closing: Closing | None = None


class Draft:
    """The effects of the request that is being handled, shared by the parts of a core.

    Between two requests there are none: what lives on from one move to the next is what the collection of garbage has to look at.
    """

    __slots__ = ("effects",)

    effects: Effects

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Something is to be handled, of which there are no effects yet. Those that nobody has taken are forgotten."""
        self.effects = Effects()

    def take(self) -> Effects:
        """All of them, at the end."""
        effects = self.effects
        del self.effects
        return effects


def tell_together(told: Sequence[tuple[Member, Outgoing] | SpectatorNotice], spectators: SpectatorPort | None) -> None:
    """Deliver what is told, each member's messages at once: to send a small one costs more than to make it. spectators: None for none."""
    together: dict[Member, list[Outgoing]] = {}
    for what in told:
        if isinstance(what, tuple):
            together.setdefault(what[0], []).append(what[1])
        elif spectators is not None:
            _post(together)
            tell_spectators(spectators, what)
    _post(together)


def _post(together: dict[Member, list[Outgoing]]) -> None:
    for member, outgoings in together.items():
        member.post_together(outgoings)
    together.clear()


def tell_spectators(spectators: SpectatorPort, notice: SpectatorNotice) -> None:
    match notice:
        case Happened():
            spectators.happened(notice)
        case RoomMessage():
            spectators.starts_over(notice)
        case Greeting(member=member, racing=racing):
            for outgoing in spectators.greeting(racing=racing):
                member.post(outgoing)
        case _:
            assert_never(notice)
