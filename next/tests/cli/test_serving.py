"""`serve`, `approve`, `demo` and `login`: processes that talk to clients and people."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.command_line import SECONDS, CommandLine
from support.installed import Installed

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Client:
    """A client with one session on a gateway's pipes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._id = 0
        self.request("initialize", OPENING)
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params or {}})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._id and "method" not in message:
                return message.get("result") or message["error"]
        raise EOFError

    def call(self, name: str, **arguments: object) -> str:
        answer = self.request("tools/call", {"name": name, "arguments": arguments})
        return "\n".join(part["text"] for part in answer["content"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@contextmanager
def served(remit: CommandLine, python: str = sys.executable) -> Generator[Client]:
    with subprocess.Popen(
        [python, "-m", "remit", "serve"],
        cwd=remit.shop,
        env=remit.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        try:
            yield Client(process)
        finally:
            watchdog.cancel()
            assert process.stdin is not None
            process.stdin.close()
            process.wait(SECONDS)


@pytest.fixture
def shop(remit: CommandLine) -> CommandLine:
    remit.mine(git=remit.recorded("git", "status", "push"))
    remit("tools", "--refresh")
    return remit


def names(client: Client) -> list[str]:
    return [tool["name"] for tool in client.request("tools/list")["tools"]]


def test_the_gateway_serves_what_is_visible_and_follows_the_commands(shop: CommandLine) -> None:
    with served(shop) as client:
        assert {"git__push", "git__status"} <= {*names(client)}
        assert client.call("git__status") == '["status", {}]'
        shop("disable", "git__push")
        assert "git__push" not in names(client)


def test_what_a_gateway_starts_starts_no_gateway(shop: CommandLine) -> None:
    shop.variables["REMIT_DEPTH"] = "1"
    refused = shop("serve")
    assert (refused.code, "was started by Remit itself" in refused.err) == (2, True)


def test_an_installed_gateway_takes_its_paths_from_the_record(installed: Installed) -> None:
    installed.mine(git=installed.recorded("git", "status"))
    installed("install", "claude-code", "--yes")
    entry = json.loads((installed.home / ".claude.json").read_text())["mcpServers"]["remit"]
    environment = {
        **installed.environment,
        "REMIT_HOME": "/nowhere",
        "HOME": "/nowhere",
        "XDG_CONFIG_HOME": "/no",
    }
    asked = "".join(
        json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        for message in (
            {"id": 1, "method": "initialize", "params": OPENING},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
        )
    )
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        cwd=installed.shop,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(asked)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        process.wait(SECONDS)
    listed = next(answer["result"]["tools"] for answer in answers if answer.get("id") == 2)
    assert "git__status" in [tool["name"] for tool in listed]


def test_a_missing_record_ends_the_gateway_with_the_way_out(shop: CommandLine) -> None:
    refused = shop("serve", "--install", "/nowhere/claude-code.json")
    assert (refused.code, "/nowhere/claude-code.json" in refused.err) == (2, True)


def waiting(client: Client, **arguments: object) -> str:
    """Call a tool that needs approval, and return the id that the refusal names."""
    refused = client.call("git__push", **arguments)
    return refused.partition("remit approve ")[2].partition("`")[0]


def test_a_call_runs_once_after_a_person_has_seen_and_approved_it(shop: CommandLine) -> None:
    shop("ask", "git__push")
    with served(shop) as client:
        approval = waiting(client, to="main")
        listed = shop("approve")
        assert listed.lines[0] == f"{approval}  mcp__git__push  waiting"
        assert '"to": "main"' in listed.out
        assert shop("approve", approval, "--yes").out.startswith(
            f"approved {approval}  mcp__git__push: for one call"
        )
        assert client.call("git__push", to="main") == '["push", {"to": "main"}]'
        assert "needs approval" in client.call("git__push", to="main")


def test_a_denied_call_stays_denied_and_needs_no_confirmation(shop: CommandLine) -> None:
    shop("ask", "git__push")
    with served(shop) as client:
        approval = waiting(client)
        assert shop("approve", approval, "--deny").out.startswith(f"denied {approval}")
        assert shop("approve", "--json").json["approvals"] == []
        again = shop("approve", approval, "--yes")
        assert (again.code, "is denied" in again.err) == (2, True)


def test_what_was_typed_before_the_question_approves_nothing(installed: Installed) -> None:
    installed.mine(git=installed.recorded("git", "push"))
    installed("tools", "--refresh")
    installed("ask", "git")
    with served(installed, str(installed.python)) as client:
        approval = waiting(client)
        ours, theirs = os.openpty()
        with subprocess.Popen(
            [installed.python, "-m", "remit", "approve", "--watch"],
            cwd=installed.shop,
            env={**installed.environment, "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process:
            os.write(ours, b"y\n")  # typed ahead
            shown = b""
            while b"[s]kip: " not in shown:
                shown += os.read(ours, 65536)
            assert f"{approval}  mcp__git__push".encode() in shown
            os.write(ours, b"s\n")
            while b"stays pending" not in shown:
                shown += os.read(ours, 65536)
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
        os.close(ours)
        os.close(theirs)
    assert b"approved" not in shown


def test_options_that_contradict_each_other_are_refused(shop: CommandLine) -> None:
    assert "pass the ID of a call to deny" in shop("approve", "--deny").err
    assert "--watch takes no ID" in shop("approve", "abc", "--watch").err
    assert "--parent needs --agent" in shop("serve", "--parent", "x").err


def test_the_demo_shows_all_of_it_and_leaves_nothing(remit: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    remit.variables["TMPDIR"] = str(folder)
    shown = remit("demo")
    assert shown.code == 0
    assert "mcp__deploy__release: hidden, needs state tests-passed" in shown.out
    assert "Released 2.4.0 to production. Before: 2.3.0." in shown.out
    assert "Claude Code sends about" in shown.out
    assert [*folder.iterdir()] == []
    assert not (remit.home / ".local").exists()


def test_the_demo_cleans_up_when_it_is_told_to_end(remit: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "remit", "demo"],
        env={**remit.environment, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        while "remit tools --refresh" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        assert process.wait(SECONDS) == 128 + signal.SIGTERM
    assert [*folder.iterdir()] == []


def test_only_remote_servers_that_remit_may_reach_are_signed_in_to(shop: CommandLine) -> None:
    local = shop("login", "git")
    assert (local.code, "is not a remote server" in local.err) == (2, True)
    unknown = shop("login", "gitt")
    assert (unknown.code, "did you mean `git`?" in unknown.err) == (1, True)
    shop.shared(shop.shop, api={"type": "http", "url": "http://127.0.0.1:9/mcp"})
    untrusted = shop("login", "api")
    assert (untrusted.code, "remit trust api" in untrusted.err or "approv" in untrusted.err) == (2, True)
    mine = shop.mine(api={"type": "http", "url": "http://127.0.0.1:9/mcp"})
    assert mine.exists()
    signed_out = shop("logout", "api", "--json")
    assert (signed_out.code, signed_out.json) == (1, {"server": "api", "signed_in": False})
