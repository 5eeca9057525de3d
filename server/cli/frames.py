"""The command `carpet-server frames`: a race move by move, for people as a list, for programs as what `carpet replay` shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.shared import FileArgument, true_record

if TYPE_CHECKING:
    from protocol.replay import Replay

frames_app = typer.Typer(rich_markup_mode=None)


@frames_app.command(epilog="Example: carpet-server frames race.json --json")
def frames(
    file: FileArgument,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: record, rules, first view, and for each move the view after it.")
    ] = False,
) -> None:
    """Play a race over again, move by move in the order of time.

    Each move comes with what its player saw after it.
    """
    from protocol.replay import to_json
    from server.race.replay import frames as frames_of

    replay = frames_of(true_record(file))
    if as_json:
        # As bytes: whatever the terminal's encoding, the document is UTF-8.
        sys.stdout.buffer.write(to_json(replay) + b"\n")
        return
    for line in _listed(replay):
        typer.echo(line)


def _listed(replay: Replay) -> list[str]:
    from protocol.text import clean_chat, clean_name

    names = [clean_name(seat.name) for seat in replay.record.seats]
    width = max(len(name) for name in names)
    return [
        f"{frame.at_ms / 1000:9.3f} s  {names[frame.seat]:{width}}  {frame.ply:>4}. {clean_chat(frame.move):<6} {frame.view.home:>3} home"
        f"{'' if frame.state == 'racing' else f'  {frame.state}'}"
        for frame in replay.frames
    ]
