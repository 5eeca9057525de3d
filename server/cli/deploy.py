"""`carpet-server deploy`: prints the files that hosts start from."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Final, Literal, TypeAlias

import typer

from protocol.command_line import examples

deploy_app = typer.Typer(rich_markup_mode=None)


Kind: TypeAlias = Literal["compose", "docker", "systemd", "prometheus", "grafana", "caddy"]

FILES: Final[dict[Kind, str]] = {
    "compose": "compose.yaml",
    "docker": "Dockerfile",
    "systemd": "carpet-server.service",
    "prometheus": "prometheus-rules.yaml",
    "grafana": "grafana.json",
    "caddy": "Caddyfile",
}


@deploy_app.command(epilog=examples("carpet-server deploy systemd > carpet-server.service", "carpet-server deploy compose > compose.yaml"))
def deploy(kind: Annotated[Kind, typer.Argument(metavar="KIND", help="Which file.")]) -> None:
    """Print a file for running or monitoring servers.

    compose: three servers that are one place, with their databases and a proxy; docker: the image; systemd: one server; prometheus:
    alerting rules; grafana: a dashboard; caddy: the proxy.
    """
    typer.echo(files("server.deploy").joinpath(FILES[kind]).read_text(encoding="utf-8"), nl=False)
