"""`carpet-server cluster`: shows what the servers of one place say about themselves in their database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from protocol.command_line import examples, show_help
from protocol.text import counted
from server.cli.db import DatabaseOption
from server.cli.shared import one_sentence

if TYPE_CHECKING:
    from server.store.nodes import Node

cluster_app = typer.Typer(help="Several servers that form one place to play: see how they are.", rich_markup_mode=None)

cluster_app.callback(invoke_without_command=True)(show_help)


def _as_json(node: Node) -> dict[str, str | int]:
    lease_ms = max(node.left_ms, 0)
    return {"id": node.id, "url": node.url, "epoch": node.epoch, "alive": node.is_alive, "lease_ms": lease_ms, "races": node.races}


@cluster_app.command("status", epilog=examples("carpet-server cluster status --database postgresql://db/carpet"))
def status(
    database: DatabaseOption = None, as_json: Annotated[bool, typer.Option("--json", help="One JSON list instead of text.")] = False
) -> None:
    """List the servers of the place.

    For each: its address, how long its lease lasts, and how many races run on it. Exit status 1 if there are races for which no running
    server is responsible.
    """
    from server.store.maintenance import nodes

    with one_sentence():
        found = nodes(database)
    if as_json:
        typer.echo(json.dumps([_as_json(node) for node in found], indent=1))
    else:
        for node in found:
            how = f"lease for {node.left_ms / 1000:.1f} s more" if node.is_alive else "gone"
            typer.echo(f"{node.id}  {node.url}  epoch {node.epoch}  {how}  {counted(node.races, 'race')}")
        alive = sum(node.is_alive for node in found)
        typer.echo(f"{counted(alive, 'server')} of {len(found)} running, {counted(sum(node.races for node in found), 'race')}")
    if any(node.races and not node.is_alive for node in found):
        raise typer.Exit(1)
