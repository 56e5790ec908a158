"""However Remit or a server ends, no process is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from remit.upstream.process import OutputTail, has_living, start_process
from support.upstreams import SERVERS, running_pool, tool, two_eras, upstream
from support.wires import RecordingCaller

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")

REMIT = """
import sys
import anyio
from support.upstreams import running_pool, tool, two_eras, upstream
from support.wires import RecordingCaller

async def main(note):
    async with running_pool() as pool:
        await pool.request(upstream(two_eras("old", note)), "tools/call", tool("echo"), RecordingCaller())
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)

anyio.run(main, sys.argv[1])
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
def remit(note: Path) -> "Generator[subprocess.Popen[str]]":
    """Run a pool with a server that heeds nothing and has a child that heeds nothing."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", REMIT, str(note)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_process_survives_a_signal_to_remit(number: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with remit(note) as process:
        processes = [int(word) for word in note.read_text().split()]
        assert all(map(is_running, processes))
        process.send_signal(number)
        process.wait(timeout=60)
        assert not is_left(processes)


@pytest.mark.anyio
async def test_a_server_that_heeds_no_signal_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "note"
    async with running_pool() as pool:
        await pool.request(
            upstream(two_eras("old", str(note))), "tools/call", tool("echo"), RecordingCaller()
        )
        processes = [int(word) for word in note.read_text().split()]
        assert all(map(is_running, processes))
        ended_at = time.monotonic()
    assert not any(map(is_running, processes))
    assert time.monotonic() - ended_at < 5


@pytest.mark.anyio
async def test_the_group_must_be_gone_and_not_only_its_leader() -> None:
    words = ("/bin/sh", "-c", "trap '' TERM; sleep 1000 & echo $!; exit 0")
    async with start_process(words, env=dict(os.environ), cwd="/") as process:
        child = int(await anyio.to_thread.run_sync(os.read, process.read_fd, 100))
        assert is_running(child)
    assert not is_running(child)


@pytest.mark.anyio
async def test_stderr_is_read_to_the_end() -> None:
    late = "setsid /bin/sh -c 'sleep 0.1; echo the end >&2' >/dev/null & exit 0"
    async with start_process(("/bin/sh", "-c", late), env=dict(os.environ), cwd="/") as process:
        pass
    assert process.remains == ("the end\n", 0)  # written after its group was gone


@pytest.mark.anyio
async def test_an_exit_of_its_own_is_told_by_its_code() -> None:
    async with start_process(("/bin/sh", "-c", "exit 3"), env={}, cwd="/") as process:
        pass
    assert process.remains.code == 3


def test_a_group_of_zombies_is_over() -> None:
    child = subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE, process_group=0)
    assert has_living(child.pid)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody collects it
    os.killpg(child.pid, 0)
    assert not has_living(child.pid)
    child.wait()


def test_the_end_of_an_output_has_whole_lines_only() -> None:
    tail = OutputTail()
    tail.add(b"first\n")
    assert tail.text == "first\n"
    tail.add(b"secret=" + 5_000 * b"s" + b"\nlast\n")
    assert tail.text == "last\n"


def test_nothing_heavy_is_loaded_before_the_first_server_starts() -> None:
    heavy = ("httpx2", "mcp", "pydantic", "remit.upstream.process", "remit.upstream.remote")
    code = f"""
import asyncio, sys
from remit.upstream import LocalLauncher, make_upstreams, open_pool

async def main():
    async with open_pool(LocalLauncher({{}}, "/", "/"), on_list=None):
        print([name for name in {heavy} if name in sys.modules])

asyncio.run(main())
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert SERVERS.exists()
