"""What an install writes into clients that stop loading served servers without a list of their own."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from remit.clients import InstallLevel, Wanted
from remit.decision import Kind
from remit.errors import InstallError
from support.installs import Home

FULL = InstallLevel.FULL


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def takeover(home: Home, client: str, name: str, text: str) -> str:
    """Install with all servers served, uninstall to the byte, and return what the file said meanwhile."""
    path = home.write(f"home/{name}", text)
    before = home.read(client)
    declared = [item for item in before.declarations if item.kind is Kind.MCP_SERVER]
    wanted = Wanted(served=[item for item in declared if item.server != "local"], declared=declared)
    plan = home.installer().install(client, FULL, wanted)
    assert plan.served
    installed = path.read_text()
    after = {item.server: str(item.status) for item in home.read(client).declarations}
    del after["remit"]
    assert after == {item.server: str(item.status) for item in before.declarations}
    home.installer().uninstall(client)
    assert path.read_text() == text
    return installed


def test_codex_switches_off_what_is_served_and_hands_every_variable_to_the_gateway(home: Home) -> None:
    text = (
        'model = "x"\n\n[mcp_servers.git] # mine\ncommand = "g"\nenv_vars = ["TOKEN"]\n\n'
        '[mcp_servers.wiki]\nurl = "https://w.test"\nbearer_token_env_var = "WIKI"\n'
    )
    installed = tomllib.loads(takeover(home, "codex", ".codex/config.toml", text))["mcp_servers"]
    assert [installed[name]["enabled"] for name in ("git", "wiki")] == [False, False]
    assert installed["remit"]["required"] is True
    assert installed["remit"]["env_vars"] == ["TOKEN", "WIKI"]


def test_codex_keeps_a_projects_server_because_a_switch_without_a_command_stops_it_elsewhere(
    home: Home,
) -> None:
    home.write("home/.codex/config.toml", f'[projects."{home.shop}"]\ntrust_level = "trusted"\n')
    home.write("shop/.codex/config.toml", '[mcp_servers.till]\ncommand = "t"\n')
    served = [item for item in home.read("codex").declarations if item.server == "till"]
    assert served
    assert home.installer().plan("codex", FULL, Wanted(served=served)).served == []


def test_gemini_excludes_what_is_served_and_admits_the_gateway_where_a_list_exists(home: Home) -> None:
    text = '{\n  // mine\n  "mcpServers": {"git": {"command": "g"}},\n  "mcp": {"allowed": ["git"]}\n}\n'
    installed = takeover(home, "gemini-cli", ".gemini/settings.json", text)
    content: dict[str, Any] = json.loads(installed.replace("// mine", ""))
    assert content["mcp"] == {"allowed": ["git", "remit"], "excluded": ["git"]}
    text = '{"mcpServers": {"git": {"command": "g"}}}'
    assert "allowed" not in takeover(home, "gemini-cli", ".gemini/settings.json", text)


def test_opencode_switches_a_server_off_where_it_stands(home: Home) -> None:
    text = '{"mcp": {"git": {"type": "local", "command": ["g"]}}, /* mine */}\n'
    installed = takeover(home, "opencode", ".config/opencode/opencode.jsonc", text)
    assert '"enabled": false' in installed
    assert "/* mine */" in installed
    assert not (home.home / ".config/opencode/opencode.json").exists()


def test_klaude_gets_the_gateway_in_its_own_file_and_not_in_claude_codes(home: Home) -> None:
    home.write("home/.claude/settings.json", {"mcpServers": {"git": {"type": "stdio", "command": "g"}}})
    home.installer().install("klaude", FULL, Wanted())
    entry = home.json("home/.klaude/.mcp.json")["mcpServers"]["remit"]
    assert entry["type"] == "stdio"
    assert entry["args"][:3] == ["serve", "--client", "klaude"]
    with pytest.raises(InstallError, match="klaude has no hooks"):
        home.installer().plan("klaude", InstallLevel.CONTEXT, Wanted())


def test_of_two_files_the_existing_one_is_edited(home: Home) -> None:
    extension = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    home.write(f"home/{extension}", '{"mcpServers": {}}')
    (change,) = home.installer().plan("cline", FULL, Wanted()).changes
    assert change.path == str(home.home / extension)
