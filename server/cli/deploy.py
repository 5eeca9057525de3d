"""`carpet-server deploy`: prints the files that hosts start from."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files
from typing import Annotated

import typer

from server.cli.shared import examples

deploy_app = typer.Typer(rich_markup_mode=None)


class Kind(StrEnum):
    """What there is, by its file."""

    COMPOSE = "compose"
    DOCKER = "docker"
    SYSTEMD = "systemd"
    PROMETHEUS = "prometheus"
    GRAFANA = "grafana"
    CADDY = "caddy"


FILES = {
    Kind.COMPOSE: "compose.yaml",
    Kind.DOCKER: "Dockerfile",
    Kind.SYSTEMD: "carpet-server.service",
    Kind.PROMETHEUS: "prometheus-rules.yaml",
    Kind.GRAFANA: "grafana.json",
    Kind.CADDY: "Caddyfile",
}


@deploy_app.command(epilog=examples("carpet-server deploy systemd > carpet-server.service", "carpet-server deploy compose > compose.yaml"))
def deploy(kind: Annotated[Kind, typer.Argument(metavar="KIND", help="Which file.")]) -> None:
    """Print a file to run servers by, or to watch over them.

    compose: three servers that are one place, with their engines and a proxy; docker: the image; systemd: one server; prometheus: rules;
    grafana: a board; caddy: the proxy.
    """
    typer.echo(files("server.deploy").joinpath(FILES[kind]).read_text(encoding="utf-8"), nl=False)
