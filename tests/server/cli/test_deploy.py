"""The deployment files for hosts: printed unchanged, well formed, and in agreement with the server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server.cli.commands import app
from server.cli.deploy import FILES, Kind
from server.cli.main import main

ROOT = Path(__file__).parents[3]
LINE_OF_OURS = r'^\s+- --|"serve"|carpet-server serve'
SUFFIXES = ("_total", "_bucket", "_sum", "_count")


def printed(kind: Kind) -> str:
    result = CliRunner().invoke(app, ["deploy", kind])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("kind", FILES)
def test_each_file_is_printed_as_it_is_in_the_package(kind: Kind) -> None:
    assert printed(kind) == (ROOT / "server" / "deploy" / FILES[kind]).read_text(encoding="utf-8")


def test_the_program_is_installed_from_its_archive() -> None:
    """The program is in no index: whatever pip found there under its name would be somebody else's."""
    installed = {kind: re.findall(r"pip install (.+)", printed(kind)) for kind in ("docker", "systemd")}
    for kind, (what,) in installed.items():
        assert re.search(r"carpet_race-\S+\.tar\.gz", what), kind


def figures() -> set[str]:
    """The names of all figures that a server tells, by the source: `Figure("rooms", …)`."""
    source = "".join((ROOT / "server" / name).read_text() for name in ("admin/figures.py", "runtime/metrics.py"))
    return {f"carpet_{name}" for name in re.findall(r'Figure(?:By)?\(\s*"([a-z_]+)"', source)}


@pytest.mark.parametrize("kind", ["prometheus", "grafana"])
def test_rules_and_board_ask_for_figures_that_a_server_tells(kind: Kind) -> None:
    asked = set(re.findall(r"\bcarpet_[a-z_]+", printed(kind)))
    known = figures()
    assert len(known) > 15
    assert asked
    for name in asked:
        assert {name, *(name.removesuffix(suffix) for suffix in SUFFIXES)} & known, name


def test_the_rules_say_how_the_job_is_to_be_called_that_they_go_by() -> None:
    yaml = pytest.importorskip("yaml")
    text = printed("prometheus")
    above = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("#  ")]
    settings = yaml.safe_load("\n".join(above))
    assert {f'job="{each["job_name"]}"' for each in settings["scrape_configs"]} == set(re.findall('job="[^"]*"', text))


def test_the_board_is_json_with_a_place_for_each_panel() -> None:
    panels = json.loads(printed("grafana"))["panels"]
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)


def test_the_options_of_the_servers_are_those_that_a_server_has() -> None:
    known = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).stdout
    for kind in ("compose", "docker", "systemd"):
        text = printed(kind)
        served = [line for line in text.splitlines() if "--" in line and not line.strip().startswith("#")]
        ours = {option for line in served if re.search(LINE_OF_OURS, line) for option in re.findall(r"--[a-z-]+", line)}
        assert ours, kind
        for option in ours:
            assert option in known, (kind, option)


@pytest.mark.parametrize("kind", ["compose", "prometheus"])
def test_yaml_reads_as_yaml(kind: Kind) -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(printed(kind))


@pytest.mark.parametrize("mistyped", [("--hots", "0.0.0.0"), ("--port", "http"), ("--port", "99999"), ("--tls-cert", "cert.pem")])
def test_systemd_does_not_start_a_server_again_whose_options_are_wrong(mistyped: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *mistyped])
    assert f"\nRestartPreventExitStatus={ended.value.code}\n" in printed("systemd")


def own_certificate() -> str:
    """What the guide adds to the unit for a server with a certificate of its own."""
    (added,) = re.findall(r"```ini\n(.*?)```", (ROOT / "server" / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(added)


def test_a_server_with_a_certificate_of_its_own_is_started_with_options_that_it_has() -> None:
    known = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).stdout
    options = set(re.findall(r"--[a-z-]+", own_certificate()))
    assert {"--tls-cert", "--tls-key"} <= options
    assert [option for option in options if option not in known] == []


@pytest.mark.slow
@pytest.mark.parametrize("has_certificate", [False, True])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, has_certificate: bool) -> None:
    verifier = shutil.which("systemd-analyze")
    if verifier is None:
        pytest.skip("there is no systemd-analyze")
    unit = tmp_path / "carpet-server.service"
    program = str(shutil.which("true"))
    unit.write_text(printed("systemd").replace("/opt/carpet/bin/carpet-server", program))
    if has_certificate:
        added = tmp_path / "carpet-server.service.d" / "override.conf"
        added.parent.mkdir()
        added.write_text(own_certificate().replace("/opt/carpet/bin/carpet-server", program))
    result = subprocess.run([verifier, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    assert str(tmp_path) not in result.stderr, result.stderr
    assert str(unit.name) not in result.stderr, result.stderr
