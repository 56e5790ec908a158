"""What the list costs that an agent receives, under each strategy and with more and more tools."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway_client import NEW, Client, Pipes
from processes import Place, server
from remit.core.tokens import definition_tokens

SIZES = (50, 500, 2_000)
SERVERS = 10  # among which the tools are spread
STRATEGIES = ("auto", "state", "search", "namespace", "rooms", "manifest", "flat")
ROOMS = """
[rooms.first]
description = "All that the first server has"
tools = ["mcp__server0__*"]
"""


def tokens(folder: Path, tools: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The tokens of what `tools/list` answers, by number of tools and strategy."""
    return {
        str(size): {name: _tokens(folder / f"{size}-{name}", tools[:size], name) for name in STRATEGIES}
        for size in SIZES
    }


def _tokens(folder: Path, tools: Sequence[dict[str, Any]], strategy: str) -> int:
    print(f"asking for {len(tools)} tools, {strategy}", file=sys.stderr)
    place, servers = Place(folder), dict[str, list[str]]()
    for number in range(SERVERS):
        file = folder / f"server{number}.json"
        file.write_text(json.dumps(tools[number::SERVERS]), "utf-8")
        servers[f"server{number}"] = server("by_hand.py", "--list", str(file))
    place.declare(servers, ROOMS if strategy == "rooms" else "")
    wire = Pipes(place.command("--strategy", strategy), environment=place.environment, cwd=place.project)
    try:
        return sum(_cost(tool) for tool in Client(wire, NEW).tools())
    finally:
        wire.close()


def _cost(tool: dict[str, Any]) -> int:
    schema = json.dumps(tool["inputSchema"], ensure_ascii=False, separators=(",", ":"))
    return definition_tokens(tool["name"], tool.get("description"), schema)
