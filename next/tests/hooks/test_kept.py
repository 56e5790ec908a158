"""The program of a hook: silence that is kept, what ends it, and how little it loads."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import remit
from remit.decision import LaunchFlags
from remit.hooks import kept
from support.hooks import USER, Client

PROGRAM = Path(kept.__file__)
STATUS = "mcp__git__status"
QUIET = 'block = ["mcp__git__push"]'


@pytest.fixture
def record(client: Client) -> str:
    client.servers("git")
    client.rules(QUIET)
    return client.install()


def is_kept(client: Client, record: str, tool: str = STATUS, **fields: Any) -> bool:
    """Tell whether the next call is answered without a decision."""
    event = client.data_of(
        "PreToolUse", **{"tool_name": tool, "permission_mode": "default", **USER, **fields}
    )
    return kept.is_kept(["closed", "--install", record], event)


def say_nothing(client: Client, tool: str = STATUS, **fields: Any) -> None:
    """Decide about a call, with nothing to say; the second time, all files are settled."""
    assert client.call(tool, **{**USER, **fields}) == ("", "")


def test_nothing_to_say_is_kept_for_the_same_call_alone(client: Client, record: str) -> None:
    assert not is_kept(client, record)
    say_nothing(client)
    assert is_kept(client, record)
    others: tuple[dict[str, Any], ...] = (
        {"tool": "mcp__git__log"},
        {"permission_mode": "plan"},
        {"mcp_server": {"name": "git", "source": "project"}},
        {"mcp_server": {"name": "other", "source": "user"}},
        {"agent_type": "x"},
        {"agent_id": "a1"},
        {"hook_event_name": "PostToolUse"},
    )
    assert [other for other in others if is_kept(client, record, **other)] == []


@pytest.mark.parametrize(
    ("rules", "tool"),
    [
        (QUIET, "mcp__git__push"),  # refused
        ('[tools."mcp__git__status"]\napproval = true', STATUS),  # asked about
    ],
)
def test_what_is_refused_or_asked_about_is_never_kept(
    client: Client, record: str, rules: str, tool: str
) -> None:
    client.rules(rules)
    assert client.call(tool, **USER)[0] != ""
    assert not is_kept(client, record, tool)


@pytest.mark.parametrize(
    "rules",
    [
        '[states.on]\nfile = "remit.toml"\nelse = true\n[tools."mcp__git__status"]\nstates = ["on"]',
        '[tools."mcp__git__status"]\nwhen = "args.x != 1"',
        'filters = ["filters.py"]',
    ],
)
def test_what_depends_on_states_arguments_or_filters_is_decided_each_time(
    client: Client, record: str, rules: str
) -> None:
    client.write(client.shop / "remit.toml", "")
    client.write(client.home / ".config/remit/filters.py", "def f(context, tool):\n    return True\n")
    client.rules(rules.replace("filters.py", str(client.home / ".config/remit/filters.py")))
    assert client.call(STATUS, {"x": 2}, **USER) == ("", "")
    assert not is_kept(client, record, tool_input={"x": 2})


def add_skill(client: Client) -> None:
    client.write(client.shop / ".claude/skills/x/SKILL.md", "---\nname: x\ndescription: x\n---\n")


CHANGES: dict[str, Callable[[Client], object]] = {
    "a rule": lambda client: client.rules(QUIET + "\n"),
    "a project's rule": lambda client: client.write(client.shop / "remit.toml", ""),
    "a rule in a directory that did not exist": lambda client: client.write(
        client.home / ".config/remit/projects" / f"{client.workspace.project.short_name}.toml", ""
    ),
    "a server": lambda client: client.servers("git", "wiki"),
    "a project's server": lambda client: client.write(client.shop / ".mcp.json", {"mcpServers": {}}),
    "settings": lambda client: client.write(client.shop / ".claude/settings.local.json", {}),
    "a skill": add_skill,
    "the home": lambda client: client.write(client.data / "installs/claude-code.json", moved(client)),
    "the install": lambda client: (client.data / "installs/claude-code.json").unlink(),
    "the database": lambda client: (client.data / "remit.sqlite").unlink(),
    "the checkout": lambda client: (client.shop / ".git").rmdir(),
    "what is listed": lambda client: client.lists("git", "status"),
}


def moved(client: Client) -> str:
    text = (client.data / "installs/claude-code.json").read_text()
    return text.replace(json.dumps(str(client.home)), json.dumps(str(client.root / "elsewhere")))


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_what_silence_depends_on_is_noticed(client: Client, record: str, change: str) -> None:
    say_nothing(client)
    assert is_kept(client, record)
    CHANGES[change](client)
    assert not is_kept(client, record)


def test_a_newer_remit_decides_anew(client: Client, record: str, monkeypatch: pytest.MonkeyPatch) -> None:
    say_nothing(client)
    monkeypatch.setattr(remit, "__version__", "9.9.9")
    assert not is_kept(client, record)


def test_a_file_that_is_still_being_written_is_never_trusted_to_stay(client: Client, record: str) -> None:
    client.later = 0
    client.servers("git", "wiki")
    say_nothing(client)
    assert not is_kept(client, record)


def test_a_variable_counts_as_the_record_says_and_not_as_a_repository_sets_it(
    client: Client, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_nothing(client)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(client.shop))
    monkeypatch.setenv("REMIT_HOME", str(client.shop))
    assert is_kept(client, record)
    content = json.loads(Path(record).read_text())
    content["ground"]["variables"]["CLAUDE_CONFIG_DIR"] = str(client.root / "other")
    Path(record).write_text(json.dumps(content))
    assert not is_kept(client, record)


def test_a_session_without_a_terminal_is_judged_as_such(
    client: Client, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LaunchFlags(is_headless=True).key == kept.HEADLESS
    say_nothing(client)
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
    assert not is_kept(client, record)
    say_nothing(client, entry="sdk-cli")
    assert is_kept(client, record)


def test_an_event_happens_where_its_session_was_launched(
    client: Client, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_nothing(client)
    assert is_kept(client, record, cwd=str(client.root))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "another")
    assert not is_kept(client, record, cwd=str(client.root))


@pytest.mark.parametrize("data", [b"", b"{", b'"PreToolUse"', b'{"hook_event_name": "PreToolUse"}', b"\xff"])
def test_what_is_not_certain_is_not_silence(client: Client, record: str, data: bytes) -> None:
    say_nothing(client)
    assert not kept.is_kept(["closed", "--install", record], data)
    assert not kept.is_kept(["closed"], client.data_of("PreToolUse", tool_name=STATUS))


def run(
    client: Client, *words: str, event: bytes, report: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Start the program as the script does, by its path and without `site`."""
    command = [sys.executable, "-I", "-S", *(["-X", "importtime"] if report else []), str(PROGRAM), *words]
    variables = {**client.variables, "CLAUDE_CODE_ENTRYPOINT": "cli"}
    return subprocess.run(
        command, input=event, capture_output=True, env=variables, cwd=client.root, check=False
    )


def loaded(result: subprocess.CompletedProcess[bytes]) -> set[str]:
    """List the modules that a process loaded."""
    lines = result.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def test_kept_silence_loads_the_driver_and_nothing_else_of_remit(client: Client, record: str) -> None:
    say_nothing(client)
    event = client.data_of("PreToolUse", tool_name=STATUS, permission_mode="default", **USER)
    result = run(client, "closed", "--install", record, event=event, report=True)
    assert (result.returncode, result.stdout) == (0, b"")
    modules = loaded(result)
    assert {name for name in modules if name.split(".")[0] == "remit"} == {"remit"}
    assert modules.isdisjoint({"json", "re", "typing", "hashlib", "sqlite3"})


def test_a_decision_loads_no_registry_reader_installer_or_command_line(client: Client) -> None:
    client.write(client.shop / ".mcp.json", {"mcpServers": {"git": {"command": "git"}}})
    record = client.install()
    project: dict[str, Any] = {"mcp_server": {"name": "git", "source": "project"}}
    assert client.call(STATUS, **project)[0] == "deny"  # no server of a repository runs without trust
    event = client.data_of("PreToolUse", tool_name=STATUS, permission_mode="default", **project)
    result = run(client, "closed", "--install", record, event=event, report=True)
    assert b'"deny"' in result.stdout
    modules = loaded(result)
    heavy = {"dataclasses", "tomllib", "click", "subprocess", "tempfile", "asyncio", "numpy", "pydantic"}
    ours = {
        *("remit.bootstrap", "remit.catalog.registry", "remit.catalog.catalog", "remit.clients.table"),
        *("remit.clients.reader", "remit.clients.install", "remit.config.keys", "remit.states.changes"),
    }
    assert modules & (heavy | ours) == set()
    assert len([name for name in modules if name.startswith("remit")]) <= 55
