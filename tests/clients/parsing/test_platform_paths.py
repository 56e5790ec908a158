"""Where each client's files lie, for every platform on any platform."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.clients.known_clients import load
from remit.clients.parsing.client_reader import read_client
from remit.decision.permissions.client_facts import CLIENTS
from remit.decision.projects import View
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.sandbox import Sandbox

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
ALL = ("linux", "darwin", "win32")
CODE_USER = {
    "linux": "home/.config/Code/User",
    "darwin": "home/Library/Application Support/Code/User",
    "win32": "home/AppData/Roaming/Code/User",
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
    ("codex", "home/.codex/config.toml", CODEX, "global"),
    ("gemini-cli", "home/.gemini/settings.json", USUAL, "global"),
    ("opencode", "home/.config/opencode/opencode.json", OPENCODE, "global"),
    ("opencode", "shop/opencode.jsonc", OPENCODE, "project"),
    ("copilot-cli", "shop/.mcp.json", USUAL, "project"),
    ("copilot-cli", "shop/.github/mcp.json", USUAL, "project"),
]
BY_PLATFORM = [
    *(("vscode", at, f"{user}/mcp.json", VSCODE) for at, user in CODE_USER.items()),
    *(("vscode", at, f"{user}/profiles/-5f1d/mcp.json", VSCODE) for at, user in CODE_USER.items()),
    *(("vscode", at, f"{user}/settings.json", SETTINGS) for at, user in CODE_USER.items()),
    *(("cline", at, f"{user}/{CLINE}", USUAL) for at, user in CODE_USER.items()),
    *(("roo", at, f"{user}/{ROO}", USUAL) for at, user in CODE_USER.items()),
    ("claude-desktop", "linux", "home/.config/Claude/claude_desktop_config.json", USUAL),
    (
        "claude-desktop",
        "darwin",
        "home/Library/Application Support/Claude/claude_desktop_config.json",
        USUAL,
    ),
    ("claude-desktop", "win32", "home/AppData/Roaming/Claude/claude_desktop_config.json", USUAL),
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
]


def declared(
    sandbox: Sandbox, client: str, platform: str, variables: Mapping[str, str] | None = None
) -> list[str]:
    """What a client declares in the project, as scope, label and source."""
    given = {name: str(sandbox.root / value) for name, value in (variables or {}).items()}
    machine = Machine(
        home=str(sandbox.home), variables=given, platform=platform, root=str(sandbox.root / "machine")
    )
    view = View(client, locate(str(sandbox.root / "shop")))
    reading = read_client(load(client), view, machine, now_ns=0)
    assert reading.problems == []
    assert reading.files == [item.source for item in reading.declarations]
    return [f"{item.scope} {item.server} {item.source}" for item in reading.declarations]


@pytest.fixture
def bare(tmp_path: Path) -> Sandbox:
    """A machine on which no client has left anything."""
    made = Sandbox(root=tmp_path.resolve())
    (made.root / "shop/.git").mkdir(parents=True)
    made.home.mkdir()
    return made


@pytest.mark.parametrize("platform", ALL)
@pytest.mark.parametrize(("client", "file", "content", "scope"), EVERYWHERE)
def test_a_file_that_lies_in_the_same_place_on_every_platform(
    bare: Sandbox, platform: str, client: str, file: str, content: str, scope: str
) -> None:
    path = bare.write(bare.root / file, content)
    assert declared(bare, client, platform) == [f"{scope} git {path}"]


@pytest.mark.parametrize(("client", "platform", "file", "content"), BY_PLATFORM)
def test_a_file_that_lies_in_a_place_of_its_platform(
    bare: Sandbox, client: str, platform: str, file: str, content: str
) -> None:
    path = bare.write(bare.root / file, content)
    assert declared(bare, client, platform) == [f"global git {path}"]


@pytest.mark.parametrize(("client", "platform", "variables", "file", "content"), MOVED)
def test_a_file_that_a_variable_moves(
    bare: Sandbox, client: str, platform: str, variables: dict[str, str], file: str, content: str
) -> None:
    assert set(variables) <= set(CLIENTS[client].locating)
    path = bare.write(bare.root / file, content)
    assert declared(bare, client, platform, variables) == [f"global git {path}"]


@pytest.mark.parametrize("platform", ALL)
@pytest.mark.parametrize("client", CLIENTS)
def test_where_no_file_is_there_nothing_is_found(bare: Sandbox, client: str, platform: str) -> None:
    assert declared(bare, client, platform) == []


def test_the_tables_above_hold_every_client() -> None:
    assert {row[0] for row in (*EVERYWHERE, *BY_PLATFORM)} == set(CLIENTS)


@pytest.mark.skipif(os.name == "nt", reason="a path there is always text")
def test_an_entry_of_a_directory_whose_name_is_not_text_is_passed_over(bare: Sandbox) -> None:
    blocks = bare.write(bare.home / ".continue/mcpServers/git.yaml", CONTINUE)
    with open(os.path.join(os.fsencode(blocks.parent), b"\xff.yaml"), "wb") as opened:
        opened.write(CONTINUE.encode())
    assert declared(bare, "continue", "linux") == [f"global git {blocks}"]
