"""Which names an unknown one may have meant."""

import pytest

from remit.decision.near_names import near_names

SERVED = (
    "git__status",
    "git__log",
    "github__create_issue",
    "github__list_issues",
    "remit-memory__get_scope_state",
    "web__fetch",
    "why_tool",
    "/deploy",
    "invoice",
)
CANONICAL = ("mcp__git__git_status", "mcp__git__*", "mcp__hub__git_status", "Read")


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("get_scope_state", ["remit-memory__get_scope_state"]),  # without its server
        ("getScopeState", ["remit-memory__get_scope_state"]),
        ("mcp__remit__remit_memory__get_scope_state", ["remit-memory__get_scope_state"]),
        ("memory__get_scope_state", ["remit-memory__get_scope_state"]),  # of another server
        ("git_status", ["git__status"]),
        ("git.status", ["git__status"]),
        ("mcp__git__statuss", ["git__status"]),
        ("mcp__remit__git__statuss", ["git__status"]),
        ("gitt__status", ["git__status"]),
        ("nobody__fetch", ["web__fetch"]),
        ("create_isue", ["github__create_issue"]),
        ("issues_list", ["github__list_issues"]),  # the same words
        ("scope_state", ["remit-memory__get_scope_state"]),
        ("github__issues", ["github__list_issues"]),
        ("deploi", ["/deploy"]),
        ("/invoices", ["invoice"]),
        ("why", []),
        ("nobody__do", []),
        ("kubernetes", []),
        ("", []),
    ],
)
def test_a_name_is_near_in_every_spelling(wanted: str, near: list[str]) -> None:
    assert near_names(wanted, SERVED) == near


def test_canonical_names_are_compared_without_their_prefix() -> None:
    assert near_names("git_status", CANONICAL) == ["mcp__git__git_status", "mcp__hub__git_status"]
    assert near_names("gti", ["mcp__git__*"]) == []
    assert near_names("mcp__gitt__*", CANONICAL) == ["mcp__git__*"]
    assert near_names("Raed", ["Reed", "Read"]) == ["Reed"]


def test_no_more_than_three_are_told_nearest_first() -> None:
    known = [f"a__page_of_{word}" for word in ("all", "all_sorts", "x", "y")]
    assert near_names("page", known) == ["a__page_of_all", "a__page_of_x", "a__page_of_y"]


def test_a_name_of_any_length_is_compared_at_once() -> None:
    assert near_names("x" * 1_000_000, SERVED) == []
