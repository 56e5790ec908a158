"""What the gateway lists and finds of real servers, as digests: their definitions lie elsewhere."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oracle.answers import digest, discovered
from oracle.machine import Machine
from oracle.worlds import World, stub


def ask_servers(chosen: str, data: Path, remit: Sequence[str], root: Path) -> list[Any]:
    """Serve one file of `real-mcp-tools`, or `several` together, which the machine gets one by one."""
    paths = sorted(data.glob(f"real-mcp-tools/{'*' if chosen == 'several' else chosen}.json"))[::6]
    offers = {f"s{number}": json.loads(path.read_text("utf-8")) for number, path in enumerate(paths)}
    machine = Machine(World("servers", {}), remit, root)
    servers: dict[str, Any] = {}
    for name, offer in offers.items():
        servers[name] = stub(name)
        definitions = {f"servers/{name}.json": json.dumps(offer).encode()}
        machine.write({"home/.claude.json": {"mcpServers": servers}, **definitions})
        _wait_for(name, machine)
    with machine.serve("--strategy", "flat") as gateway:
        tools = [tool for tool in gateway.tools() if tool["name"].partition("__")[0] in offers]
        queries = [query for offer in offers.values() for query in _queries(offer["tools"])]
        found = [digest(discovered(gateway, query)) for query in queries[:: len(offers)]]
    return [len(tools), digest([tool["name"] for tool in tools]), digest(tools), found]


def _wait_for(server: str, machine: Machine) -> None:
    """Keep a gateway open until it lists the server, which may be slow, or offer nothing that is valid."""
    with machine.serve("--strategy", "flat") as gateway:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if any(tool["name"].startswith(f"{server}__") for tool in gateway.tools()):
                return
            time.sleep(0.2)


def _queries(tools: Sequence[dict[str, Any]]) -> list[str]:
    """The name and the first words of the first, the middle and the last tool."""
    chosen = {tools[place]["name"]: tools[place] for place in (0, len(tools) // 2, -1)} if tools else {}
    texts = [
        text
        for tool in chosen.values()
        for text in (tool["name"].replace("_", " "), tool.get("description", ""))
    ]
    return [" ".join(text.split()[:12]) for text in texts if text.strip()]
