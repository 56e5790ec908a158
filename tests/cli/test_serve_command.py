"""`remit serve`, `remit status` and `remit token`, as people and clients run them."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from support.forked_commands import fork_server
from support.processes import SERVERS
from support.sandbox import Sandbox
from support.served_gateway import serving


def shop(sandbox: Sandbox) -> Path:
    """A project, and a server of the user's own that is there everywhere."""
    project = sandbox.project("shop")
    echo = {"command": sys.executable, "args": [str(SERVERS / "two_era_server.py"), "old"]}
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": {"echo": echo}, "projects": {}})
    return project


def on_stdio(sandbox: Sandbox, project: Path, *options: str) -> StdioServerParameters:
    program, *words = fork_server().command("remit", "serve", *options)
    return StdioServerParameters(command=program, args=words, cwd=str(project), env=sandbox.environment)


def text_of(result: object) -> str:
    assert isinstance(result, types.CallToolResult)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.long
def test_a_client_that_says_it_has_no_terminal_waits_for_nobodys_approval(sandbox: Sandbox) -> None:
    project = shop(sandbox)
    sandbox.write(sandbox.home / ".claude/settings.json", {})
    sandbox.write(project / ".mcp.json", {"mcpServers": {"till": {"command": "till"}}})

    async def ask(entrypoint: str, *options: str) -> str:
        sandbox.variables["CLAUDE_CODE_ENTRYPOINT"] = entrypoint
        async with Client(on_stdio(sandbox, project, *options)) as client:
            return text_of(await client.call_tool("why_tool", {"name": "till"}))

    assert "is hidden: waiting for approval" in anyio.run(ask, "cli")
    assert "is hidden: not trusted" in anyio.run(ask, "sdk-cli")
    assert "is hidden: not trusted" in anyio.run(ask, "cli", "--headless")


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_calls_a_tool_of_a_server_through_it_on_stdio(mode: Any, sandbox: Sandbox) -> None:
    project = shop(sandbox)

    async def run() -> None:
        async with Client(on_stdio(sandbox, project), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "echo__echo" in names
            assert text_of(await client.call_tool("echo__echo", {"text": "hi"})) == '{"text": "hi"}'
            shown = json.loads(sandbox.remit("status", "--json").stdout)
            (gateway,) = shown["gateways"]
            assert gateway["url"] is None
            (endpoint,) = gateway["endpoints"]
            assert endpoint["directory"] == str(project)

    anyio.run(run)
    shown = json.loads(sandbox.remit("status", "--json").stdout)
    assert (shown["gateways"], shown["notices"]) == ([], [])


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_memory_is_served_alone(mode: Any, sandbox: Sandbox) -> None:
    project = shop(sandbox)

    async def run() -> None:
        async with Client(on_stdio(sandbox, project, "--memory"), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "retrieve_context" in names
            assert "echo__echo" not in names
            refused = await client.call_tool("retrieve_context", {})
            assert isinstance(refused, types.CallToolResult)
            assert refused.is_error
            with pytest.raises(MCPError, match="Unknown tool: nothing"):
                await client.call_tool("nothing", {})

    anyio.run(run)


@pytest.mark.long
def test_it_says_where_it_listens_and_shows_itself(sandbox: Sandbox) -> None:
    project = shop(sandbox)
    with serving(sandbox, project) as url:

        async def run() -> None:
            async with Client(url) as client:
                assert text_of(await client.call_tool("echo__echo", {"text": "hi"})) == '{"text": "hi"}'

        anyio.run(run)
        assert url in sandbox.remit("status").stdout
        with httpx2.Client() as client:
            assert client.get(url.replace("/mcp", "/health")).json()["status"] == "ok"
    assert sandbox.remit("status").stdout.startswith("No gateway is running.")


def test_where_there_is_no_token_the_list_says_whom_a_gateway_takes(sandbox: Sandbox) -> None:
    assert "No tokens" in sandbox.remit("token", "list").stdout
    assert json.loads(sandbox.remit("token", "list", "--json").stdout) == {"tokens": []}


@pytest.mark.long
def test_a_token_is_made_used_and_revoked(sandbox: Sandbox) -> None:
    project = shop(sandbox)
    token = sandbox.remit("token", "add", "ci", "--project", str(project)).stdout.strip()
    (listed,) = json.loads(sandbox.remit("token", "list", "--json").stdout)["tokens"]
    assert (listed["name"], [each["path"] for each in listed["projects"]]) == ("ci", [str(project)])
    with serving(sandbox, project) as url:

        async def run() -> None:
            http = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"})
            async with http, Client(streamable_http_client(url, http_client=http)) as client:
                assert text_of(await client.call_tool("echo__echo", {"text": "hi"})) == '{"text": "hi"}'

        anyio.run(run)
        with httpx2.Client() as client:
            assert client.post(url, json={}).status_code == 401
            assert sandbox.remit("token", "revoke", "ci").returncode == 0
            sandbox.remit("token", "add", "other")
            named = {"authorization": f"Bearer {token}"}
            assert client.post(url, json={}, headers=named).status_code == 401
    for file in sandbox.root.rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes()


def test_an_application_pushes_its_states_to_it(sandbox: Sandbox) -> None:
    project = shop(sandbox)
    sandbox.write(project / "remit.toml", "[states.cart-open]\npush = true\n")
    token = sandbox.remit("token", "add", "app").stdout.strip()
    with (
        serving(sandbox, project) as url,
        httpx2.Client(headers={"authorization": f"Bearer {token}"}) as client,
    ):
        state = url.replace("/mcp", "/state")
        assert client.post(state, json={"cart-open": True}).json() == {"pushed": ["cart-open"]}
        refused = client.post(state, json={"no-such-state": True})
        assert refused.status_code == 400
        assert "no-such-state" in refused.text
    states = json.loads(sandbox.remit("states", "--json", cwd=project).stdout)["states"]
    assert [item["value"] for item in states if item["name"] == "cart-open"] == [True]


def test_with_an_issuer_it_wants_an_access_token_and_says_where_to_get_one(sandbox: Sandbox) -> None:
    project = shop(sandbox)
    rule = '[[access]]\ngroup = "devs"\nrole = "user"\nprojects = ["*"]\n'
    issuer = '[identity]\nissuer = "https://login.example.com"\naudience = "remit"\n'
    sandbox.write(sandbox.home / ".config/remit/remit.toml", issuer + rule)
    with serving(sandbox, project) as url, httpx2.Client() as client:
        refused = client.post(url, json={})
        assert refused.status_code == 401
        assert "an access token of https://login.example.com is needed" in refused.text
        told = client.get(url.replace("/mcp", "/.well-known/oauth-protected-resource")).json()
        assert told["resource"] == url.removesuffix("/mcp")


def test_whoever_can_write_to_the_store_cannot_name_an_issuer(sandbox: Sandbox) -> None:
    project, file = shop(sandbox), sandbox.home / ".config/remit/remit.toml"
    issuer = '[identity]\nissuer = "https://login.example.com"\naudience = "remit"\n'
    sandbox.write(file, issuer)
    sandbox.remit("policy", "check", cwd=project)
    with closing(sqlite3.connect(sandbox.database)) as store, store:
        change = "update configuration_files set content = replace(content, 'login', 'evil')"
        assert store.execute(change).rowcount == 1
    sandbox.write(file, issuer + "[identity]")  # invalid: elsewhere, the last version in the store counts
    with serving(sandbox, project) as url, httpx2.Client() as client:
        refused = client.post(url, json={})
        assert refused.status_code == 401
        assert 'message":"a token is needed' in refused.text


def test_a_token_has_the_role_that_it_was_made_with(sandbox: Sandbox) -> None:
    sandbox.remit("token", "add", "viewer", "--role", "reader")
    sandbox.remit("token", "add", "ci")
    listed = json.loads(sandbox.remit("token", "list", "--json").stdout)["tokens"]
    assert [(item["name"], item["role"]) for item in listed] == [("viewer", "reader"), ("ci", "user")]
    assert sandbox.remit("token", "add", "x", "--role", "king").returncode == 2


def test_for_other_machines_it_wants_a_token_first(sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", "--http", "0.0.0.0:0", cwd=shop(sandbox))
    assert done.returncode == 2
    assert done.stderr.startswith("error: 0.0.0.0 can be reached from other machines")
    assert "remit token add NAME" in done.stderr


def test_by_a_name_that_others_know_it_wants_a_token_first(sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", "--http", "0", "--allow-host", "tools.example", cwd=shop(sandbox))
    assert done.returncode == 2
    assert done.stderr.startswith("error: tools.example can be reached from other machines")


@pytest.mark.parametrize("origin", ["*", "null", "localhost:6274", "http://localhost:6274/"])
def test_an_origin_that_is_none_is_refused(origin: str, sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", "--http", "0", "--allow-origin", origin, cwd=shop(sandbox))
    assert done.returncode == 2
    assert "--allow-origin must be a scheme, a host and optionally a port" in done.stderr


@pytest.mark.parametrize("option", [("--allow-host", "tools.example"), ("--allow-origin", "http://x")])
def test_who_may_reach_it_is_said_only_on_http(option: tuple[str, str], sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", *option, cwd=shop(sandbox))
    assert done.returncode == 2
    assert "are for --http" in done.stderr


def test_it_does_not_serve_itself(sandbox: Sandbox) -> None:
    sandbox.variables["REMIT_DEPTH"] = "1"
    done = sandbox.remit("serve", cwd=shop(sandbox))
    assert done.returncode == 2
    assert "started by Remit itself" in done.stderr


def test_a_port_that_is_too_large_is_refused_with_the_range(sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", "--http", "x:99999")
    assert done.returncode == 2
    assert "--http: `99999` is not a port; expected 0 to 65535" in done.stderr


@pytest.mark.parametrize("address", ["localhost", "1.2.3.4:", "::1:80", ":"])
def test_an_address_that_is_none_is_refused(address: str, sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", "--http", address)
    assert done.returncode == 2
    assert "--http must be HOST:PORT" in done.stderr


def test_a_port_that_is_taken_is_named(sandbox: Sandbox) -> None:
    project = shop(sandbox)
    with serving(sandbox, project) as url:
        port = url.split(":")[2].split("/")[0]
        done = sandbox.remit("serve", "--http", port, cwd=project)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}")


@pytest.mark.parametrize("option", [("--agent", "nobody"), ("--room", "nowhere"), ("--client", "none")])
@pytest.mark.parametrize("way", [(), ("--http", "0")])
def test_what_does_not_exist_cannot_be_served(
    option: tuple[str, str], way: tuple[str, ...], sandbox: Sandbox
) -> None:
    done = sandbox.remit("serve", *way, *option, cwd=shop(sandbox))
    assert done.returncode == 2
    assert done.stdout == ""
    assert option[1] in done.stderr


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, None])
def test_however_it_ends_no_server_is_left_behind(end: signal.Signals | None, sandbox: Sandbox) -> None:
    project = shop(sandbox)
    command = fork_server().command("remit", "serve")
    with subprocess.Popen(
        command, cwd=project, env=sandbox.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
            '"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}',
            '{"jsonrpc":"2.0","method":"notifications/initialized"}',
            '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo__echo","arguments":{"text":"x"}}}',
        ):
            process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        while b'"id":2' not in process.stdout.readline():
            pass
        (status,) = (sandbox.root / "data/gateways").glob("*.json")
        children = children_of(int(status.stem))
        assert children
        if end is None:
            process.stdin.close()
        else:
            process.send_signal(end)
        assert process.wait(timeout=60) == (0 if end is None else 128 + end)
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{child}") for child in children):
        assert time.monotonic() < deadline


def children_of(pid: int) -> list[int]:
    found = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return [each for each in found if _parent(each) == pid]


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


def test_a_parent_needs_an_agent(sandbox: Sandbox) -> None:
    done = sandbox.remit("serve", "--parent", "lead", cwd=shop(sandbox))
    assert done.returncode == 2
    assert "--parent needs --agent" in done.stderr
