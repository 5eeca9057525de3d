"""From what the store keeps of a tournament to its course."""

from __future__ import annotations

from collections.abc import Iterable

from server.store.port import TournamentDecided, TournamentMade
from server.tournaments.documents import BadDocument, decode_choice, decode_making
from server.tournaments.state import Course, new_course
from server.tournaments.tournament import Refused


def course_of(made: TournamentMade, log: Iterable[TournamentDecided]) -> Course:
    """Raises BadDocument, also where the log holds what could not be decided."""
    making = decode_making(made.document)
    fresh = new_course(
        made.tournament,
        making.options,
        code=making.code,
        director=made.director,
        director_name=making.director_name,
        root=made.secret,
        made_at_ms=made.at_ms,
    )
    return reduced(fresh, log)


def reduced(course: Course, log: Iterable[TournamentDecided]) -> Course:
    """The course after the entries that follow it. Raises BadDocument."""
    for entry in log:
        try:
            course = course.after(decode_choice(entry.decision), at_ms=entry.at_ms, author=entry.author)
        except Refused as error:
            raise BadDocument(f"decision {entry.sequence} of tournament {course.id} could not be taken: {error}") from error
    return course
