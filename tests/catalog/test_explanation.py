"""What an explanation says of servers that may have an unknown tool."""

import pytest

from remit.catalog.explanation import Obstacle, UnaskedServer, explain_name, explain_skipped
from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import ConfigStatus, ToolStatus
from remit.decision.problems import Problem
from remit.decision.tools import Tool
from support.builders import context, server


def unasked(*tools: Tool, name: str = "read_file") -> list[UnaskedServer]:
    here = context()
    return list(explain_name(name, [ToolDecision(tool, decide(tool, here)) for tool in tools], here).unasked)


@pytest.mark.parametrize(
    ("tool", "reason", "step"),
    [
        (server("files"), "not connected yet", "run `remit scan --connect files`"),
        (server("files", is_trusted=False), "not trusted in Remit", "run `remit trust files`"),
        (
            server("files", config_status=ConfigStatus.PENDING),
            "waiting for approval in Claude Code",
            "start Claude Code here and approve it",
        ),
    ],
)
def test_each_server_that_was_not_asked_has_its_reason_and_step(tool: Tool, reason: str, step: str) -> None:
    found = unasked(tool)
    assert found == unasked(tool, name="mcp__files__read_file")
    assert [each[:3] for each in found] == [("files", reason, step)]
    assert unasked(tool)[0].can_be_asked is (reason == "not connected yet")


def test_servers_that_listed_their_tools_or_never_will_are_left_out() -> None:
    listed = server("files")._replace(listed_at=5)
    assert (
        unasked(
            listed,
            server("old", status=ToolStatus.STALE),
            server("remit", config_status=ConfigStatus.ITSELF),
        )
        == unasked(listed, name="mcp__files__read_file")
        == []
    )


def test_a_server_that_was_not_asked_and_cannot_start_says_so_instead_of_advising_a_connection() -> None:
    files, here = server("files"), context()
    found = explain_name("read_file", [ToolDecision(files, decide(files, here))], here)
    told = found.with_obstacles([], {files.key: Obstacle("cannot start: no `/x`", "correct the path")})
    assert [each[:3] for each in told.unasked] == [("files", "cannot start: no `/x`", "correct the path")]
    assert told.obstacle is None


@pytest.mark.parametrize("name", ["sentry", "mcp__sentry__*", "mcp__sentry__find_issues"])
def test_a_server_whose_entry_is_invalid_is_explained_by_its_mistake_and_the_fix(name: str) -> None:
    problem = Problem("/home/.claude.json", "mcpServers.sentry", '`url` without `type`; add "type"')
    found = explain_skipped(name, [problem], context())
    assert found is not None
    assert found.tool is None
    assert found.decision.full_reason.endswith(".claude.json, but ignored: `url` without `type`")
    assert found.decision.unlock == 'add "type"'
    assert explain_skipped("git", [problem], context()) is None
