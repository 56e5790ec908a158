"""Results that are too large: their beginning, how the rest is read, and who may read it."""

import json
import re
from typing import Any

import pytest

from support.gateways import Client, World, connected, served

pytestmark = pytest.mark.anyio
LINES = "\n".join(f"line {number}: {'word ' * 20}" for number in range(1, 2_001))


def long(text: str = LINES, **definition: Any) -> dict[str, Any]:
    return {"log": {"definition": definition, "does": {"text": text}}}


async def kept(client: Client) -> str:
    """Call the tool, and return the id of its kept result."""
    answer = await client.call("files__log")
    note, beginning = (block["text"] for block in answer["content"])
    assert beginning.startswith("line 1: ")
    assert len(beginning) < len(LINES) / 2
    found = re.search(r'`result` = "(\w+)"', note)
    assert found is not None
    assert answer["_meta"]["remit/result"]["lines"] == 2_000
    return found[1]


async def test_a_large_result_becomes_its_beginning_and_the_rest_is_read_and_searched(world: World) -> None:
    world.server("files", tools=long())
    async with served(world) as client:
        id = await kept(client)
        assert "line 1500: " in await client.text("read_result", result=id, line=1_500, limit=1)
        found = await client.text("read_result", result=id, search="LINE 1999")
        assert "1 matching line of 2,000." in found
        assert "1999: line 1999" in found
        assert "line 2: " in await client.text(
            "read_result", result=id, offset=LINES.index("line 2"), limit=1
        )
        assert "after the end" in await client.text("read_result", result=id, line=9_999)
        assert "not both" in await client.text("read_result", result=id, line=1, offset=1)
        assert "unknown argument `path`" in await client.text("read_result", result=id, path="$")


async def test_small_results_pass_and_zero_means_no_limit(world: World) -> None:
    world.server("files", tools=long())
    world.mine("result_budget = 0")
    async with served(world) as client:
        assert await client.text("files__log") == LINES
        own = [tool["name"] for tool in (await client.request("tools/list"))["tools"]]
        assert "read_result" not in own


async def test_a_result_belongs_to_its_session_and_its_tool_must_still_be_callable(world: World) -> None:
    world.server("files", tools=long())
    spec = world.spec()
    async with world.gateway() as it, connected(it, spec) as one, connected(it, spec) as two:
        id = await kept(one)
        assert "Unknown result" in await two.text("read_result", result=id)
        world.mine('block = ["mcp__files__log"]')
        assert "`block`" in await one.text("read_result", result=id)


async def test_structured_content_stays_valid_for_its_schema_or_passes_whole(world: World) -> None:
    rows = [{"text": "word " * 40} for _ in range(2_000)]
    schema = {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"type": "object"}},
            "remit_note": {"type": "string"},
        },
        "required": ["rows"],
        "additionalProperties": False,
    }
    result = {
        "content": [{"type": "text", "text": json.dumps({"rows": rows})}],
        "structuredContent": {"rows": rows},
    }
    strict = {**schema, "properties": {"rows": {"type": "array", "minItems": 2_000}}}
    world.server(
        "files",
        tools={
            "lax": {"definition": {"outputSchema": schema}, "does": {"result": result}},
            "strict": {"definition": {"outputSchema": strict}, "does": {"result": result}},
            "none": {"does": {"result": result}},
        },
    )
    async with served(world) as client:
        cut = (await client.call("files__lax"))["structuredContent"]
        assert 0 < len(cut["rows"]) < 2_000
        assert "read on with" in cut["remit_note"]
        assert await client.call("files__strict") == result
        assert "structuredContent" not in await client.call("files__none")


async def test_long_texts_in_structured_content_are_shortened_like_arrays(world: World) -> None:
    value = {"page": "word " * 40_000}
    schema = {"type": "object", "properties": {"page": {"type": "string"}}, "additionalProperties": False}
    result = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    world.server("files", tools={"get": {"definition": {"outputSchema": schema}, "does": {"result": result}}})
    async with served(world) as client:
        cut = (await client.call("files__get"))["structuredContent"]
        assert len(cut["page"]) < 100_000
        assert "cut by Remit" in cut["page"]


async def test_a_tool_declares_how_much_it_returns_and_a_page_gets_everything(world: World) -> None:
    world.server("files", tools=long(_meta={"anthropic/maxResultSizeChars": 400_000}))
    world.server("pages", tools=long(_meta={"ui": {"resourceUri": "ui://p"}}))
    async with served(world) as client:
        assert await client.text("files__log") == LINES
        assert await client.text("pages__log") == LINES


async def test_nothing_of_a_result_is_in_a_named_file(world: World) -> None:
    world.server("files", tools=long())
    async with served(world) as client:
        await kept(client)
        files = [path for path in world.data.rglob("*") if path.is_file()]
        assert not any(b"line 1999" in path.read_bytes() for path in files)
