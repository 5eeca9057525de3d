"""A server's metrics for its host's monitoring: the name, the meaning and the source of each."""

from __future__ import annotations

from collections.abc import Callable

from server.lobby.matchmaker import Matchmaker
from server.lobby.players import Players
from server.net.connection_limits import Admission
from server.net.http import Site
from server.net.traffic import Traffic
from server.rooms.registry import Rooms
from server.runtime.figures import AnyFigure, DurationFigure, Figure, FigureBy
from server.runtime.workers import Workers
from server.store.journal import Journal


def figures(
    *,
    admission: Admission,
    site: Site,
    rooms: Rooms,
    players: Players,
    journal: Journal,
    matchmaker: Matchmaker,
    workers: Workers,
    traffic: Traffic,
    directory_available: Callable[[], bool] | None,
) -> tuple[AnyFigure, ...]:
    """directory_available: whether the Valkey or Redis of the place answers; None for a server on its own."""
    counts = journal.statistics
    of_place: tuple[AnyFigure, ...] = ()
    if directory_available is not None:
        of_place = (Figure("directory_available", "1 while the Valkey or Redis of the place answers.", directory_available),)
    return (
        Figure("connections", "Connections that are open.", lambda: admission.inside),
        FigureBy(
            "refused_connections",
            "Connections that were not let in: too many in all, from their address, or too much to do.",
            "reason",
            lambda: {**admission.refusals, **traffic.refused_connections},
        ),
        Figure("refused_pages", "Requests by HTTP that were too many from their address.", lambda: site.refused, "counter"),
        FigureBy("dropped_messages", "Messages beyond the rate: too many, or of too high a price.", "reason", lambda: traffic.dropped),
        FigureBy("errors", "Errors that clients were told.", "code", lambda: traffic.errors),
        Figure("moves", "Moves that were accepted and acknowledged.", lambda: traffic.moves, "counter"),
        FigureBy("refused_moves", "Moves that were refused.", "code", lambda: traffic.refused_moves),
        DurationFigure("move_seconds", "From the reading of a move to its acknowledgement.", traffic.move_s),
        FigureBy(
            "queue_length",
            "How many wait: requests for a commit, jobs for a worker, players for an opponent.",
            "queue",
            lambda: {"journal": journal.waiting, "workers": workers.waiting, "quick-match": len(matchmaker)},
            "gauge",
        ),
        Figure("rooms", "Races that are held: waiting, running or over.", lambda: len(rooms)),
        Figure("players_connected", "Players who are connected.", lambda: len(players)),
        Figure("journal_requests", "Requests that the journal has written.", lambda: counts.requests, "counter"),
        Figure("journal_entries", "Entries that the journal has written.", lambda: counts.entries, "counter"),
        Figure("journal_refused", "Requests that did not fit what the store has.", lambda: counts.refused, "counter"),
        Figure("journal_failed_commits", "Commits that failed.", lambda: counts.failed_commits, "counter"),
        Figure("journal_outages", "Times when nothing could be written.", lambda: counts.outages, "counter"),
        Figure("journal_available", "1 while the store can be written, as far as is known.", lambda: journal.available),
        Figure("journal_commits", "Commits.", lambda: counts.batches, "counter"),
        Figure("journal_commit_seconds", "Seconds spent in commits.", lambda: counts.commit_s, "counter"),
        Figure("journal_slowest_commit_seconds", "The slowest commit since the start.", lambda: counts.max_commit_s),
        *of_place,
    )
