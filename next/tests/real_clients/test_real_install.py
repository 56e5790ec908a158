"""An install in the real Claude Code: what its model is sent and may do, without Remit and with it broken."""

import json
import sys
from pathlib import Path

import pytest

from remit.clients import InstallLevel, Wanted
from remit.decision import Kind, Scope, Tool
from support.real_claude import Call, Run
from support.real_machine import Machine, tools
from support.servers import recorded

FULL, NOTHING = InstallLevel.FULL, Wanted()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def tool(kind: Kind, name: str, plugin: str | None = None) -> Tool:
    return Tool("claude-code", kind, Scope.GLOBAL, None, None, None, None, name, plugin=plugin)


HIDDEN = (tool(Kind.SKILL, "polish"), tool(Kind.SLASH_COMMAND, "/varnish"), tool(Kind.SUBAGENT, "warden"))


def servers(run: Run) -> dict[str, str]:
    return {server["name"]: server["status"] for server in run.init["mcp_servers"]}


def test_what_is_hidden_is_absent_and_blocks_hold_with_hooks_off(
    machine: Machine,
) -> None:
    plan: list[Call] = [("Skill", {"skill": "polish"}), ("Skill", {"skill": "polish", "args": "all of it"})]
    before = json.dumps(machine.session().turns[0])
    assert all(word in before for word in ("polish", "varnish", "warden"))
    wanted = Wanted(blocks=["Bash"], hidden=HIDDEN, matcher=["Bash"])
    machine.installer().install("claude-code", FULL, wanted)
    settings = machine.json("home/.claude/settings.json")
    machine.write("home/.claude/settings.json", {**settings, "disableAllHooks": True})
    run = machine.session(*plan)
    sent = json.dumps(run.turns[0])
    assert "Bash" not in run.tools
    assert [word for word in ("polish", "varnish", "warden") if word in sent] == []
    assert len(run.results) == 2
    assert not [result for result in run.results if "Launching" in result]


def test_a_plugins_skill_is_refused_and_a_projects_settings_make_no_hidden_one_callable(
    machine: Machine,
) -> None:
    machine.write("home/.claude/skills/kit/.claude-plugin/plugin.json", {"name": "kit"})
    machine.write("home/.claude/skills/kit/skills/mend/SKILL.md", "---\ndescription: to mend it\n---\n")
    machine.write("shop/.claude/settings.json", {"skillOverrides": {"polish": "on"}})
    calls: list[Call] = [("Skill", {"skill": name, "args": "it"}) for name in ("kit:mend", "polish")]
    assert all("Launching" in result for result in machine.session(*calls).results)
    machine.write("home/.config/remit/remit.toml", 'block = ["kit:mend", "polish", "/varnish", "warden"]')
    wanted = Wanted(hidden=[tool(Kind.SKILL, "kit:mend", "kit"), *HIDDEN])
    machine.installer().install("claude-code", FULL, wanted)
    assert all("blocked" in result for result in machine.session(*calls).results)


def test_a_projects_rules_hold_below_it_and_end_with_the_install(machine: Machine) -> None:
    inner = machine.shop / "lib"
    inner.mkdir()
    installer = machine.installer()
    installer.install("claude-code", InstallLevel.HOOKS, NOTHING)
    machine.write("shop/remit.toml", 'block = ["Bash", "polish"]')
    wanted = Wanted(blocks=["Bash"], hidden=HIDDEN[:1])
    assert installer.refresh("claude-code", wanted, machine.project)
    run = machine.session(cwd=inner)
    assert "Bash" not in run.tools
    assert "polish" not in json.dumps(run.requests)
    installer.uninstall("claude-code")
    assert "Bash" in machine.session(cwd=inner).tools


def test_the_client_stops_loading_what_is_served_and_servers_can_still_be_added(machine: Machine) -> None:
    declared = [item for item in machine.read().declarations if item.server == "press"]
    machine.installer().install("claude-code", FULL, Wanted(served=declared, declared=declared))
    other = machine.write("other.json", tools("add"))
    added = machine.claude(
        "mcp", "add", "--scope", "user", "ledger", "--", sys.executable, recorded.__file__, str(other)
    )
    assert added.returncode == 0, added.stderr
    listed = servers(machine.session())
    assert listed["ledger"] == "connected"
    assert "press" not in listed
    assert "press" in [item.server for item in machine.read().declarations if item.launch is not None]


def test_a_server_whose_command_others_use_is_switched_off_in_known_projects(machine: Machine) -> None:
    state = machine.json("home/.claude.json")
    state["mcpServers"]["proof"] = {**machine.server, "env": {"DRAFT": "1"}}
    machine.write("home/.claude.json", state)
    declared = [item for item in machine.read().declarations if item.launch is not None]
    served = [item for item in declared if item.server == "press"]
    machine.installer().install("claude-code", FULL, Wanted(served=served, declared=declared))
    assert servers(machine.session())["proof"] == "connected"
    assert servers(machine.session()).get("press") != "connected"
    assert {str(item.status) for item in machine.read().declarations if item.server == "press"} == {"enabled"}


def test_a_broken_remit_blocks_only_what_a_rule_names_and_says_how_to_repair_it(machine: Machine) -> None:
    wanted = Wanted(matcher=["Bash"])
    machine.installer().install("claude-code", InstallLevel.HOOKS, wanted)
    text = (machine.home / ".claude/settings.json").read_text()
    (machine.home / ".claude/settings.json").write_text(text.replace("/kept.py", "/gone.py"))
    calls: list[Call] = [("Bash", {"command": "touch ran"}), ("mcp__press__read", {})]
    run = machine.session(*calls)
    blocked, answered = run.results
    assert "remit install claude-code" in blocked
    assert "delete what" in blocked
    assert not (machine.shop / "ran").exists()
    assert "Remit" not in answered
    (machine.root / "data/installs/remit-hook").unlink()
    blocked, answered = machine.session(*calls).results
    assert "remit install claude-code" in blocked
    assert "Remit" not in answered


def test_after_uninstall_only_what_the_client_wrote_since_differs(machine: Machine) -> None:
    settings = (machine.home / ".claude/settings.json").read_bytes()
    machine.installer().install("claude-code", FULL, Wanted(blocks=["Bash"], hidden=HIDDEN))
    machine.session()
    since = machine.json("home/.claude.json")
    machine.installer().uninstall("claude-code")
    assert (machine.home / ".claude/settings.json").read_bytes() == settings
    del since["mcpServers"]["remit"]
    assert machine.json("home/.claude.json") == since
    assert "Bash" in machine.session().tools
