"""Large results and MCP Apps of real servers, through the gateway. Run by `make test-servers`."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from support.downstream import NEW, OLD, Downstream, downstream
from support.processes import ServedProject
from support.real_servers import FOLDER

PROGRAMS = FOLDER / "node_modules/.bin"
APPS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
LOG = "\n".join(f"{number} GET /page/{number}" for number in range(1, 20_001))
SECONDS = 60

pytestmark = [
    pytest.mark.skipif(
        not (PROGRAMS / "mcp-server-basic-vanillajs").exists(),
        reason="`make test-servers` installs the servers and runs this",
    ),
    pytest.mark.parametrize("era", [OLD, NEW]),
]


@pytest.fixture
def place(tmp_path: Path) -> ServedProject:
    return ServedProject(tmp_path.resolve())


def entry(program: str, *arguments: str) -> list[str]:
    return [str(PROGRAMS / program), *arguments]


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, SECONDS)

    asyncio.run(bounded())


async def listed(client: Downstream, wanted: str) -> dict[str, dict[str, Any]]:
    """List until a tool is there: the first list does not wait for the slowest server."""
    while True:
        tools = (await client.ask("tools/list"))["result"]["tools"]
        found = {tool["name"]: tool for tool in tools}
        if wanted in found:
            return found
        await asyncio.sleep(0.1)


def test_a_large_file_is_read_part_by_part_and_searched(place: ServedProject, era: str) -> None:
    (place.project / "log.txt").write_text(LOG)
    place.declare({"fs": entry("mcp-server-filesystem", str(place.project))})

    async def story(url: str) -> None:
        async with downstream(url, era) as client:
            await listed(client, "fs__read_text_file")
            asked = {"path": str(place.project / "log.txt")}
            first = (await client.ask("tools/call", name="fs__read_text_file", arguments=asked))["result"]
            result = first["_meta"]["remit/result"]["result"]
            assert first["_meta"]["remit/result"]["lines"] == 20_000
            assert set(first["structuredContent"]) == {"content"}  # as its output schema wants it
            assert "cut by Remit" in first["structuredContent"]["content"]
            parts, line = [first["content"][1]["text"]], first["content"][1]["text"].count("\n") + 1
            while line <= 20_000:
                given = {"result": result, "line": line}
                more = await client.ask("tools/call", name="read_result", arguments=given)
                parts.append(more["result"]["content"][1]["text"])
                line += parts[-1].count("\n") + (line + parts[-1].count("\n") == 20_000)
            assert "".join(parts) == LOG
            found = {"result": result, "search": r"/page/1999\d$", "regex": True}
            text = (await client.ask("tools/call", name="read_result", arguments=found))["result"]["content"]
            assert len(text[1]["text"].splitlines()) == 10

    with place.serving() as gateway:
        run(story(gateway.url))
    left = list(Path(place.environment["REMIT_HOME"]).glob("results/*"))
    assert left == []


def test_the_pages_of_apps_are_read_and_their_tools_called(place: ServedProject, era: str) -> None:
    place.declare(
        {
            "clock": entry("mcp-server-basic-vanillajs", "--stdio"),
            "other": entry("mcp-server-basic-vanillajs", "--stdio"),
            "monitor": entry("mcp-system-monitor-server", "--stdio"),
        }
    )

    async def story(url: str) -> None:
        async with downstream(url, era, capabilities=APPS) as client:
            for name in ("clock__get-time", "other__get-time"):
                await listed(client, name)
            tools = await listed(client, "monitor__get-system-info")
            assert tools["monitor__poll-system-stats"]["_meta"]["ui"] == {"visibility": ["app"]}
            pages = {name: tool["_meta"]["ui"]["resourceUri"] for name, tool in tools.items() if _page(tool)}
            assert pages["monitor__get-system-info"] == "ui://system-monitor/mcp-app.html"
            assert pages["clock__get-time"].startswith("ui://")
            assert pages["clock__get-time"] != pages["other__get-time"]
            for page in pages.values():
                contents = (await client.ask("resources/read", uri=page))["result"]["contents"]
                assert contents[0]["uri"] == page
                assert contents[0]["mimeType"] == "text/html;profile=mcp-app"
                assert "<html" in contents[0]["text"]
            stats = await client.ask("tools/call", name="poll-system-stats", arguments={})
            assert "memory" in json.dumps(stats["result"])
        if era == OLD:
            async with downstream(url, era) as plain:
                assert "monitor__poll-system-stats" not in await plain.tools()

    with place.serving() as gateway:
        run(story(gateway.url))


def _page(tool: dict[str, Any]) -> bool:
    return "resourceUri" in tool.get("_meta", {}).get("ui", {})
