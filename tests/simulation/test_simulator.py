"""A draft of the rules, tried out before it is written."""

from pathlib import Path

import pytest

from remit.audit.audit_log import AuditEntry
from remit.configuration.config_model import ConfigurationLayer
from remit.simulation.simulator import Simulation
from support.builders import servers
from support.sandbox import Sandbox

LOCAL, MACHINE = ConfigurationLayer.LOCAL, ConfigurationLayer.MACHINE
ENTRY = AuditEntry(5, "hook", "claude-code", None, None, "Bash", "visible", None, "done", 1, 1, 1)


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("till", "scale"))
    sandbox.write(
        path / ".claude/agents/clerk.md", "---\nname: clerk\ndescription: d\ntools: Bash, Read\n---\n"
    )
    sandbox.write(path / "remit.local.toml", 'block = ["mcp__scale__*"]\n')
    return path


def simulate(
    sandbox: Sandbox, shop: Path, text: str, *entries: AuditEntry, layer: ConfigurationLayer = LOCAL
) -> Simulation:
    with sandbox.registry() as registry:
        here = registry.at(str(shop), is_headless=True)  # so the project's servers need no approval
        if entries:
            registry.audit.add(entries, here)
        return registry.simulator.run(text, layer, here)


def changed(found: Simulation, agent: str | None = None) -> dict[str, tuple[str, str]]:
    assert found.is_valid, found.problems
    (view,) = (view for view in found.views if view.agent == agent)
    return {tool.name: (before.verdict, after.verdict) for tool, before, after in view.changes}


def test_a_draft_shows_which_tools_would_appear_and_disappear(sandbox: Sandbox, shop: Path) -> None:
    found = simulate(sandbox, shop, 'block = ["mcp__till__*"]\n')
    assert changed(found) == {
        "mcp__scale__*": ("hidden", "visible"),
        "mcp__till__*": ("visible", "hidden"),
    }
    assert found.path == str(shop / "remit.local.toml")


def test_a_draft_shows_what_each_agent_would_lose(sandbox: Sandbox, shop: Path) -> None:
    found = simulate(sandbox, shop, 'block = ["mcp__scale__*"]\n[agents.clerk]\nblock = ["Bash"]\n')
    assert changed(found) == {}
    assert changed(found, "clerk") == {"Bash": ("visible", "hidden")}


def test_an_agent_that_cannot_run_as_defined_is_left_out(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(
        shop / ".claude/agents/lost.md", "---\nname: lost\ndescription: d\nmcpServers: [nowhere]\n---\n"
    )
    assert {view.agent for view in simulate(sandbox, shop, "").views} == {None, "clerk"}


def test_past_calls_that_the_draft_would_refuse_are_counted_by_tool_and_agent(
    sandbox: Sandbox, shop: Path
) -> None:
    entries = [
        ENTRY,
        ENTRY._replace(called_at=6),
        ENTRY._replace(agent="clerk"),
        ENTRY._replace(tool="Read"),
        ENTRY._replace(outcome="refused", called_at=9),
        ENTRY._replace(tool="mcp__scale__weigh"),  # refused today, too
    ]
    found = simulate(sandbox, shop, 'block = ["Bash", "mcp__scale__*"]\n', *entries)
    assert found.calls == 5
    assert [(each.tool, each.agent, each.calls, each.last_at) for each in found.refused] == [
        ("Bash", None, 2, 6),
        ("Bash", "clerk", 1, 5),
    ]
    assert found.refused[0].decision.gate == "policy"


def test_states_count_as_they_are_today_and_new_ones_are_looked_up(sandbox: Sandbox, shop: Path) -> None:
    draft = '[states.open]\nkind = "capability"\nfile = "OPEN"\n[tools."mcp__till__*"]\nstates = ["open"]\n'
    draft = 'block = ["mcp__scale__*"]\n' + draft
    assert changed(simulate(sandbox, shop, draft)) == {"mcp__till__*": ("visible", "hidden")}
    sandbox.write(shop / "OPEN", "")
    assert changed(simulate(sandbox, shop, draft)) == {}


def test_nothing_of_a_draft_is_stored_or_in_force(sandbox: Sandbox, shop: Path) -> None:
    draft = '[states.many]\nkind = "capability"\nglob = "*.md"\n[tools."mcp__till__*"]\nstates = ["many"]\n'
    assert changed(simulate(sandbox, shop, draft))["mcp__till__*"] == ("visible", "hidden")
    with sandbox.registry() as registry:
        here = registry.at(str(shop), is_headless=True)
        assert registry.explain("till", here).decision.is_available
        assert "many" not in {report.name for report in registry.states.reports(here)}


@pytest.mark.parametrize(
    ("draft", "problem"),
    [
        ("block = [", "not valid TOML"),
        ('blok = ["x"]', "blok"),
        (
            '[states.s]\nkind = "capability"\ncommand = ["touch", "ran"]',
            "a draft cannot hold a new state that runs",
        ),
        (
            '[states.s]\nkind = "capability"\nhttp = "http://127.0.0.1:1/"',
            "a draft cannot hold a new state that runs",
        ),
        ('[filters]\nfiles = ["/f.py"]', "a draft cannot change `filters`"),
        ('[env]\nvariables = ["HOME"]', "env"),
        ("[servers.till]\ninherit_env = true", "a draft cannot change how a server runs"),
        ("[servers.till]\nsandbox = false", "a draft cannot change how a server runs"),
        ('[servers.till]\nsandbox = {write = ["/"]}', "a draft cannot change how a server runs"),
        (
            "[servers.till]\ntrusted = true",
            "a draft cannot change how a server runs, or whether it is trusted",
        ),
        ("x = 1\n" * 100_000, "longer than"),
    ],
)
def test_a_draft_that_is_invalid_or_would_run_something_is_refused_with_its_place(
    sandbox: Sandbox, shop: Path, draft: str, problem: str
) -> None:
    found = simulate(sandbox, shop, draft, layer=MACHINE)
    assert not found.is_valid
    assert not found.views
    assert problem in " ".join((found.problems[0].place, found.problems[0].reason))
    assert not (shop / "ran").exists()


@pytest.mark.parametrize(
    "draft",
    [
        "",
        "[servers.till]\nblock = []\n[servers.scale]\ntrusted = false",
        "[servers.till]\nsandbox = {network = true}\n[servers.scale]\ntrusted = false",
        "[servers.till]\nsandbox = {}\n[servers.scale]",
        '[servers.till]\nsandbox = {}\nprojects = ["*"]\n[servers.scale]\ntrusted = false',
        "[servers.scale]\ntrusted = false\n[servers.till]\nsandbox = {}",
    ],
)
def test_a_draft_cannot_take_a_sandbox_or_distrust_from_a_server(
    sandbox: Sandbox, shop: Path, draft: str
) -> None:
    file = sandbox.home / ".config/remit/remit.toml"
    kept = "[servers.till]\nsandbox = {}\n[servers.scale]\ntrusted = false\n"
    sandbox.write(file, kept)
    assert simulate(sandbox, shop, f'{kept}block = ["Bash"]\n', layer=MACHINE).is_valid
    found = simulate(sandbox, shop, draft, layer=MACHINE)
    assert all("a draft cannot change" in each.reason for each in found.problems)
    assert found.problems
    assert not found.is_valid


def test_a_state_that_runs_today_may_stay_and_is_not_run_for_the_draft(sandbox: Sandbox, shop: Path) -> None:
    state = '[states.s]\nkind = "capability"\ncommand = ["false"]\n'
    sandbox.write(sandbox.home / ".config/remit/remit.toml", state)
    found = simulate(sandbox, shop, state + '[tools."mcp__till__*"]\nstates = ["s"]\n', layer=MACHINE)
    assert changed(found)["mcp__till__*"] == ("visible", "hidden")


def test_a_rule_without_effect_is_a_problem_that_does_not_stop_the_simulation(
    sandbox: Sandbox, shop: Path
) -> None:
    found = simulate(sandbox, shop, '[tools."mcp__till__*"]\nstates = ["nowhere"]\n')
    assert found.is_valid
    assert "nowhere" in found.problems[0].reason


def test_a_draft_is_remarked_on_where_a_pattern_matches_nothing(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["mcp__gone__*"]\n')  # another file
    found = simulate(sandbox, shop, 'block = ["mcp__scale__*", "WebFetsh"]\n')
    assert [(each.place, each.reason) for each in found.problems] == [
        ("line 1 column 1", "block: `WebFetsh` matches no known tool (did you mean `WebFetch`?)")
    ]
