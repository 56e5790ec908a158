"""`remit web` as a person starts it: its link, its code, its port, its end."""

import re
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from support.builders import servers
from support.forked_commands import fork_server
from support.sandbox import Sandbox
from support.terminal import on_terminal

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/open/[\w-]+")
CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("git"))
    return shop


@contextmanager
def started(sandbox: Sandbox, shop: Path, *options: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        fork_server().command("remit", "web", "--no-open", *options),
        cwd=shop,
        env=sandbox.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def link_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_stdout_is_the_link_and_nothing_else_and_an_interrupt_ends_it(sandbox: Sandbox, shop: Path) -> None:
    with started(sandbox, shop) as process:
        link = link_of(process)
        assert LINK.fullmatch(link)
        assert httpx2.get(link).status_code == 303
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (0, "")
    assert "Traceback" not in errors


def test_two_instances_take_two_ports_and_do_not_share_their_links(sandbox: Sandbox, shop: Path) -> None:
    with started(sandbox, shop) as one, started(sandbox, shop) as two:
        first, second = link_of(one), link_of(two)
        ports = [LINK.sub(r"\1", link) for link in (first, second)]
        assert ports[0] != ports[1]
        assert httpx2.get(first.replace(ports[0], ports[1])).status_code == 403
        assert [httpx2.get(link).status_code for link in (first, second)] == [303, 303]


def test_a_port_that_is_taken_is_an_error_that_names_it(sandbox: Sandbox, shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = sandbox.remit("web", "--no-open", "--port", str(port), cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


def test_without_a_terminal_there_is_no_code(sandbox: Sandbox, shop: Path) -> None:
    with started(sandbox, shop) as process:
        link_of(process)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert "cannot decide" in errors
    assert not CODE.search(errors)


def test_a_terminal_shows_the_code(sandbox: Sandbox, shop: Path) -> None:
    shown = on_terminal(sandbox, ["web", "--no-open"], shop, ends_after="/open/")
    assert (shown.code, CODE.search(shown.shown) is not None) == (0, True)


def test_an_agent_gets_no_code_even_on_a_terminal(sandbox: Sandbox, shop: Path) -> None:
    shown = on_terminal(
        sandbox, ["web", "--no-open"], shop, ends_after="/open/", variables={"CLAUDECODE": "1"}
    )
    assert "cannot decide" in shown.shown
    assert not CODE.search(shown.shown)


@pytest.mark.long
def test_enter_shows_another_link(sandbox: Sandbox, shop: Path) -> None:
    shown = on_terminal(sandbox, ["web", "--no-open"], shop, typed="\n", ends_after="no longer works")
    assert shown.shown.count("/open/") == 2


@pytest.mark.long
def test_an_unknown_directory_or_client_is_an_error_before_anything_listens(sandbox: Sandbox) -> None:
    for options in (["--project", "nowhere"], ["--client", "nope"]):
        done = sandbox.remit("web", "--no-open", *options)
        assert (done.returncode, done.stdout) == (2, "")
