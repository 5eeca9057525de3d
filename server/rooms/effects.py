"""Everything that a request to a room leads to, as one value: entries for the journal, messages to members, notices to others.

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
    """The room is closed.

    reason: as its members are told. will_resume: whether the next server takes it up. entries: to be kept, though nobody waits for them.
    """

    reason: str
    will_resume: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Greeting:
    """A member has come back, and needs to be told about the spectators. racing: whether their race is being run."""

    member: Member
    racing: bool


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A player whom a quick match gave no opponent. member: the connection by which they were here. by: the others whom it brought here.

    absent: those of the others who have gone, or were too late, just now. While the player was away, it was not they who kept them waiting.
    """

    player: str
    member: Member
    by: frozenset[str]
    absent: frozenset[str]


SpectatorNotice: TypeAlias = Happened | RoomMessage | Greeting
"""A `RoomMessage` means that another race has begun."""


class Effects(Struct, gc=False):
    """What a request leads to. Fields are in the order of delivery, except that `entries` and `bindings` come first.

    bindings: players who hold a seat here from now on (True) or no longer (False). summary: None if others see no difference.
    told: messages, each with its recipient, and notices for the spectators. shown: those who asked to be shown the room, and what they see.
    ended: the records of races that are over. unmatched: those who look for another opponent. changed: seats, names or phase have changed,
    for example because a race has ended or the room closes. moved: only the progress of seats has.
    """

    entries: list[Entry] = []
    bindings: tuple[tuple[str, bool], ...] = ()
    summary: RoomSummary | None = None
    told: list[tuple[Member, Outgoing] | SpectatorNotice] = []
    shown: tuple[tuple[Callable[[Shown], None], Shown], ...] = ()
    ended: tuple[Record, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    changed: bool = False
    moved: bool = False
    closing: Closing | None = None


class Draft:
    """The effects of the request that is being handled, shared by the parts of a core.

    None are kept between requests: the garbage collector has to look at whatever lives on from one move to the next.
    """

    __slots__ = ("effects",)

    effects: Effects

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start with no effects. Any that nobody has taken are dropped."""
        self.effects = Effects()

    def take(self) -> Effects:
        """Hand out all effects, at the end."""
        effects = self.effects
        del self.effects
        return effects


def tell_together(told: Sequence[tuple[Member, Outgoing] | SpectatorNotice], spectators: SpectatorPort | None) -> None:
    """Deliver what is told, each member's messages together: sending a small message costs more than making it."""
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
