"""Names as people and models write them, and the names that are near."""

import pytest

from remit.decision import Kind, Status, ToolDecision, Verdict, decide, find, near_names
from support.builders import context, server, tool

ROWS = [
    server(listed_at=1),
    tool("mcp__git__create_branch"),
    server("web"),
    tool("/deploy", kind=Kind.SKILL),
    tool("mcp__gone__x", status=Status.STALE),
]
LISTED = [ToolDecision(row, decide(row, context())) for row in ROWS]


def names(wanted: str) -> list[str]:
    return [item.tool.name for item in find(wanted, LISTED)]


@pytest.mark.parametrize(
    "written", ["mcp__git__create_branch", "git__create_branch", "mcp__remit__git__create_branch"]
)
def test_the_canonical_the_served_and_the_clients_name_mean_one_tool(written: str) -> None:
    assert names(written) == ["mcp__git__create_branch"]


def test_a_server_is_meant_by_its_label_and_a_skill_with_or_without_its_slash() -> None:
    assert names("git") == names("mcp__git") == names("mcp__git__*") == ["mcp__git__*"]
    assert names("deploy") == names("/deploy") == ["/deploy"]


def test_an_unknown_name_means_its_server_only_while_nobody_listed_that() -> None:
    assert names("mcp__web__get") == ["mcp__web__*"]
    assert names("mcp__git__nothing") == []


def test_a_name_that_left_is_found_to_say_so() -> None:
    assert names("mcp__gone__x") == ["mcp__gone__x"]


def test_near_names_are_those_that_could_be_meant() -> None:
    known = ["mcp__git__create_branch", "mcp__git__delete_branch", "mcp__web__fetch"]
    assert near_names("mcp__git__create_brnach", known) == ["mcp__git__create_branch"]
    assert near_names("create_branch", known) == ["mcp__git__create_branch"]
    assert near_names("mcp__hub__fetch", known) == ["mcp__web__fetch"]
    assert near_names("unrelated", known) == []


def test_what_is_hidden_is_found_too() -> None:
    hidden = server("off", status=Status.DISABLED)
    (item,) = find("off", [ToolDecision(hidden, decide(hidden, context()))])
    assert item.decision.verdict is Verdict.HIDDEN
