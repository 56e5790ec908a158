"""However Remit ends, no process that it started is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.upstream.transports.process import has_living
from support.processes import SERVERS

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc"
)

REMIT = """
import signal, sys
import anyio
from support.upstream_pools import RecordingCaller, open_pool, tool, two_era_launch, upstream

async def main(note: str, ends: bool) -> None:
    async with open_pool() as pool:
        server = upstream(two_era_launch("old", note))
        await pool.request(server, "tools/call", tool("echo"), RecordingCaller())
        print("ready", flush=True)
        if not ends:
            await anyio.sleep_forever()
        await anyio.to_thread.run_sync(sys.stdin.read)

anyio.run(main, sys.argv[1], sys.argv[2] == "ends")
"""


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def is_left(processes: list[int]) -> bool:
    """Tell whether something is left after as long as even a slow machine needs."""
    for _ in range(1_200):
        if not any(map(is_running, processes)):
            return False
        time.sleep(0.05)
    return True


@contextmanager
def remit(note: Path, how: str = "sleeps") -> Generator[subprocess.Popen[str]]:
    """Run a process with links to a server that heeds nothing and has a child that heeds nothing."""
    tests = str(SERVERS.parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", REMIT, str(note), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": tests},
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout)):
            stream.close()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_process_survives_a_signal_to_remit(number: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with remit(note) as process:
        processes = [int(word) for word in note.read_text().split()]
        assert all(map(is_running, processes))
        process.send_signal(number)
        process.wait(timeout=60)
        assert not is_left(processes)


@pytest.mark.long
def test_no_process_survives_the_end_of_stdin(tmp_path: Path) -> None:
    note = tmp_path / "note"
    with remit(note, "ends") as process:
        processes = [int(word) for word in note.read_text().split()]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        assert not any(map(is_running, processes))


def test_a_group_of_zombies_is_over() -> None:
    child = subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE, process_group=0)
    assert has_living(child.pid)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody collects it
    os.killpg(child.pid, 0)
    assert not has_living(child.pid)
    child.wait()
