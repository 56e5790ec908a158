"""Sessions: what agents are told and what is suggested to them, by what happened in a project."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from remit.decision.context import Context
from remit.decision.tools import Definition
from remit.registry import Registry
from remit.sessions.suggestions import Cause
from remit.upstream.upstream_model import Offer
from support.builders import servers
from support.sandbox import Sandbox

WORK = ("Edit", "mcp__till__test", "mcp__till__commit")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("till", "scale"))
    sandbox.provide("till", "scale", "wiki")
    return path


@pytest.fixture
def registry(sandbox: Sandbox) -> Iterable[Registry]:
    with sandbox.registry() as opened:
        yield opened


def use(registry: Registry, here: Context, *names: str, session: str) -> None:
    for name in names:
        registry.usage.record(name, here, session_id=session, succeeded=True)


def practise(registry: Registry, here: Context, times: int = 8) -> None:
    for number in range(times):
        use(registry, here, *WORK, session=f"s{number}")


def lines(registry: Registry, here: Context) -> list[str]:
    return about_tools(registry, here).splitlines()[1:]


def about_tools(registry: Registry, here: Context) -> str:
    """The part of the session context that is about tools; that on memory comes before it."""
    _, title, told = registry.session_context(here).partition("## Available Tools")
    return title + told


def said(registry: Registry, here: Context, *, session: str = "now", prompt: str | None = None) -> list[str]:
    return [
        each.tool
        for each in registry.sessions.suggestions(here, session_id=session, prompt=prompt).choice.said
    ]


def test_what_was_used_more_and_lately_comes_first(registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    assert lines(registry, here) == ["- MCP: scale (project)", "- MCP: till (project)"]
    use(registry, here, "mcp__till__ring", session="s")
    assert lines(registry, here) == ["- MCP: till (project, 1x): mcp__till__ring", "- MCP: scale (project)"]
    use(registry, here, "mcp__scale__weigh", "mcp__scale__weigh", session="s")
    assert lines(registry, here)[0] == "- MCP: scale (project, 2x): mcp__scale__weigh"


def test_use_in_another_project_says_nothing_of_this_one(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    blog = sandbox.project("blog")
    sandbox.write_state("wiki")
    use(registry, registry.at(str(blog)), "mcp__wiki__read", session="s")
    assert "- MCP: wiki (global)" in lines(registry, registry.at(str(shop)))


def test_a_server_that_cannot_start_is_told_with_the_reason_and_not_among_the_tools(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    lost = {"command": "nowhere-to-be-found"}
    sandbox.write(shop / ".mcp.json", servers("till", lost=lost))
    here = registry.at(str(shop))
    use(registry, here, "mcp__lost__find", session="s")
    assert lines(registry, here) == ["- MCP: till (project)"]
    told = registry.session_context(here)
    assert "\n\nCannot start here: lost (`nowhere-to-be-found` is not on PATH).\n\n" in told


def test_a_variable_is_missed_where_remit_starts_the_server_and_not_where_its_client_does(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(wiki={"command": "run-wiki", "args": ["${WIKI}"]}))
    here = registry.at(str(shop))
    assert "- MCP: wiki (global)" in lines(registry, here)
    through = replace(here, starts_servers=True)
    assert "Cannot start here: wiki (`WIKI` is not set)." in registry.session_context(through)
    sandbox.variables["WIKI"] = "x"
    assert "- MCP: wiki (global)" in lines(registry, through)


def test_the_same_state_gives_the_same_bytes_whatever_the_time(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    here = registry.at(str(shop))
    practise(registry, here)
    first = registry.session_context(here)
    sandbox.time += 400 * 24 * 3_600_000
    assert registry.session_context(here) == first


def test_tools_have_five_hundred_characters_unless_the_configuration_says_otherwise(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    labels = [f"a-server-with-a-long-name-{number:020}" for number in range(10)]
    sandbox.write(shop / ".mcp.json", servers(*labels))
    sandbox.provide(*labels)
    here = registry.at(str(shop))
    assert 400 < len(about_tools(registry, here)) <= 500
    machine = sandbox.write(sandbox.home / ".config/remit/remit.toml", "[context]\ntools = 2000\n")
    assert len(about_tools(registry, here)) > 600
    sandbox.write(shop / "remit.toml", "[context]\ntools = 100\n")
    assert len(about_tools(registry, here)) <= 100
    machine.unlink()
    sandbox.write(shop / "remit.toml", "[context]\ncharacters = 60\n")
    assert len(registry.session_context(here)) <= 60
    sandbox.write(shop / "remit.toml", "[context]\ntokens = 1\n")
    assert registry.session_context(here) == ""


def test_states_and_what_they_hide_are_told_in_a_line(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    sandbox.write(
        shop / "remit.toml", '[states.open]\nfile = "open"\n[tools."mcp__till__*"]\nstates = ["open"]\n'
    )
    opening = registry.sessions.start(registry.at(str(shop)))
    lines = opening.text.splitlines()
    first = next(line for line in lines if line.startswith("States that hold: "))
    rest = lines[lines.index(first) + 1 :]
    assert "Hidden by states: 1 (" in first
    assert "state `open` does not hold" in first
    assert rest == ["", "## Available Tools", "- MCP: scale (project)"]
    assert "open" not in opening.holding
    (shop / "open").touch()
    assert "open" in registry.sessions.start(registry.at(str(shop))).holding


def test_with_the_gateway_tools_are_named_as_they_are_called_through_it(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    sandbox.install_gateway("wiki")
    sandbox.provide("wiki")
    here = registry.at(str(shop))
    use(registry, here, "mcp__wiki__read", session="s")
    assert "- MCP: wiki (global, 1x): mcp__wiki__read" in lines(registry, here)  # the client's own, so far
    (wiki,) = [
        item.declaration for item in registry.catalog.resolved(here) if item.declaration.server == "wiki"
    ]
    read = Definition(name="mcp__wiki__read", server="wiki", tool="read")
    registry.catalog.keep(wiki, Offer(tools=[read]), here)
    assert "- MCP: wiki (global, 1x): mcp__remit__wiki__read" in lines(registry, here)


def test_an_agent_is_told_of_what_it_has(sandbox: Sandbox, registry: Registry, shop: Path) -> None:
    front = "---\nname: auditor\ndescription: Audits\nmcpServers: [till]\n---\n"
    sandbox.write(shop / ".claude/agents/auditor.md", front)
    here = registry.at(str(shop))
    assert "- MCP: scale (project)" in lines(registry, here)
    assert "- MCP: scale (project)" not in lines(registry, registry.as_agent("auditor", here))
    assert lines(registry, registry.as_agent("unheard-of", here)) == lines(registry, here)


def test_what_usually_comes_next_is_suggested(registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    practise(registry, here)
    use(registry, here, "Edit", "mcp__till__test", session="now")
    (found,) = registry.sessions.suggestions(here, session_id="now").choice.said
    assert (found.tool, found.cause) == ("mcp__till__commit", Cause.SEQUENCE)
    assert found.why == "8 of 9 times it came after Edit, then mcp__till__test here"


def test_nothing_is_suggested_that_cannot_be_used(sandbox: Sandbox, registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    practise(registry, here)
    use(registry, here, "Edit", "mcp__till__test", session="now")
    sandbox.write(shop / "remit.toml", 'block = ["mcp__till__commit"]')
    assert said(registry, here) == []


def test_built_ins_are_never_suggested(registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    for number in range(10):
        use(registry, here, "mcp__till__test", "Bash", session=f"s{number}")
    use(registry, here, "mcp__till__test", session="now")
    assert said(registry, here) == []


def test_what_was_said_is_not_said_again_until_it_is_used(registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    practise(registry, here)
    use(registry, here, "Edit", "mcp__till__test", session="a")
    assert "mcp__till__commit" in registry.sessions.suggest(here, session_id="a")
    use(registry, here, "Edit", "mcp__till__test", session="b")
    assert registry.sessions.suggest(here, session_id="b") == ""
    use(registry, here, "mcp__till__commit", session="b")
    use(registry, here, "Edit", "mcp__till__test", session="c")
    assert "mcp__till__commit" in registry.sessions.suggest(here, session_id="c")


def test_suggestions_can_be_switched_off(sandbox: Sandbox, registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    practise(registry, here)
    use(registry, here, "Edit", "mcp__till__test", session="now")
    sandbox.write(shop / "remit.toml", "[suggestions]\nenabled = false\n")
    assert said(registry, here) == []


def test_patterns_of_another_project_count_only_where_the_machine_says_so(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".mcp.json", servers("till", "press"))
    there = registry.at(str(blog))
    for number in range(12):
        use(registry, there, "Edit", "mcp__press__print", "mcp__till__commit", session=f"s{number}")
    here = registry.at(str(shop))
    use(registry, here, "mcp__till__commit", session="earlier")
    use(registry, here, "Edit", session="now")
    assert said(registry, here) == []
    sandbox.write(shop / "remit.toml", "[suggestions]\nshared_patterns = true\n")
    assert said(registry, here) == []
    assert [each.place for each in registry.problems(here)] == ["line 2 column 1"]
    (shop / "remit.toml").unlink()
    sandbox.write(sandbox.home / ".config/remit/remit.toml", "[suggestions]\nshared_patterns = true\n")
    (found,) = registry.sessions.suggestions(here, session_id="now").choice.said
    assert (found.tool, found.why) == (
        "mcp__till__commit",
        "12 of 13 times it came after Edit in your projects",
    )
    assert "press" not in str(registry.sessions.suggestions(here, session_id="now"))


@pytest.mark.sqlite_only  # the hook is a process that opens the file
def test_a_tool_is_suggested_when_its_state_came_into_force(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(
        shop / "remit.toml", '[states.open]\nfile = "open"\n[tools."mcp__till__*"]\nstates = ["open"]\n'
    )
    with sandbox.registry() as registry:
        registry.usage.report_tool("mcp__till__ring", registry.at(str(shop)))
    event = {"hook_event_name": "SessionStart", "session_id": "now", "cwd": str(shop)}
    sandbox.hook(event)
    (shop / "open").touch()
    with sandbox.registry() as registry:
        (found,) = registry.sessions.suggestions(registry.at(str(shop)), session_id="now").choice.said
        assert (found.tool, found.cause) == ("mcp__till__ring", Cause.STATE)
        assert said(registry, registry.at(str(shop)), session="never-begun") == []


def test_a_prompt_finds_a_tool(registry: Registry, shop: Path) -> None:
    here = registry.at(str(shop))
    registry.usage.report_tool("mcp__till__refund", here, description="Refund an order to a customer")
    registry.index(here)
    assert said(registry, here, prompt="refund the order of a customer") == ["mcp__till__refund"]
    assert said(registry, here, prompt="fix the failing test in the parser") == []


def test_what_is_forgotten_of_a_project_includes_its_sessions(
    sandbox: Sandbox, registry: Registry, shop: Path
) -> None:
    here = registry.at(str(shop))
    practise(registry, here)
    sandbox.hook({"hook_event_name": "SessionStart", "session_id": "now", "cwd": str(shop)})
    registry.projects.forget(here.workspace.project)
    assert registry.usage.report(registry.at(str(shop))).sessions == []
    assert registry.usage.by_project() == []
