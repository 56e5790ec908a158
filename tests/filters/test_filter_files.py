"""Filters in files: one decision in lists, calls, search, explanations and hooks."""

import json
from pathlib import Path

import pytest

from remit.decision.client_reports import ClientCall
from remit.filters.filter_loader import FilterLoader
from remit.hooks.decision_cache import decide_call
from remit.hooks.hook_context import HookEnvironment
from remit.registry import Registry
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

REVIEWER = "Code Reviewer"
# As published: only the annotation of `tool` is missing, and no import is needed.
CONTEXT_AWARE = """\
async def context_aware_filter(context: ToolFilterContext, tool) -> bool:
    if context.agent.name == "Code Reviewer" and tool.name.startswith("danger_"):
        return False
    return True
"""
REFUSED = "hidden by the filter `context_aware_filter`"
LINKS = {"disk": ServerLists(tools=[offered("danger_wipe"), offered("usage")])}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("disk")
    sandbox.write(
        sandbox.home / ".claude/agents/reviewer.md", f"---\nname: {REVIEWER}\ndescription: reviews\n---\n"
    )
    return sandbox.project("shop")


def filter_file(sandbox: Sandbox, code: str = CONTEXT_AWARE) -> Path:
    """Write a file of filters, and name it in the user's own configuration."""
    path = sandbox.write(sandbox.home / ".config/remit/filters.py", code)
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[filters]\nfiles = ["{path}"]\n')
    return path


async def visit(sandbox: Sandbox, shop: Path, agent: str | None = None) -> list[str]:
    """List the tools through the gateway, which also stores them."""
    async with endpoint(sandbox, FakeLinks(dict(LINKS)), shop, agent=agent) as served:
        return await names(served)


def as_agent(agent: str | None) -> list[str]:
    return [] if agent is None else ["--agent", agent]


def listed(sandbox: Sandbox, shop: Path, agent: str | None = None) -> set[str]:
    shown = sandbox.remit("tools", "--json", "--project", str(shop), *as_agent(agent))
    return {tool["name"] for tool in json.loads(shown.stdout)["tools"]}


def hook(sandbox: Sandbox, shop: Path, name: str, agent: str | None = None) -> str | None:
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(shop),
        "tool_name": name,
        "tool_input": {},
        "tool_use_id": "t",
        "agent_type": agent,
        "mcp_server": {"name": "disk", "source": "user"},
    }
    return sandbox.hook(event).get("permissionDecisionReason")


@pytest.mark.long
@pytest.mark.anyio
async def test_the_gateway_lists_finds_and_calls_what_the_filter_leaves_to_each_agent(
    sandbox: Sandbox, shop: Path
) -> None:
    filter_file(sandbox)
    links = FakeLinks(dict(LINKS))
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["disk__danger_wipe", "disk__usage"]
        assert told(await call(served, "disk__danger_wipe")) == "disk did danger_wipe"
    async with endpoint(sandbox, links, shop, agent=REVIEWER) as served:
        assert await names(served) == ["disk__usage"]
        refused = await call(served, "disk__danger_wipe")
        assert refused["isError"]
        assert REFUSED in told(refused)
        assert str(sandbox.home) not in told(refused)
        found = await call(served, "discover_tools", {"query": "danger wipe"})
        assert "disk__danger_wipe" not in json.dumps(found["structuredContent"])
        assert told(await call(served, "disk__usage")) == "disk did usage"
        assert REFUSED in told(await call(served, "why_tool", {"name": "disk__danger_wipe"}))


@pytest.mark.long
@pytest.mark.anyio
async def test_commands_and_hooks_decide_as_the_gateway_does(sandbox: Sandbox, shop: Path) -> None:
    path = filter_file(sandbox)
    await visit(sandbox, shop)
    assert "mcp__disk__danger_wipe" in listed(sandbox, shop)
    assert "mcp__disk__danger_wipe" not in listed(sandbox, shop, REVIEWER)
    assert {"mcp__disk__usage", "mcp__disk__*"} <= listed(sandbox, shop, REVIEWER)
    why = sandbox.remit("why", "disk__danger_wipe", "--project", str(shop), "--agent", REVIEWER)
    assert f"{REFUSED} ({path})" in why.stdout
    for name in ("mcp__disk__danger_wipe", "mcp__disk__danger_unlisted"):
        assert hook(sandbox, shop, name) is None
        for _ in range(3):  # decided, then with the states known, then recalled
            assert REFUSED in (hook(sandbox, shop, name, REVIEWER) or "")
    assert hook(sandbox, shop, "mcp__disk__usage", REVIEWER) is None


def test_a_tool_that_no_server_listed_yet_is_decided_by_its_name(sandbox: Sandbox, shop: Path) -> None:
    filter_file(sandbox)
    why = sandbox.remit("why", "mcp__disk__danger_new", "--project", str(shop), "--agent", REVIEWER)
    assert REFUSED in why.stdout


async def prepared(sandbox: Sandbox, shop: Path, code: str) -> Path:
    path = filter_file(sandbox, code)
    await visit(sandbox, shop)
    return path


@pytest.mark.anyio
async def test_a_failing_filter_hides_tools_and_not_the_agents(sandbox: Sandbox, shop: Path) -> None:
    path = await prepared(sandbox, shop, "def odd(context, tool):\n    return context.nothing\n")
    assert listed(sandbox, shop, REVIEWER) == {REVIEWER, "mcp__disk__*"}
    why = sandbox.remit("why", "disk__usage", "--project", str(shop))
    assert f"the filter `odd` failed: AttributeError ({path} line 2)" in why.stdout


@pytest.mark.anyio
async def test_a_filter_may_hide_an_agent_by_a_plain_no(sandbox: Sandbox, shop: Path) -> None:
    await prepared(sandbox, shop, "def f(context, tool):\n    return tool.kind != 'subagent'\n")
    assert REVIEWER not in listed(sandbox, shop)
    assert "mcp__disk__usage" in listed(sandbox, shop)


NO_FILTER = "no public function takes `(context, tool)`"
BROKEN = {
    "def f(context, tool)\n    return True\n": "line 1: SyntaxError: expected ':'",
    "\nimport nowhere_to_be_found\n": "line 2: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    "import sys\nsys.exit()\n": "line 2: SystemExit",
    "def helper(text): ...\ndef _f(context, tool): ...\n": NO_FILTER,
    "def f(context, *, tool): ...\ndef g(context, tool, more): ...\n": NO_FILTER,
}


@pytest.mark.long
@pytest.mark.parametrize("code", BROKEN)
def test_a_broken_file_hides_all_tools_and_says_what_to_do(sandbox: Sandbox, shop: Path, code: str) -> None:
    path = filter_file(sandbox, code)
    shown = sandbox.remit("tools", "--json", "--project", str(shop))
    assert f"warning: ~/.config/remit/filters.py: {BROKEN[code]}; all tools are hidden" in shown.stderr
    assert "or take it out of `filters.files`)" in shown.stderr
    assert {tool["name"] for tool in json.loads(shown.stdout)["tools"]} == {REVIEWER, "mcp__disk__*"}
    why = sandbox.remit("why", "disk__usage", "--project", str(shop))
    assert f"the filter file {path}" in " ".join(why.stdout.split())
    assert f"fix {path}, then run `remit policy check`" in why.stdout
    checked = sandbox.remit("policy", "check", "--project", str(shop))
    assert (checked.returncode, BROKEN[code].rpartition(": ")[2] in checked.stdout) == (1, True)


def test_a_hook_denies_what_a_broken_file_could_be_about_without_its_path(
    sandbox: Sandbox, shop: Path
) -> None:
    path = filter_file(sandbox, "def broken(")
    said = hook(sandbox, shop, "mcp__disk__usage") or ""
    assert "a filter file cannot be loaded" in said
    assert str(path) not in said
    assert "a filter file cannot be loaded" in (hook(sandbox, shop, "Bash") or "")


def test_a_missing_or_unreadable_file_is_named(sandbox: Sandbox, shop: Path) -> None:
    path = filter_file(sandbox)
    path.unlink()
    shown = sandbox.remit("tools", "--project", str(shop))
    assert (
        "filters.py: the file does not exist; all tools are hidden until it is fixed (create it"
        in shown.stderr
    )
    path.mkdir()
    assert "filters.py: not a regular file" in sandbox.remit("tools", "--project", str(shop)).stderr


def test_a_file_that_never_ends_is_given_up(sandbox: Sandbox) -> None:
    path = sandbox.write(sandbox.root / "slow.py", "import threading\nthreading.Event().wait(20)\n")
    (loaded,) = FilterLoader().load(((str(path), "digest"),), timeout=0.1)
    assert loaded.problem is not None
    assert loaded.problem.reason.startswith("it did not load within 0.1 s")


def test_a_relative_path_is_a_mistake(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[filters]\nfiles = ["filters.py"]\n')
    shown = sandbox.remit("policy", "check", "--project", str(shop))
    assert "filters.files: `filters.py` is not an absolute path" in shown.stdout
    assert shown.returncode == 1


def test_a_project_cannot_name_a_filter_file_and_its_code_never_runs(sandbox: Sandbox, shop: Path) -> None:
    trap = shop / "trap.py"
    sandbox.write(trap, f"open({str(shop / 'sprung')!r}, 'w')\ndef f(context, tool): return True\n")
    for name in ("remit.toml", "remit.local.toml"):
        sandbox.write(shop / name, f'[filters]\nfiles = ["{trap}"]\n')
    shown = sandbox.remit("policy", "check", "--project", str(shop))
    assert "filters.files: a project cannot name filter files, because they run code" in shown.stdout
    assert shown.returncode == 1
    assert "mcp__disk__*" in listed(sandbox, shop)
    assert not (shop / "sprung").exists()


def test_what_a_filter_prints_does_not_reach_stdout(sandbox: Sandbox, shop: Path) -> None:
    filter_file(sandbox, "print('loaded')\ndef f(context, tool):\n    print('asked')\n    return True\n")
    sandbox.write(sandbox.home / ".claude/commands/tidy.md", "tidy up")
    shown = sandbox.remit("tools", "--json", "--project", str(shop))
    assert json.loads(shown.stdout)["tools"]
    assert {"loaded", "asked"} <= set(shown.stderr.splitlines())


def test_a_comparison_with_a_canonical_name_gets_a_warning(sandbox: Sandbox, shop: Path) -> None:
    code = "def old(context, tool):\n    return not tool.name.startswith('mcp__disk__danger')\n"
    filter_file(sandbox, code)
    checked = sandbox.remit("policy", "check", "--project", str(shop))
    assert "`old` compares `tool.name` with `mcp__…`" in checked.stdout
    assert checked.returncode == 0


@pytest.mark.anyio
async def test_a_changed_file_counts_at_once_in_a_running_gateway(sandbox: Sandbox, shop: Path) -> None:
    path = filter_file(sandbox)
    async with endpoint(sandbox, FakeLinks(dict(LINKS)), shop) as served:
        assert await names(served) == ["disk__danger_wipe", "disk__usage"]
        sandbox.write(path, "def f(context, tool):\n    return tool.name != 'usage'\n")
        assert await names(served) == ["disk__danger_wipe"]
        assert (await call(served, "disk__usage"))["isError"]


@pytest.mark.anyio
async def test_a_hook_recalls_the_verdict_until_the_state_that_the_filter_read_changes(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def f(context, tool):\n    return tool.name != 'usage' or context.states['ready'] is True\n"
    path = await prepared(sandbox, shop, code)
    rules = sandbox.home / ".config/remit/remit.toml"
    sandbox.write(rules, f'{rules.read_text()}[states.ready]\nfile = "ready"\n')
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    sandbox.later_ns = 10 * 10**9
    opened: list[Registry] = []

    def open_registry() -> Registry:
        opened.append(sandbox.registry())
        return opened[-1]

    environment = HookEnvironment(now=lambda: 60_000, now_ns=sandbox.now_ns, open_registry=open_registry)

    def verdict() -> str:
        return decide_call(ClientCall("mcp__disk__usage"), str(shop), environment=environment).verdict

    assert [verdict() for _ in range(4)] == ["hidden"] * 4
    assert len(opened) == 2  # one finds which states count, the next finds what it means that they hold
    sandbox.write(shop / "ready", "")
    assert verdict() == "visible"
    (shop / "ready").unlink()
    before = len(opened)
    assert (verdict(), len(opened)) == ("hidden", before)
    sandbox.write(path, "def f(context, tool):\n    return True\n")
    assert verdict() == "visible"
