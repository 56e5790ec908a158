"""What is recalled of earlier decisions is what would be decided now."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.decision.client_reports import CallOutcome, ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision
from remit.hooks.decision_cache import decide_call
from remit.hooks.event_dispatch import respond
from remit.hooks.hook_context import HookEnvironment, open_context, rescan
from remit.registry import Registry
from remit.states.state_watch import StateWatch
from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox

SEARCH = ClientCall("mcp__ledger__search", server="ledger", source="project")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("ledger"))
    return path


class Hooks:
    """The environment of hooks on a machine of its own, and the calls that were decided without the cache.

    Files count as settled at once.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.decided: list[ClientCall] = []
        self.environment = HookEnvironment(
            now=lambda: sandbox.now_ns() // 1_000_000,
            now_ns=sandbox.now_ns,
            open_registry=self._open_registry,
        )

    def decide(self, where: Path, call: ClientCall = SEARCH, *, is_headless: bool = False) -> str:
        """Give the verdict, which is also that of the registry."""
        found = decide_call(call, str(where), is_headless=is_headless, environment=self.environment)
        with self.sandbox.registry() as registry:
            context = registry.at(str(where), is_headless=is_headless)
            decision, _ = registry.decide_call(call, context)
        expected = (decision.verdict, decision.reason, decision.full_reason)
        assert (found.verdict, found.reason, found.full_reason) == expected
        return found.verdict

    def record_use(self, name: str, where: Path, **fields: Any) -> None:
        with open_context(str(where), self.environment) as context:
            context.record_use(name, CallOutcome(succeeded=fields.pop("succeeded", None)), **fields)

    def _open_registry(self) -> Registry:
        decided = self.decided

        class Recorded(Registry):
            def decide_call(self, call: ClientCall, context: Context) -> tuple[Decision, StateWatch | None]:
                decided.append(call)
                return super().decide_call(call, context)

        registry = self.sandbox.registry()
        registry.__class__ = Recorded
        return registry


@pytest.fixture
def hooks(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    sandbox.later_ns = 10 * 10**9
    return Hooks(sandbox)


def test_a_call_is_decided_once_and_then_recalled(shop: Path, hooks: Hooks) -> None:
    assert hooks.decide(shop) == hooks.decide(shop) == "visible"
    assert hooks.decided == [SEARCH]
    assert hooks.decide(shop, SEARCH._replace(agent="auditor")) == "visible"
    assert len(hooks.decided) == 2


def test_every_change_of_what_a_decision_goes_by_is_noticed(
    sandbox: Sandbox, shop: Path, hooks: Hooks
) -> None:
    rules = shop / "remit.toml"

    def block() -> None:
        sandbox.write(rules, 'block = ["mcp__ledger__*"]')

    def relent() -> None:
        rules.unlink()

    def disable() -> None:
        sandbox.write_state(local={shop: {"disabledMcpServers": ["ledger"]}})

    def enable() -> None:
        sandbox.write_state(local={shop: {}})

    def undeclare() -> None:
        sandbox.write(shop / ".mcp.json", servers())

    def declare() -> None:
        sandbox.write(shop / ".mcp.json", servers("ledger"))

    steps: list[tuple[Callable[[], None], str]] = [
        (block, "hidden"),
        (relent, "visible"),
        (disable, "hidden"),
        (enable, "visible"),
        (undeclare, "hidden"),
        (declare, "visible"),
    ]
    assert hooks.decide(shop) == "visible"
    for step, verdict in steps:
        step()
        assert hooks.decide(shop) == verdict, step.__name__
        assert hooks.decide(shop) == verdict


def test_what_was_seen_and_left_the_files_is_hidden(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    rescan(str(shop), environment=hooks.environment)
    hooks.record_use("mcp__ledger__search", shop, server="ledger")
    assert hooks.decide(shop) == "visible"
    sandbox.write(shop / ".mcp.json", servers())
    assert hooks.decide(shop) == "hidden"


def test_a_plugins_tool_is_counted_with_its_server(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    root = sandbox.home / ".claude/plugins"
    location, copy = root / "marketplaces/orchard", root / "cache/orchard/quill/1.0.0"
    entry = {"name": "quill", "source": "./plugins/quill"}
    source = {"source": "github", "repo": "ada/orchard"}
    sandbox.write(location / ".claude-plugin/marketplace.json", {"name": "orchard", "plugins": [entry]})
    sandbox.write(
        root / "known_marketplaces.json", {"orchard": {"source": source, "installLocation": str(location)}}
    )
    sandbox.write(copy / ".claude-plugin/plugin.json", {"name": "quill"})
    sandbox.write(copy / ".mcp.json", servers("spell"))
    installed = {"quill@orchard": [{"scope": "user", "installPath": str(copy)}]}
    sandbox.write(root / "installed_plugins.json", {"version": 2, "plugins": installed})
    sandbox.write(sandbox.home / ".claude/settings.json", {"enabledPlugins": {"quill@orchard": True}})
    rescan(str(shop), environment=hooks.environment)
    told = {
        "hook_event_name": "PostToolUse",
        "cwd": str(shop),
        "tool_name": "mcp__plugin_quill_spell__check",
        "mcp_server": {"name": "plugin:quill:spell", "source": "plugin"},
    }
    assert respond(json.dumps(told).encode(), hooks.environment) == ""
    with sandbox.registry() as registry:
        listed = registry.tools(registry.at(str(shop)))
    used = {
        item.tool.name: (item.tool.usage_count, item.tool.scope) for item in listed if item.tool.usage_count
    }
    assert used == {
        "mcp__plugin_quill_spell__*": (1, "plugin"),
        "mcp__plugin_quill_spell__check": (1, "plugin"),
    }


def test_what_a_server_says_of_its_tool_is_noticed(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'ask_from = "destructive"')
    with sandbox.registry() as registry:
        registry.usage.report_tool("mcp__ledger__search", registry.at(str(shop)))
    assert hooks.decide(shop) == "visible"
    run_sql(sandbox.database, "update definitions set danger = 3")
    assert hooks.decide(shop) == "ask"


def test_trust_in_a_rule_is_noticed(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[tools."mcp__ledger__*"]\napproval = true')
    sandbox.write(shop / "remit.toml", '[tools."mcp__ledger__search"]\napproval = false')
    assert hooks.decide(shop) == "ask"
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.configuration.trust(registry.configuration.trust_requests(here.workspace), here.workspace)
    assert hooks.decide(shop) == "visible"
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.configuration.revoke(registry.configuration.trust_requests(here.workspace), here.workspace)
    assert hooks.decide(shop) == "ask"


def test_an_agents_definition_is_noticed(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    call = SEARCH._replace(agent="auditor")
    definition = shop / ".claude/agents/auditor.md"
    head = "---\nname: auditor\ndescription: Audits\n"
    sandbox.write(definition, f"{head}---\n")
    assert hooks.decide(shop, call) == "visible"
    sandbox.write(definition, f"{head}disallowedTools: mcp__ledger__search\n---\n")
    assert hooks.decide(shop, call) == "hidden"
    assert hooks.decide(shop) == "visible"


def test_what_depends_on_a_state_is_recalled_where_that_is_what_it_was(
    sandbox: Sandbox, shop: Path, hooks: Hooks
) -> None:
    sandbox.write(
        shop / "remit.toml", '[states.open]\nfile = "open"\n[tools."mcp__ledger__*"]\nstates = ["open"]\n'
    )
    for _ in range(3):
        assert hooks.decide(shop) == "hidden"
    assert len(hooks.decided) == 2  # what to look at is known after the first
    (shop / "open").touch()
    for _ in range(2):
        assert hooks.decide(shop) == "visible"
    (shop / "open").unlink()
    assert hooks.decide(shop) == "hidden"
    assert len(hooks.decided) == 3


@pytest.mark.parametrize(
    "rule", ["when = \"location.page == 'till'\"", 'when = "entities.posts > 1"', 'states = ["big"]']
)
def test_what_no_look_can_tell_is_decided_every_time(
    sandbox: Sandbox, shop: Path, hooks: Hooks, rule: str
) -> None:
    posts, big = 'entities = { glob = "*.md" }', 'value = { file = "a.json", at = "x" }'
    states = f"[states.posts]\n{posts}\n[states.big]\n{big}\n"
    sandbox.write(shop / "remit.toml", f'{states}[tools."mcp__ledger__*"]\n{rule}\n')
    for _ in range(3):
        assert hooks.decide(shop) == "hidden"
    assert len(hooks.decided) == 3


def test_only_so_many_answers_about_one_call_are_kept(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    sandbox.write(shop / "remit.toml", '[tools."mcp__ledger__*"]\nwhen = "git.branch == \'main\'"\n')
    for number in range(12):
        (shop / ".git/HEAD").write_text(f"ref: refs/heads/b{number}\n")
        assert hooks.decide(shop) == "hidden"
    assert len(hooks.decided) == 12
    (answer,) = run_sql(sandbox.database, "select answer from judgements")
    assert len(json.loads(answer[0])[1]) == 8


STATES = """
env = ["STAGE"]
[states.open]
file = "open"
[states.shelf]
directory = "shelf"
[states.many]
glob = "*.md"
count = ">= 2"
lifetime = 60
[states.main]
git = { branch = "main" }
[states.staged]
env = "STAGE"
[states."work.started"]
kind = "workflow"
[states.said]
push = true
[states.free]
file = "free"
implies = ["open"]
"""
CHANGES = 25
RULES = (
    'states = ["open"]',
    'states = ["shelf", "many"]',
    'states = ["main"]',
    'states = ["staged", "said"]',
    'states = ["work"]',
    "when = \"state('open') && git.branch != 'main'\"",
    "when = \"env.STAGE == 'live' || state('said')\"",
)


@pytest.mark.long
@pytest.mark.parametrize("rule", RULES)
def test_whatever_becomes_of_states_the_recalled_is_what_is_decided(
    sandbox: Sandbox, shop: Path, hooks: Hooks, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks.environment = hooks.environment._replace(now=lambda: sandbox.time)  # as the registry
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'{STATES}[tools."mcp__ledger__*"]\n{rule}\n')
    chance = random.Random(rule)  # noqa: S311 - no secrets
    for _ in range(CHANGES):
        change = chance.randrange(8)
        if change == 0:
            path = shop / chance.choice(["open", "free", "a.md", "b.md"])
            path.unlink() if path.exists() else path.touch()
        elif change == 1:
            shelf = shop / "shelf"
            shelf.rmdir() if shelf.exists() else shelf.mkdir()
        elif change == 2:
            (shop / ".git/HEAD").write_text(f"ref: refs/heads/{chance.choice(['main', 'dev'])}\n")
        elif change == 3:
            sandbox.variables["STAGE"] = chance.choice(["live", "test", ""])
            monkeypatch.setenv("STAGE", sandbox.variables["STAGE"])
        elif change in (4, 5):
            with sandbox.registry() as registry:
                here = registry.at(str(shop))
                if change == 4:
                    registry.states.push({"said": chance.choice([True, False, None])}, here)
                else:
                    change_state = chance.choice([registry.states.set, registry.states.clear])
                    change_state("work.started", here)
        elif change == 6:
            sandbox.time += 120_000  # for which nothing is pushed or kept
        hooks.decide(shop)
    assert len(hooks.decided) < CHANGES


def test_a_session_without_a_terminal_is_judged_as_such(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    sandbox.write(sandbox.home / ".claude/settings.json", {})
    assert hooks.decide(shop) == "hidden"  # it waits for approval
    assert hooks.decide(shop, is_headless=True) == "visible"
    assert hooks.decide(shop) == "hidden"


def test_a_file_that_is_still_being_written_is_never_trusted_to_stay(
    sandbox: Sandbox, shop: Path, hooks: Hooks
) -> None:
    sandbox.later_ns = 0
    assert hooks.decide(shop) == hooks.decide(shop) == "visible"
    assert hooks.decided == [SEARCH, SEARCH]


def test_old_judgements_are_forgotten(sandbox: Sandbox, shop: Path, hooks: Hooks) -> None:
    assert hooks.decide(shop) == "visible"
    sandbox.later_ns += 40 * 24 * 3600 * 10**9
    hooks.decide(shop, ClientCall("Read"))
    assert [row[0] for row in run_sql(sandbox.database, "select count(*) from judgements")] == [1]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_whatever_changes_the_recalled_is_what_is_decided(
    sandbox: Sandbox, shop: Path, hooks: Hooks, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    calls = [
        SEARCH,
        ClientCall("Read"),
        ClientCall("mcp__new__x", source="dynamic"),
        ClientCall("Skill", subject="deploy"),
    ]
    for _ in range(12):
        change = chance.randrange(7)
        if change == 0:
            blocked = chance.choice(["mcp__ledger__*", "Read", "mcp__new__*", "deploy"])
            sandbox.write(shop / "remit.toml", f'block = ["{blocked}"]')
        elif change == 1:
            (shop / "remit.toml").unlink(missing_ok=True)
        elif change == 2:
            sandbox.write(shop / ".mcp.json", servers(*chance.sample(["ledger", "new", "x"], 2)))
        elif change == 3:
            off = chance.sample(["ledger", "new"], 1)
            sandbox.write_state("ledger", local={shop: {"disabledMcpServers": off}})
        elif change == 4:
            hooks.record_use(chance.choice(calls).name, shop, succeeded=chance.random() < 0.5)
        elif change == 5:
            front = f"---\nname: deploy\ndescription: {chance.random()}\n---\n"
            sandbox.write(shop / ".claude/skills/deploy/SKILL.md", front)
        for call in chance.sample(calls, 2):
            hooks.decide(shop, call._replace(mode=chance.choice([None, "plan", "dontAsk"])))
    assert len(hooks.decided) < 24
