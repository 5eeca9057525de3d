"""Decides who in a room is told what, and under which version. Owns the versions and the last events.

`race.view` says what an event looks like to a viewer, and the driver when a message goes out. Changes nothing in a race.
"""

from __future__ import annotations

from copy import copy
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from protocol.room_events import Ghost, Ratings, ReadyDue, RematchAsked, Result, RoomEvent, Said, Scored
from protocol.room_events import Room as RoomMessage
from protocol.views import ChatLine, SeatRating
from server.race.board_history import history_of
from server.race.events import MovePlayed, RaceEvent, SeatDealt, StartSet
from server.race.machine import Race
from server.race.seat import Seat
from server.race.view import Viewer, current_view, progress_curves, snapshot, tell, tell_alike, tell_apart
from server.rooms.effects import Draft, Greeting
from server.rooms.ghosts import Ghosts
from server.rooms.history import History
from server.rooms.member import Member
from server.rooms.members import Members
from server.rooms.outgoing import Outgoing
from server.rooms.series_state import SeriesState
from server.rooms.spectator_port import Happened, Shown

CHAT_KEPT = 50
"""Lines of chat in a snapshot; latecomers do not see older ones."""


UNNUMBERED: Final = 0
"""Stands for the version of an event that is still to be published."""


class ReadyWanted(Struct, frozen=True):
    """Whoever is not ready at this moment loses their seat. Told as the time that is left until then."""

    until: int


OwnEvent: TypeAlias = RematchAsked | Said | Scored | Ratings | Result | Ghost | ReadyWanted
"""An event of the room rather than of its race, of which everybody is told the same: this message, with its version."""


class MoveMade(Struct, frozen=True, gc=False):
    """All that is kept of a move for those who come back: the seat has the rest. Keeping positions took a sixth more memory per race."""

    seat: int
    ply: int


RETOLD_MOVES = 300
"""How many moves at most are replayed to tell somebody what they missed. Beyond that, a snapshot is quicker."""


class Broadcast:
    """Tells the members and spectators of one room. `now` is the room's time in milliseconds: it turns moments into time left."""

    def __init__(
        self,
        members: Members,
        draft: Draft,
        ghosts: Ghosts,
        *,
        version: int,
        ratings: tuple[SeatRating, ...],
        series: SeriesState,
    ) -> None:
        """version: of the last event ever told, 0 before the first. ratings: how the race, if it is over, changed those of its players.

        series: read for each snapshot.
        """
        self.watched = False
        """Whether anybody has ever watched."""
        self.again: set[int] = set()
        """The seats that have asked for a rematch of the current race."""
        self.ready_until: int | None = None
        """When those who are not ready lose their seats; None while nobody is waited for."""
        self.unseen: dict[int, Seat] = {}
        """Seats whose win nobody else may know of yet, as they were before it."""
        self._ghosts = ghosts
        self._series = series
        self._chat: list[ChatLine] = []
        self._ratings = ratings
        self._history: History[RaceEvent | OwnEvent | MoveMade] = History()
        self._history.version = version
        self._members = members
        self._draft = draft

    # ---- to everybody

    def publish(self, event: RaceEvent | OwnEvent, race: Race, now: int) -> None:
        """Tell everybody of an event, each only what they may know."""
        if isinstance(event, (MovePlayed, SeatDealt)):
            self.publish_apart(event, race, now)
            return
        version, in_race = self._history.add(event), None
        if isinstance(event, OwnEvent):
            self._note(event)
            message = _own_message(event, version=version, now=now)
        else:
            in_race = event
            if isinstance(event, StartSet):
                # In a series, the previous race's ratings arrived after this race had been opened.
                self._ratings = ()
            message = tell_alike(event, version=version, now=now, sealed=race.sealed)
        self.everybody(Outgoing(message))
        self._tell_spectators(message, in_race, race, now)

    def _note(self, event: OwnEvent) -> None:
        match event:
            case RematchAsked(seat=seat):
                self.again.add(seat)
            case Said(line=line):
                self._chat = [*self._chat[-(CHAT_KEPT - 1) :], line]
            case Ratings(seats=seats):
                self._ratings = seats
            case _:
                pass

    def publish_apart(self, event: MovePlayed | SeatDealt, race: Race, now: int) -> None:
        """Tell one thing to the seat that the event is about, and another to everybody else."""
        version = self._history.add(MoveMade(event.seat, event.ply) if type(event) is MovePlayed else event)
        player = race.seats[event.seat].player
        own, others = tell_apart(event, version=version, now=now, sealed=race.sealed)
        to_others = Outgoing(others)
        told = self._draft.effects.told
        for other, member in self._members.connections.items():
            told.append((member, to_others if other != player else Outgoing(own)))
        self._tell_spectators(others, event, race, now)

    def _tell_spectators(self, message: RoomEvent, event: RaceEvent | None, race: Race, now: int) -> None:
        if self.watched:
            self._draft.effects.told.append(Happened(message, event, now, race.sealed))

    def everybody(self, outgoing: Outgoing) -> None:
        """The same message to all who are here, encoded once."""
        told = self._draft.effects.told
        for member in self._members.connections.values():
            told.append((member, outgoing))

    def start_over(self, race: Race, now: int) -> None:
        """Another race has begun: give everybody a snapshot, and never again tell of what came before."""
        self.again.clear()
        self._ratings = ()
        self._history.forget()
        # Nobody has been dealt to yet, so snapshots differ only in the viewer's seat.
        room = self._room(None, race, now)
        for player, member in self._members.connections.items():
            self.one(member, Outgoing(replace(room, seat=_viewer(race, player))))
            self._greet(member, race)
        if self.watched:
            self._draft.effects.told.append(room)

    # ---- to one

    def one(self, member: Member, outgoing: Outgoing) -> None:
        """A message to one connection."""
        self._draft.effects.told.append((member, outgoing))

    def bring_up_to_date(self, player: str, member: Member, version: int, race: Race, now: int, *, ref: int) -> None:
        """Tell what was missed since `version`; everything if that is no longer known, or for 0. ref: of the request this answers."""
        missed = self._missed(version, race) if version > 0 else None
        if missed is None:
            self.snapshot(player, member, race, now, ref=ref)
            return
        viewer = _viewer(race, player)
        for number, event in missed:
            self.one(member, Outgoing(_message(event, race, version=number, viewer=viewer, now=now)))
        # A move that was refused, or answered on a dead connection, leaves a client unsure of its own position. This settles it.
        self.current_view(player, member, race, ref=ref)
        self._greet(member, race)

    def _missed(self, version: int, race: Race) -> list[tuple[int, RaceEvent | OwnEvent]] | None:
        """What has happened since, each event with its version; None if some of it is no longer known."""
        kept = self._history.after(version)
        if kept is None:
            return None
        items = list(kept)
        plies: dict[int, list[int]] = {}
        for _, item in items:
            if isinstance(item, MoveMade):
                plies.setdefault(item.seat, []).append(item.ply)
        if sum(made[-1] for made in plies.values()) > RETOLD_MOVES:
            return None
        retold = {seat: race.seats[seat].retold(made[0], first=race.deal.firsts[seat]) for seat, made in plies.items()}
        missed: list[tuple[int, RaceEvent | OwnEvent]] = []
        for number, item in items:
            event = retold[item.seat].get(item.ply) if isinstance(item, MoveMade) else item
            if event is None:
                return None
            missed.append((number, event))
        return missed

    def snapshot(self, player: str, member: Member, race: Race, now: int, *, ref: int = 0) -> None:
        """Tell all that this player may know."""
        self.one(member, Outgoing(self._room(_viewer(race, player), race, now, ref=ref)))
        self._greet(member, race)

    def tell_anew(self, race: Race, now: int) -> None:
        """Give everybody a snapshot, and whoever comes back from an earlier version too."""
        self._history.forget()
        for player, member in self._members.connections.items():
            self.snapshot(player, member, race, now)

    def current_view(self, player: str, member: Member, race: Race, *, ref: int = 0) -> None:
        """Tell a player their current position, if they have been dealt one."""
        seat = race.seat_of(player)
        view = current_view(race, seat, ref=ref) if seat is not None else None
        if view is not None:
            self.one(member, Outgoing(view))

    def shown(self, race: Race, now: int, *, with_boards: bool) -> Shown:
        """All that somebody without a seat may know."""
        seen = self.as_seen_by(None, race)
        boards = history_of(seen) if with_boards else None
        return Shown(self._room(None, race, now), progress_curves(seen), boards, race.sealed)

    def as_seen_by(self, viewer: Viewer, race: Race) -> Race:
        """The race without what this viewer may not know yet."""
        if not self.unseen or self.unseen.keys() == {viewer}:
            return race
        seen = copy(race)
        seen.seats = [seat if seat.number == viewer else self.unseen.get(seat.number, seat) for seat in race.seats]
        return seen

    def _room(self, viewer: Viewer, race: Race, now: int, *, ref: int = 0) -> RoomMessage:
        return snapshot(
            self.as_seen_by(viewer, race),
            version=self._history.version,
            viewer=viewer,
            now=now,
            again=frozenset(self.again),
            chat=tuple(self._chat),
            ratings=self._ratings,
            series=self._series.info,
            ghosts=self._ghosts.infos(race),
            won=self._series.won,
            ready_until=self.ready_until,
            ref=ref,
        )

    def _greet(self, member: Member, race: Race) -> None:
        if self.watched:
            self._draft.effects.told.append(Greeting(member, race.phase == "racing"))


def _viewer(race: Race, player: str) -> Viewer:
    seat = race.seat_of(player)
    return seat.number if seat is not None else None


def _own_message(event: OwnEvent, *, version: int, now: int) -> RoomEvent:
    if isinstance(event, ReadyWanted):
        return ReadyDue(version=version, left_ms=max(event.until - now, 0))
    return replace(event, version=version)


def _message(event: RaceEvent | OwnEvent, race: Race, *, version: int, viewer: Viewer, now: int) -> RoomEvent:
    if isinstance(event, OwnEvent):
        return _own_message(event, version=version, now=now)
    return tell(event, version=version, viewer=viewer, now=now, sealed=race.sealed)
