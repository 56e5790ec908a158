"""`remit credential`, and a gateway whose users sign in to a server each for themselves."""

import json
import sys
from pathlib import Path

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from support.processes import SERVERS
from support.sandbox import Sandbox
from support.served_gateway import serving

VALUES = {"alice": "ghp_alice_0123456789abcdef", "bob": "ghp_bob_0123456789abcdef"}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A project, and a server that is used with the credential of its caller."""
    project = sandbox.project("shop")
    entry = {
        "command": sys.executable,
        "args": [str(SERVERS / "by_hand.py")],
        "env": {"LOGIN": "${credential}"},
    }
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": {"hub": entry}, "projects": {}})
    rules = '[servers.hub]\ncredentials = "principal"\n'
    sandbox.write(sandbox.home / ".config" / "remit" / "remit.toml", rules)
    return project


def set_for(sandbox: Sandbox, project: Path, name: str) -> None:
    done = sandbox.remit("credential", "set", "hub", "--for", name, cwd=project, stdin=VALUES[name] + "\n")
    assert (done.returncode, done.stdout) == (0, f"set the credential of {name} for hub\n"), done.stderr
    assert done.stderr == ""


def everything_written(sandbox: Sandbox) -> bytes:
    files = [file for file in sandbox.root.rglob("*") if file.is_file() and not file.is_symlink()]
    return b"\n".join(file.read_bytes() for file in files)


def test_a_credential_is_set_listed_and_removed_and_shown_nowhere(sandbox: Sandbox, shop: Path) -> None:
    assert "No credentials" in sandbox.remit("credential", "list").stdout
    set_for(sandbox, shop, "alice")
    set_for(sandbox, shop, "bob")
    listed = sandbox.remit("credential", "list")
    assert "alice" in listed.stdout
    first, second = json.loads(sandbox.remit("credential", "list", "--json").stdout)["credentials"]
    assert (first["principal"], second["principal"], first["server"]) == ("alice", "bob", "hub")
    assert sandbox.remit("credential", "new-key").stdout.startswith("created key ")
    assert sandbox.remit("credential", "rekey").stdout == "re-encrypted: 2\n"
    assert sandbox.remit("credential", "remove", "hub", "--for", "bob").stdout == "removed: 1\n"
    again = sandbox.remit("credential", "remove", "hub", "--for", "bob")
    assert (again.returncode, again.stderr) == (1, "error: bob has no such credential\n")
    said = listed.stdout + json.dumps([first, second])
    for value in VALUES.values():
        assert value not in said
        assert value.encode() not in everything_written(sandbox)


def test_an_argument_is_no_place_for_a_credential(sandbox: Sandbox, shop: Path) -> None:
    done = sandbox.remit("credential", "set", "hub", VALUES["alice"], "--for", "alice", cwd=shop)
    assert done.returncode == 2
    done = sandbox.remit("credential", "set", "hub", "--for", "alice", cwd=shop, stdin="two words")
    assert "cannot be sent" in done.stderr
    assert "two words" not in done.stderr
    done = sandbox.remit("credential", "set", "hub", "--for", "al\nice", cwd=shop, stdin="x")
    assert "not printable" in done.stderr


def test_a_server_without_the_rule_is_pointed_out(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".config" / "remit" / "remit.toml", "")
    done = sandbox.remit("credential", "set", "hub", "--for", "alice", "--json", cwd=shop, stdin="secret")
    assert json.loads(done.stdout) == {"server": "hub", "principal": "alice"}
    assert "not used yet" in done.stderr


def test_a_revoked_token_and_a_forgotten_project_take_their_credentials_along(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.remit("token", "add", "alice")
    set_for(sandbox, shop, "alice")
    assert "removed its credentials for servers: 1" in sandbox.remit("token", "revoke", "alice").stdout
    assert json.loads(sandbox.remit("credential", "list", "--json").stdout) == {"credentials": []}
    assert sandbox.remit("forget", str(shop), "--yes").returncode == 0


def text_of(result: object) -> str:
    assert isinstance(result, types.CallToolResult)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.long
def test_each_user_of_a_gateway_calls_a_server_as_itself(sandbox: Sandbox, shop: Path) -> None:
    tokens = {name: sandbox.remit("token", "add", name).stdout.strip() for name in ("alice", "bob", "eve")}
    set_for(sandbox, shop, "alice")
    set_for(sandbox, shop, "bob")
    said: dict[str, str] = {}

    async def run(url: str) -> None:
        for name, token in tokens.items():
            with anyio.fail_after(60):
                while name not in said:  # a first list may come before the server's answer
                    await try_as(name, token, url)

    async def try_as(name: str, token: str, url: str) -> None:
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"})
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            if "hub__where" in [each.name for each in (await client.list_tools()).tools]:
                said[name] = text_of(await client.call_tool("hub__where", {}))

    with serving(sandbox, shop) as url:
        anyio.run(run, url)
        status = sandbox.remit("status", "--json").stdout
    assert {name: json.loads(said[name])["env"]["LOGIN"] for name in VALUES} == VALUES
    assert said["eve"] == (
        "`hub` needs your own credential, and you are not signed in to it\n"
        "Next step: ask the user to sign in to `hub`, then call it again."
    )
    shown = [
        status,
        *(
            sandbox.remit(*command, cwd=shop).stdout
            for command in (
                ("calls", "--json"),
                ("why", "hub__where", "--json"),
                ("tools", "--all", "--json"),
                ("memory", "list", "--json"),
            )
        ),
    ]
    for value in VALUES.values():
        assert value not in "".join(shown)
        assert value.encode() not in everything_written(sandbox)
    calls = json.loads(shown[1])["calls"]
    outcomes = {each["principal"]: each["outcome"] for each in calls if "where" in each["tool"]}
    assert outcomes == {"alice": "done", "bob": "done", "eve": "refused"}
