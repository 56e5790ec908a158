"""The life of a row: what leaves the files is stale, what fails is demoted, and nothing is deleted."""

from pathlib import Path

import pytest

from remit.decision.context import Context
from remit.decision.kinds import Authority
from remit.registry import Registry
from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox


@pytest.fixture
def registry(sandbox: Sandbox) -> Registry:
    return sandbox.registry()


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


def fates(registry: Registry, at: Context) -> dict[str, str]:
    """Every row known here: its scope and name, with its status."""
    return {f"{tool.scope} {tool.name}": tool.status for tool, _ in registry.tools(at)}


def test_a_server_that_left_one_of_two_files_is_stale_only_there(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    sandbox.write_state("git", local={shop: servers("git")})
    sandbox.write(shop / ".mcp.json", servers("git"))
    registry.scan(here)
    sandbox.write_state("git")
    assert fates(registry, here) == {
        "local mcp__git__*": "stale",
        "project mcp__git__*": "active",
        "global mcp__git__*": "active",
    }


def test_a_server_that_left_takes_its_tools_along_and_brings_them_back_with_their_history(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    registry.usage.report_tool("mcp__till__count", here, description="Counts the till.")
    registry.usage.record("mcp__till__ring", here)
    registry.usage.record("mcp__scale__weigh", here)
    sandbox.write(shop / ".mcp.json", servers("scale"))
    assert fates(registry, here) == {
        "project mcp__till__*": "stale",
        "project mcp__till__count": "stale",
        "project mcp__till__ring": "stale",
        "project mcp__scale__*": "active",
        "project mcp__scale__weigh": "active",
    }
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    back = {tool.name: tool for tool, _ in registry.tools(here)}
    assert {tool.status for tool in back.values()} == {"active"}
    assert back["mcp__till__ring"].usage_count == back["mcp__till__*"].usage_count == 1
    assert back["mcp__till__count"].description == "Counts the till."


def test_nothing_is_deleted_when_every_file_is(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    here = registry.at(str(shop))
    files = [sandbox.write_state("wiki"), sandbox.write(shop / ".mcp.json", servers("till"))]
    registry.usage.record("mcp__till__ring", here)
    kept = "select (select count(*) from tools), (select count(*) from usage_events)"
    before = run_sql(sandbox.database, kept)
    for file in files:
        file.unlink()
    assert set(fates(registry, here).values()) == {"stale"}
    assert run_sql(sandbox.database, kept) == before == [(3, 1)]


def test_a_tool_seen_in_use_that_no_file_knows_stays_active(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    registry.usage.record("mcp__lost__found", here)
    sandbox.write(shop / ".mcp.json", servers("till"))
    for _ in range(2):
        registry.scan(here)
    found = next(tool for tool, _ in registry.tools(here) if tool.name == "mcp__lost__found")
    assert (found.status, found.authority) == ("active", Authority.HOOK)


def test_a_tool_that_an_agent_reported_is_not_stale_because_no_file_has_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    registry.usage.record("mcp__agent__ask", here)
    registry.usage.report_tool("mcp__agent__ask", here)
    sandbox.write(shop / ".mcp.json", servers("till"))
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", servers())
    registry.scan(here)
    asked = registry.explain("mcp__agent__ask", here)
    assert asked.tool is not None
    assert (asked.tool.status, asked.decision.is_available) == ("active", True)


def test_a_tool_seen_while_its_server_waited_for_approval_goes_stale_when_the_server_leaves(
    sandbox: Sandbox, registry: Registry
) -> None:
    blog = sandbox.project("blog")
    here = registry.at(str(blog))
    (sandbox.home / ".claude" / "settings.json").unlink()
    sandbox.write(blog / ".mcp.json", servers("till"))
    registry.usage.record("mcp__till__ring", here, server="till")
    assert not registry.explain("mcp__till__ring", here).decision.is_available
    sandbox.write(blog / ".mcp.json", servers())
    registry.scan(here)
    ring = registry.explain("mcp__till__ring", here)
    assert ring.tool is not None
    assert (ring.tool.status, ring.decision.is_available) == ("stale", False)
    assert ring.decision.full_reason == "seen in use, but its server is no longer configured"


def test_a_tool_reported_while_its_server_waited_for_approval_stays_when_the_server_leaves(
    sandbox: Sandbox, registry: Registry
) -> None:
    blog = sandbox.project("blog")
    here = registry.at(str(blog))
    (sandbox.home / ".claude" / "settings.json").unlink()
    sandbox.write(blog / ".mcp.json", servers("till"))
    registry.usage.report_tool("mcp__till__ring", here)
    assert not registry.explain("mcp__till__ring", here).decision.is_available
    sandbox.write(blog / ".mcp.json", servers())
    registry.scan(here)
    ring = registry.explain("mcp__till__ring", here)
    assert ring.tool is not None
    assert (ring.tool.status, ring.decision.is_available) == ("active", True)


def test_a_tool_of_a_server_given_at_the_start_is_stale_in_a_session_without_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    file = sandbox.write(sandbox.root / "given.json", servers("desk"))
    given = registry.at(str(shop), mcp_configs=[str(file)])
    registry.usage.record("mcp__desk__find", given, server="desk")
    assert registry.explain("mcp__desk__find", given).decision.is_available
    assert not registry.explain("mcp__desk__find", registry.at(str(shop))).decision.is_available


def test_a_demoted_tool_stays_visible_and_says_what_happened(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    sandbox.write(shop / ".mcp.json", servers("till"))
    for succeeded in (False, True, False, True, False):
        registry.usage.record("mcp__till__ring", here, succeeded=succeeded)
    ring = registry.explain("mcp__till__ring", here)
    assert ring.tool is not None
    assert (ring.tool.status, ring.decision.is_available) == ("demoted", True)
    assert ring.decision.reason.endswith("; 3 of its last 5 calls here failed")


def test_a_demotion_is_not_hinted_at_in_another_project(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("wiki")
    here, there = registry.at(str(shop)), registry.at(str(sandbox.project("blog")))
    registry.usage.record("mcp__wiki__read", there, succeeded=True)
    for _ in range(4):
        registry.usage.record("mcp__wiki__read", here, succeeded=False)
    assert fates(registry, here)["global mcp__wiki__read"] == "demoted"
    elsewhere = registry.explain("mcp__wiki__read", there)
    assert elsewhere.tool is not None
    assert elsewhere.tool.status == "active"
    assert "failed" not in repr(elsewhere)


def test_the_session_context_lists_what_fails_after_what_works(shop: Path, registry: Registry) -> None:
    here = registry.at(str(shop))
    for name, succeeded in (("mcp__a__fails", False), ("mcp__b__works", True)):
        for _ in range(3):
            registry.usage.record(name, here, succeeded=succeeded)
    listed = registry.session_context(here)
    assert listed.index("mcp__b__works") < listed.index("mcp__a__fails")


def test_another_clients_row_is_not_stale_where_that_client_was_never_read(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    file = sandbox.write(sandbox.home / ".cursor/mcp.json", servers("kite"))
    registry.scan(registry.at(str(shop), "cursor"))
    here = registry.at(str(sandbox.project("blog")))
    registry.scan(here)
    assert fates(registry, here) == {"global mcp__kite__*": "active"}
    file.unlink()
    registry.scan(registry.at(here.workspace.dir, "cursor"))
    assert fates(registry, here) == {"global mcp__kite__*": "stale"}
