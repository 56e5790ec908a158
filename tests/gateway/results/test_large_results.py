"""Results over the budget: what a model gets, and how it reads the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.results import large_results
from remit.gateway.results.large_results import regex_matches
from remit.presentation.results.excerpts import BadReadError, Match
from remit.protocol.json_rpc import Answer
from remit.upstream.ports import ServerLists
from support.gateway_fakes import YES, FakeCaller, FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

LOG = "\n".join(f"{number} GET /page/{number}" for number in range(1, 20_001))
STRUCTURED: Answer = {"content": [{"type": "text", "text": LOG}], "structuredContent": {"content": LOG}}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"content": {"type": "string"}},
    "required": ["content"],
    "additionalProperties": False,
}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    return sandbox.project("shop")


def serving(text: str = LOG, *, answer: Answer | None = None, **definition: object) -> FakeLinks:
    """A server whose tools return a result."""
    links = FakeLinks({"git": ServerLists(tools=[offered("log", **definition), offered("blame")])})
    links.answers["git"] = lambda _: answer or {"content": [{"type": "text", "text": text}]}
    return links


def result_of(answer: Answer) -> str:
    return answer["_meta"]["remit/result"]["result"]


async def read(served: LiveEndpoint, result: str, caller: FakeCaller | None = None, **asked: Any) -> str:
    return told(await call(served, "read_result", {"result": result, **asked}, caller))


@pytest.mark.long
@pytest.mark.parametrize("name", ["git__log", "call_tool"])
async def test_a_large_result_becomes_its_beginning_and_the_rest_is_read(
    sandbox: Sandbox, shop: Path, name: str
) -> None:
    async with endpoint(sandbox, serving(), shop, strategy="search") as served:
        await served.tools({})
        arguments: dict[str, Any] = {"name": "git__log"} if name == "call_tool" else {}
        answer = await call(served, name, arguments)
        note, beginning = (each["text"] for each in answer["content"])
        assert "20,000 lines" in note
        assert LOG.startswith(beginning)
        assert len(beginning) < 60_000
        result = result_of(answer)
        following = beginning.count("\n") + 1
        assert f"Continue with `line` = {following}." in note
        assert await read(served, result, line=following, limit=1) == (
            f"From the result `{result}` of `git__log`. Line {following:,} of 20,000. "
            f"Continue with `line` = {following + 1}.\n{following} GET /page/{following}\n"
        )
        assert (await read(served, result, search="/page/1999")).splitlines()[
            1
        ] == "1999: 1999 GET /page/1999"
        assert "19990: " in await read(served, result, search=r"/page/1999\d", regex=True)
        assert "not a regular expression" in await read(served, result, search="[", regex=True)
        assert "this result is not JSON" in await read(served, result, path="$.a")


async def test_a_result_within_the_budget_passes_unchanged(sandbox: Sandbox, shop: Path) -> None:
    image = {"type": "image", "data": "A" * 500_000, "mimeType": "image/png"}
    small: Answer = {"content": [image, {"type": "text", "text": "a picture"}]}
    asks: Answer = {"resultType": "input_required", "inputRequests": {"a": {"x": LOG}}}
    for answer in (small, asks):
        async with endpoint(sandbox, serving(answer=answer), shop) as served:
            await served.tools({})
            assert await call(served, "git__log") == answer


async def test_a_result_belongs_to_its_session_and_goes_with_it(sandbox: Sandbox, shop: Path) -> None:
    me, other, token = FakeCaller("me"), FakeCaller("other"), FakeCaller("me", principal="token")
    async with endpoint(sandbox, serving(), shop) as served:
        await served.tools({})
        result = result_of(await call(served, "git__log", caller=me))
        assert "Line 1 of 20,000" in await read(served, result, me, limit=1)
        for caller in (other, token):
            assert await read(served, result, caller) == (
                f"Unknown result: {result}\n"
                "hint: It may be too old, or belong to another session: call its tool again."
            )
        async with endpoint(sandbox, serving(), shop) as elsewhere:
            assert "Unknown result" in await read(elsewhere, result, me)
        await served.leave("me")
        assert "Unknown result" in await read(served, result, me)
    assert not list((sandbox.database.parent / "results").iterdir())


async def test_reading_is_decided_like_a_call_of_the_tool(sandbox: Sandbox, shop: Path) -> None:
    async with endpoint(sandbox, serving(), shop) as served:
        await served.tools({})
        result = result_of(await call(served, "git__log"))
        sandbox.write(shop / "remit.toml", 'block = ["git__log"]\n')
        refused = await call(served, "read_result", {"result": result})
        assert refused["isError"]
        assert told(refused).startswith("`git__log` is not available now by policy")
        sandbox.write(shop / "remit.toml", '[tools."git__log"]\napproval = true\n')
        refused = await call(served, "read_result", {"result": result})
        assert "Next step: call `git__log` again, which requests approval." in told(refused)
        person = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
        approved = result_of(await call(served, "git__log", caller=person))
        assert "Line 1 of" in await read(served, approved, limit=1)
        sandbox.write(sandbox.home / ".claude.json", {})
        assert "no longer configured" in await read(served, approved)


async def test_the_result_of_a_tool_that_its_server_no_longer_lists_is_not_read(
    sandbox: Sandbox, shop: Path
) -> None:
    links = serving()
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        result = result_of(await call(served, "git__log"))
        links.restart("git", ServerLists(tools=[offered("blame")]))
        await call(served, "git__blame")
        assert "its server `git` no longer lists it" in await read(served, result)


async def test_structured_content_stays_valid_for_the_output_schema(sandbox: Sandbox, shop: Path) -> None:
    async with endpoint(sandbox, serving(answer=STRUCTURED, outputSchema=STRICT), shop) as served:
        await served.tools({})
        given = await call(served, "git__log")
        assert list(given["structuredContent"]) == ["content"]
        assert len(given["structuredContent"]["content"]) < 30_000
        assert "read on with `read_result`" in given["structuredContent"]["content"]
        assert json.loads(await _value(served, result_of(given), "$")) == {"content": LOG}
        given = await call(served, "git__blame")  # has no output schema
        assert "structuredContent" not in given


@pytest.mark.parametrize(
    "schema",
    [
        {**STRICT, "properties": {"content": {"type": "string", "pattern": "^(a+)+$"}}},
        {"$ref": "http://127.0.0.1:9/schema"},
    ],
)
async def test_structured_content_stays_whole_where_it_cannot_be_checked(
    sandbox: Sandbox, shop: Path, schema: dict[str, Any]
) -> None:
    async with endpoint(sandbox, serving(answer=STRUCTURED, outputSchema=schema), shop) as served:
        await served.tools({})
        given = await call(served, "git__log")
        assert given["structuredContent"] == {"content": LOG}
        assert len(told(given)) < 60_000


async def _value(served: LiveEndpoint, result: str, path: str) -> str:
    """Read all that a path selects, part by part."""
    parts, offset = list[str](), 0
    while True:
        answer = await call(served, "read_result", {"result": result, "path": path, "offset": offset})
        note, text = (each["text"] for each in answer["content"])
        parts.append(text)
        if "(the end)" in note:
            return "".join(parts)
        offset += len(text)


@pytest.mark.long
@pytest.mark.parametrize(
    ("configured", "is_short"),
    [
        ("", True),
        ("result_budget = 0", False),
        ('result_budget = "off"', False),
        ("result_budget = 900000", False),
        ('[servers.git]\nresult_budget = "off"', False),
        ('[servers."g*"]\nresult_budget = 900000', False),
        ('result_budget = 0\n[tools."git__log"]\nresult_budget = 5000', True),
        ('[servers.git]\nresult_budget = 0\n[tools."git__*"]\nresult_budget = 5000', True),
        ('[tools."git__*"]\nresult_budget = 5000\n[tools."git__log"]\nresult_budget = 0', False),
        ('own_tools = ["why_tool"]', False),
    ],
)
async def test_the_budget_is_configured_for_all_for_a_server_and_for_a_tool(
    sandbox: Sandbox, shop: Path, configured: str, is_short: bool
) -> None:
    sandbox.write(shop / "remit.toml", configured + "\n")
    async with endpoint(sandbox, serving(), shop) as served:
        listed = [item["name"] for item in (await served.tools({})).items]
        answer = await call(served, "git__log")
        assert ("_meta" in answer) is is_short
        if is_short:
            assert "read_result" in listed


async def test_read_result_is_listed_from_the_start_unless_no_result_is_shortened(
    sandbox: Sandbox, shop: Path
) -> None:
    async with endpoint(sandbox, serving(), shop) as served:
        before = await served.tools({})
        assert before.items[-1]["name"] == "read_result"
        await call(served, "git__log")
        assert await served.tools({}) == before
    sandbox.write(shop / "remit.toml", "result_budget = 0\n")
    async with endpoint(sandbox, serving(), shop) as served:
        assert "read_result" not in [item["name"] for item in (await served.tools({})).items]
        assert await names(served) == ["git__blame", "git__log"]


@pytest.mark.parametrize(("size", "is_short"), [(400_000, True), (500_000, False), (5_000, True)])
async def test_a_tool_declares_how_much_it_returns(
    sandbox: Sandbox, shop: Path, size: int, is_short: bool
) -> None:
    async with endpoint(sandbox, serving(_meta={"anthropic/maxResultSizeChars": size}), shop) as served:
        await served.tools({})
        answer = await call(served, "git__log")
        assert ("_meta" in answer) is is_short
        if is_short:
            assert f"limit of {size:,} characters" in told(answer)
            assert len(told(answer)) <= size


async def test_the_page_of_an_app_gets_the_whole_result(sandbox: Sandbox, shop: Path) -> None:
    links = serving(_meta={"ui": {"resourceUri": "ui://git/log.html"}})
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        assert told(await call(served, "git__log")) == LOG
        sandbox.write(shop / "remit.toml", '[tools."git__log"]\nresult_budget = 5000\n')
        assert "_meta" in await call(served, "git__log")


async def test_a_result_that_cannot_be_kept_passes_whole(sandbox: Sandbox, shop: Path) -> None:
    async with endpoint(sandbox, serving(), shop) as served:
        await served.tools({})
        (sandbox.database.parent / "results").write_text("in the way")
        assert told(await call(served, "git__log")) == LOG


async def test_the_content_of_a_result_is_in_no_file_once_the_endpoint_is_closed(
    sandbox: Sandbox, shop: Path
) -> None:
    async with endpoint(sandbox, serving(LOG + "\nconfidential-words"), shop) as served:
        await served.tools({})
        result = result_of(await call(served, "git__log"))
        assert "confidential-words" in await read(served, result, line=20_001)
    for path in sandbox.root.rglob("*"):
        assert not path.is_file() or b"confidential-words" not in path.read_bytes()


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({}, "`read_result`: `result` must be a non-empty string"),
        ({"result": "nothing"}, "Unknown result: nothing"),
        ({"result": "x", "line": 0}, "`read_result`: `line` must be a whole number of at least 1"),
    ],
)
async def test_wrong_arguments_are_explained(
    sandbox: Sandbox, shop: Path, asked: dict[str, Any], problem: str
) -> None:
    async with endpoint(sandbox, serving(), shop) as served:
        answer = await call(served, "read_result", asked)
        assert answer["isError"]
        assert told(answer).startswith(problem)


async def test_a_result_that_vanished_is_named(sandbox: Sandbox, shop: Path) -> None:
    async with endpoint(sandbox, serving(), shop) as served:
        await served.tools({})
        result = result_of(await call(served, "git__log"))
        next((sandbox.database.parent / "results").glob(f"*/{result}")).unlink()
        assert "Unknown result" in await read(served, result)


def test_lines_are_found_with_the_place_of_the_match() -> None:
    assert regex_matches("first\nerror 42\nno\nERROR 7", r"(?i)error \d+") == [Match(1, 0), Match(3, 0)]
    assert regex_matches("ä \ud800 x1", r"x\d") == [Match(0, 4)]
    assert regex_matches("a", "b") == []


def test_an_invalid_pattern_is_explained() -> None:
    with pytest.raises(BadReadError, match="not a regular expression: unterminated character set"):
        regex_matches("text", "[a-")
    with pytest.raises(BadReadError, match="not a regular expression"):
        regex_matches("text", "a{99999999999}")


def test_a_pattern_that_takes_forever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_results, "SEARCH_SECONDS", 0.5)
    with pytest.raises(BadReadError, match=r"takes longer than 0\.5 s"):
        regex_matches("a" * 60 + "!", r"^(a+)+$")
