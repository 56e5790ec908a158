"""`remit why` says first what an agent gets: a visible tool may still not start, or be refused."""

import json

import pytest

from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox

ENTRIES = {
    "lamp": {"command": "/nowhere/lamp"},
    "light": {"command": "/bin/sh"},
    "sentry": {"url": "https://mcp.test/"},
}


@pytest.fixture
def machine(sandbox: Sandbox) -> Sandbox:
    sandbox.project("shop")
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": ENTRIES})
    return sandbox


def asked(machine: Sandbox, *words: str) -> list[str]:
    return machine.remit(*words, cwd=machine.root / "code/shop").stdout.splitlines()


def test_a_server_that_cannot_start_is_not_called_visible(machine: Sandbox) -> None:
    assert asked(machine, "why", "lamp")[:2] == [
        "mcp__lamp__*: declared in ~/.claude.json, but cannot start: `/nowhere/lamp` does not exist",
        "to change it: correct the path",
    ]
    (row,) = (line for line in asked(machine, "tools") if line.startswith("  lamp "))
    assert "cannot start: `/nowhere/lamp`" in row


CRASH = "ended before it answered (exit code 3)"


@pytest.fixture
def crashing(machine: Sandbox) -> Sandbox:
    entries = {"crashy": {"command": "/bin/sh", "args": ["-c", "exit 3"]}, "needy": {"command": "${NEEDY}"}}
    machine.write(machine.home / ".claude.json", {"mcpServers": entries})
    asked(machine, "scan", "--connect")
    return machine


def test_a_server_that_failed_is_not_called_visible(crashing: Sandbox) -> None:
    fix = "run its command by hand to see why, then run `remit scan --connect crashy`"
    assert asked(crashing, "why", "crashy")[:2] == [
        f"mcp__crashy__*: declared in ~/.claude.json, but the last connection failed: {CRASH}",
        f"to change it: {fix}",
    ]
    told = json.loads("".join(asked(crashing, "why", "crashy__foo", "--json")))
    assert (told["obstacle"], told["obstacle_fix"]) == (f"the last connection failed: {CRASH}", fix)
    unknown = asked(crashing, "why", "xyzzy")
    assert unknown[1:3] == [
        "servers whose tools are not known:",
        f"  `crashy`: the last connection failed: {CRASH}",
    ]
    assert f"    fix: {fix}" in asked(crashing, "doctor")


def test_the_context_and_the_list_say_why_a_server_cannot_be_used(crashing: Sandbox) -> None:
    context = asked(crashing, "context")
    unset = "needs `NEEDY`, which is not set"
    assert f"Cannot start here: crashy ({CRASH}); needy ({unset})." in context
    assert not [line for line in context if line.startswith("- MCP")]
    rows = [line.split("  ")[-1] for line in asked(crashing, "tools") if "?" in line]
    assert rows == [CRASH, unset]


def test_a_reason_that_is_too_long_for_a_line_keeps_its_beginning(crashing: Sandbox) -> None:
    crashing.variables["COLUMNS"] = "47"
    (row,) = (line for line in asked(crashing, "tools") if line.startswith("  needy "))
    assert row.endswith("needs `NEEDY`...")


def test_a_server_that_only_the_client_starts_is_not_trusted_in_remit(machine: Sandbox) -> None:
    shop = machine.root / "code/shop"
    machine.write(shop / ".mcp.json", {"mcpServers": {"till": {"command": "/bin/sh"}}})
    machine.write(machine.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    assert asked(machine, "why", "till")[:3] == [
        "mcp__till__*: visible, declared in .mcp.json",
        "not trusted in Remit: Claude Code starts it, and Remit does not",
        "to trust it: look at it with `remit trust`, then run `remit trust till`",
    ]
    (row,) = (line for line in asked(machine, "tools") if line.startswith("  till "))
    assert row.endswith("project, .mcp.json, not trusted")


def test_a_server_whose_entry_is_invalid_is_explained_by_the_mistake_only(machine: Sandbox) -> None:
    assert asked(machine, "why", "sentry") == [
        "sentry: declared in ~/.claude.json, but ignored: `url` without a remote `type`",
        'to change it: add "type": "http"',
    ]


def test_a_tool_whose_calls_the_client_refuses_names_the_rule_to_add(machine: Sandbox) -> None:
    asked(machine, "install", "claude-code", "--yes")
    told = asked(machine, "why", "mcp__light__on")
    assert told[1] == "Claude Code asks before each call; `claude -p` cannot ask, so it refuses the call"
    assert told[2].startswith("to allow it: add `mcp__light__on` to `permissions.allow` in ~/.claude")


def test_an_install_says_first_that_allowed_tools_on_the_command_line_lose_their_effect(
    machine: Sandbox,
) -> None:
    said = machine.remit("install", "claude-code", "--dry-run", cwd=machine.root / "code/shop").stderr
    assert "`claude -p --allowedTools mcp__NAME` lose that permission" in said
    assert "add `mcp__NAME` to `permissions.allow`" in said


def test_a_server_shows_the_sandbox_that_remit_starts_it_in(machine: Sandbox) -> None:
    entry = '[servers.light]\nsandbox = { network = true, read = ["docs"], write = ["out"] }\n'
    machine.write(machine.home / ".config/remit/remit.toml", entry)
    line = "sandbox: network; reads docs; writes out"
    assert f"{line} (when Remit starts it)" in asked(machine, "why", "light")
    shape = json.loads("\n".join(asked(machine, "why", "light", "--json")))
    assert shape["sandbox"] == {"network": True, "read": ["docs"], "write": ["out"], "unix_sockets": False}
    assert json.loads("\n".join(asked(machine, "why", "lamp", "--json")))["sandbox"] is None
    assert not any(line.startswith("sandbox") for line in asked(machine, "why", "lamp"))
    asked(machine, "install", "claude-code", "--yes")
    assert line in asked(machine, "why", "light")


def test_a_tool_that_was_never_listed_is_not_called_accepted(machine: Sandbox) -> None:
    (row,) = (line for line in asked(machine, "why", "mcp__light__on") if line.startswith("  definition"))
    assert row.split(maxsplit=2) == ["definition", "passed", "not listed yet"]
    with machine.registry() as registry:
        list_tools(registry, machine.root / "code/shop", tool("on", "Switch it on."), server="light")
    (row,) = (line for line in asked(machine, "why", "mcp__light__on") if line.startswith("  definition"))
    assert row.split(maxsplit=2) == ["definition", "passed", "as accepted"]


def test_a_description_that_is_cut_ends_with_an_ellipsis(machine: Sandbox) -> None:
    tools = [
        tool("on", "Switch it on. " * 30),
        tool("off", "Switch it off.\nAt once."),
        tool("dim", "Dim it."),
    ]
    with machine.registry() as registry:
        list_tools(registry, machine.root / "code/shop", *tools, server="light")
    ends: list[str] = []
    for name in ("on", "off", "dim"):
        told = asked(machine, "why", f"mcp__light__{name}")
        ends += [line for line in told if line.startswith("description: ")]
    assert [end[-3:] for end in ends] == ["wi…", ". …", "it."]


def test_the_cost_of_a_server_is_worded_as_in_the_list_of_tools(machine: Sandbox) -> None:
    with machine.registry() as registry:
        list_tools(registry, machine.root / "code/shop", tool("on", "Switch it on."), server="light")
    sent = "(the client sends names only; the agent searches the definitions)"
    assert sent in " ".join(" ".join(asked(machine, "tools")).split())
    (line,) = (line for line in asked(machine, "why", "light") if line.startswith("its tools: "))
    assert line.endswith(f" tokens {sent}")
    machine.write(machine.home / ".claude/settings.json", {"env": {"ENABLE_TOOL_SEARCH": "false"}})
    (line,) = (line for line in asked(machine, "why", "light") if line.startswith("its tools: "))
    assert line.endswith(" tokens per request")


def test_an_empty_name_is_a_mistake_in_the_command(machine: Sandbox) -> None:
    done = machine.remit("why", "", cwd=machine.root / "code/shop")
    assert (done.returncode, done.stdout) == (2, "")
    assert "NAME is empty: name a tool or a server" in done.stderr


def test_an_approval_that_counts_only_in_a_trusted_folder_is_said_to(machine: Sandbox) -> None:
    shop = machine.root / "code/shop"
    machine.write(shop / ".mcp.json", {"mcpServers": {"till": {"command": "/bin/sh"}}})
    (machine.home / ".claude/settings.json").unlink()  # which approves all
    asks = "mcp__till__*: hidden, declared in .mcp.json, waiting for approval in Claude Code, "
    assert asked(machine, "why", "till")[0].startswith(asks)
    machine.write(shop / ".claude/settings.local.json", {"enabledMcpjsonServers": ["till"]})
    file = ".claude/settings.local.json"
    reason = f"approved in {file}, which counts only once this folder is trusted in Claude Code"
    step = (
        "start Claude Code here and trust the folder, then run `remit trust till` to let Remit start it too"
    )
    for name in ("till", "mcp__till__open"):
        shown = " ".join(" ".join(asked(machine, "why", name)).split())
        assert f": hidden, declared in .mcp.json, {reason}; also not trusted in Remit to change it" in shown
        assert f" to change it: {step} " in shown
    found = machine.remit("doctor", "--json", cwd=shop)
    (pending,) = (each for each in json.loads(found.stdout)["findings"] if each["check"] == "pending")
    assert (pending["reason"], pending["fix"]) == (f"{reason}; also not trusted in Remit", step)
    state = {"mcpServers": ENTRIES, "projects": {str(shop): {"hasTrustDialogAccepted": True}}}
    machine.write(machine.home / ".claude.json", state)
    assert asked(machine, "why", "till")[0].startswith("mcp__till__*: visible, ")


def test_a_tool_that_a_server_no_longer_lists_does_not_count_as_known(machine: Sandbox) -> None:
    shop = machine.root / "code/shop"
    with machine.registry() as registry:
        list_tools(registry, shop, tool("on"), tool("off"), server="light")
        list_tools(registry, shop, tool("on"), server="light")
    assert any(line.startswith("its tools: 1 known") for line in asked(machine, "why", "light"))
