"""How each client writes a server: what is one, what is switched off, and what is wrong."""

import json
from collections.abc import Mapping

import pytest

from remit.clients import (
    claude_desktop,
    cline,
    continue_dev,
    copilot_cli,
    cursor,
    goose,
    kiro,
    klaude,
    roo,
    vscode,
    windsurf,
    zed,
)
from remit.clients.parsing.client_reader import ParsedFile
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Launch
from remit.decision.kinds import ConfigStatus
from remit.decision.scopes import Scope
from support.builders import SHOP

FILES: dict[str, ServerFiles] = {
    "klaude": klaude.SERVERS,
    "cursor": cursor.SERVERS,
    "vscode": vscode.SERVERS,
    "claude-desktop": claude_desktop.SERVERS,
    "windsurf": windsurf.SERVERS,
    "zed": zed.SETTINGS,
    "goose": goose.SETTINGS,
    "cline": cline.SERVERS,
    "roo": roo.SERVERS,
    "kiro": kiro.SERVERS,
    "copilot-cli": copilot_cli.SERVERS,
}


def parse(client: str, entry: object) -> ParsedFile:
    if client == "continue":
        content: object = {"mcpServers": [entry]}
        return continue_dev.file("/home/ada/.continue/config.yaml", Scope.GLOBAL).parsed(content, SHOP)
    files = FILES[client]
    content = {"git": entry}
    for key in reversed(files.keys):
        content = {key: content}
    return files.file("/home/ada/file", Scope.GLOBAL).parsed(content, SHOP)


def launch(client: str, entry: Mapping[str, object]) -> Launch:
    parsed = parse(client, entry)
    assert parsed.problems == []
    [declaration] = parsed.declarations
    assert declaration.launch is not None
    return declaration.launch


@pytest.mark.parametrize(
    ("client", "entry", "transport"),
    [
        ("klaude", {"type": "sse", "url": "u"}, "sse"),
        ("cursor", {"url": "u", "headers": {"A": "1"}}, "http"),
        ("cursor", {"type": "sse", "url": "u"}, "sse"),
        ("vscode", {"url": "u"}, "http"),
        ("vscode", {"type": "sse", "url": "u"}, "sse"),
        ("windsurf", {"serverUrl": "u"}, "http"),
        ("windsurf", {"url": "u"}, "http"),
        ("zed", {"url": "u", "timeout": 60}, "http"),
        ("zed", {"type": "whatever", "url": "u"}, "http"),
        ("goose", {"type": "streamable_http", "uri": "u"}, "http"),
        ("goose", {"type": "sse", "uri": "u"}, "sse"),
        ("continue", {"name": "git", "type": "streamable-http", "url": "u"}, "http"),
        ("continue", {"name": "git", "url": "u"}, "http"),
        ("cline", {"url": "u"}, "sse"),
        ("cline", {"type": "streamableHttp", "url": "u"}, "http"),
        ("cline", {"transport": {"type": "streamableHttp", "url": "u"}}, "http"),
        ("roo", {"type": "streamable-http", "url": "u"}, "http"),
        ("kiro", {"url": "u"}, "http"),
        ("copilot-cli", {"type": "streamable-http", "url": "u", "tools": ["*"]}, "http"),
        ("copilot-cli", {"type": "sse", "url": "u", "tools": ["*"]}, "sse"),
    ],
)
def test_a_remote_server_has_its_url_and_transport(
    client: str, entry: dict[str, object], transport: str
) -> None:
    found = launch(client, entry)
    assert (found.transport, found.url) == (transport, "u")


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("klaude", {"command": "x", "args": ["-y"], "env": {"A": "1"}}),
        ("cursor", {"command": "x", "args": ["-y"], "env": {"A": "1"}, "envFile": ".env"}),
        ("vscode", {"type": "stdio", "command": "x", "args": ["-y"], "env": {"A": 1, "B": None}}),
        ("claude-desktop", {"command": "x", "args": ["-y"], "env": {"A": "1"}}),
        ("windsurf", {"command": "x", "args": ["-y"], "env": {"A": "1"}}),
        ("zed", {"command": "x", "args": ["-y"], "env": {"A": "1"}}),
        ("zed", {"source": "custom", "command": {"path": "x", "args": ["-y"], "env": {"A": "1"}}}),
        ("goose", {"type": "stdio", "cmd": "x", "args": ["-y"], "envs": {"A": "1"}, "env_keys": ["T"]}),
        ("continue", {"name": "git", "command": "x", "args": ["-y"], "env": {"A": "1"}}),
        ("cline", {"command": "x", "args": ["-y"], "env": {"A": "1"}, "timeout": 60}),
        ("cline", {"transport": {"type": "stdio", "command": "x", "args": ["-y"], "env": {"A": "1"}}}),
        ("roo", {"command": "x", "args": ["-y"], "env": {"A": "1"}, "watchPaths": ["dist"]}),
        ("kiro", {"command": "x", "args": ["-y"], "env": {"A": "1"}}),
        ("copilot-cli", {"type": "local", "command": "x", "args": ["-y"], "env": {"A": "1"}}),
    ],
)
def test_a_process_has_its_command_arguments_and_variables(client: str, entry: dict[str, object]) -> None:
    found = launch(client, entry)
    assert (found.command, found.args, found.env) == ("x", ("-y",), {"A": "1"})


def test_where_a_process_starts_is_kept() -> None:
    assert launch("goose", {"type": "stdio", "cmd": "x", "cwd": "/srv"}).cwd == "/srv"
    assert launch("goose", {"type": "stdio", "cmd": "x"}).cwd is None


@pytest.mark.parametrize(
    ("client", "entry", "is_off"),
    [
        ("windsurf", {"command": "x", "disabled": True}, True),
        ("zed", {"command": "x", "enabled": False}, True),
        ("zed", {"command": {"path": "x"}, "enabled": False}, True),
        ("zed", {"command": "x", "enabled": True}, False),
        ("goose", {"type": "stdio", "cmd": "x", "enabled": False}, True),
        ("cline", {"command": "x", "disabled": True}, True),
        ("cline", {"transport": {"type": "stdio", "command": "x"}, "disabled": True}, True),
        ("roo", {"command": "x", "disabled": True}, True),
        ("kiro", {"command": "x", "disabled": True}, True),
        ("kiro", {"command": "x", "disabled": False}, False),
        ("kiro", {"command": "x"}, False),
        ("cursor", {"command": "x", "disabled": True}, False),
        ("vscode", {"command": "x", "disabled": True}, False),
        ("claude-desktop", {"command": "x", "disabled": True}, False),
        ("klaude", {"command": "x", "disabled": True}, False),
        ("copilot-cli", {"command": "x", "disabled": True}, False),
    ],
)
def test_an_entry_can_switch_itself_off_only_where_the_client_has_it_so(
    client: str, entry: dict[str, object], is_off: bool
) -> None:
    assert [item.own_status is ConfigStatus.DISABLED for item in parse(client, entry).declarations] == [
        is_off
    ]


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("goose", {"type": "builtin", "name": "developer", "enabled": True}),
        ("goose", {"type": "platform", "name": "todo", "enabled": True}),
        ("zed", {"enabled": True, "settings": {"token": "hush"}}),
        ("continue", {"uses": "acme/ledger"}),
    ],
)
def test_what_is_no_server_on_this_machine_is_passed_over(client: str, entry: dict[str, object]) -> None:
    parsed = parse(client, entry)
    assert (parsed.declarations, parsed.problems) == ([], [])


@pytest.mark.parametrize(
    ("client", "entry", "reason"),
    [
        ("klaude", {"url": "u"}, "`url` without a `type`; expected one of http, sse"),
        ("klaude", {"type": "ws", "url": "u"}, "type: not one of stdio, http, sse"),
        ("cursor", {}, "`command` is missing"),
        ("cursor", {"command": ""}, "command: must not be empty"),
        ("cursor", {"command": "x", "env": {"A": 1}}, "env, item 1: expected text, found a number"),
        ("vscode", {"command": "x", "env": {"A": True}}, "env.A: expected text, found true or false"),
        ("vscode", {"type": "streamableHttp", "url": "u"}, "type: not one of stdio, http, sse"),
        ("claude-desktop", {"url": "u"}, "`command` is missing"),
        ("windsurf", {"command": "x", "disabled": "yes"}, "disabled: expected true or false, found text"),
        ("windsurf", {"type": "sse"}, "`serverUrl` is missing"),
        ("zed", {"command": {"args": []}}, "`path` is missing"),
        ("goose", {"cmd": "x"}, "`type` is missing"),
        ("goose", {"type": "stdio", "cmd": ""}, "cmd: must not be empty"),
        ("goose", {"type": "sse", "url": "u"}, "`uri` is missing"),
        ("continue", {"command": "x"}, "`name` is missing"),
        ("continue", "x", "expected an object, found text"),
        ("cline", {"type": "http", "url": "u"}, "type: not one of stdio, sse, streamableHttp"),
        ("cline", {"transport": []}, "transport: expected an object, found a list"),
        ("roo", {"url": "u"}, "`url` without a `type`; expected one of sse, streamable-http"),
        ("roo", {"command": "x", "url": "u"}, "both `command` and `url` are set; remove one"),
        ("kiro", [], "expected an object, found a list"),
        ("copilot-cli", {"type": None, "command": "x"}, "type: expected text, found null"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_the_reason(
    client: str, entry: object, reason: str
) -> None:
    parsed = parse(client, entry)
    assert (parsed.declarations, [problem.reason for problem in parsed.problems]) == ([], [reason])
    assert parsed.problems[0].place.startswith(".".join(FILES.get(client, cursor.SERVERS).keys))


@pytest.mark.parametrize("client", sorted({*FILES, "continue"}))
def test_no_secret_of_an_entry_is_kept_or_told(client: str) -> None:
    process = {"name": "git", "type": "stdio", "command": "x", "cmd": "x", "args": ["--key=hush"]}
    for entry in (
        {**process, "env": {"TOKEN": "hush"}, "envs": {"TOKEN": "hush"}},
        {"name": "git", "type": "sse", "url": "https://u:hush@mcp.test/", "headers": {"A": "hush"}},
        {"name": "git", "type": "hush", "command": ["hush"], "disabled": "hush", "enabled": "hush"},
    ):
        parsed = parse(client, entry)
        assert "hush" not in repr(parsed)
        assert "hush" not in json.dumps([problem.reason for problem in parsed.problems])


@pytest.mark.parametrize("client", ["klaude", "cursor", "windsurf", "cline", "roo", "kiro", "copilot-cli"])
def test_a_file_of_servers_without_any_is_told(client: str) -> None:
    parsed = FILES[client].file("/f", Scope.GLOBAL).parsed({"git": {"command": "x"}}, SHOP)
    assert (parsed.declarations, [it.reason for it in parsed.problems]) == ([], ["`mcpServers` is missing"])


@pytest.mark.parametrize(
    ("files", "content"),
    [
        (vscode.SERVERS, {"inputs": [{"id": "key", "type": "promptString"}]}),
        (vscode.SETTINGS, {"editor.fontSize": 12}),
        (zed.SETTINGS, {"theme": "x"}),
        (goose.SETTINGS, {"GOOSE_PROVIDER": "x"}),
        (claude_desktop.SERVERS, {"globalShortcut": ""}),
        (klaude.SETTINGS, {"enableAllProjectMcpServers": True}),
    ],
)
def test_settings_that_say_nothing_of_servers_are_no_problem(files: ServerFiles, content: object) -> None:
    parsed = files.file("/f", Scope.GLOBAL).parsed(content, SHOP)
    assert (parsed.declarations, parsed.problems) == ([], [])


def test_a_value_that_the_client_asks_for_stays_as_it_is_written() -> None:
    assert launch("vscode", {"command": "x", "args": ["${input:key}"]}).args == ("${input:key}",)


@pytest.mark.parametrize(
    ("content", "labels", "reasons"),
    [
        (
            {"mcpServers": {"git": {"command": "x"}, "wiki": {"type": "http", "url": "u"}}},
            ["git", "wiki"],
            [],
        ),
        ({"command": "x"}, ["ledger"], []),
        ({"type": "sse", "url": "u"}, ["ledger"], []),
        ({"unknown": 1}, [], ["`mcpServers` is missing"]),
    ],
)
def test_a_json_file_of_continue_holds_a_map_or_the_server_it_is_called_after(
    content: object, labels: list[str], reasons: list[str]
) -> None:
    parsed = continue_dev.file("/f/ledger.json", Scope.GLOBAL).parsed(content, SHOP)
    assert [item.server for item in parsed.declarations] == labels
    assert [problem.reason for problem in parsed.problems] == reasons


def test_in_a_list_one_bad_item_costs_only_itself() -> None:
    items = [{"command": "x"}, {"name": "git", "command": "x"}, 1]
    parsed = continue_dev.file("/f.yaml", Scope.GLOBAL).parsed({"mcpServers": items}, SHOP)
    assert [item.server for item in parsed.declarations] == ["git"]
    assert [problem.place for problem in parsed.problems] == ["mcpServers[0]", "mcpServers[2]"]
