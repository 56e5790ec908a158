"""Detectors that run programs and ask servers."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from remit.config import Detector
from remit.files import Machine, locate
from remit.states import Look, Reading
from remit.states.slow_detectors import ProgramResult, run
from support.git import git

MACHINE = Machine("/nowhere", {"PATH": os.environ["PATH"], "SECRET": "hunter2"})
PYTHON = os.path.basename(sys.executable)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "shop"
    path.mkdir()
    git("init", cwd=path)
    return path


def observe(detector: Detector, path: Path, machine: Machine = MACHINE) -> Reading:
    return Look(locate(str(path)), machine).detect(detector, (str(path),))


def python(*lines: str, timeout: float = 30) -> Detector:
    return Detector("command", (sys.executable, "-c", "\n".join(lines)), timeout=timeout)


def test_a_program_holds_by_its_exit_code(shop: Path) -> None:
    assert observe(python("raise SystemExit(0)"), shop) == Reading(True, f"{PYTHON} ended with 0")
    assert observe(python("raise SystemExit(3)"), shop) == Reading(False, f"{PYTHON} ended with 3")


def test_a_program_runs_in_its_directory_with_few_variables_and_no_gateway_starts_below_it(
    shop: Path,
) -> None:
    checks = (
        f"os.getcwd() == {str(shop)!r}",
        "'SECRET' not in os.environ",
        "os.environ['REMIT_DEPTH'] == '1'",
    )
    assert observe(python("import os", f"raise SystemExit(not ({' and '.join(checks)}))"), shop).truth is True


def test_no_shell_reads_a_command(shop: Path) -> None:
    reason = "true; touch ran cannot be started: no such file or directory"
    assert observe(Detector("command", ("true; touch ran",), timeout=30), shop) == Reading(None, reason)
    assert not (shop / "ran").exists()
    assert observe(Detector("command", ("a\0b",), timeout=1), shop).truth is None


CHILD = "import time; file = open('alive', 'w'); print(flush=True); time.sleep(5); file.write('survived')"


@pytest.mark.parametrize("is_hanging", [True, False])
def test_a_program_is_ended_with_all_that_it_started(shop: Path, is_hanging: bool) -> None:
    os.mkfifo(shop / "alive")
    observations: list[Reading] = []
    script = (
        "import subprocess, sys, time",
        f"child = subprocess.Popen([sys.executable, '-c', {CHILD!r}], stdout=subprocess.PIPE)",
        "child.stdout.readline()",
        "time.sleep(600)" if is_hanging else "",
    )
    detector = python(*script, timeout=2 if is_hanging else 30)
    thread = threading.Thread(target=lambda: observations.append(observe(detector, shop)))
    thread.start()
    with open(shop / "alive", "rb") as alive:
        assert alive.read() == b""  # returns when the child is gone
    thread.join()
    assert observations[0].truth is (None if is_hanging else True)


def test_a_program_is_stopped_at_its_first_output_where_that_is_enough(shop: Path) -> None:
    script = "import time; print('x', flush=True); time.sleep(600)"
    result = run((sys.executable, "-c", script), str(shop), MACHINE, timeout=60, until_output=True)
    assert result == ProgramResult(has_output=True)


def test_a_child_that_keeps_the_output_open_is_not_waited_for(shop: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "child = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "print(subprocess.Popen(child, start_new_session=True).pid, file=open('pid', 'w'))"
    )
    result = run((sys.executable, "-c", script), str(shop), MACHINE, timeout=2, until_output=True)
    os.kill(int((shop / "pid").read_text()), signal.SIGKILL)
    assert result == ProgramResult(exit_code=0)


DIRTY, CLEAN = (Detector("git", (name,), timeout=30) for name in ("dirty", "clean"))


def test_git_tells_what_is_not_committed(shop: Path) -> None:
    assert (observe(DIRTY, shop).truth, observe(CLEAN, shop).truth) == (False, True)
    (shop / "a").touch()
    assert observe(DIRTY, shop) == Reading(True, "there are uncommitted changes")
    assert observe(CLEAN, shop).truth is False


def test_a_repository_that_git_refuses_is_unknown_and_so_is_any_without_git(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert observe(DIRTY, tmp_path) == Reading(None, "git ended with 128")
    without = Machine("/nowhere", {"PATH": "/nowhere"})
    assert observe(DIRTY, tmp_path, without).reason.startswith("git cannot be started")


def test_git_runs_nothing_that_the_repository_names_and_takes_no_lock(shop: Path) -> None:
    script = shop / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {shop}/ran\n")
    script.chmod(0o755)
    git("add", ".", cwd=shop)
    git("commit", "-m", "x", cwd=shop)
    git("config", "core.fsmonitor", str(script), cwd=shop)
    git("config", "core.hooksPath", str(shop / "hooks"), cwd=shop)
    (shop / "hooks").mkdir()
    (shop / "hooks/post-index-change").write_text(script.read_text())
    (shop / "hooks/post-index-change").chmod(0o755)
    os.utime(script, (1, 1))  # so that git would refresh its index
    before = (shop / ".git/index").stat().st_mtime_ns
    assert observe(DIRTY, shop).truth is True
    assert not (shop / "ran").exists()
    assert (shop / ".git/index").stat().st_mtime_ns == before


class Answers(BaseHTTPRequestHandler):
    """Answers with the number in the path."""

    def do_GET(self) -> None:
        status = int(self.path.strip("/") or 200)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/200")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Generator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def asking(url: str, timeout: float = 30) -> Detector:
    return Detector("http", (url,), timeout=timeout)


def test_a_server_holds_by_its_status_and_is_not_followed_elsewhere(shop: Path) -> None:
    with serving() as url:
        assert observe(asking(url), shop) == Reading(True, "127.0.0.1 answers 200")
        assert observe(asking(f"{url}/204"), shop).truth is True
        assert observe(asking(f"{url}/503"), shop).truth is False
        assert observe(asking(f"{url}/302"), shop) == Reading(False, "127.0.0.1 answers 302")


def test_a_server_that_is_absent_or_silent_is_unknown(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert observe(asking(url, timeout=0.2), shop).truth is None
    assert observe(asking(url), shop) == Reading(None, "127.0.0.1 cannot be reached")


def test_a_server_that_speaks_slowly_for_ever_is_left_at_the_time_limit(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as slow:
        is_over = threading.Event()

        def drip() -> None:
            connection, _ = slow.accept()
            with connection:
                while not is_over.wait(0.01):
                    try:
                        connection.send(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        detector = asking(f"http://127.0.0.1:{slow.getsockname()[1]}/", timeout=0.3)
        assert observe(detector, shop) == Reading(None, "127.0.0.1 did not answer within 0.3 s")
        is_over.set()
        thread.join()


def test_a_host_whose_name_is_never_resolved_is_left_at_the_time_limit(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def resolve(*_: object, **__: object) -> list[object]:
        is_over.wait(30)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    detector = asking("http://shop.invalid/", timeout=0.1)
    assert observe(detector, shop) == Reading(None, "shop.invalid did not answer within 0.1 s")
    is_over.set()
