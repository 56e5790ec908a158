"""What is said of a name: the decision, every gate, and to a person where else it is declared."""

import json
from pathlib import Path

import pytest

from remit.catalog.explain import explain_name
from remit.decision import UNKNOWN, Gate, Status, Tool, ToolDecision, decide
from support.builders import context, server
from support.catalogs import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_name_is_explained_by_every_gate_and_its_other_declarations(world: World) -> None:
    world.servers("git")
    world.lists("git", "push")
    world.mine('[tools."mcp__git__push"]\nai_enabled = false\n')
    explanation = world.registry.explain("mcp__remit__git__push", world.here())
    assert explanation.name == "mcp__git__push"
    assert explanation.decision.gate is Gate.POLICY
    assert explanation.decision.unlock == "run `remit enable mcp__git__push`"
    gates = {gate.gate: gate.is_available for gate in explanation.gates}
    assert gates.pop(Gate.POLICY) is False
    assert all(gates.values())
    assert [tool.name for tool in world.registry.explain("git", world.here()).tools] == ["mcp__git__push"]


def test_a_tool_of_another_project_is_named_to_a_person_alone(world: World) -> None:
    blog = world.root / "blog"
    (blog / ".git").mkdir(parents=True)
    world.write(blog / ".mcp.json", json.dumps({"mcpServers": {"cms": {"command": "cms"}}}))
    world.registry.tools(world.registry.at(str(blog)))
    foreign = world.registry.explain("cms", world.here())
    missing = world.registry.explain("csm", world.here())
    assert foreign._replace(name="") == missing._replace(name="")
    assert foreign.decision == UNKNOWN
    person = world.registry.explain("cms", world.here(), for_person=True)
    assert [project.path for project in person.elsewhere.projects] == [str(blog)]


def test_a_person_is_told_what_a_file_declares_in_vain_and_which_agents_want_it(world: World) -> None:
    settings = world.write(
        world.home / ".claude/settings.json", json.dumps({"mcpServers": {"sentry": {"command": "sentry"}}})
    )
    world.write(
        world.shop / ".claude/agents/ops.md", "---\nname: ops\ndescription: x\nmcpServers: [sentry]\n---\n"
    )
    explanation = world.registry.explain("mcp__sentry__find_issue", world.here(), for_person=True)
    assert explanation.tool is None
    assert explanation.elsewhere.ignored == [("~/.claude/settings.json", "~/.claude.json")]
    assert settings.exists()
    assert not world.registry.explain("sentry", world.here()).elsewhere


def test_an_unknown_name_names_the_file_that_could_not_be_read(world: World) -> None:
    world.write(world.home / ".claude.json", "{broken")
    explanation = world.registry.explain("git", world.here(), for_person=True)
    (problem,) = explanation.elsewhere.unreadable
    assert problem.source == str(world.home / ".claude.json")
    assert not world.registry.explain("git", world.here()).elsewhere


def listed(*tools: Tool) -> list[ToolDecision]:
    return [ToolDecision(tool, decide(tool, context())) for tool in tools]


@pytest.mark.parametrize(
    ("row", "reason", "step"),
    [
        (server("files"), "not connected yet", "run `remit tools files --refresh`"),
        (server("files", is_trusted=False), "not trusted", "run `remit trust files`"),
        (server("files", failure="ended with 1"), "ended with 1", "run `remit tools files --refresh`"),
        (
            server("files", status=Status.PENDING),
            "waits for your approval in Claude Code",
            "start the client in this directory and approve it",
        ),
    ],
)
def test_each_server_that_was_not_asked_has_its_reason_and_step(row: Tool, reason: str, step: str) -> None:
    unknown = explain_name("read_file", listed(row), context())
    (unasked,) = unknown.unasked
    assert (unasked.label, unasked.reason, unasked.step) == ("files", reason, step)
    assert unasked.can_be_asked is (reason == "not connected yet")


def test_an_unlisted_tool_of_a_known_server_is_judged_by_its_row_and_said_to_be_assumed() -> None:
    files = server("files")
    assumed = explain_name("mcp__files__read", listed(files), context())
    assert assumed.tool is not None
    assert (assumed.name, assumed.is_assumed, assumed.decision.is_available) == (
        "mcp__files__read",
        True,
        True,
    )
    known = explain_name("mcp__files__read", listed(files._replace(listed_at=5)), context())
    assert (known.tool, known.decision) == (None, UNKNOWN)


def test_servers_that_listed_their_tools_or_never_will_are_not_said_to_be_unasked() -> None:
    rows = (
        server("files", listed_at=5),
        server("old", status=Status.STALE),
        server("remit", status=Status.ITSELF),
    )
    assert explain_name("read_file", listed(*rows), context()).unasked == []


def test_a_builtin_is_known_without_a_declaration() -> None:
    explanation = explain_name("WebFetch", [], context())
    assert explanation.tool is not None
    assert explanation.decision.is_available
