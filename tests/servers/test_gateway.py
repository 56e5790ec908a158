"""Real servers of npm and PyPI behind one gateway: every tool is there, and every answer is the server's own.

Run by `make test-servers`. Each server is asked directly as well, in the words of the protocol's first era.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from remit.upstream.ports import RELAYED
from support.downstream import NEW, Downstream, downstream
from support.processes import ServedProject, git
from support.real_servers import NPM, PYPI, entries

SECONDS = 120
LONGEST = 64 - len("mcp__remit__")  # that a client may put before a name
PROGRAMS = [real.program for real in (*NPM, *PYPI)]

pytestmark = pytest.mark.skipif(
    not os.environ.get("REMIT_TEST_SERVERS"), reason="`make test-servers` installs the servers and runs this"
)

WORK: Mapping[str, tuple[str, dict[str, Any], str]] = {
    "mcp-server-sequential-thinking": (
        "sequentialthinking",
        {"thought": "a", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtNumber",
    ),
    "mcp-server-memory": ("read_graph", {}, "entities"),
    "mcp-server-everything": ("echo", {"message": "from far"}, "from far"),
    "mcp-server-filesystem": ("list_allowed_directories", {}, "Allowed directories"),
    "mcp-server-time": ("get_current_time", {"timezone": "UTC"}, "UTC"),
    "mcp-server-git": ("git_status", {"repo_path": "{project}"}, "main"),
}


@pytest.fixture
def place(tmp_path: Path) -> ServedProject:
    made = ServedProject(tmp_path.resolve())
    git("init", cwd=made.project)
    made.declare(
        {short(program): entry for program, entry in entries(made.home).items()}, 'strategy = "state"\n'
    )
    return made


def short(program: str) -> str:
    """A name that leaves room for those of the tools, which would be shortened otherwise."""
    return f"s{PROGRAMS.index(program)}"


def test_all_tools_of_real_servers_are_listed_and_answer_as_they_do_by_themselves(
    place: ServedProject, capsys: Any
) -> None:
    known = entries(place.home)
    with place.serving() as gateway:
        through = asyncio.run(asked_through(gateway.url, known, place))
    for label, entry in known.items():
        direct = Direct(entry, place)
        try:
            listed = direct.tools()
            fit = {name for name, schema in listed.items() if schema.get("type") == "object"}
            long = {name for name in fit if len(f"{short(label)}__{name}") > LONGEST}
            assert fit - through.names[label] == long, label  # these are shortened
            assert len(through.names[label]) == len(fit), label
            assert through.answers[label] == direct.refusal(through.asked[label]), label
        finally:
            direct.end()
    for label, (_, _, expected) in WORK.items():
        if label in known:
            assert expected in through.work[label], label
    with capsys.disabled():
        total = sum(map(len, through.names.values()))
        print(f"\n{len(known)} servers behind one gateway, {total} tools")  # noqa: T201 - the figures


class Through:
    """What came through the gateway, by server."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {}
        self.asked: dict[str, str] = {}
        self.answers: dict[str, object] = {}
        self.work: dict[str, str] = {}


async def asked_through(url: str, known: Mapping[str, Any], place: ServedProject) -> Through:
    found = Through()
    async with downstream(url, NEW) as client:
        schemas = await all_schemas(client, known)
        for label in known:
            prefix = f"{short(label)}__"
            mine = {name: schema for name, schema in schemas.items() if name.startswith(prefix)}
            found.names[label] = {name.removeprefix(prefix) for name in mine}
            strict = [name for name, schema in mine.items() if schema.get("required")]
            found.asked[label] = (strict or list(mine))[0].removeprefix(prefix)
            answer = await client.ask("tools/call", name=f"{prefix}{found.asked[label]}", arguments={})
            found.answers[label] = told(answer)
            if label in WORK:
                name, arguments, _ = WORK[label]
                given = {
                    key: value.format(project=place.project) if isinstance(value, str) else value
                    for key, value in arguments.items()
                }
                found.work[label] = await client.call(f"{prefix}{name}", **given)
    return found


async def all_schemas(client: Downstream, known: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """List until every server has had the time to start: the first list does not wait for the slowest."""
    until = asyncio.get_running_loop().time() + SECONDS
    while True:
        listed = (await client.ask("tools/list"))["result"]["tools"]
        schemas = {tool["name"]: tool["inputSchema"] for tool in listed}
        missing = [one for one in known if not any(name.startswith(f"{short(one)}__") for name in schemas)]
        if not missing:
            return schemas
        assert asyncio.get_running_loop().time() < until, f"nothing is listed of {missing}"
        await asyncio.sleep(0.2)


def told(answer: Mapping[str, Any]) -> object:
    """The part of an answer that is the server's: not what the new era adds to every result."""
    if "error" in answer:
        return answer["error"]["code"], answer["error"]["message"]
    return {key: said for key, said in answer["result"].items() if key not in ("_meta", "resultType")}


class Direct:
    """A server that is asked by hand."""

    def __init__(self, entry: Mapping[str, Any], place: ServedProject) -> None:
        self.number = 0
        self.process = subprocess.Popen(
            [entry["command"], *entry["args"]],
            env={**place.environment, **entry["env"]},
            cwd=place.project,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.watchdog = Timer(SECONDS, self.process.kill)
        self.watchdog.start()
        hello = {"capabilities": dict(RELAYED), "clientInfo": {"name": "x", "version": "0"}}
        self.ask("initialize", {"protocolVersion": "2025-11-25", **hello})
        self.send({"method": "notifications/initialized"})

    def tools(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        cursor: dict[str, Any] | None = {}
        while cursor is not None:
            page = self.ask("tools/list", cursor)["result"]
            found |= {tool["name"]: tool.get("inputSchema", {}) for tool in page["tools"]}
            cursor = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
        return found

    def refusal(self, name: str) -> object:
        """What it says to a call without arguments."""
        return told(self.ask("tools/call", {"name": name, "arguments": {}}))

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{") and (message := json.loads(line)).get("id") == self.number:
                return message
        raise AssertionError(f"no answer to {method}")

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()
