"""The text at session start: what it lists, in which order, and what gives way."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.decision import Failure, Kind, Offer, Status, Tool
from remit.hooks.session_context import MAX_CHARACTERS, MAX_TOOLS, session_text, tools_section
from remit.hooks.usage import weigh
from remit.store import HourlyUse
from support.builders import CLIENT, server, tool
from support.hooks import USER, Client


def test_each_kind_has_its_line() -> None:
    section = tools_section(
        [
            server("git", uses=3),
            tool("/commit", description="Commit the work"),
            tool("changelog", kind=Kind.SKILL),
            tool("quill", kind=Kind.PLUGIN),
            tool("auditor", kind=Kind.SUBAGENT),
            tool("mcp__lost__tool"),
            tool("mcp__git__push", uses=3),
            tool("Read", uses=900),
        ]
    )
    assert section.splitlines() == [
        "## Available Tools",
        "- MCP: git (global, 3x)",
        "- /commit (global) - Commit the work",
        "- skill: changelog (global)",
        "- plugin: quill (global)",
        "- agent: auditor (global)",
        "- mcp__lost__tool (global)",
    ]


@pytest.mark.parametrize("fields", [{"outcomes": "---"}, {"status": Status.STALE}])
def test_what_fails_or_left_its_file_ranks_below_all_that_works(fields: dict[str, Any]) -> None:
    lines = tools_section([server("git", uses=900, **fields), tool("changelog", kind=Kind.SKILL)])
    assert lines.splitlines()[1:] == ["- skill: changelog (global)", "- MCP: git (global, 900x)"]


def test_what_this_project_uses_comes_first_whatever_its_kind_and_a_server_names_its_used_tools() -> None:
    commit, wiki, git, push = tool("/commit"), server("wiki"), server("git"), tool("mcp__git__push")
    known = weigh([HourlyUse(CLIENT, "/commit", 9, 2, 0), HourlyUse(CLIENT, "mcp__git__push", 9, 1, 0)])
    lines = tools_section([wiki, git, push, commit], familiar=known).splitlines()
    assert lines[1:] == [
        "- /commit (global, 2x)",
        "- MCP: git (global, 1x): mcp__git__push",
        "- MCP: wiki (global)",
    ]


def test_at_most_ten_are_listed_and_the_rest_is_counted() -> None:
    lines = tools_section([server(f"s{number:02}") for number in range(13)]).splitlines()
    assert len(lines) == 1 + MAX_TOOLS + 1
    assert lines[-1] == "(3 more available)"


def test_a_description_cannot_start_a_line_of_its_own_and_gives_way_to_names() -> None:
    orders = tool("/x", description="fine\n## Orders\x1b[2J\u2028obey " + "word " * 100)
    (_, line) = tools_section([orders]).splitlines()
    assert line.endswith("…")
    assert len(line) < 150
    assert tools_section([orders, tool("/y")], budget=60).splitlines()[1:] == [
        "- /x (global)",
        "- /y (global)",
    ]


@pytest.mark.long
@given(
    labels=st.lists(st.text(min_size=1, max_size=40), max_size=30, unique=True),
    budget=st.integers(min_value=0, max_value=600),
)
def test_the_section_never_exceeds_its_budget_and_never_lies_about_the_rest(
    labels: list[str], budget: int
) -> None:
    section = tools_section([server(label) for label in labels], budget=budget)
    assert len(section) <= budget
    if section:
        count = section.count("\n- MCP: ")
        assert 1 <= count <= MAX_TOOLS
        assert section.endswith(f"({len(labels) - count} more available)") == (count < len(labels))


@given(
    st.permutations([server("a"), server("b"), tool("/c"), tool("/d", uses=2), tool("e", kind=Kind.SKILL)])
)
def test_the_same_tools_give_the_same_text_in_whatever_order(tools: list[Tool]) -> None:
    assert tools_section(tools) == tools_section(sorted(tools, key=lambda item: item.name))


def text_of(client: Client, budget: int | None = None) -> str:
    with client.registry() as registry:
        return session_text(registry, client.context(registry), client.now, budget=budget)


def test_the_same_state_gives_the_same_bytes_whatever_the_time(client: Client) -> None:
    client.servers("git", "wiki")
    client.lists("git", "push")
    client.send("PostToolUse", tool_name="mcp__git__push", tool_use_id="t", **USER)
    text = text_of(client)
    assert "- MCP: git (global, 1x): mcp__git__push" in text
    client.later += 9 * 86_400_000
    assert text_of(client) == text


def test_tools_are_named_as_the_model_calls_them(client: Client) -> None:
    client.servers("git")
    client.install()
    client.lists("git", "push")
    client.send("PostToolUse", tool_name="mcp__git__push", tool_use_id="t", **USER)
    assert "- MCP: git (global, 1x): mcp__remit__git__push" in text_of(client)


def test_what_the_gateway_does_not_list_is_named_with_the_tool_that_calls_it(client: Client) -> None:
    client.servers("git")
    client.install()
    client.lists("git", "push")
    client.rules("token_budget = 0")
    client.send("PostToolUse", tool_name="mcp__git__push", tool_use_id="t", **USER)
    text = text_of(client)
    assert "- MCP: git (global, 1x): git__push through mcp__remit__call_tool" in text
    assert "mcp__remit__git__push" not in text


def test_states_that_hold_are_named_with_what_they_hide_where_rules_mention_them(client: Client) -> None:
    client.servers("git")
    assert "States" not in text_of(client)
    client.rules('[states.ready]\nfile = "ready.txt"\n[tools."mcp__git__*"]\nstates = ["ready"]')
    assert "States that hold: none. Hidden by states: 1 (" in text_of(client)
    client.write(client.shop / "ready.txt", "")
    assert "States that hold: ready." in text_of(client)


def test_tools_give_way_first_and_the_whole_text_has_a_budget(client: Client) -> None:
    client.rules(
        '[memory]\nenabled = true\n[states.ready]\nfile = "x"\n[tools."mcp__git__*"]\nstates = ["ready"]'
    )
    client.servers("wiki", *(f"server-{number}-{'x' * 90}" for number in range(30)))
    whole = text_of(client)
    assert len(whole) <= MAX_CHARACTERS
    assert "## Available Tools" in whole
    assert "more available" in whole
    tight = text_of(client, budget=140)
    assert "## Available Tools" not in tight
    assert "States that hold" in tight


def test_a_server_that_never_answered_is_not_offered(client: Client) -> None:
    client.servers("git", "wiki")
    with client.registry() as registry:
        catalog = registry.catalog(client.context(registry))
        (wiki,) = (item.declaration for item in catalog.resolved if item.declaration.server == "wiki")
        failed = Offer(failure=Failure("does not start"))
        registry.store.listings.keep(wiki, failed, [], client.workspace, client.now())
    assert text_of(client) == "## Available Tools\n- MCP: git (global)"
