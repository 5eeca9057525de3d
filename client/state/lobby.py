"""The lobby after the changes that were sent since it came whole. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from protocol.server_messages import Lobby, LobbyChanges
from protocol.views import RunningChange, RunningRaceInfo


def lobby_changed(lobby: Lobby, changes: LobbyChanges, passed_ms: int) -> Lobby:
    """The lobby as it is now. Entries keep their places in the lists, except for the closest race, which comes first.

    passed_ms: the age of `lobby`; the clocks of races without news have gone on by this much.
    """
    races = {info.code: info for info in lobby.races}
    running = {info.code: replace(info, elapsed_ms=elapsed_ms(info, passed_ms)) for info in lobby.running}
    for code in changes.gone:
        races.pop(code, None)
        running.pop(code, None)
    races.update({info.code: info for info in changes.races})
    running.update({info.code: info for info in changes.running})
    for change in changes.progress:
        if change.code in running:
            running[change.code] = _come_on(running[change.code], change)
    first = [running.pop(changes.closest)] if changes.closest in running else []
    return Lobby(
        players=lobby.players if changes.players is None else changes.players,
        players_here=changes.players_here,
        races=tuple(races.values()),
        races_open=changes.races_open,
        races_running=changes.races_running,
        ratings=lobby.ratings if changes.ratings is None else changes.ratings,
        running=(*first, *running.values()),
        seeking=changes.seeking,
    )


def elapsed_ms(info: RunningRaceInfo, passed_ms: int) -> int:
    """What a race's clock shows this long after the info came."""
    return min(info.elapsed_ms + passed_ms, info.time_limit_s * 1000)


def _come_on(info: RunningRaceInfo, change: RunningChange) -> RunningRaceInfo:
    seats = tuple(replace(seat, home=home, state=state) for seat, home, state in zip(info.seats, change.homes, change.states, strict=False))
    return replace(info, seats=seats, watchers=change.watchers, elapsed_ms=change.elapsed_ms)
