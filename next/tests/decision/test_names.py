import pytest

from remit.decision import (
    Kind,
    Scope,
    canonical,
    classify,
    is_covered,
    normalise,
    server_name,
    spellings,
    tool_name,
)


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("playwright", "playwright"),
        ("a.b", "a_b"),
        ("a_b", "a_b"),
        ("we ird.näme", "we_ird_n_me"),
        ("keep-dash_and_9", "keep-dash_and_9"),
        ("a😀b", "a__b"),  # two UTF-16 units, observed on Claude Code 2.1.325
        ("", ""),
    ],
)
def test_names_are_normalised_as_the_client_does_it(written: str, normalised: str) -> None:
    assert normalise(written) == normalised


def test_a_server_and_its_tools_have_canonical_names() -> None:
    assert server_name("we ird.näme") == "mcp__we_ird_n_me__*"
    assert tool_name("we ird.näme", "do.it") == "mcp__we_ird_n_me__do_it"


def test_a_plugins_server_carries_the_plugins_name() -> None:
    assert tool_name("dup.name", "echo", plugin="acme-tools") == "mcp__plugin_acme-tools_dup_name__echo"
    assert server_name("dup.name", plugin="acme-tools") == "mcp__plugin_acme-tools_dup_name__*"


def test_two_servers_can_share_one_prefix_so_names_cannot_be_inverted() -> None:
    assert tool_name("a.b", "run") == tool_name("a_b", "run")


@pytest.mark.parametrize(
    ("name", "kind", "scope", "server"),
    [
        ("mcp__git__commit", Kind.MCP_TOOL, Scope.PROJECT, "git"),
        ("mcp__git__*", Kind.MCP_SERVER, Scope.PROJECT, "git"),
        ("mcp__my__server__*", Kind.MCP_SERVER, Scope.PROJECT, "my__server"),
        ("mcp__my__server__tool", Kind.MCP_TOOL, Scope.PROJECT, "my"),
        ("mcp__plugin_quill_spell__check", Kind.MCP_TOOL, Scope.PLUGIN, "plugin_quill_spell"),
        ("Read", Kind.BUILTIN, Scope.GLOBAL, None),
        ("/commit", Kind.SLASH_COMMAND, Scope.PROJECT, None),
    ],
)
def test_a_name_alone_tells_kind_and_the_narrowest_scope(
    name: str, kind: Kind, scope: Scope, server: str | None
) -> None:
    assert classify(name) == (kind, scope, server)


@pytest.mark.parametrize(
    ("reported", "kept"),
    [
        ("mcp__git", "mcp__git__*"),
        ("mcp__git__", "mcp__git__*"),
        ("mcp__git__*", "mcp__git__*"),
        ("mcp__git__commit", "mcp__git__commit"),
        ("Read", "Read"),
    ],
)
def test_a_reported_name_is_kept_in_one_form_that_can_be_stored(reported: str, kept: str) -> None:
    assert canonical(reported) == kept


def test_a_servers_row_covers_its_tools_and_no_others() -> None:
    assert is_covered("mcp__git__commit", "mcp__git__*")
    assert not is_covered("mcp__github__commit", "mcp__git__*")
    assert not is_covered("mcp__git__commit", "mcp__git__commit")


@pytest.mark.parametrize(
    "written",
    [
        "mcp__git__commit",
        "git__commit",
        "mcp__remit__git__commit",
    ],
)
def test_the_canonical_the_served_and_the_clients_form_mean_one_tool(written: str) -> None:
    assert "mcp__git__commit" in spellings(written)


@pytest.mark.parametrize("written", ["git", "mcp__git", "mcp__git__", "mcp__git__*"])
def test_a_server_may_be_named_with_or_without_its_pattern(written: str) -> None:
    assert "mcp__git__*" in spellings(written)
