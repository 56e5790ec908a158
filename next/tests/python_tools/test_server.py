"""Tools of Python functions, served to an MCP client; and their results as text."""

import datetime
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from remit.python_tools import ToolRegistry, requires, result_text, tool
from remit.python_tools.server import ToolSession
from support.wires import Wire, serving

pytestmark = pytest.mark.anyio

_VERSION, _STATELESS = "2025-11-25", "2026-07-28"
_ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": _STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Client:
    """A client at the other end of the wire."""

    def __init__(self, wire: Wire, meta: dict[str, Any] | None = None) -> None:
        self.wire = wire
        self.heard: list[dict[str, Any]] = []
        self._meta = {} if meta is None else {"_meta": meta}
        self._number = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and return its answer or its error."""
        self._number += 1
        self.wire.write(
            {"jsonrpc": "2.0", "id": self._number, "method": method, "params": {**params, **self._meta}}
        )
        while (message := await self.wire.read()).get("id") != self._number:
            self.heard.append(message)
        return message.get("result", message.get("error"))

    async def call(self, name: str, **arguments: Any) -> tuple[bool, str]:
        result = await self.ask("tools/call", name=name, arguments=arguments)
        return result["isError"], result["content"][0]["text"]

    async def names(self) -> list[str]:
        return [tool["name"] for tool in (await self.ask("tools/list"))["tools"]]

    async def next_notification(self) -> dict[str, Any]:
        with anyio.fail_after(5):
            return self.heard.pop(0) if self.heard else await self.wire.read()


def shop(root: Path) -> ToolRegistry:
    registry = ToolRegistry({"open": lambda: (root / "open").exists()})

    @registry.register
    @tool(name="shop.open", danger="low")
    def open_shop() -> str:  # pyright: ignore[reportUnusedFunction] - it is registered
        """Open the shop."""
        (root / "open").touch()
        return "open"

    @registry.register
    @tool(name="shop.sell", danger="destructive")
    @requires("open")
    async def sell(what: str) -> dict[str, str]:  # pyright: ignore[reportUnusedFunction] - it is registered
        if what == "air":
            raise ValueError("nobody buys air")
        return {"sold": what}

    return registry


@asynccontextmanager
async def connected(
    registry: ToolRegistry,
    meta: dict[str, Any] | None = None,
    capabilities: dict[str, Any] | None = None,
) -> AsyncGenerator[tuple[Client, dict[str, Any]]]:
    session = ToolSession(registry, "shop", "1")
    async with serving(session) as (peer, wire):
        peer.tasks.start(session.watch(peer))
        client = Client(wire, meta)
        if meta is None:
            hello: dict[str, Any] = {"protocolVersion": _VERSION, "capabilities": capabilities or {}}
            hello["clientInfo"] = {"name": "tests"}
            yield client, await client.ask("initialize", **hello)
        else:
            yield client, await client.ask("server/discover")


async def test_a_call_that_changes_the_states_changes_the_list_and_says_so(tmp_path: Path) -> None:
    async with connected(shop(tmp_path)) as (client, hello):
        assert (hello["protocolVersion"], hello["serverInfo"]["name"]) == (_VERSION, "shop")
        (only,) = (await client.ask("tools/list"))["tools"]
        assert (only["name"], only["description"]) == ("shop.open", "Open the shop.")
        assert await client.call("shop.sell", what="tea") == (
            True,
            "`shop.sell`: state `open` does not hold\nAsk the user: only a person can change this.",
        )
        assert await client.call("shop.open") == (False, "open")
        assert [told["method"] for told in client.heard] == ["notifications/tools/list_changed"]
        both = (await client.ask("tools/list"))["tools"]
        assert [item["name"] for item in both] == ["shop.open", "shop.sell"]
        assert [item["annotations"]["destructiveHint"] for item in both] == [False, True]
        assert await client.call("shop.sell", what="tea") == (False, '{"sold":"tea"}')


async def test_a_change_that_comes_from_a_file_is_announced_within_a_second(tmp_path: Path) -> None:
    async with connected(shop(tmp_path)) as (client, _):
        assert await client.names() == ["shop.open"]
        (tmp_path / "open").touch()
        with anyio.fail_after(2):
            assert (await client.next_notification())["method"] == "notifications/tools/list_changed"
        assert await client.names() == ["shop.open", "shop.sell"]


async def test_a_client_without_a_session_hears_of_changes_on_its_stream(tmp_path: Path) -> None:
    async with connected(shop(tmp_path), _ENVELOPE) as (client, hello):
        assert hello["supportedVersions"] == [_STATELESS]
        assert await client.names() == ["shop.open"]
        listen: dict[str, Any] = {"notifications": {"toolsListChanged": True}, "_meta": _ENVELOPE}
        client.wire.write(
            {"jsonrpc": "2.0", "id": "changes", "method": "subscriptions/listen", "params": listen}
        )
        told = await client.next_notification()
        assert told["method"] == "notifications/subscriptions/acknowledged"
        (tmp_path / "open").touch()
        changed = await client.next_notification()
        assert changed["method"] == "notifications/tools/list_changed"
        assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "changes"}


async def test_all_tools_are_declared_so_that_a_gateway_holds_none_that_appears_later(tmp_path: Path) -> None:
    async with connected(shop(tmp_path)) as (_, hello):
        declared = hello["capabilities"]["experimental"]["remit/states"]
        assert [(item["tool"]["name"], item["namespace"], item["danger"]) for item in declared["tools"]] == [
            ("shop.open", "shop", "low"),
            ("shop.sell", "shop", "destructive"),
        ]


async def test_a_tool_that_fails_leaves_the_server_at_work(tmp_path: Path) -> None:
    (tmp_path / "open").touch()
    async with connected(shop(tmp_path)) as (client, _):
        assert await client.call("shop.sell", what="air") == (True, "ValueError: nobody buys air")
        assert await client.call("shop.sell", wat="tea") == (
            True,
            "there is no parameter `wat`\nhint: did you mean `what`?",
        )
        error = await client.ask("tools/call", name="shop.buy", arguments={})
        assert error["message"] == "Unknown tool: shop.buy"
        assert await client.call("shop.sell", what="tea") == (False, '{"sold":"tea"}')


async def test_a_call_that_needs_approval_names_the_command_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_HOME", str(tmp_path))
    with ToolRegistry() as registry:
        registry.register(lambda: "paid", name="till.pay", approval=True)
        async with connected(registry) as (client, _):
            assert await client.names() == ["till.pay"]
            is_error, text = await client.call("till.pay")
    assert is_error
    assert "Ask the user to run `remit approve " in text


_ELICITS: dict[str, Any] = {"elicitation": {}}


@pytest.mark.parametrize("approve", [True, False])
async def test_the_user_of_a_client_is_asked_in_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approve: bool
) -> None:
    monkeypatch.setenv("REMIT_HOME", str(tmp_path))
    with ToolRegistry() as registry:
        registry.register(lambda: "paid", name="till.pay", approval=True)
        async with connected(registry, capabilities=_ELICITS) as (client, _):
            client.wire.write(
                {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "till.pay"}}
            )
            asked = await client.next_notification()
            assert asked["method"] == "elicitation/create"
            assert asked["params"]["message"].startswith("Allow this call of `till.pay`?")
            answer = {"action": "accept", "content": {"approve": approve}}
            client.wire.write({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
            result = (await client.next_notification())["result"]
    assert (result["isError"], result["content"][0]["text"] == "paid") == (not approve, approve)


async def test_a_client_without_a_session_repeats_its_call_with_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_HOME", str(tmp_path))
    envelope = {**_ENVELOPE, "io.modelcontextprotocol/clientCapabilities": _ELICITS}
    with ToolRegistry() as registry:
        registry.register(lambda: "paid", name="till.pay", approval=True)
        async with connected(registry, envelope) as (client, _):
            waiting = await client.ask("tools/call", name="till.pay", arguments={})
            assert waiting["resultType"] == "input_required"
            assert waiting["inputRequests"]["approval"]["method"] == "elicitation/create"
            again: dict[str, Any] = {"requestState": waiting["requestState"]}
            again["inputResponses"] = {"approval": {"action": "accept", "content": {"approve": True}}}
            result = await client.ask("tools/call", name="till.pay", arguments={}, **again)
            assert result["content"][0]["text"] == "paid"
            waiting = await client.ask("tools/call", name="till.pay", arguments={}, **again)
            assert waiting["resultType"] == "input_required"  # an answer counts for one call


PROGRAM = """
from remit.python_tools import ToolRegistry, serve

def talk() -> str:
    print("not for the client")
    return "done"

registry = ToolRegistry()
registry.register(talk)
serve(registry, name="talker")
"""


async def test_what_a_tool_prints_does_not_reach_the_client(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    hello: dict[str, Any] = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "tests"}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "talk", "arguments": {}}},
    ]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert answers[2]["result"]["content"][0]["text"] == "done"
    assert done.stderr == "not for the client\n"


class Level(Enum):
    LOW = "low"


@dataclass
class Author:
    name: str


class Post(BaseModel):
    author: Author
    level: Level
    day: datetime.date


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("já", "já"),
        (None, "null"),
        (["já"], '["já"]'),
        ({1, 2}, "[1,2]"),
        (
            [Post(author=Author("Ada"), level=Level.LOW, day=datetime.date(2026, 1, 2))],
            '[{"author":{"name":"Ada"},"level":"low","day":"2026-01-02"}]',
        ),
        (b"\xff", '"_w=="'),
        ({"kind": Level}, '{"kind":"<enum \'Level\'>"}'),
    ],
)
def test_a_result_is_text_or_json(result: Any, text: str) -> None:
    assert result_text(result) == text
