"""What pages show: the same as commands, whole, in part and as JSON; what strangers wrote is text."""

import json
import time
from pathlib import Path

import httpx2
import pytest

from remit.cli import answers, overview_answer, read_overview
from remit.cli.options import Here
from remit.store import Call
from remit.web.pages import PAGES
from support.catalogs import World
from support.web_pages import WebPages, web_pages

HOSTILE = "<script>alert(1)</script>\u202e\u200b\"'&"


def call(at: int, outcome: str = "done", tool: str = "mcp__notes__read", agent: str | None = None) -> Call:
    gate = "policy" if outcome == "refused" else None
    verdict = "hidden" if outcome == "refused" else "visible"
    return Call(at, "stdio", "claude-code", agent, None, tool, verdict, gate, outcome, 34, 10, 200)


def logged(world: World, *calls: Call) -> None:
    world.store.calls.add(calls, world.workspace())


def test_the_json_of_tools_is_that_of_the_command(world: World, browser: httpx2.Client) -> None:
    context = world.here()
    context = context._replace(snapshot=world.registry.states.snapshot(context))
    known = world.registry.tools(context)
    expected = json.loads(json.dumps(answers.tools(known, known, context)))
    assert browser.get("/here.json").json() == expected


def test_the_json_of_the_overview_is_that_of_the_command(world: World, browser: httpx2.Client) -> None:
    expected = overview_answer(read_overview(world.registry, Here(str(world.shop), "claude-code")))
    assert browser.get("/overview.json").json() == json.loads(json.dumps(expected))


@pytest.mark.parametrize("path", [page.path for page in PAGES if not page.takes_name])
def test_every_page_is_whole_a_part_or_json(browser: httpx2.Client, path: str) -> None:
    whole, part = browser.get(path), browser.get(path, headers={"hx-request": "true"})
    assert (whole.status_code, part.status_code) == (200, 200)
    assert "<!doctype html>" in whole.text
    assert "<!doctype html>" not in part.text
    assert part.text.strip() in whole.text
    assert browser.get(f"{path}.json").json()["workspace"]


def test_a_browser_that_goes_back_gets_the_whole_page(browser: httpx2.Client) -> None:
    headers = {"hx-request": "true", "hx-history-restore-request": "true"}
    assert "<!doctype html>" in browser.get("/here", headers=headers).text


def test_the_first_view_sums_the_project_up(world: World, browser: httpx2.Client) -> None:
    now = int(time.time() * 1000)
    logged(world, call(now - 5_000), call(now - 4_000, "refused"), call(now - 90_000_000))
    page = browser.get("/").text
    assert "Tokens per request" in page
    assert 'aria-label="notes: ' in page  # its bar
    assert "tokens</span>" in page  # the unit of its axis
    assert "Calls of the last 24 hours: 1 done, 1 refused, 0 failed" in page
    assert "calls per hour" in page
    assert "Blocked by a rule" in page
    assert "/here?cause=state" in page


def test_bars_add_up_to_the_cost_that_is_told(world: World) -> None:
    from remit.web.pages.overview import cost_rows

    overview = read_overview(world.registry, Here(str(world.shop), "claude-code"))
    rows = list(cost_rows(overview))
    assert sum(row.with_remit for row in rows) == overview.cost.with_remit
    assert [row.label for row in rows][-1] == "Remit itself"


def test_no_page_starts_blank(tmp_path: Path) -> None:
    with web_pages(World(tmp_path)) as pages, pages.browser() as browser:
        for path, example in {
            "/overview": "mcp__github__create_issue",
            "/here": "claude mcp add",
            "/waiting": "mcp__github__delete_branch",
            "/calls": "mcp__github__delete_repo",
            "/search": "search the web",
            "/doctor": "is not installed",
        }.items():
            assert example in browser.get(path).text, path


def test_a_search_starts_with_queries_of_this_project(browser: httpx2.Client) -> None:
    assert "read a note" in browser.get("/search").text
    assert "mcp__notes__read" in browser.get("/search?q=read+a+note").text


def test_the_filter_finds_words_of_names_and_reasons(browser: httpx2.Client) -> None:
    found = browser.get("/here", params={"q": "wipe policy"}).text
    assert "mcp__notes__wipe" in found
    assert "mcp__deploy__release" not in found
    assert "mcp__notes__read" not in browser.get("/here", params={"show": "hidden"}).text
    assert "mcp__notes__wipe" not in browser.get("/here", params={"cause": "state"}).text


def test_why_marks_the_gate_that_stopped_a_tool(browser: httpx2.Client) -> None:
    page = browser.get("/why/mcp__deploy__release").text
    assert page.count("stopped here") == 1
    assert '<li class="stopped"><span class="gate">state' in page
    assert browser.get("/why/mcp__deploy__release.json").json()["gate"] == "state"
    assert browser.get("/why/nothing.json").status_code == 404


def test_a_client_that_does_not_exist_is_an_error_with_a_hint(browser: httpx2.Client) -> None:
    answer = browser.get("/here.json?client=nosuch")
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert browser.get("/here?client=nosuch").status_code == 400


def test_calls_are_filtered_and_counted(world: World, browser: httpx2.Client) -> None:
    now = int(time.time() * 1000)
    logged(world, call(now - 9_000, agent="reviewer"), call(now - 8_000), call(now - 7_000, "refused"))
    assert browser.get("/calls.json?outcome=refused").json()["total"] == 1
    assert browser.get("/calls.json?by=main").json()["total"] == 2
    page = browser.get("/calls?span=7d").text
    assert "Calls over time: 2 done, 1 refused, 0 failed" in page
    assert "calls per 6 hours" in page


def test_what_strangers_wrote_is_text(world: World, pages: WebPages) -> None:
    world.servers("notes", **{HOSTILE: {"command": "true"}})
    world.lists("notes", {"name": "img", "description": HOSTILE * 2, "inputSchema": {}})
    with pages.browser() as browser:
        for path in ("/overview", "/here", "/doctor", "/search?q=alert", f"/why/{HOSTILE}"):
            page = browser.get(path).text
            assert "<script>alert" not in page, path
            assert not {"\u202e", "\u200b"} & {*page}, path
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in browser.get("/here").text


def test_a_page_of_ten_thousand_tools_is_made_from_kept_listings(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.servers(*(f"s{number}" for number in range(20)))
    for number in range(20):
        world.lists(f"s{number}", *(f"tool_{tool}" for tool in range(100)))
    with web_pages(world) as pages, pages.browser() as browser:
        browser.get("/overview")
        began = time.monotonic()
        for path in ("/overview", "/here?q=tool_7", "/here?q=tool_77"):
            assert browser.get(path).status_code == 200
        assert time.monotonic() - began < 1
