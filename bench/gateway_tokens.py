"""What the list costs that an agent receives, under each strategy and with more and more tools."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway_client import NEW, Client, Pipes
from remit.text.token_estimate import definition_tokens
from support.processes import ServedProject, server_command

SIZES = (50, 500, 2_000)
SERVERS = 10  # among which the tools are spread
STRATEGIES = ("auto", "state", "search", "namespace", "rooms", "manifest", "flat")
ROOM = """
[rooms.room{number}]
description = "All that server {number} has"
tools = ["mcp__server{number}__*"]
"""


def tokens(folder: Path, tools: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The tokens of what `tools/list` answers, by number of tools and strategy."""
    return {
        str(size): {name: _tokens(folder / f"{size}-{name}", tools[:size], name) for name in STRATEGIES}
        for size in SIZES
    }


def _tokens(folder: Path, tools: Sequence[dict[str, Any]], strategy: str) -> int:
    print(f"asking for {len(tools)} tools, {strategy}", file=sys.stderr)
    place, servers = ServedProject(folder), dict[str, list[str]]()
    for number in range(SERVERS):
        file = folder / f"server{number}.json"
        file.write_text(json.dumps(tools[number::SERVERS]), "utf-8")
        servers[f"server{number}"] = server_command("by_hand.py", "--list", str(file))
    rooms = "".join(ROOM.format(number=number) for number in range(SERVERS))
    place.declare(servers, rooms if strategy == "rooms" else "")
    place.learn()
    wire = Pipes(place.command("--strategy", strategy), environment=place.environment, cwd=place.project)
    try:
        return sum(_cost(tool) for tool in _listed(Client(wire, NEW), strategy))
    finally:
        wire.close()


def _listed(client: Client, strategy: str) -> list[dict[str, Any]]:
    """The tools that an agent receives; with a manifest, those of the first scope that it asks for."""
    if strategy != "manifest":
        return client.tools()
    told = client.result("server/discover")["capabilities"]["extensions"]["remit/scopes"]
    return client.result("tools/list", {"scope": told["scopes"][0]})["tools"]


def _cost(tool: dict[str, Any]) -> int:
    schema = json.dumps(tool["inputSchema"], ensure_ascii=False, separators=(",", ":"))
    return definition_tokens(tool["name"], tool.get("description"), schema)
