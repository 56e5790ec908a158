"""`remit doctor` finds what is wrong, names the file and the fix, and raises no false alarm."""

import json
from typing import Any

import pytest

from remit.cli.doctor.command import gateways_in
from remit.clients import Installer, InstallLevel, Wanted, environment_of
from remit.files import Machine
from support.command_line import CommandLine

STDIO = {"command": "/bin/true"}
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def findings(remit: CommandLine, *words: str) -> list[dict[str, Any]]:
    return remit("doctor", "--json", *words).json["findings"]


def checks(remit: CommandLine) -> list[tuple[str, str | None]]:
    return [(item["check"], item["subject"]) for item in findings(remit)]


def test_no_findings_mean_no_problem_and_exit_0(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    finished = remit("doctor")

    assert (finished.code, finished.lines[-1]) == (0, "No problems found.")


def test_a_missing_program_is_an_error_with_its_file_and_its_fix(remit: CommandLine) -> None:
    path = remit.mine(lamp={"command": "/nowhere/lamp"})
    [finding] = findings(remit)

    assert remit("doctor").code == 1
    assert (finding["severity"], finding["check"], finding["source"]) == ("error", "program", str(path))
    assert finding["fix"]


def test_clients_start_no_shell_so_a_tilde_is_no_home(remit: CommandLine) -> None:
    remit.mine(lamp={"command": "~/bin/lamp"})
    [finding] = findings(remit)

    assert finding["fix"] == "write the whole path"


def test_another_account_is_no_duplicate(remit: CommandLine) -> None:
    remit.mine(
        one={**STDIO, "env": {"ACCOUNT": "a"}},
        two={**STDIO, "env": {"ACCOUNT": "b"}},
    )
    assert checks(remit) == []
    remit.mine(one=STDIO, two=STDIO)

    assert checks(remit) == [("duplicate", "two")]


def test_no_variable_is_asked_for_on_behalf_of_an_untrusted_server(remit: CommandLine) -> None:
    entry = {"command": "/bin/true", "args": ["${SECRET_OF_MINE}"]}
    remit.write(remit.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    remit.write(
        remit.home / ".claude.json",
        {"mcpServers": {"own": entry}, "projects": {str(remit.shop): {"hasTrustDialogAccepted": True}}},
    )
    remit.shared(remit.shop, till={"command": "/bin/true", "args": ["${SECRET_OF_MINE}", "x"]})
    _install(remit)

    assert [subject for check, subject in checks(remit) if check == "variable"] == ["own"]


def test_an_entrys_variables_count_for_its_own_arguments(remit: CommandLine) -> None:
    remit.mine(own={"command": "/bin/true", "args": ["${OWN}"], "env": {"OWN": "x", "OTHER": "${OWN_TOO}"}})
    _install(remit)
    [finding] = [item for item in findings(remit) if item["check"] == "variable"]

    assert "`OWN_TOO`" in finding["reason"]
    assert "`OWN`" not in finding["reason"]


def _install(remit: CommandLine, program: str = "/bin/true") -> None:
    """Install, as far as a diagnosis looks."""
    machine = Machine(str(remit.home), {"PATH": "/usr/bin:/bin"}, "linux", str(remit.root / "system"))
    data = str(remit.home / ".local/share/remit")
    environment = environment_of(str(remit.home), data, str(remit.home / ".config/remit/remit.toml"), {})
    installer = Installer(machine, lambda: [program], environment, clock=lambda: 1)
    installer.install("claude-code", InstallLevel.FULL, Wanted())


def test_a_secret_is_named_by_its_place_and_never_shown(remit: CommandLine) -> None:
    remit.shared(remit.shop, github={**STDIO, "env": {"GITHUB_TOKEN": TOKEN}})
    found = [item for item in findings(remit) if item["check"] == "secret"]

    assert [(item["place"], item["severity"]) for item in found] == [("env.GITHUB_TOKEN", "warning")]
    assert "${GITHUB_TOKEN}" in found[0]["fix"]
    assert TOKEN not in json.dumps(found) + remit("doctor").out


def test_an_entry_of_a_plugin_is_its_authors_to_fix(remit: CommandLine) -> None:
    plugin = remit.home / "plugins/quill"
    remit.write(
        plugin / ".claude-plugin/plugin.json",
        {"name": "quill", "mcpServers": {"pen": {"command": "npx", "args": ["pen-server"]}}},
    )
    remit.write(
        remit.home / ".claude/plugins/installed_plugins.json",
        {
            "version": 2,
            "plugins": {"quill@shelf": [{"scope": "user", "installPath": str(plugin), "version": "1"}]},
        },
    )
    remit.write(
        remit.home / ".claude/plugins/known_marketplaces.json",
        {
            "shelf": {
                "source": {"source": "github", "repo": "a/b"},
                "installLocation": str(remit.home / "shelf"),
            }
        },
    )
    remit.write(
        remit.home / "shelf/.claude-plugin/marketplace.json",
        {"name": "shelf", "owner": {"name": "A"}, "plugins": [{"name": "quill", "source": "./quill"}]},
    )
    remit.write(remit.home / ".claude/settings.json", {"enabledPlugins": {"quill@shelf": True}})
    [finding] = [item for item in findings(remit) if item["check"] == "unpinned"]

    assert finding["fix"].startswith("ask the author of the plugin `quill`")


def test_one_broken_file_is_one_error_for_all_clients_that_read_it(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    broken = remit.write(remit.shop / ".mcp.json", '{"mcpServers": {')
    found = [item for item in findings(remit, "--client", "all") if item["source"] == str(broken)]

    assert len(found) == 1


def test_servers_that_an_agent_lists_and_nobody_declares_are_named(remit: CommandLine) -> None:
    remit.write(
        remit.shop / ".claude/agents/tester.md",
        "---\nname: tester\ndescription: Tests\nmcpServers: [browser]\n---\nTest.\n",
    )
    assert ("agent", "browser") in checks(remit)


def test_servers_in_a_file_where_the_client_reads_none_get_the_command_that_adds_them(
    remit: CommandLine,
) -> None:
    remit.write(remit.home / ".claude/settings.json", {"mcpServers": {"git": {"command": "/bin/true"}}})
    [finding] = [item for item in findings(remit) if item["check"] == "ignored"]

    assert finding["fix"].startswith("run `claude mcp add-json --scope user git ")


def test_mistakes_in_our_files_have_line_and_column(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    path = remit.write(remit.home / ".config/remit/remit.toml", '[tools."mcp__git__*"]\ndangerous = "low"\n')
    finished = remit("doctor", "--rules")

    assert finished.code == 1
    assert "~/.config/remit/remit.toml: line 2 column 1: " in finished.out
    [finding] = remit("doctor", "--rules", "--json").json["findings"]
    assert (finding["source"], finding["line"], finding["column"]) == (str(path), 2, 1)


def test_a_shell_that_never_asks_is_one_note(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    remit.write(remit.home / ".claude/settings.json", {"permissions": {"allow": ["Bash"]}})
    assert checks(remit) == []
    _install(remit)

    assert [item for item in checks(remit) if item[0] == "shell"] == [("shell", None)]


def test_what_weakens_an_install_is_an_error_with_its_fix(remit: CommandLine) -> None:
    path = remit.mine(git=STDIO)
    _install(remit)
    assert [item for item in findings(remit) if item["severity"] == "error"] == []
    settings = remit.home / ".claude/settings.json"
    remit.write(settings, {**json.loads(settings.read_text()), "disableAllHooks": True})
    entries = json.loads(path.read_text())
    del entries["mcpServers"]["remit"]
    remit.write(path, entries)

    reasons = " ".join(item["reason"] for item in findings(remit) if item["check"] == "install")
    assert "Remit's hooks are off here" in reasons
    assert "Remit is not loaded here" in reasons
    assert remit("doctor").code == 1


def test_an_install_whose_environment_is_gone_is_named_with_what_starts_it(
    remit: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = remit.write(remit.root / "venv/bin/python", "")
    with monkeypatch.context() as patched:
        patched.setattr("sys.executable", str(path))  # which hooks start
        _install(remit, str(path))
    assert checks(remit) == []
    path.unlink()
    gone = [item for item in findings(remit) if f"{path}, which does not exist" in item["reason"]]

    assert {(item["severity"], item["source"]) for item in gone} == {
        ("error", str(remit.home / ".claude.json")),
        ("error", str(remit.home / ".claude/settings.json")),
    }


def test_an_agent_learns_of_the_gateways_of_its_project_only() -> None:
    running = [
        {"endpoints": [{"directory": path}]} for path in ("/code/shop", "/code/shop/app", "/code/shopping")
    ]

    assert gateways_in(running, "/code/shop") == running[:2]


def test_the_clients_on_this_machine_are_listed_with_their_files(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    kite = remit.write(remit.home / ".cursor/mcp.json", {"mcpServers": {"kite": STDIO}})

    found = remit("doctor", "--clients", "--json").json["clients"]
    assert {"name": "cursor", "files": [str(kite)], "servers": 1, "problems": 0} in found
    assert "~/.cursor/mcp.json" in remit("doctor", "--clients").out
