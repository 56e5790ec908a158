"""`remit login` and `remit logout`, with a real server and what a browser would do."""

import subprocess
import urllib.request
from collections.abc import Generator

import pytest

from support.builders import servers
from support.forked_commands import fork_server
from support.processes import forked_server_command
from support.sandbox import Sandbox


@pytest.fixture
def url() -> Generator[str]:
    command = forked_server_command("oauth_server.py", "3600")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
    finally:
        server.kill()
        server.communicate()


@pytest.mark.long
def test_who_signs_in_through_the_browser_is_signed_in_until_they_sign_out(
    sandbox: Sandbox, url: str
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(tracker={"type": "http", "url": url}))
    sandbox.variables["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    command = fork_server().command("remit", "login", "tracker", "--no-browser")
    process = subprocess.Popen(
        command,
        cwd=sandbox.root,
        env=sandbox.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "If no browser opens, sign in here:\n"
    with urllib.request.urlopen(process.stderr.readline().strip()) as page:  # noqa: S310 - it is our own
        assert b"You are signed in." in page.read()
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "signed in to tracker\n")
    (kept,) = (sandbox.root / "data" / "sign-ins").iterdir()
    assert b"access-" not in (sandbox.root / "data" / "remit.db").read_bytes()
    asked = sandbox.remit("scan", "--connect", "tracker")
    assert "listed" in asked.stdout
    out = sandbox.remit("logout", "tracker", "--json")
    assert (out.returncode, out.stdout) == (0, '{\n  "server": "tracker",\n  "signed_in": false\n}\n')
    assert not kept.exists()
    again = sandbox.remit("logout", "tracker")
    assert (again.returncode, again.stdout) == (1, "not signed in to tracker\n")


def test_a_server_that_is_started_here_is_not_signed_in_to(sandbox: Sandbox) -> None:
    sandbox.write_state("git")
    done = sandbox.remit("login", "git")
    assert done.returncode == 2
    assert done.stderr.startswith("error: `git` is not a remote server, so it needs no sign-in\nhint: ")


def test_a_server_that_does_not_exist_is_not_signed_in_to(sandbox: Sandbox) -> None:
    done = sandbox.remit("login", "nobody")
    assert (done.returncode, "no server is called `nobody` here" in done.stderr) == (1, True)


def test_a_servers_command_for_headers_is_shown_before_it_is_trusted(sandbox: Sandbox) -> None:
    project = sandbox.project("shop")
    entry = {"type": "http", "url": "https://x.example/mcp", "headersHelper": "make-headers --for shop"}
    sandbox.write(project / ".mcp.json", servers(tracker=entry))
    shown = sandbox.remit("trust", cwd=project)
    assert "  runs    make-headers --for shop (for its headers)\n" in shown.stdout
    sandbox.remit("trust", "tracker", "--yes", cwd=project)
    assert "tracker (project, .mcp.json): trusted" in sandbox.remit("trust", cwd=project).stdout
    sandbox.write(project / ".mcp.json", servers(tracker={**entry, "headersHelper": "make-other-headers"}))
    assert "changed since it was trusted" in sandbox.remit("trust", cwd=project).stdout
