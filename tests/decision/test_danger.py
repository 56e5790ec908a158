import json

import pytest

from remit.decision.danger import LEVELS, Danger, by_annotations, by_name, derive, of_command
from remit.decision.kinds import Kind
from remit.decision.tools import Tool
from support.builders import server


def tool(own: str, *, danger: Danger | None = None, kind: Kind = Kind.MCP_TOOL) -> Tool:
    return server()._replace(name=f"mcp__git__{own}", kind=kind, danger=danger)


def test_every_level_has_its_word() -> None:
    assert list(LEVELS) == ["safe", "low", "moderate", "destructive", "critical"]


@pytest.mark.parametrize(
    ("annotations", "level"),
    [
        (None, None),
        ({}, None),
        ({"title": "Delete all"}, None),
        ({"readOnlyHint": True, "openWorldHint": False}, Danger.SAFE),
        ({"readOnlyHint": True}, Danger.LOW),
        ({"readOnlyHint": True, "openWorldHint": "no"}, Danger.LOW),
        ({"readOnlyHint": "yes"}, Danger.DESTRUCTIVE),
        ({"readOnlyHint": False, "destructiveHint": False}, Danger.MODERATE),
        ({"destructiveHint": False}, Danger.MODERATE),
        ({"destructiveHint": True}, Danger.DESTRUCTIVE),
        ({"idempotentHint": True}, Danger.DESTRUCTIVE),
        ({"openWorldHint": False}, Danger.DESTRUCTIVE),
        ({"readOnlyHint": None}, Danger.DESTRUCTIVE),
    ],
)
def test_hints_that_are_missing_count_as_the_worst_where_any_is_given(
    annotations: object, level: Danger | None
) -> None:
    assert by_annotations(None if annotations is None else json.dumps(annotations)) is level


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("mcp__git__git_log", Danger.LOW),
        ("mcp__git__git_commit", Danger.MODERATE),
        ("mcp__fs__writeFile", Danger.MODERATE),
        ("mcp__fs__read_and_delete", Danger.DESTRUCTIVE),
        ("mcp__fs__get_update_status", Danger.LOW),
        ("mcp__fs__get_and_update", Danger.MODERATE),
        ("mcp__fs__get_n_update", Danger.MODERATE),
        ("mcp__fs__list_delete_users", Danger.DESTRUCTIVE),
        ("mcp__fs__fetch_send_money", Danger.MODERATE),
        ("mcp__fs__list_merge_requests", Danger.LOW),
        ("mcp__x__get__delete_everything", Danger.DESTRUCTIVE),  # its server may be `x__get`
        ("deleteall", Danger.DESTRUCTIVE),
        ("DELETEUSER", Danger.DESTRUCTIVE),
        ("deleting_user", Danger.DESTRUCTIVE),
        ("delete1", Danger.DESTRUCTIVE),
        ("deleted_notes", Danger.LOW),
        ("mcp__delete__look", Danger.LOW),  # what its server is called says nothing
        ("mcp__delete", Danger.DESTRUCTIVE),
        ("user.delete", Danger.DESTRUCTIVE),
        ("cancel-calendar-event", Danger.MODERATE),
        ("unprotect_branch", Danger.MODERATE),
        ("hdel", Danger.DESTRUCTIVE),
        ("Bash", Danger.DESTRUCTIVE),
        ("Read", Danger.LOW),
        ("undeleted", Danger.LOW),
        ("user_removal", Danger.DESTRUCTIVE),
        ("ban_user", Danger.MODERATE),
        ("buy_stock", Danger.DESTRUCTIVE),
        ("order_pizza", Danger.MODERATE),
        ("pizza_order", Danger.LOW),
        ("order", Danger.LOW),
        ("", Danger.LOW),
    ],
)
def test_without_hints_the_worst_word_of_a_name_counts(name: str, level: Danger) -> None:
    assert by_name(name).level is level


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("list", Danger.SAFE),
        ("a.show-all", Danger.SAFE),
        ("search", Danger.SAFE),
        ("search-and-replace", Danger.MODERATE),
        ("list-and-delete", Danger.DESTRUCTIVE),
        ("getOrCreate", Danger.MODERATE),
        ("delete.list", Danger.SAFE),
        ("cache.prune", Danger.DESTRUCTIVE),
        ("listen", Danger.LOW),
    ],
)
def test_a_command_is_safe_where_a_word_of_its_own_says_that_it_reads(name: str, level: Danger) -> None:
    assert of_command(name) is level


def test_a_rating_says_where_it_comes_from() -> None:
    assert by_name("user.delete").origin == "its name says `delete`"
    assert derive(tool("push", danger=Danger.LOW), trusts_annotations=True).origin == "its server says so"
    defined = tool("push", danger=Danger.LOW, kind=Kind.BUILTIN)._replace(server=None)
    assert derive(defined, trusts_annotations=True).origin == "its definition says so"


def test_who_is_not_believed_can_raise_a_danger_and_not_lower_it() -> None:
    harmless, harmful = tool("delete", danger=Danger.SAFE), tool("look", danger=Danger.DESTRUCTIVE)
    assert derive(harmless, trusts_annotations=True).level is Danger.SAFE
    assert derive(harmless, trusts_annotations=False).level is Danger.DESTRUCTIVE
    assert derive(harmful, trusts_annotations=False).level is Danger.DESTRUCTIVE
    assert derive(tool("look", danger=Danger.SAFE), trusts_annotations=False).level is Danger.LOW


@pytest.mark.parametrize(
    "kind", [Kind.MCP_SERVER, Kind.SKILL, Kind.SLASH_COMMAND, Kind.SUBAGENT, Kind.PLUGIN]
)
def test_what_does_its_work_through_tools_is_not_judged_by_its_name(kind: Kind) -> None:
    assert derive(tool("delete", kind=kind), trusts_annotations=True).level is Danger.LOW
