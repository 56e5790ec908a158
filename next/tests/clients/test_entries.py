"""How each client writes a server: what is one, what is off, what is wrong, and where its files lie."""

import json
import os
from pathlib import Path

import pytest

from remit.clients import CLIENTS
from remit.decision import CLIENT_TITLES, Launch, Status
from support.homes import Home, outcome, reasons

USUAL = '{"mcpServers": {"git": {"command": "x"}}}'
VSCODE = '{"servers": {"git": {"command": "x"}}} // a comment'
SETTINGS = '{"editor.fontSize": 12, "mcp": {"servers": {"git": {"command": "x"}}},}'
ZED = '{"theme": "x", "context_servers": {"git": {"command": "x"}},}'
GOOSE = "extensions: {git: {type: stdio, cmd: x, enabled: true}}"
CODEX = '[mcp_servers.git]\ncommand = "x"'
OPENCODE = '{"mcp": {"git": {"type": "local", "command": ["x"]}}} // a comment'
CONTINUE = "mcpServers: [{name: git, command: x}]"
CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
ROO = "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
STORE = "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"
DESKTOP = "Claude/claude_desktop_config.json"
CODE_USER = {
    "linux": "home/.config/Code/User",
    "darwin": "home/Library/Application Support/Code/User",
    "win32": "home/AppData/Roaming/Code/User",
}
PLACES = {  # of one file with a map of servers, and the keys that lead to it
    "claude-code": (".claude.json", ("mcpServers",)),
    "klaude": (".klaude/.mcp.json", ("mcpServers",)),
    "cursor": (".cursor/mcp.json", ("mcpServers",)),
    "vscode": (".config/Code/User/mcp.json", ("servers",)),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", ("mcpServers",)),
    "windsurf": (".codeium/windsurf/mcp_config.json", ("mcpServers",)),
    "zed": (".config/zed/settings.json", ("context_servers",)),
    "goose": (".config/goose/config.yaml", ("extensions",)),
    "cline": (".cline/data/settings/cline_mcp_settings.json", ("mcpServers",)),
    "roo": (f".config/Code/User/{ROO}", ("mcpServers",)),
    "kiro": (".kiro/settings/mcp.json", ("mcpServers",)),
    "copilot-cli": (".copilot/mcp-config.json", ("mcpServers",)),
    "continue": (".continue/config.yaml", ("mcpServers",)),
}
EVERYWHERE = [
    ("claude-code", "home/.claude.json", USUAL, "global"),
    ("claude-code", "shop/.mcp.json", USUAL, "project"),
    ("klaude", "home/.klaude/.mcp.json", USUAL, "global"),
    ("klaude", "home/.claude/settings.json", USUAL, "global"),
    ("klaude", "shop/.mcp.json", USUAL, "project"),
    ("klaude", "shop/.claude/settings.json", USUAL, "local"),
    ("cursor", "home/.cursor/mcp.json", USUAL, "global"),
    ("cursor", "shop/.cursor/mcp.json", USUAL, "project"),
    ("vscode", "shop/.vscode/mcp.json", VSCODE, "project"),
    ("windsurf", "home/.codeium/windsurf/mcp_config.json", USUAL, "global"),
    ("zed", "shop/.zed/settings.json", ZED, "project"),
    ("continue", "home/.continue/config.yaml", CONTINUE, "global"),
    ("continue", "home/.continue/mcpServers/git.yaml", CONTINUE, "global"),
    ("continue", "home/.continue/mcpServers/git.json", USUAL, "global"),
    ("continue", "shop/.continue/mcpServers/git.yml", CONTINUE, "project"),
    ("continue", "shop/.continue/mcpServers/git.json", USUAL, "project"),
    ("cline", "home/.cline/data/settings/cline_mcp_settings.json", USUAL, "global"),
    ("roo", "shop/.roo/mcp.json", USUAL, "project"),
    ("kiro", "home/.kiro/settings/mcp.json", USUAL, "global"),
    ("kiro", "shop/.kiro/settings/mcp.json", USUAL, "project"),
    ("copilot-cli", "home/.copilot/mcp-config.json", USUAL, "global"),
    ("copilot-cli", "shop/.mcp.json", USUAL, "project"),
    ("copilot-cli", "shop/.github/mcp.json", USUAL, "project"),
    ("codex", "home/.codex/config.toml", CODEX, "global"),
    ("gemini-cli", "home/.gemini/settings.json", USUAL, "global"),
    ("opencode", "home/.config/opencode/opencode.json", OPENCODE, "global"),
    ("opencode", "shop/opencode.jsonc", OPENCODE, "project"),
]
BY_PLATFORM = [
    *(("vscode", at, f"{user}/mcp.json", VSCODE) for at, user in CODE_USER.items()),
    *(("vscode", at, f"{user}/profiles/-5f1d/mcp.json", VSCODE) for at, user in CODE_USER.items()),
    *(("vscode", at, f"{user}/settings.json", SETTINGS) for at, user in CODE_USER.items()),
    *(("cline", at, f"{user}/{CLINE}", USUAL) for at, user in CODE_USER.items()),
    *(("roo", at, f"{user}/{ROO}", USUAL) for at, user in CODE_USER.items()),
    ("claude-desktop", "linux", f"home/.config/{DESKTOP}", USUAL),
    ("claude-desktop", "darwin", f"home/Library/Application Support/{DESKTOP}", USUAL),
    ("claude-desktop", "win32", f"home/AppData/Roaming/{DESKTOP}", USUAL),
    ("claude-desktop", "win32", f"home/AppData/Local/{STORE}", USUAL),
    ("zed", "linux", "home/.config/zed/settings.json", ZED),
    ("zed", "darwin", "home/.config/zed/settings.json", ZED),
    ("zed", "win32", "home/AppData/Roaming/Zed/settings.json", ZED),
    ("goose", "linux", "home/.config/goose/config.yaml", GOOSE),
    ("goose", "darwin", "home/.config/goose/config.yaml", GOOSE),
    ("goose", "win32", "home/AppData/Roaming/Block/goose/config/config.yaml", GOOSE),
]
MOVED = [
    ("vscode", "linux", {"XDG_CONFIG_HOME": "moved"}, "moved/Code/User/mcp.json", VSCODE),
    ("vscode", "win32", {"APPDATA": "moved"}, "moved/Code/User/mcp.json", VSCODE),
    ("claude-desktop", "win32", {"LOCALAPPDATA": "moved"}, f"moved/{STORE}", USUAL),
    ("zed", "linux", {"XDG_CONFIG_HOME": "moved"}, "moved/zed/settings.json", ZED),
    ("zed", "darwin", {"XDG_CONFIG_HOME": "moved"}, "home/.config/zed/settings.json", ZED),
    ("goose", "darwin", {"XDG_CONFIG_HOME": "moved"}, "moved/goose/config.yaml", GOOSE),
    ("goose", "linux", {"GOOSE_PATH_ROOT": "moved"}, "moved/config/config.yaml", GOOSE),
    ("continue", "linux", {"CONTINUE_GLOBAL_DIR": "moved"}, "moved/config.yaml", CONTINUE),
    ("cline", "linux", {"CLINE_DIR": "moved"}, "moved/data/settings/cline_mcp_settings.json", USUAL),
    ("cline", "linux", {"CLINE_DATA_DIR": "moved"}, "moved/settings/cline_mcp_settings.json", USUAL),
    ("cline", "linux", {"CLINE_MCP_SETTINGS_PATH": "moved/mine.json"}, "moved/mine.json", USUAL),
    ("copilot-cli", "linux", {"COPILOT_HOME": "moved"}, "moved/mcp-config.json", USUAL),
    ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "moved"}, "moved/.claude.json", USUAL),
]


def write_entry(home: Home, client: str, entry: object) -> Path:
    file, keys = PLACES[client]
    content: object = [entry] if client == "continue" else {"git": entry}
    for key in reversed(keys):
        content = {key: content}
    return home.write(file, json.dumps(content))


def launch(home: Home, client: str, entry: object) -> Launch:
    write_entry(home, client, entry)
    reading = home.read(home.project(client), client=client)
    assert reading.problems == []
    [declaration] = reading.declarations
    assert declaration.launch is not None
    return declaration.launch


def test_every_client_with_a_title_has_a_row() -> None:
    assert list(CLIENTS) == list(CLIENT_TITLES)


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
        ("claude-code", {"type": "streamable-http", "url": "u"}, "http"),
        ("claude-code", {"type": "ws", "url": "u"}, "ws"),
    ],
)
def test_a_remote_server_has_its_url_and_transport(
    home: Home, client: str, entry: object, transport: str
) -> None:
    read = launch(home, client, entry)
    assert (read.transport, read.url) == (transport, "u")


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
        ("claude-code", {"command": "x", "args": ["-y"], "env": {"A": "1"}, "cwd": "ignored"}),
    ],
)
def test_a_process_has_its_command_arguments_and_variables(home: Home, client: str, entry: object) -> None:
    read = launch(home, client, entry)
    assert (read.command, read.args, read.env) == ("x", ("-y",), {"A": "1"})
    assert read.cwd is None
    assert read.syntaxes == CLIENTS[client].syntaxes


def test_where_a_process_starts_is_kept(home: Home) -> None:
    assert launch(home, "goose", {"type": "stdio", "cmd": "x", "cwd": "/srv"}).cwd == "/srv"


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
        ("cursor", {"command": "x", "disabled": True}, False),
        ("vscode", {"command": "x", "disabled": True}, False),
        ("claude-desktop", {"command": "x", "disabled": True}, False),
        ("klaude", {"command": "x", "disabled": True}, False),
        ("copilot-cli", {"command": "x", "disabled": True}, False),
        ("claude-code", {"command": "x", "disabled": True}, False),
    ],
)
def test_an_entry_can_switch_itself_off_only_where_the_client_has_a_switch(
    home: Home, shop: Path, client: str, entry: object, is_off: bool
) -> None:
    write_entry(home, client, entry)
    [declaration] = home.read(shop, client=client).declarations
    assert (declaration.status is Status.DISABLED) is is_off


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("goose", {"type": "builtin", "name": "developer", "enabled": True}),
        ("goose", {"type": "platform", "name": "todo", "enabled": True}),
        ("zed", {"enabled": True, "settings": {"token": "hush"}}),
        ("continue", {"uses": "acme/ledger"}),
    ],
)
def test_what_is_no_server_on_this_machine_is_passed_over(
    home: Home, shop: Path, client: str, entry: object
) -> None:
    write_entry(home, client, entry)
    reading = home.read(shop, client=client)
    assert (reading.declarations, reading.problems) == ([], [])


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
        ("claude-code", {"url": "u"}, '`url` without a remote `type`; add "type": "http"'),
        ("claude-code", {"type": "STDIO"}, "type: not one of stdio, http, streamable-http, sse, ws"),
        ("claude-code", {"command": "x", "args": [1]}, "args[0]: expected text, found a number"),
        (
            "claude-code",
            {"type": "http", "url": "u", "headers": []},
            "headers: expected an object, found a list",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_the_reason(
    home: Home, shop: Path, client: str, entry: object, reason: str
) -> None:
    write_entry(home, client, entry)
    reading = home.read(shop, client=client)
    assert (reading.declarations, reasons(reading)) == ([], [reason])
    assert reading.problems[0].place.startswith(".".join(PLACES[client][1]))


@pytest.mark.parametrize("client", PLACES)
def test_no_secret_of_an_entry_is_shown(home: Home, shop: Path, client: str) -> None:
    process = {"name": "git", "type": "stdio", "command": "x", "cmd": "x", "args": ["--key=hush"]}
    for entry in (
        {**process, "env": {"TOKEN": "hush"}, "envs": {"TOKEN": "hush"}},
        {"name": "git", "type": "sse", "url": "https://u:hush@mcp.test/", "headers": {"A": "hush"}},
        {"name": "git", "type": "hush", "command": ["hush"], "disabled": "hush", "enabled": "hush"},
    ):
        write_entry(home, client, entry)
        assert "hush" not in repr(home.read(shop, client=client))


@pytest.mark.parametrize("client", ["klaude", "cursor", "windsurf", "cline", "roo", "kiro", "copilot-cli"])
def test_a_file_of_servers_without_any_is_a_problem_that_names_a_similar_key(
    home: Home, shop: Path, client: str
) -> None:
    for key, hint in (("git", ""), ("servers", "; rename `servers` to `mcpServers`")):
        home.write(PLACES[client][0], {key: dict[str, object]()})
        assert reasons(home.read(shop, client=client)) == [f"`mcpServers` is missing{hint}"]


@pytest.mark.parametrize(
    ("client", "path", "content"),
    [
        ("vscode", ".config/Code/User/mcp.json", {"inputs": [{"id": "key"}]}),
        ("vscode", ".config/Code/User/settings.json", {"editor.fontSize": 12}),
        ("zed", ".config/zed/settings.json", {"theme": "x"}),
        ("goose", ".config/goose/config.yaml", {"GOOSE_PROVIDER": "x"}),
        ("claude-desktop", f".config/{DESKTOP}", {"globalShortcut": ""}),
        ("klaude", ".claude/settings.json", {"enableAllProjectMcpServers": True}),
    ],
)
def test_settings_without_servers_are_no_problem(
    home: Home, shop: Path, client: str, path: str, content: object
) -> None:
    home.write(path, content)
    reading = home.read(shop, client=client)
    assert (reading.declarations, reading.problems) == ([], [])


def places(home: Home, client: str, platform: str) -> list[str]:
    """What a client declares in the project, as scope, label and source."""
    home.platform = platform
    reading = home.read(home.root / "shop", client=client)
    assert reading.problems == []
    assert reading.files == [item.source for item in reading.declarations]
    return [f"{item.scope} {item.server} {item.source}" for item in reading.declarations]


@pytest.fixture
def bare(home: Home) -> Home:
    """A machine on which no client has left anything."""
    (home.root / "shop/.git").mkdir(parents=True)
    return home


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize(("client", "file", "content", "scope"), EVERYWHERE)
def test_a_file_in_the_same_place_on_every_platform(
    bare: Home, platform: str, client: str, file: str, content: str, scope: str
) -> None:
    path = bare.write(bare.root / file, content)
    assert places(bare, client, platform) == [f"{scope} git {path}"]


@pytest.mark.parametrize(("client", "platform", "file", "content"), BY_PLATFORM)
def test_a_file_in_a_place_of_its_platform(
    bare: Home, client: str, platform: str, file: str, content: str
) -> None:
    path = bare.write(bare.root / file, content)
    assert places(bare, client, platform) == [f"global git {path}"]


@pytest.mark.parametrize(("client", "platform", "variables", "file", "content"), MOVED)
def test_a_file_that_a_variable_moves(
    bare: Home, client: str, platform: str, variables: dict[str, str], file: str, content: str
) -> None:
    assert set(variables) <= set(CLIENTS[client].locating)
    bare.variables |= {name: str(bare.root / value) for name, value in variables.items()}
    path = bare.write(bare.root / file, content)
    assert places(bare, client, platform) == [f"global git {path}"]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("client", CLIENTS)
def test_without_files_nothing_is_declared_and_only_listed_variables_are_read(
    bare: Home, client: str, platform: str
) -> None:
    asked: set[str] = set()

    class Variables(dict[str, str]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            asked.add(key)
            return default

    bare.variables = Variables()
    assert places(bare, client, platform) == []
    assert asked <= set(CLIENTS[client].locating)


@pytest.mark.skipif(os.name == "nt", reason="a path there is always text")
def test_a_name_in_a_directory_that_is_not_text_is_passed_over(bare: Home) -> None:
    block = bare.write(".continue/mcpServers/git.yaml", CONTINUE)
    with open(os.path.join(os.fsencode(block.parent), b"\xff.yaml"), "wb") as opened:
        opened.write(CONTINUE.encode())
    assert places(bare, "continue", "linux") == [f"global git {block}"]


def test_a_client_of_the_row_wins_by_its_last_file(home: Home, shop: Path) -> None:
    user = home.path / ".config/Code/User"
    server = {"servers": {"git": {"command": "x"}}}
    for path, content in (
        (user / "settings.json", {"mcp": server}),
        (user / "profiles/a/mcp.json", server),
        (user / "mcp.json", server),
    ):
        home.write(path, content)
        reading = home.read(shop, client="vscode")
        assert [item.source for item in reading.declarations][-1] == str(path)
        assert list(outcome(reading)) == ["global git x"]
