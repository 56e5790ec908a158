"""What is read of an event."""

import json

import pytest

from remit.hooks.event import Event, read_event


def event(*, variables: dict[str, str] | None = None, **fields: object) -> Event:
    told = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/code/shop", **fields}
    return read_event(json.dumps(told).encode(), variables or {})


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[]", b"3", b"{}", b'{"hook_event_name": 3}', b"\xff"])
def test_what_is_no_event_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_event(data, {})


def test_an_event_happens_where_its_session_was_launched() -> None:
    launched = {"CLAUDE_PROJECT_DIR": "/code", "CLAUDE_CODE_SESSION_ID": "s1"}
    assert event().directory == "/code/shop"
    assert event(variables=launched).directory == "/code"
    assert event(variables={"CLAUDE_PROJECT_DIR": "/code"}).directory == "/code"
    assert event(variables=launched, session_id="another").directory == "/code/shop"
    assert event(cwd=None).directory == "."


def test_a_session_without_a_terminal_is_told_by_how_the_client_was_entered() -> None:
    assert not event().is_headless
    assert not event(variables={"CLAUDE_CODE_ENTRYPOINT": "cli"}).is_headless
    assert event(variables={"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}).is_headless


@pytest.mark.parametrize("value", [None, 3, "", [], {}, "x" * 1001, True])
def test_a_text_that_is_none_reads_as_nothing(value: object) -> None:
    assert event(tool_name=value).tool is None
    assert event(session_id=value).session_id is None


@pytest.mark.parametrize(
    ("value", "read_as"),
    [(8, 8), (8.9, 8), (0, 0), (-1, None), (True, None), ("8", None), (1e300, None), (float("nan"), None)],
)
def test_a_duration_is_a_number_that_can_be_stored(value: object, read_as: int | None) -> None:
    assert event(duration_ms=value).number("duration_ms") == read_as


def test_half_a_character_is_replaced() -> None:
    assert event(tool_name="mcp__x__\ud83d").tool == "mcp__x__\ufffd"


@pytest.mark.parametrize(
    ("tool", "given", "subject"),
    [
        ("Skill", {"skill": "deploy"}, "deploy"),
        ("Skill", {"command": "deploy now"}, "deploy"),
        ("SlashCommand", {"command": "/deploy to production"}, "deploy"),
        ("Agent", {"subagent_type": "auditor"}, "auditor"),
        ("Task", {"subagent_type": 3}, None),
        ("Skill", {"skill": "/"}, None),
        ("Skill", {"skill": "   "}, None),
        ("Skill", "deploy", None),
        ("Bash", {"skill": "deploy"}, None),
    ],
)
def test_what_a_tool_starts_is_found_in_its_arguments(tool: str, given: object, subject: str | None) -> None:
    assert event(tool_name=tool, tool_input=given).subject == subject


@pytest.mark.parametrize(
    ("label", "server"),
    [
        ("ledger", "ledger"),
        ("plugin:quill:spell", "spell"),
        ("plugin:a:b:c", "b:c"),
        ("plugin:x", "plugin:x"),
    ],
)
def test_a_plugins_server_goes_by_its_own_name(label: str, server: str) -> None:
    assert event(mcp_server={"name": label, "source": "plugin"}).server == server
    assert event(mcp_server=label).server is None
    assert event(mcp_server={"name": "plugin:x:", "source": "plugin"}).server is None


@pytest.mark.parametrize("source", ["project", "user", None])
def test_a_name_that_looks_like_a_plugins_is_a_name_like_any_other(source: str | None) -> None:
    told = event(mcp_server={"name": "plugin:x:y", "source": source})
    assert (told.server, told.label, told.source) == ("plugin:x:y", "plugin:x:y", source)


@pytest.mark.parametrize("name", ["git__commit", "mcp__git__commit", "mcp__remit__git__commit"])
def test_what_the_gateway_is_to_call_is_meant_however_it_is_written(name: str) -> None:
    told = event(tool_name="mcp__remit__call_tool", tool_input={"name": name})
    assert told.tool == "mcp__remit__git__commit"
    assert event(tool_name="mcp__remit__call_tool").tool == "mcp__remit__call_tool"


def test_what_a_tool_is_given_is_read_through_the_gateway() -> None:
    given = {"name": "web__fetch", "arguments": {"url": "x"}}
    assert event(tool_name="mcp__remit__call_tool", tool_input=given).arguments.text("url") == "x"
    assert event(tool_name="WebFetch", tool_input={"url": "x"}).arguments.text("url") == "x"


@pytest.mark.parametrize(
    ("tool", "given", "reached"),
    [
        ("ReadMcpResourceTool", {"server": "git", "uri": "note://x"}, "git"),
        ("ListMcpResourcesTool", {}, ""),
        ("ReadMcpResourceDirTool", {"server": ["git"]}, ""),
        ("mcp__x__ReadMcpResourceTool", {"server": "git"}, None),
        ("Read", {"server": "git"}, None),
    ],
)
def test_a_tool_for_resources_names_the_server_in_its_arguments(
    tool: str, given: object, reached: str | None
) -> None:
    data = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given}
    assert read_event(json.dumps(data).encode(), {}).reached == reached


def test_a_very_long_id_of_a_call_is_stored_as_a_digest() -> None:
    def stored(id: str | None) -> str | None:
        return Event("PreToolUse", "/", None, False, {"tool_use_id": id}).call_id

    assert (stored(None), stored("toolu_1"), stored("a" * 256)) == (None, "toolu_1", "a" * 256)
    digests = {stored("a" * 257), stored("a" * 258)}
    assert [len(each or "") for each in digests] == [64, 64]
