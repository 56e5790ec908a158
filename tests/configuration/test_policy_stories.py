"""Policy in a workspace: lists, dangers and modes from real files, and filters in Python."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from remit.decision.context import Context
from remit.decision.danger import Danger, by_annotations
from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import Kind
from remit.decision.problems import Severity
from remit.decision.tools import Definition, Tool
from remit.filters.filter_functions import FilterTool, ServerFilter, ToolFilterContext
from remit.filters.filter_runner import FilterVerdicts
from remit.registry import Registry
from remit.store.open_store import open_store
from remit.upstream.upstream_model import Offer, Upstream
from support.builders import server, servers
from support.databases import older_database, run_sql
from support.sandbox import Sandbox

TOOLS = ("mcp__git__log", "mcp__git__push", "mcp__git__delete_branch", "mcp__web__get", "user.delete", "Read")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git", "web")
    return sandbox.project("shop")


@pytest.fixture
def registry(sandbox: Sandbox, shop: Path) -> Registry:
    opened = sandbox.registry()
    here = opened.at(str(shop))
    for name in TOOLS:
        opened.usage.report_tool(name, here, description=f"Does {name}.")
    return opened


def machine_file(sandbox: Sandbox) -> Path:
    return sandbox.home / ".config/remit/remit.toml"


def decision(registry: Registry, at: Context, name: str) -> Decision:
    return registry.explain(name, at).decision


def verdicts(registry: Registry, at: Context) -> dict[str, str]:
    return {tool.name: decision.verdict for tool, decision in registry.tools(at) if tool.name in TOOLS}


def test_what_is_said_of_a_tool_counts_before_its_server_was_asked_for_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("shelf")
    mine = """
[servers.shelf]
block = ["reset"]
[tools."mcp__shelf__push"]
approval = true
[tools."mcp__shelf__tag"]
states = ["docker"]
"""
    sandbox.write(sandbox.home / ".config/remit/remit.toml", mine)
    here = registry.at(str(shop))
    said = {name: registry.explain(f"mcp__shelf__{name}", here) for name in ("reset", "push", "tag", "log")}
    assert {name: (item.decision.verdict, item.decision.gate) for name, item in said.items()} == {
        "reset": ("hidden", "policy"),
        "push": ("ask", "danger"),
        "tag": ("hidden", "state"),
        "log": ("visible", None),
    }
    assert all(item.is_assumed for item in said.values())
    assert (
        registry.approvals.permit("mcp__shelf__log", {}, here).is_allowed is False
    )  # nobody knows such a tool


def test_files_hide_and_ask_and_say_where(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(machine_file(sandbox), 'ask_from = "destructive"\n[servers.web]\nallow = []\n')
    sandbox.write(shop / "remit.toml", '[tools."user.delete"]\nai_enabled = false\n')
    here = registry.at(str(shop))
    assert verdicts(registry, here) == {
        "mcp__git__log": "visible",
        "mcp__git__push": "visible",
        "mcp__git__delete_branch": "ask",
        "mcp__web__get": "hidden",
        "user.delete": "hidden",
        "Read": "visible",
    }
    hidden = decision(registry, here, "mcp__web__get")
    assert (
        hidden.full_reason
        == "not on the list of allowed tools: `servers.web.allow` in ~/.config/remit/remit.toml line 3"
    )


def test_a_mode_is_asked_for_or_the_machines(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    plan = registry.at(str(shop), mode="plan")
    assert verdicts(registry, plan)["mcp__git__push"] == "hidden"
    assert verdicts(registry, registry.at(str(shop)))["mcp__git__push"] == "visible"
    sandbox.write(machine_file(sandbox), 'mode = "plan"\n')
    assert verdicts(registry, registry.at(str(shop)))["mcp__git__push"] == "hidden"
    assert verdicts(registry, registry.at(str(shop), mode="default"))["mcp__git__push"] == "visible"
    with pytest.raises(ValueError, match="yolo"):
        registry.at(str(shop), mode="yolo")


def test_a_repository_cannot_set_a_mode(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(machine_file(sandbox), '[tools."mcp__git__push"]\ndanger = "critical"\n')
    sandbox.write(shop / "remit.toml", 'mode = "bypass"\n')
    here = registry.at(str(shop))
    assert verdicts(registry, here)["mcp__git__push"] == "ask"
    (problem,) = registry.configuration.problems(here.workspace)
    assert (problem.source, problem.place) == (str(shop / "remit.toml"), "line 1 column 1")
    assert "a project cannot set a mode" in problem.reason
    assert str(machine_file(sandbox)) in problem.reason


def test_only_the_user_turns_notifications_off(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    here = registry.at(str(shop))
    sandbox.write(shop / "remit.toml", "notifications = false\n")
    assert registry.states.plan(here).notifies
    (problem,) = registry.configuration.problems(here.workspace)
    assert "a project cannot set your notifications" in problem.reason
    sandbox.write(machine_file(sandbox), "notifications = false\n")
    assert not registry.states.plan(here).notifies


def test_what_a_project_would_lower_counts_once_it_is_trusted(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(machine_file(sandbox), '[tools."mcp__git__push"]\ndanger = "critical"\n')
    sandbox.write(shop / "remit.toml", '[tools."mcp__git__push"]\ndanger = "moderate"\n')
    here = registry.at(str(shop))
    assert decision(registry, here, "mcp__git__push").verdict is Verdict.ASK
    assert [item.severity for item in registry.check_policy(here)] == [Severity.ERROR]
    requests = registry.configuration.trust_requests(here.workspace, ["mcp__git__push"])
    registry.configuration.trust(requests, here.workspace)
    assert decision(registry, here, "mcp__git__push").verdict is Verdict.VISIBLE
    assert registry.check_policy(here) == []
    sandbox.write(shop / "remit.toml", '[tools."mcp__git__push"]\ndanger = "safe"\n')
    assert decision(registry, here, "mcp__git__push").verdict is Verdict.ASK


def test_findings_come_in_the_order_of_the_files_with_line_and_column(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(machine_file(sandbox), '[tools.mcp__git__lgo]\ndanger = "low"\n')
    sandbox.write(shop / "remit.toml", 'block = ["x"]\nmode = "plan"\n[tools.a]\nstates = ["nope"]\n')
    found = registry.check_policy(registry.at(str(shop)))
    assert [(item.severity, Path(item.problem.source).parent.name, item.position) for item in found] == [
        (Severity.NOTE, "remit", (1, 2)),
        (Severity.NOTE, "shop", (1, 1)),
        (Severity.ERROR, "shop", (2, 1)),
        (Severity.NOTE, "shop", (3, 2)),
        (Severity.ERROR, "shop", (4, 1)),
    ]
    sandbox.write(shop / "remit.toml", "\nmode = x")
    broken = registry.check_policy(registry.at(str(shop)))
    assert any(item.severity is Severity.ERROR and item.position == (2, 8) for item in broken)


def test_filters_say_which_tools_may_be_used(shop: Path, registry: Registry) -> None:
    seen: list[ToolFilterContext] = []

    def by_role(context: ToolFilterContext, tool: FilterTool) -> bool:
        seen.append(context)
        return context.run_context == "admin" or tool.name != "push"

    async def not_here(context: ToolFilterContext, tool: FilterTool) -> bool:
        await asyncio.sleep(0)
        return context.states["git-initialized"] is True and tool.name != "Read"

    def broken(context: ToolFilterContext, tool: FilterTool) -> bool:
        raise RuntimeError(f"{context} {tool}")

    registry.add_filter(by_role)
    registry.add_filter(not_here)
    registry.add_filter(broken, server="web")
    here = registry.at(str(shop))
    assert decision(registry, here, "mcp__git__push").reason == "hidden by the filter `by_role`"
    assert decision(registry, here, "Read").reason == "hidden by the filter `not_here`"
    failed = decision(registry, here, "mcp__web__get")
    assert (failed.gate, failed.reason) == (Gate.POLICY, "the filter `broken` failed: RuntimeError")
    assert decision(registry, here, "mcp__git__log").verdict is Verdict.VISIBLE
    admin = registry.at(str(shop), run_context="admin")
    assert decision(registry, admin, "mcp__git__push").verdict is Verdict.VISIBLE
    assert {context.server_name for context in seen} >= {"git", "web", None}


def test_filters_are_asked_again_only_when_something_changed(shop: Path, registry: Registry) -> None:
    asked: list[str] = []

    def count(context: ToolFilterContext, tool: FilterTool) -> bool:
        asked.append(f"{context.server_name} {tool.name}")
        return True

    registry.add_filter(count)
    here = registry.states.with_snapshot(registry.at(str(shop)))
    registry.tools(here)
    first = len(asked)
    registry.tools(here)
    assert (first, len(asked)) == (len(TOOLS), first)
    registry.usage.report_tool("mcp__git__new", here)
    registry.tools(here)
    assert len(asked) > first


def test_filters_are_asked_again_after_a_while_because_of_what_only_they_see(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    allowed = {"log"}
    registry.add_filter(lambda _, tool: tool.name in allowed)
    here = registry.at(str(shop))
    assert verdicts(registry, here)["mcp__git__log"] == "visible"
    allowed.clear()
    sandbox.time += 2_000
    assert verdicts(registry, here)["mcp__git__log"] == "hidden"


def test_filters_work_where_a_loop_is_running(shop: Path, registry: Registry) -> None:
    async def never(context: ToolFilterContext, tool: FilterTool) -> bool:
        await asyncio.sleep(0)
        return context.server_name != tool.server_name

    registry.add_filter(never)

    async def application() -> set[str]:
        return set(verdicts(registry, registry.at(str(shop))).values())

    assert asyncio.run(application()) == {"hidden"}


def tool(name: str) -> Tool:
    return server()._replace(name=name, kind=Kind.BUILTIN, server=None)


def refusals(
    filters: Sequence[ServerFilter], tools: Sequence[Tool], at: Context, timeout: float = 5.0
) -> dict[str, str]:
    verdicts = FilterVerdicts(filters, None, at.snapshot, lambda _tools: {}, timeout)
    verdicts.ask(tools, at)
    found = {each.name: verdicts.refusal(each, at) for each in tools}
    return {name: refusal.reason for name, refusal in found.items() if refusal is not None}


def here_and_now(registry: Registry, shop: Path) -> Context:
    return registry.states.with_snapshot(registry.at(str(shop)))


@pytest.mark.long
def test_a_filter_that_hangs_hides_what_it_did_not_answer_for(shop: Path, registry: Registry) -> None:
    waiting = threading.Event()

    def hang(context: ToolFilterContext, asked: FilterTool) -> bool:
        return asked.name == "a" or (waiting.wait(30) and context.client is None)

    tools = [tool("a"), tool("b")]
    found = refusals([ServerFilter(hang)], tools, here_and_now(registry, shop), timeout=1.5)
    waiting.set()
    assert found == {"b": "its filter did not answer within 1.5 s"}


def test_filters_of_both_sorts_are_asked_in_their_order(shop: Path, registry: Registry) -> None:
    async def yes(context: ToolFilterContext, asked: FilterTool) -> bool:
        await asyncio.sleep(0)
        return context.server_name == asked.server_name

    def odd(context: ToolFilterContext, asked: FilterTool) -> object:
        return None if asked.name == "a" else context.server_name == asked.server_name

    async def fails(context: ToolFilterContext, asked: FilterTool) -> bool:
        raise KeyError(f"{context} {asked}")

    at = here_and_now(registry, shop)
    tools = [tool("a"), tool("b")]
    asked = [ServerFilter(yes), ServerFilter(odd)]  # pyright: ignore[reportArgumentType] - what a filter must not do
    assert refusals(asked, tools, at) == {"a": "the filter `odd` returned NoneType, expected True or False"}
    failing = [ServerFilter(yes), ServerFilter(fails)]
    assert set(refusals(failing, tools, at).values()) == {"the filter `fails` failed: KeyError"}


HINTS = [
    None,
    "{}",
    '{"title": "x"}',
    '{"readOnlyHint": true}',
    '{"openWorldHint": false, "readOnlyHint": true}',
    '{"readOnlyHint": "true"}',
    '{"readOnlyHint": null}',
    '{"destructiveHint": false}',
    '{"destructiveHint": false, "readOnlyHint": false}',
    '{"destructiveHint": true}',
    '{"idempotentHint": true}',
    '{"openWorldHint": true}',
]


def test_what_was_stored_before_is_rated_as_if_it_came_today(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    older_database(path, 3)
    for at, hints in enumerate(HINTS):
        text = "null" if hints is None else f"'{hints}'"
        run_sql(
            path,
            f"insert into definitions (digest, name, annotations, tokens) values ('{at}', 'x', {text}, 0)",  # noqa: S608
        )
    open_store(str(path)).close()
    found = [row[0] for row in run_sql(path, "select danger from definitions order by id")]
    assert found == [by_annotations(hints) for hints in HINTS]
    assert set(found) == {None, *Danger} - {Danger.CRITICAL}


def test_states_are_told_before_a_mode(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / "remit.toml", '[tools."mcp__git__push"]\nstates = ["git-merging"]\n')
    plan = registry.at(str(shop), mode="plan")
    assert decision(registry, plan, "mcp__git__push").gate is Gate.STATE
    assert decision(registry, replace(plan, mode=None), "mcp__git__push").gate is Gate.STATE


def test_servers_that_a_policy_hides_are_not_started(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(machine_file(sandbox), 'block = ["mcp__git__*", "mcp__web__*"]\n')
    connected = registry.servers.connect(registry.at(str(shop)), Nobody())
    assert [item.offer for item in connected] == []


class Nobody:
    def ask(self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]) -> list[Offer]:
        raise AssertionError(f"{upstreams} started for {on_answer}")


class Harmless:
    """Servers that call whatever they do harmless."""

    def ask(self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]) -> list[Offer]:
        hints = '{"openWorldHint": false, "readOnlyHint": true}'
        for each in upstreams:
            name = each.canonical("delete")
            tools = [Definition(name=name, server=each.label, tool="delete", annotations=hints)]
            on_answer(each, Offer(tools=tools))
        return []


def test_annotations_of_a_server_lower_a_danger_only_where_the_configuration_trusts_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    plan = registry.at(str(shop), mode="plan")
    registry.trust.grant(registry.trust.servers(plan), plan)
    registry.servers.connect(registry.at(str(shop)), Harmless())
    for name in ("mcp__git__delete", "mcp__till__delete"):
        believed = decision(registry, plan, name)
        assert (believed.verdict, believed.gate) == (Verdict.HIDDEN, Gate.DANGER)
        assert "its name says `delete`" in believed.reason
    sandbox.write(machine_file(sandbox), "[servers.git]\ntrusted = true\n")
    assert decision(registry, plan, "mcp__git__delete").verdict is Verdict.VISIBLE
    assert decision(registry, plan, "mcp__till__delete").verdict is Verdict.HIDDEN
    sandbox.write(machine_file(sandbox), "[servers.git]\ntrusted = false\n")
    assert decision(registry, plan, "mcp__git__delete").verdict is Verdict.HIDDEN
