"""What a command loads: it lives for a tenth of a second, and most of that goes into loading."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from remit.cli.app import COMMANDS, GROUPS, HIDDEN, app
from support.builders import servers
from support.sandbox import Sandbox

HEAVY = (
    "anyio",
    "asyncio",
    "httpx2",
    "mcp",
    "numpy",
    "onnxruntime",
    "pydantic",
    "rich",
    "ssl",
    "tempfile",
    "tomllib",
    "urllib.request",
    "yaml",
)
UNASKED = (
    "remit.store.memory_store",
    "remit.upstream.connection",
    "remit.approvals.approval_service",
    "remit.scanning.server_lists",
    "remit.memory.artifacts",
    "remit.memory.project_memory",
    "remit.upstream.upstream_model",
    "remit.gateway",
    "remit.usage.usage_service",
    "remit.sessions.session_service",
    "remit.scanning.catalog_source",
)
UNREAD = (
    "remit.clients.parsing.client_reader",
    "remit.decision.declarations",
    "remit.search.ranking",
    "remit.search.search_service",
)

LATER = """
import sys, time
now = time.time_ns
time.time_ns = lambda: now() + 10**10  # when files have been left alone for a while
from remit.cli.app import app
app.main(sys.argv[1:], standalone_mode=False)
print()
print(*sys.modules)
"""


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("git"))
    loaded(sandbox, shop, "scan")  # which gives vectors to what it finds
    return shop


def loaded(sandbox: Sandbox, shop: Path, *words: str) -> list[str]:
    """Run a command in a process of its own, and name what it has loaded."""
    command = [sys.executable, "-c", LATER, *words]
    ran = subprocess.run(
        command, cwd=shop, env=sandbox.environment, capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()[-1].split()


@pytest.mark.long
@pytest.mark.parametrize("words", [["tools"], ["tools", "--json"]])
def test_to_tell_what_is_in_force_loads_only_what_tells_it(sandbox: Sandbox, words: list[str]) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".claude/commands/publish.md", "Publish it.")
    loaded(sandbox, blog, "scan")
    assert {*loaded(sandbox, blog, *words)} & {*HEAVY, *UNASKED, *UNREAD} == set()


@pytest.mark.long
def test_of_a_server_that_never_listed_its_tools_the_entry_is_read_for_people_only(
    sandbox: Sandbox, shop: Path
) -> None:
    read = {"remit.clients.parsing.client_reader", "remit.decision.declarations"}
    assert {*loaded(sandbox, shop, "tools")} & {*HEAVY, *UNASKED, *UNREAD} == read
    assert {*loaded(sandbox, shop, "tools", "--json")} & {*HEAVY, *UNASKED, *UNREAD} == set()


@pytest.mark.long
def test_to_explain_a_server_its_entry_is_read_for_what_keeps_it_from_being_started(
    sandbox: Sandbox, shop: Path
) -> None:
    read = {"remit.clients.parsing.client_reader", "remit.decision.declarations"}
    assert {*loaded(sandbox, shop, "why", "git")} & {*HEAVY, *UNASKED, *UNREAD} == read


@pytest.mark.long
def test_a_scan_that_finds_nothing_new_starts_nothing_and_remembers_nothing(
    sandbox: Sandbox, shop: Path
) -> None:
    assert {*loaded(sandbox, shop, "scan")} & {*HEAVY, *UNASKED} == set()


@pytest.mark.long
def test_the_list_of_commands_loads_none_of_them(sandbox: Sandbox, shop: Path) -> None:
    found = {name for name in loaded(sandbox, shop, "--help") if name.startswith("remit.cli.")}
    assert found == {"remit.cli.app", "remit.cli.options", "remit.cli.render"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_a_command_what_it_says_itself(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert COMMANDS[name][1] == command.get_short_help_str(100)


def test_every_command_is_in_one_group_of_the_help_or_hidden() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted([*grouped, *HIDDEN]) == sorted(COMMANDS)
