"""The table of errors: each has a stable code, whose fault it is, and a sentence. Also the WebSocket close codes.

The table is the only place where an error is defined: the server raises by code, the wire carries the code, the specification prints
the table, and a client may switch on the code. Codes are never renamed or reused; new ones may be added in any release.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple


class Fault(StrEnum):
    """Whose fault an error is."""

    CLIENT = "client"  # the message should not have been sent; sending it again will not help
    STATE = "state"  # the message was fine but came too late, too early or too often; look at the current state
    SERVER = "server"  # the server could not do it; trying again later may help


class ErrorCode(StrEnum):
    """The stable error codes. What each means is in `ERRORS`."""

    BAD_FRAME = "wire/bad-frame"
    BAD_MESSAGE = "wire/bad-message"
    UNKNOWN_TYPE = "wire/unknown-type"
    TOO_DEEP = "wire/too-deep"
    TOO_FAST = "wire/too-fast"
    HELLO_FIRST = "hello/first"
    HELLO_TWICE = "hello/twice"
    BAD_NAME = "hello/bad-name"
    NAME_TAKEN = "hello/name-taken"
    UNKNOWN_TOKEN = "hello/unknown-token"  # noqa: S105  (an error code, not a credential)
    WATCHES_ONLY = "hello/watches-only"
    BANNED = "hello/banned"
    SERVER_FULL = "server/full"
    SERVER_BUSY = "server/busy"
    SERVER_STOPPING = "server/stopping"
    CANNOT_WRITE = "server/cannot-write"
    HOST_SAYS = "server/notice"
    INTERNAL = "server/internal"
    NOT_KEPT = "server/not-kept"
    OLDER_SERVER = "server/older"
    NO_WINNABLE_DEAL = "server/no-winnable-deal"
    CANNOT_DEAL = "server/cannot-deal"
    UNKNOWN_RULES = "room/unknown-rules"
    UNKNOWN_BOT = "room/unknown-bot"
    BAD_OPTIONS = "room/bad-options"
    NO_SUCH_ROOM = "room/no-such-code"
    ROOM_FULL = "room/full"
    TOO_MANY_ROOMS = "room/too-many"
    KEPT_WAITING = "room/kept-waiting"
    ROOM_CLOSED = "room/closed"
    ENDED_BY_HOST = "room/ended-by-host"
    ELSEWHERE = "room/elsewhere"
    NOT_INVITED = "room/not-invited"
    NOT_IN_ROOM = "room/not-in-one"
    ALREADY_IN_ROOM = "room/already-in-one"
    EMPTY_CHAT = "room/empty-chat"
    UNKNOWN_PHRASE = "room/unknown-phrase"
    PHRASES_ONLY = "room/phrases-only"
    ONCE_ONLY = "race/once-only"
    NOT_WAITING = "race/not-waiting"
    NOT_STARTED = "race/not-started"
    RACE_OVER = "race/over"
    RACE_RUNNING = "race/running"
    WRONG_RACE = "race/wrong-race"
    NOT_YOUR_SEAT = "race/not-your-seat"
    SEAT_ENDED = "race/seat-ended"
    STALE_PLY = "race/stale-ply"
    FUTURE_PLY = "race/future-ply"
    BAD_MOVE = "race/bad-move"
    ILLEGAL_MOVE = "race/illegal-move"
    NO_SUCH_DEAL = "run/no-such-deal"
    ALREADY_RUN = "run/already"
    RUN_CLOSED = "run/closed"
    TOO_MANY_CHALLENGES = "run/too-many-challenges"
    NO_SUCH_POSITION = "run/no-such-position"
    OWN_RACE = "watch/own-race"
    NOT_SHOWN = "watch/not-shown"
    WRONG_KEY = "watch/wrong-key"
    NO_KEY = "watch/no-key"
    WATCHED_TOO_OFTEN = "watch/too-often"
    TALKED_TOO_MUCH = "watch/too-much-talk"
    NO_SUCH_TOURNAMENT = "tournament/no-such-id"
    NOT_THE_DIRECTOR = "tournament/not-the-director"
    WRONG_ENTRY_CODE = "tournament/wrong-code"
    TOURNAMENT_FULL = "tournament/full"
    NOT_ENTERED = "tournament/not-entered"
    NOT_NOW = "tournament/not-now"
    DECISION_REFUSED = "tournament/refused"
    BAD_TOURNAMENT = "tournament/bad-options"
    TOO_MANY_TOURNAMENTS = "tournament/too-many"


class ErrorKind(NamedTuple):
    """One row of the error table."""

    fault: Fault
    sentence: str


ERRORS: dict[ErrorCode, ErrorKind] = {
    ErrorCode.BAD_FRAME: ErrorKind(Fault.CLIENT, "That frame is not one MessagePack or JSON map."),
    ErrorCode.BAD_MESSAGE: ErrorKind(Fault.CLIENT, "A field of that message is missing or has the wrong type."),
    ErrorCode.UNKNOWN_TYPE: ErrorKind(Fault.CLIENT, "There is no message of that type."),
    ErrorCode.TOO_DEEP: ErrorKind(Fault.CLIENT, "That message is nested too deeply."),
    ErrorCode.TOO_FAST: ErrorKind(Fault.CLIENT, "Too many messages; slow down, or the connection will be closed."),
    ErrorCode.HELLO_FIRST: ErrorKind(Fault.CLIENT, "The first message on a connection must be hello."),
    ErrorCode.HELLO_TWICE: ErrorKind(Fault.CLIENT, "This connection has already said hello."),
    ErrorCode.BAD_NAME: ErrorKind(Fault.CLIENT, "Nothing printable is left of that name; choose another."),
    ErrorCode.NAME_TAKEN: ErrorKind(Fault.STATE, "Another player has that name; choose another."),
    ErrorCode.UNKNOWN_TOKEN: ErrorKind(Fault.CLIENT, "The server does not know that token; say hello without one."),
    ErrorCode.WATCHES_ONLY: ErrorKind(Fault.CLIENT, "This connection only watches; to race, say hello without `watch` on another."),
    ErrorCode.BANNED: ErrorKind(Fault.STATE, "The host of this server has banned you."),
    ErrorCode.SERVER_FULL: ErrorKind(Fault.SERVER, "The server has no room for another race; try again later."),
    ErrorCode.SERVER_BUSY: ErrorKind(Fault.SERVER, "The server is overloaded; try again in a moment."),
    ErrorCode.SERVER_STOPPING: ErrorKind(Fault.SERVER, "The server is about to stop, so nothing new begins here."),
    ErrorCode.CANNOT_WRITE: ErrorKind(
        Fault.SERVER, "The server cannot save anything just now. Clocks are stopped, and races go on as soon as it can."
    ),
    ErrorCode.HOST_SAYS: ErrorKind(Fault.SERVER, "The host of this server has a message for everybody."),
    ErrorCode.INTERNAL: ErrorKind(Fault.SERVER, "Something went wrong on the server; its log says what."),
    ErrorCode.NOT_KEPT: ErrorKind(Fault.SERVER, "The server cannot save what happens, so this has ended."),
    ErrorCode.OLDER_SERVER: ErrorKind(
        Fault.SERVER, "A newer server has decided something that this one does not understand; connect to another."
    ),
    ErrorCode.NO_WINNABLE_DEAL: ErrorKind(Fault.SERVER, "No winnable deal was found for this race; open it again."),
    ErrorCode.CANNOT_DEAL: ErrorKind(Fault.SERVER, "The search for a winnable deal failed; open the race again later."),
    ErrorCode.UNKNOWN_RULES: ErrorKind(Fault.CLIENT, "The server does not know that rule set."),
    ErrorCode.UNKNOWN_BOT: ErrorKind(Fault.CLIENT, "There is no house bot with that name."),
    ErrorCode.BAD_OPTIONS: ErrorKind(Fault.CLIENT, "Those options do not fit together."),
    ErrorCode.NO_SUCH_ROOM: ErrorKind(Fault.STATE, "No race has that code; ask for it again, or open one."),
    ErrorCode.ROOM_FULL: ErrorKind(Fault.STATE, "Every seat of that race is taken."),
    ErrorCode.TOO_MANY_ROOMS: ErrorKind(Fault.STATE, "Too many races have been opened from your address; join one, or try again later."),
    ErrorCode.KEPT_WAITING: ErrorKind(
        Fault.STATE, "You, or others at your address, did not turn up for opponents; look for one again later."
    ),
    ErrorCode.ROOM_CLOSED: ErrorKind(Fault.STATE, "That race is closed."),
    ErrorCode.ENDED_BY_HOST: ErrorKind(Fault.STATE, "The host of the server has ended this race; it does not count."),
    ErrorCode.ELSEWHERE: ErrorKind(Fault.STATE, "That race is on another server of this place; connect there."),
    ErrorCode.NOT_INVITED: ErrorKind(Fault.STATE, "The seats of that race are reserved for others."),
    ErrorCode.NOT_IN_ROOM: ErrorKind(Fault.STATE, "Open or join a race first."),
    ErrorCode.ALREADY_IN_ROOM: ErrorKind(Fault.STATE, "You hold a seat in another race; leave it first."),
    ErrorCode.EMPTY_CHAT: ErrorKind(Fault.CLIENT, "Nothing printable is left of that line."),
    ErrorCode.UNKNOWN_PHRASE: ErrorKind(Fault.CLIENT, "The server does not know that phrase."),
    ErrorCode.PHRASES_ONLY: ErrorKind(Fault.STATE, "Only phrases can be said here while somebody has yet to play this deal."),
    ErrorCode.ONCE_ONLY: ErrorKind(Fault.STATE, "That deal can be raced only once."),
    ErrorCode.NOT_WAITING: ErrorKind(Fault.STATE, "Seats and readiness can only change before the start."),
    ErrorCode.NOT_STARTED: ErrorKind(Fault.STATE, "The race has not started yet."),
    ErrorCode.RACE_OVER: ErrorKind(Fault.STATE, "That race is over."),
    ErrorCode.RACE_RUNNING: ErrorKind(Fault.STATE, "The race is not over yet."),
    ErrorCode.WRONG_RACE: ErrorKind(Fault.STATE, "That is not the number of this room's current race."),
    ErrorCode.NOT_YOUR_SEAT: ErrorKind(Fault.CLIENT, "You do not hold that seat."),
    ErrorCode.SEAT_ENDED: ErrorKind(Fault.STATE, "Your part of this race has ended."),
    ErrorCode.STALE_PLY: ErrorKind(Fault.STATE, "That ply has been played already; here is the current view."),
    ErrorCode.FUTURE_PLY: ErrorKind(Fault.CLIENT, "That ply is ahead of the race; here is the current view."),
    ErrorCode.BAD_MOVE: ErrorKind(Fault.CLIENT, "That text is not a move."),
    ErrorCode.ILLEGAL_MOVE: ErrorKind(Fault.CLIENT, "That move is not legal in this position."),
    ErrorCode.NO_SUCH_DEAL: ErrorKind(Fault.STATE, "There is no such deal to run; check its id or date."),
    ErrorCode.ALREADY_RUN: ErrorKind(Fault.STATE, "You have had your run of that deal, and only one counts."),
    ErrorCode.RUN_CLOSED: ErrorKind(Fault.STATE, "It is too late to begin a run of that deal."),
    ErrorCode.TOO_MANY_CHALLENGES: ErrorKind(Fault.STATE, "Too many challenges are open; wait until one closes."),
    ErrorCode.NO_SUCH_POSITION: ErrorKind(Fault.STATE, "Nobody can play on from that position."),
    ErrorCode.OWN_RACE: ErrorKind(Fault.STATE, "You are part of that race, so its boards are not shown to you."),
    ErrorCode.NOT_SHOWN: ErrorKind(Fault.STATE, "That race is not shown while others may still play its deal."),
    ErrorCode.WRONG_KEY: ErrorKind(Fault.CLIENT, "That is not the key to this race's boards."),
    ErrorCode.NO_KEY: ErrorKind(Fault.STATE, "Only the host of an unrated race (no swap) or its tournament's director can have this key."),
    ErrorCode.WATCHED_TOO_OFTEN: ErrorKind(Fault.STATE, "You are switching races too often; wait a few seconds."),
    ErrorCode.TALKED_TOO_MUCH: ErrorKind(Fault.STATE, "Too much is being said there; say it again in a few seconds."),
    ErrorCode.NO_SUCH_TOURNAMENT: ErrorKind(Fault.STATE, "There is no tournament with that id; see `carpet tournament list`."),
    ErrorCode.NOT_THE_DIRECTOR: ErrorKind(Fault.CLIENT, "Only the director of a tournament may do that."),
    ErrorCode.WRONG_ENTRY_CODE: ErrorKind(Fault.CLIENT, "That tournament needs an entry code, and this is not it."),
    ErrorCode.TOURNAMENT_FULL: ErrorKind(Fault.STATE, "Every place of that tournament is taken."),
    ErrorCode.NOT_ENTERED: ErrorKind(Fault.STATE, "That player has not entered that tournament."),
    ErrorCode.NOT_NOW: ErrorKind(Fault.STATE, "That cannot be done at this stage of the tournament."),
    ErrorCode.DECISION_REFUSED: ErrorKind(Fault.STATE, "The rules of that tournament do not allow this."),
    ErrorCode.BAD_TOURNAMENT: ErrorKind(Fault.CLIENT, "Those options do not fit together in a tournament."),
    ErrorCode.TOO_MANY_TOURNAMENTS: ErrorKind(Fault.STATE, "There are too many tournaments; end one first."),
}


class CloseCode(IntEnum):
    """Our own WebSocket close codes (4000-4999), in addition to the standard ones named in the specification."""

    HELLO_TIMEOUT = 4001  # no hello within ten seconds
    TOO_MANY_ERRORS = 4002  # a peer that keeps sending things that are not messages
    BANNED = 4003  # the host has banned this player, or everybody at this address
    ENDED_BY_HOST = 4004  # the host has closed this connection; another may be opened
    TOO_SLOW = 4008  # read nothing for 20 seconds while messages waited, or fell behind twice within a minute of watching
    TAKEN_OVER = 4009  # a newer connection of the same player
    LET_GO = 4010  # this server has left the place: reconnect to any other
    FLOOD = 4029  # went on sending too fast after being told


SAID_BY_DETAIL: Final = frozenset({ErrorCode.NOT_NOW, ErrorCode.NO_SUCH_POSITION})
"""Of these the detail says all that the code's own sentence does, and more."""


class Refusal(Exception):
    """A request is refused: it is answered with an error, and nothing has changed.

    detail: what exactly was wrong; may be empty. path: the field to blame, as `$.field[0]`, if there is one. retry_after_ms: when the
    same may be asked again, if only time is needed.
    """

    def __init__(self, code: ErrorCode, detail: str = "", *, path: str = "", retry_after_ms: int = 0) -> None:
        self.retry_after_ms = retry_after_ms
        self.code = code
        self.detail = detail
        self.path = path
        super().__init__(code, detail, path)

    def __str__(self) -> str:
        return self.sentence

    @property
    def fault(self) -> Fault:
        return ERRORS[self.code].fault

    @property
    def sentence(self) -> str:
        """One sentence for a person: the code's own, followed by the detail, or that alone."""
        sentence = ERRORS[self.code].sentence
        if self.detail and self.code in SAID_BY_DETAIL:
            return f"{self.detail[0].upper()}{self.detail[1:]}."
        return f"{sentence} ({self.detail})" if self.detail else sentence
