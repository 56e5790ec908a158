"""Filters in files and of applications: one decision in lists, calls, searches and explanations."""

import threading
from pathlib import Path

import pytest

from remit.catalog import FilterTool, ToolFilterContext
from remit.decision import Gate, Snapshot
from support.catalogs import World

# As documented: only the annotation of `tool` is missing, and no import is needed.
FILTER = """
async def context_aware(context: ToolFilterContext, tool) -> bool:
    if context.agent.name == "Code Reviewer" and tool.name.startswith("danger_"):
        return False
    return True
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.servers("disk")
    world.lists("disk", "danger_wipe", "usage")
    world.write(
        world.home / ".claude/agents/reviewer.md", "---\nname: Code Reviewer\ndescription: reviews\n---\n"
    )
    return world


def filter_file(world: World, code: str = FILTER) -> Path:
    path = world.write(world.home / "filters.py", code)
    world.mine(f'filters = ["{path}"]\n')
    return path


def available(world: World, **options: object) -> set[str]:
    return {name for name, item in world.listed(**options).items() if item.decision.is_available}


def test_lists_searches_and_explanations_follow_a_filter_for_the_agent_it_names(world: World) -> None:
    path = filter_file(world)
    assert "mcp__disk__danger_wipe" in available(world)
    assert available(world, agent="Code Reviewer") == {"Code Reviewer", "mcp__disk__*", "mcp__disk__usage"}
    here = world.here(agent="Code Reviewer")
    explanation = world.registry.explain("disk__danger_wipe", here)
    assert explanation.decision.gate is Gate.POLICY
    assert explanation.decision.reason == "hidden by the filter `context_aware`"
    assert explanation.decision.full_reason.endswith(f"({path})")
    assert not world.registry.search("danger_wipe", here).results


def test_a_call_asks_the_filter_anew_and_a_list_only_every_two_seconds(world: World) -> None:
    asked: list[str] = []

    def count(_context: ToolFilterContext, tool: FilterTool) -> bool:
        asked.append(tool.name)
        return True

    world.registry.add_filter(count, server="disk")
    catalog = world.registry.catalog(world.here())
    tool = next(tool for tool in catalog.tools if tool.name == "mcp__disk__usage")
    first = catalog.at(Snapshot())
    assert (catalog.at(Snapshot()), len(asked)) == (first, 2)
    catalog.decide(tool, Snapshot())
    assert asked[2:] == ["usage"]
    world.now += 2_000
    assert (catalog.at(Snapshot()), len(asked)) == (first, 5)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def f(context, tool): return 1\n", "the filter `f` returned int, expected True or False"),
        ("def f(context, tool): return None\n", "the filter `f` returned NoneType, expected True or False"),
        ("def f(context, tool):\n    raise KeyError('secret')\n", "the filter `f` failed: KeyError"),
        (
            "async def f(context, tool):\n    return context.nothing\n",
            "the filter `f` failed: AttributeError",
        ),
    ],
)
def test_only_true_passes_and_a_failing_filter_hides_tools_but_not_agents(
    world: World, code: str, reason: str
) -> None:
    filter_file(world, code)
    assert available(world) == {"Code Reviewer", "mcp__disk__*"}
    assert world.listed()["mcp__disk__usage"].decision.reason == reason


def test_a_filter_may_hide_an_agent_by_a_plain_no(world: World) -> None:
    filter_file(world, "def f(context, tool): return tool.kind != 'subagent'\n")
    assert available(world) == {"mcp__disk__*", "mcp__disk__danger_wipe", "mcp__disk__usage"}


NO_FILTER = "no public function takes `(context, tool)`"
BROKEN = {
    "def f(context, tool)\n    return True\n": ("line 1", "SyntaxError: expected ':'"),
    "\nimport nowhere_at_all\n": ("line 2", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "import sys\nsys.exit()\n": ("line 2", "SystemExit"),
    "def helper(text): ...\ndef _f(context, tool): ...\n": ("", NO_FILTER),
    "def f(context, *, tool): ...\ndef g(context, tool, more): ...\n": ("", NO_FILTER),
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_broken_file_hides_every_tool_and_says_where(world: World, code: str) -> None:
    path = filter_file(world, code)
    place, reason = BROKEN[code]
    assert available(world) == {"Code Reviewer", "mcp__disk__*"}
    (problem,) = world.registry.problems(world.here())
    assert problem == (str(path), place, f"{reason}; all tools are hidden until it is fixed")
    decision = world.registry.explain("disk__usage", world.here()).decision
    assert str(path) in decision.full_reason
    assert str(path) not in decision.reason


def test_a_missing_file_hides_every_tool_until_it_is_there(world: World) -> None:
    path = filter_file(world)
    path.unlink()
    assert available(world) == {"Code Reviewer", "mcp__disk__*"}
    world.write(path, "def f(context, tool): return tool.name == 'usage' or tool.kind == 'subagent'\n")
    assert available(world) == {"Code Reviewer", "mcp__disk__*", "mcp__disk__usage"}


def test_a_project_cannot_name_a_filter_file_and_its_code_never_runs(world: World) -> None:
    trap = world.write(world.shop / "trap.py", f"open({str(world.root / 'sprung')!r}, 'w')\n")
    world.shared(f'filters = ["{trap}"]\n')
    assert "mcp__disk__usage" in available(world)
    assert not (world.root / "sprung").exists()


def test_what_a_filter_prints_goes_to_stderr(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    filter_file(world, "print('loaded')\ndef f(context, tool):\n    print('asked')\n    return True\n")
    world.listed()
    output = capsys.readouterr()
    assert output.out == ""
    assert {"loaded", "asked"} <= set(output.err.splitlines())


def test_a_filter_that_hangs_hides_its_tool_after_the_time_of_a_call(world: World) -> None:
    release = threading.Event()

    def hang(_context: ToolFilterContext, tool: FilterTool) -> bool:
        return tool.name != "usage" or release.wait(20)

    world.registry.add_filter(hang)
    catalog = world.registry.catalog(world.here())
    tool = next(tool for tool in catalog.tools if tool.name == "mcp__disk__usage")
    decision = catalog.decide(tool, Snapshot())
    release.set()
    assert decision.reason == "its filter did not answer within 0.8 s"


def test_a_module_of_filters_may_define_dataclasses(world: World) -> None:
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Rule:\n    name: str\n"
        "def f(context, tool): return tool.name != Rule('danger_wipe').name\n"
    )
    filter_file(world, code)
    assert "mcp__disk__danger_wipe" not in available(world)
    assert "mcp__disk__usage" in available(world)


def test_a_filter_sees_names_server_states_and_what_the_run_brings(world: World) -> None:
    seen: list[tuple[ToolFilterContext, FilterTool]] = []

    def look(context: ToolFilterContext, tool: FilterTool) -> bool:
        seen.append((context, tool))
        return True

    world.shared('[states.ready]\nfile = "ready"\n')
    world.registry.add_filter(look)
    world.listed(run_context={"user": 7})
    context, tool = next(pair for pair in seen if pair[1].server_name == "disk")
    assert (tool.name, tool.canonical_name) == ("danger_wipe", "mcp__disk__danger_wipe")
    assert (context.workspace, context.client, context.agent.name) == (str(world.shop), "claude-code", "")
    assert (context.states["ready"], context.run_context) == (False, {"user": 7})
