"""`remit web` as a person starts it: its link, its port, its end."""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

import httpx2

from support.catalogs import World
from support.command_line import SOURCE

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/open/[\w-]+")
_MARKERS = ("CLAUDECODE", "CLAUDE_CODE", "GEMINI_CLI", "CODEX_", "CURSOR_", "OPENCODE")


def environment(world: World) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_MARKERS)}
    return {
        **kept,
        "PYTHONPATH": str(SOURCE),
        "HOME": str(world.home),
        "REMIT_HOME": str(world.root / "data"),
    }


# Makes its standard input the terminal of its session, and runs a command in the background of it.
IN_BACKGROUND = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
os.waitpid(child, 0)
"""


@contextmanager
def started(
    world: World,
    *options: str,
    stdin: int = subprocess.DEVNULL,
    prefix: Sequence[str] = (),
    **variables: str,
) -> "Generator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", "remit", "web", "--no-open", *options],
        cwd=world.shop,
        env={**environment(world), **variables},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if stdin == subprocess.DEVNULL else stdin,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()


def link_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_stdout_is_the_link_and_nothing_else_and_an_interrupt_ends_it(world: World) -> None:
    with started(world) as process:
        link = link_of(process)
        assert LINK.fullmatch(link)
        assert httpx2.get(link).status_code == 303
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (0, "")
    assert "Traceback" not in errors
    assert "shows commands in place of forms" in errors


def test_a_port_that_is_taken_is_an_error_with_a_hint(world: World) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, started(world, "--port", str(taken.getsockname()[1])) as process:
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (2, "")
    assert "hint: pass another `--port`" in errors


def test_a_person_at_a_terminal_gets_forms_and_another_link_by_enter(world: World) -> None:
    ours, theirs = pty.openpty()
    try:
        with started(world, stdin=theirs) as process:
            first = link_of(process)
            os.write(ours, b"\n")
            second = link_of(process)
            assert LINK.fullmatch(second)
            assert second != first
            assert httpx2.get(first).status_code == 403
            with httpx2.Client(follow_redirects=True) as browser:
                assert "view only" not in browser.get(second).text
    finally:
        for end in (ours, theirs):
            with suppress(OSError):
                os.close(end)


def test_an_agent_gets_no_forms_even_at_a_terminal(world: World) -> None:
    ours, theirs = pty.openpty()
    try:
        with (
            started(world, stdin=theirs, CLAUDECODE="1") as process,
            httpx2.Client(follow_redirects=True) as browser,
        ):
            assert "view only" in browser.get(link_of(process)).text
    finally:
        os.close(ours)
        os.close(theirs)


def test_enter_does_not_stop_a_page_in_the_background(world: World) -> None:
    ours, theirs = pty.openpty()
    try:
        with started(world, stdin=theirs, prefix=[sys.executable, "-c", IN_BACKGROUND]) as process:
            link = link_of(process)
            os.write(ours, b"\n")
            for _ in range(50):  # a stopped process would not answer
                assert httpx2.head(link, timeout=5).status_code == 401
    finally:
        os.close(ours)
        os.close(theirs)
