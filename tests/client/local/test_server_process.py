"""Starting and stopping a server of the player's own, with stand-ins that live, die, stay silent or refuse to stop."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

import protocol
from client.local.server_process import open_server
from client.replay.own_server import ServerFailed, server_command, server_environment

pytestmark = pytest.mark.slow


def script(text: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(text)]


LISTENS = """
    import sys
    print("hello")
    print("listening on ws://127.0.0.1:4711", flush=True)
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def fifo(folder: Path) -> Path:
    """For a process to say where it has got to, by opening it."""
    os.mkfifo(folder / "said")
    return folder / "said"


async def jump_when_it_says_so(clock: MockClock, folder: Path, seconds: float) -> None:
    """Time stands still while a process starts, however long that takes; from the jump on it goes by as usual."""
    (await trio.to_thread.run_sync(open, folder / "said", abandon_on_cancel=True)).close()
    await wait_all_tasks_blocked(0.01)
    clock.jump(seconds)
    clock.rate = 1.0


async def test_the_url_is_the_one_it_says() -> None:
    with trio.fail_after(60):
        async with open_server(command=script(LISTENS + "    sys.stdin.read()\n")) as url:
            assert url == "ws://127.0.0.1:4711"


async def test_one_that_says_much_is_not_held_up() -> None:
    with trio.fail_after(60):
        async with open_server(command=script(LISTENS + "    print('x' * 1_000_000, flush=True)\n    sys.stdin.read()\n")):
            await trio.lowlevel.checkpoint()


async def test_one_that_dies_early_leaves_its_last_words_in_the_error() -> None:
    dies = script("import sys; print('no port is free', file=sys.stderr); sys.exit(3)")
    with pytest.raises(ServerFailed, match=r"could not be started; it said: no port is free$"):
        async with open_server(command=dies):
            pass


@pytest.mark.parametrize("kept", [False, True])
async def test_one_that_dies_later_ends_the_block_with_its_last_words_and_says_what_is_kept(tmp_path: Path, kept: bool) -> None:
    dies = script(LISTENS + "    print('out of memory', file=sys.stderr); sys.exit(3)\n")
    hint = r"\. What was played is kept: carpet play goes on with it\." if kept else ""
    with trio.fail_after(60), pytest.raises(ServerFailed, match=rf"has stopped; it said: out of memory{hint}$"):
        async with open_server(command=dies, database=tmp_path / "game.db" if kept else None):
            await trio.sleep_forever()


async def test_one_that_never_listens_is_given_up_and_ended(mock_clock: MockClock, nursery: trio.Nursery, tmp_path: Path) -> None:
    silent = script(f"import sys; print('thinking', file=sys.stderr, flush=True); open({str(fifo(tmp_path))!r}, 'w'); sys.stdin.read()")
    nursery.start_soon(jump_when_it_says_so, mock_clock, tmp_path, 1.1)
    with pytest.raises(ServerFailed, match="did not start within 1 seconds; it said: thinking"):
        async with open_server(command=silent, start_timeout=1):
            pass


async def test_one_that_ignores_the_signal_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("client.local.server_process.STOP_TIMEOUT", 0.1)
    pid = tmp_path / "pid"
    stubborn = script(
        f"""
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open({str(pid)!r}, "w").write(str(os.getpid()))
        print("listening on ws://127.0.0.1:4711", flush=True)
        while True:
            time.sleep(60)
        """
    )
    with trio.fail_after(60):
        async with open_server(command=stubborn):
            pass
    assert not is_alive(int(pid.read_text()))


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_server(command=script(LISTENS + "    sys.stdin.read()\n")):
            raise ZeroDivisionError


async def test_it_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    # The stand-in holds the writing end of a FIFO open: the reading end ends when it does.
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    server = (
        f"import sys; held = open({str(alive)!r}, 'w'); held.write('up'); held.flush();"
        "print('listening on ws://127.0.0.1:1', flush=True); sys.stdin.read()"
    )
    client = script(
        f"""
        import sys, trio
        from client.local.server_process import open_server

        async def main():
            async with open_server(command=[sys.executable, "-c", {server!r}]):
                await trio.sleep_forever()

        trio.run(main)
        """
    )
    with trio.fail_after(60):
        process = await trio.lowlevel.open_process(client, env=server_environment())
        held = await trio.to_thread.run_sync(open, alive, abandon_on_cancel=True)
        assert await trio.to_thread.run_sync(held.read, 2, abandon_on_cancel=True) == "up"
        process.kill()
        await process.wait()
        assert await trio.to_thread.run_sync(held.read, abandon_on_cancel=True) == ""
        held.close()


def test_a_folder_named_server_where_the_user_stands_is_not_the_server(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "__init__.py").write_text("raise SystemExit('the wrong server')")
    interpreter = server_command([])[:2]
    command = [*interpreter, "-c", "import server; print(server.__file__)"]
    found = subprocess.run(command, cwd=tmp_path, env=server_environment(), capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).parent.parent == Path(protocol.__file__).resolve().parent.parent


def test_an_installed_server_needs_no_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda kind: str(Path(protocol.__file__).parent.parent))
    assert server_environment({"HOME": "/"}) == {"HOME": "/"}
    monkeypatch.setattr(sysconfig, "get_path", lambda kind: str(tmp_path))
    assert server_environment({"PYTHONPATH": "/more"})["PYTHONPATH"].endswith(f"{os.pathsep}/more")


async def test_a_server_starts_although_the_folder_that_one_stands_in_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "gone").mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with trio.fail_after(60):
        async with open_server() as url:
            assert url.startswith("ws://127.0.0.1:")
