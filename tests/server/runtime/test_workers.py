"""Jobs in worker processes: what comes back, what happens to a worker that dies or is no longer wanted, and that none is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
import trio

from server.runtime.workers import WorkerDied, open_workers

pytestmark = pytest.mark.slow


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_and_hang(file: str) -> None:
    Path(file).write_text(str(os.getpid()))
    while True:
        time.sleep(60)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_job_runs_in_another_process_which_is_kept_and_ended_at_last() -> None:
    with trio.fail_after(60):
        async with open_workers(1) as workers:
            pid = await workers.run(os.getpid)
            assert pid != os.getpid()
            assert await workers.run(os.getpid) == pid
        assert not is_alive(pid)


async def test_no_process_is_started_before_there_is_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", die)
    async with open_workers(4):
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("code", [(), (__name__,)])
async def test_a_job_runs_though_the_folder_that_the_server_was_started_in_is_gone(code: tuple[str, ...], tmp_path: Path) -> None:
    before = os.getcwd()
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        with trio.fail_after(60):
            async with open_workers(1, code=code) as workers:
                assert await workers.run(int, "7") == 7
    finally:
        os.chdir(before)


async def test_what_a_job_raises_is_raised_here() -> None:
    with trio.fail_after(60):
        async with open_workers(1) as workers:
            with pytest.raises(ValueError, match="invalid literal"):
                await workers.run(int, "seven")


async def test_a_worker_that_dies_is_said_so_and_the_next_job_gets_another() -> None:
    with trio.fail_after(60):
        async with open_workers(1) as workers:
            with pytest.raises(WorkerDied, match=r"die ended in the middle of it, by SIGKILL \(the system may have run out of memory\)"):
                await workers.run(die)
            assert await workers.run(abs, -7) == 7


async def test_cancelling_ends_the_process_that_does_the_job(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with trio.fail_after(60):
        async with open_workers(1) as workers, trio.open_nursery() as nursery:
            nursery.start_soon(workers.run, write_and_hang, str(file))
            while not (file.exists() and file.read_text()):  # noqa: ASYNC110  (another process writes it)
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    assert not is_alive(int(file.read_text()))


async def test_there_are_no_more_processes_than_were_allowed() -> None:
    pids: set[int] = set()

    async def job() -> None:
        pids.add(await workers.run(os.getpid))

    with trio.fail_after(60):
        async with open_workers(2) as workers, trio.open_nursery() as nursery:
            for _ in range(12):
                nursery.start_soon(job)
    assert 1 <= len(pids) <= 2


SERVER = """
import importlib, pathlib, sys, trio
from server.runtime.workers import WorkerDied, open_workers

async def main() -> None:
    async with open_workers(1, code=sys.argv[2:]) as workers:
        job = importlib.import_module("job")
        # Until the template has loaded it.
        await workers.run(job.answer)
        for file in pathlib.Path(sys.argv[1]).rglob("*.py*"):
            file.unlink()
        try:
            await workers.run(job.die)
        except WorkerDied:
            pass
        try:
            print(await workers.run(job.answer))
        except WorkerDied as error:
            print(error)

if __name__ == "__main__":
    trio.run(main)
"""


@pytest.mark.parametrize(("code", "told"), [(["job"], "42"), ([], "could not load job.answer")])
async def test_a_worker_that_starts_after_its_code_was_replaced_has_it_all_the_same(tmp_path: Path, code: list[str], told: str) -> None:
    (tmp_path / "job.py").write_text("import os\ndef answer():\n    return 42\ndef die():\n    os._exit(1)\n")
    program = tmp_path / "program"
    program.write_text(SERVER)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-B", str(program), str(tmp_path), *code]
    with trio.fail_after(60):
        done = await trio.run_process(command, capture_stdout=True, env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})
    assert told in done.stdout.decode()
