"""Whatever happens in whatever order: lists and calls agree, and nothing is called without a recorded yes."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from remit.approvals.approvals import Approval
from remit.approvals.call_binding import digest_of_arguments
from remit.catalog.summary import summarize
from remit.cli.output.json_output import listing
from remit.decision.context import Context
from remit.decision.decide import Verdict
from remit.decision.policy_rules import Mode
from remit.registry import Registry
from support.databases import run_sql
from support.sandbox import Sandbox

EXAMPLES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "100"))
SEQUENCES, STEPS = max(5, EXAMPLES // 100), 50 if EXAMPLES > 1_000 else 20

NAMES = ("mcp__git__log", "mcp__git__push", "mcp__git__delete_tag", "mcp__web__get", "user.delete", "Read")
AGENTS = {
    "lead": "---\nname: lead\ndescription: leads\ntools: mcp__git, Read, user.delete, Agent\n---\n",
    "scout": "---\nname: scout\ndescription: scouts\n---\n",
}
RULES = (
    '[tools."mcp__git__push"]\ndanger = "critical"\n',
    '[tools."user.delete"]\napproval = true\n',
    '[tools."mcp__git__log"]\nai_enabled = false\n',
    '[tools."Read"]\nstates = ["editing"]\n',
    '[tools."mcp__web__*"]\nwhen = "!state(\'editing\')"\n',
    '[servers.git]\nblock = ["delete_*"]\n',
    "[servers.web]\nallow = []\n",
    '[agents.lead]\nblock = ["mcp__git__push"]\n',
)
WORKFLOW = '[states.editing]\nkind = "workflow"\n'

names = st.sampled_from(NAMES)
arguments = st.sampled_from([{}, {"a": 1}, {"a": 2}])
modes = st.sampled_from([None, *(mode.value for mode in Mode)])
callers = st.sampled_from([(), ("lead",), ("scout",), ("scout", "lead")])


class Workspace(RuleBasedStateMachine):
    """A machine whose configuration, states, tools and clock change while agents call tools."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.sandbox = Sandbox(root=Path(self._folder.name).resolve())
        self.sandbox.home.mkdir()
        self.sandbox.write_state("git", "web")
        self.shop = self.sandbox.project("shop")
        for name, text in AGENTS.items():
            self.sandbox.write(self.sandbox.home / f".claude/agents/{name}.md", text)
        self.result: set[int] = set()
        self.approved: set[str] = set()  # what a person said yes to, and nobody used yet
        self.registry = self.open()

    def open(self) -> Registry:
        self.sandbox.later_ns = 10**10  # files that were written long ago
        return self.sandbox.registry()

    def teardown(self) -> None:
        self.registry.close()
        self._folder.cleanup()

    def at(self, mode: str | None = None, caller: tuple[str, ...] = ()) -> Context:
        agent, parents = (caller[0], caller[1:]) if caller else (None, ())
        return self.registry.at(str(self.shop), mode=mode, agent=agent, parents=parents)

    def write(self) -> None:
        text = WORKFLOW + "".join(RULES[at] for at in sorted(self.result))
        self.sandbox.write(self.sandbox.home / ".config/remit/remit.toml", text)

    @initialize(result=st.sets(st.integers(0, len(RULES) - 1)))
    def begin(self, result: set[int]) -> None:
        self.result = result | {0, 1}
        self.write()
        for name in NAMES:
            self.registry.usage.report_tool(name, self.at(), description=f"Does {name}.")

    @rule(at=st.integers(0, len(RULES) - 1))
    def change_the_rules(self, at: int) -> None:
        self.result ^= {at}
        self.write()

    @rule(label=st.sampled_from(["git", "web"]), other=st.sampled_from(["git", "web"]))
    def declare(self, label: str, other: str) -> None:
        self.sandbox.write_state(*{label, other})

    @rule(name=names, version=st.integers(0, 1))
    def redefine(self, name: str, version: int) -> None:
        self.registry.usage.report_tool(name, self.at(), description=f"Does {name}, in version {version}.")

    @rule(holds=st.booleans())
    def flip(self, holds: bool) -> None:
        if holds:
            self.registry.states.set("editing", self.at())
        else:
            self.registry.states.clear("editing", self.at())

    @rule(approve=st.booleans())
    def answer(self, approve: bool) -> None:
        for waiting in self.registry.approvals.waiting(self.at()):
            self.registry.approvals.answer(waiting.id, self.at(), approve=approve)
            if approve:
                self.approved.add(waiting.id)

    @rule(minutes=st.sampled_from([1, 6]))
    def wait(self, minutes: int) -> None:
        self.sandbox.time += minutes * 60_000

    @rule()
    def restart(self) -> None:
        self.registry.close()
        self.registry = self.open()

    @rule(name=names, given=arguments, mode=modes, caller=callers)
    def call(self, name: str, given: Mapping[str, object], mode: str | None, caller: tuple[str, ...]) -> None:
        context = self.at(mode, caller)
        listed = {tool.name: decision for tool, decision in self.registry.tools(context)}
        permit = self.registry.approvals.permit(name, given, context)
        assert permit.decision == listed[name]
        match permit.decision.verdict:
            case Verdict.HIDDEN:
                assert (permit.is_allowed, permit.approval) == (False, None)
            case Verdict.VISIBLE:
                assert (permit.is_allowed, permit.approval) == (True, None)
            case Verdict.ASK:
                assert permit.approval is not None
                if permit.is_allowed:
                    self.judge_use(permit.approval, given)

    def judge_use(self, used: Approval, given: Mapping[str, object]) -> None:
        """A call went ahead: a person said yes to it before, for this very call, and it is used up."""
        assert used.binding.arguments == digest_of_arguments(given)
        row = run_sql(
            self.sandbox.database,
            f"select is_approved, used_at, answered_at, expires_at from approvals where id = '{used.id}'",  # noqa: S608
        )
        ((is_approved, used_at, answered_at, expires_at),) = row
        assert is_approved == 1
        assert answered_at < used_at < expires_at
        assert used.id in self.approved
        self.approved.remove(used.id)

    @rule(name=st.sampled_from(["mcp__git__push", "user.delete"]), given=arguments, caller=callers)
    def call_until_it_is_allowed(
        self, name: str, given: Mapping[str, object], caller: tuple[str, ...]
    ) -> None:
        """A yes is good for one call, and for no other."""
        self.call(name, given, None, caller)
        self.answer(True)
        self.call(name, given, None, caller)
        self.call(name, {**given, "b": 0}, None, caller)
        self.call(name, given, None, caller)

    @rule(mode=modes, caller=callers)
    def look_twice(self, mode: str | None, caller: tuple[str, ...]) -> None:
        """Equal inputs give the same bytes, also in another process."""
        first = self.bytes_of(mode, caller)
        assert self.bytes_of(mode, caller) == first
        self.restart()
        assert self.bytes_of(mode, caller) == first

    def bytes_of(self, mode: str | None, caller: tuple[str, ...]) -> str:
        context = self.at(mode, caller)
        tools = self.registry.tools(context)
        return json.dumps(listing(tools, summarize(tools, context), context))

    @invariant()
    def a_child_never_exceeds_its_parent(self) -> None:
        order = {Verdict.HIDDEN: 0, Verdict.ASK: 1, Verdict.VISIBLE: 2}
        above = {item.tool.name: item.decision for item in self.registry.tools(self.at(caller=("lead",)))}
        below = self.registry.tools(self.at(caller=("scout", "lead")))
        for tool, decision in below:
            if tool.name in NAMES:
                assert order[decision.verdict] <= order[above[tool.name].verdict]


@pytest.mark.proof
def test_lists_and_calls_agree_and_nothing_is_called_without_a_recorded_yes() -> None:
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]
        Workspace,
        settings=settings(
            max_examples=SEQUENCES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
