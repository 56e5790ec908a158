"""Clients whose rows say nearly all: which of their files win, and what counts before trust."""

import stat
from pathlib import Path

import pytest

from remit.clients import CLIENTS, client_called, is_on_machine, marker
from remit.decision import LaunchFlags
from support.homes import Home, loaded, outcome, servers, statuses, winner

ROO = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
CLINE = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
KIRO = ".kiro/settings/mcp.json"
COPILOT = ".copilot/mcp-config.json"


@pytest.mark.parametrize(
    ("client", "file", "user"),
    [("cursor", ".cursor/mcp.json", ".cursor/mcp.json"), ("kiro", KIRO, KIRO), ("roo", ".roo/mcp.json", ROO)],
)
def test_the_nearest_of_a_projects_files_wins_and_all_of_them_over_the_users(
    home: Home, shop: Path, client: str, file: str, user: str
) -> None:
    api = shop / "packages/api"
    api.mkdir(parents=True)
    for path in (home.path / user, shop / file, api / file):
        home.write(path, servers("git"))
        assert winner(home.read(api, client=client)).source == str(path)
    assert winner(home.read(shop, client=client)).source == str(shop / file)


def test_a_file_above_the_checkout_or_of_another_project_does_not_count(home: Home, shop: Path) -> None:
    blog = home.project("blog")
    home.write(shop.parent / ".cursor/mcp.json", servers("ghost"))
    home.write(blog / ".cursor/mcp.json", servers("press"))
    assert loaded(home.read(blog, client="cursor")) == ["project press"]
    assert loaded(home.read(shop, client="cursor")) == []


@pytest.mark.parametrize("client", ["cursor", "continue", "klaude"])
def test_in_the_home_directory_the_users_file_is_not_the_projects_too(home: Home, client: str) -> None:
    home.write(".cursor/mcp.json", servers("git"))
    home.write(".continue/mcpServers/git.json", servers("git"))
    home.write(".claude/settings.json", servers("git"))
    assert loaded(home.read(home.path, client=client)) == ["global git"]


def test_a_server_that_a_project_disables_is_off_except_in_roo(home: Home, shop: Path) -> None:
    off = servers(git={"command": "x", "disabled": True})
    home.write(KIRO, servers("git"))
    home.write(shop / KIRO, off)
    assert loaded(home.read(shop, client="kiro")) == []
    personal = home.write(ROO, servers("git"))
    home.write(shop / ".roo/mcp.json", off)
    assert winner(home.read(shop, client="roo")).source == str(personal)


def test_in_cline_the_shared_file_wins_over_the_extensions(home: Home, shop: Path) -> None:
    for path in (CLINE, ".cline/data/settings/cline_mcp_settings.json"):
        file = home.write(path, servers("git"))
        assert winner(home.read(shop, client="cline")).source == str(file)


def test_in_continue_the_configuration_wins_and_of_two_blocks_the_first(home: Home, shop: Path) -> None:
    for name, content in (
        ("mcpServers/b.json", servers("git")),
        ("mcpServers/a.json", servers("git")),
        ("config.yaml", "mcpServers: [{name: git, command: x}]"),
    ):
        file = home.write(f".continue/{name}", content)
        assert winner(home.read(shop, client="continue")).source == str(file)


@pytest.mark.parametrize(
    ("content", "labels", "count"),
    [
        (servers(git={"command": "x"}, wiki={"type": "http", "url": "u"}), ["git", "wiki"], 0),
        ({"command": "x"}, ["ledger"], 0),
        ({"type": "sse", "url": "u"}, ["ledger"], 0),
        ({"unknown": 1}, [], 1),
        ({"mcpServers": [{"command": "x"}, {"name": "git", "command": "x"}, 1]}, ["git"], 2),
    ],
)
def test_a_block_of_continue_holds_a_list_a_map_or_the_server_it_is_called_after(
    home: Home, shop: Path, content: object, labels: list[str], count: int
) -> None:
    home.write(".continue/mcpServers/ledger.json", content)
    reading = home.read(shop, client="continue")
    assert ([item.server for item in reading.declarations], len(reading.problems)) == (labels, count)


@pytest.mark.parametrize("is_headless", [False, True])
def test_copilot_waits_with_a_projects_servers_until_its_folder_is_trusted(
    home: Home, shop: Path, is_headless: bool
) -> None:
    flags = LaunchFlags(is_headless=is_headless)
    home.write(COPILOT, servers("git"))
    home.write(shop / ".mcp.json", servers("till", "git"))
    for key, folder, names in (
        ("trusted_folders", home.root / "code/blog", ["global git"]),
        ("trusted_folders", shop, ["project git", "project till"]),
        ("trustedFolders", shop.parent, ["project git", "project till"]),
    ):
        home.write(".copilot/config.json", {key: [str(folder)]})
        assert loaded(home.read(shop, client="copilot-cli", flags=flags)) == names


def test_in_copilot_the_nearer_directory_wins_and_in_one_directory_the_file_outside_github(
    home: Home, shop: Path
) -> None:
    home.write(".copilot/config.json", {"trusted_folders": [str(shop)]})
    outer = home.write(shop / ".mcp.json", servers("git", "wiki"))
    home.write(shop / ".github/mcp.json", servers("git", "wiki"))
    nearer = home.write(shop / "api/.github/mcp.json", servers("git"))
    home.write(shop.parent / ".mcp.json", servers("ghost"))
    reading = home.read(shop / "api", client="copilot-cli")
    assert (winner(reading).source, winner(reading, "wiki").source) == (str(nearer), str(outer))
    assert loaded(reading) == ["project git", "project wiki"]


def test_klaude_prefers_local_to_project_to_user_servers_and_replaces_entries_whole(
    home: Home, shop: Path
) -> None:
    for path, scope in (
        (home.path / ".claude/settings.json", "global"),
        (home.path / ".klaude/.mcp.json", "global"),
        (shop / ".mcp.json", "project"),
        (shop / ".claude/settings.json", "local"),
    ):
        home.write(path, servers(git={"command": "x", "env": {"FROM": str(path)}}))
        declaration = winner(home.read(shop, client="klaude"))
        assert (declaration.scope, declaration.source) == (scope, str(path))
        assert declaration.launch is not None
        assert declaration.launch.env == {"FROM": str(path)}
    home.write(shop / "api/.mcp.json", servers("inner"))
    home.write(shop.parent / ".mcp.json", servers("outer"))
    assert statuses(home.read(shop / "api", client="klaude")) == {"local git": "enabled"}
    assert outcome(home.read(shop, client="klaude")) == {"local git x": "enabled"}


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor"),
        ("vscode", ".config/Code"),
        ("claude-desktop", ".config/Claude"),
        ("zed", ".config/zed"),
        ("cline", ".config/Code/User/globalStorage/saoudrizwan.claude-dev"),
        ("codex", "elsewhere"),
    ],
)
def test_a_client_is_on_the_machine_if_its_own_files_are(home: Home, client: str, path: str) -> None:
    home.variables |= {"PATH": "/nowhere", "CODEX_HOME": str(home.path / "elsewhere")}
    assert not is_on_machine(client, home.machine)
    (home.path / path).mkdir(parents=True)
    assert is_on_machine(client, home.machine)
    assert is_on_machine("a-client-of-tomorrow", home.machine)


def test_a_program_on_the_path_shows_a_client_but_relative_entries_prove_none(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home.write("bin/gemini", "")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.chdir(program.parent)
    home.variables["PATH"] = "."
    assert not is_on_machine("gemini-cli", home.machine)
    home.variables["PATH"] = str(program.parent)
    assert is_on_machine("gemini-cli", home.machine)


def test_what_an_agent_runs_is_known_by_its_clients_variables() -> None:
    assert marker({"CLAUDECODE": "1", "PATH": "/bin"}) == "CLAUDECODE"
    assert marker({"AI_AGENT": "another"}) == "AI_AGENT"
    assert marker({"CLAUDECODE": "", "TERM_PROGRAM": "vscode"}) is None
    assert (client_called("gemini"), client_called("codex")) == ("gemini-cli", "codex")
    assert all(client_called(name) == name for name in CLIENTS)
