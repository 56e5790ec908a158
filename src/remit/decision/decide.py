"""Decide: the one decision that every list, call, search and explanation asks for.

An ordered table of small gates; the first that objects wins and names itself. A gate answers with a reason
whether it objects or not, so that `explain` can print the whole table.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.agents import Agent, server_refusal, tool_refusal
from remit.decision.danger import Danger, Rating
from remit.decision.demotion import in_words
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.policy import NO_POLICY, ConfigLocation, Mode, Policy, ToolDanger
from remit.decision.projects import Workspace
from remit.decision.requirements import NO_REQUIREMENTS, Requirements, UnmetRequirement
from remit.decision.scopes import Scope, in_scope
from remit.decision.tool_names import REMIT, full_label
from remit.decision.tools import Tool
from remit.decision.views import USUAL, Flags, View

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.snapshot import Snapshot


class Verdict(StrEnum):
    """What an agent may do with a tool."""

    VISIBLE = "visible"
    ASK = "ask"  # callable after approval
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Who asks, and from where."""

    workspace: Workspace
    client: str | None  # None: an inventory over all clients
    flags: Flags = USUAL
    agent: Agent | None = None  # None: the main session
    home: str = ""  # shortens paths in reasons
    starts_servers: bool = False  # Remit itself would start them: a project's servers need its user's trust
    requirements: Requirements = NO_REQUIREMENTS  # what tools need of the states
    snapshot: "Snapshot | None" = None  # None: the states were not looked at, as no tool needs any
    policy: Policy = NO_POLICY
    mode: Mode | None = None  # None: the one that the configuration sets
    refusals: "Mapping[Key, str] | None" = None  # what filters in Python said no to, and why
    run_context: object = None  # what those filters get from who runs the agent

    def view(self, client: str) -> View:
        """The configuration of one client, as it counts here."""
        return View(client, self.workspace, self.flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a tool may be used here and now, and why."""

    verdict: Verdict
    gate: Gate | None  # None: every gate let it pass
    reason: str
    unlock: str | None  # what would change it, where something would

    @property
    def is_available(self) -> bool:
        """Whether the tool is listed and can be called, perhaps after a person approves."""
        return self.verdict is not Verdict.HIDDEN

    @property
    def frees_name(self) -> bool:
        """Whether the tool is never served here, so another may have its name."""
        return self.gate is not None and self.gate.frees_name


class ToolDecision(NamedTuple):
    """A tool with the decision about it."""

    tool: Tool
    decision: Decision


class GateResult(NamedTuple):
    """One gate's answer."""

    passed: bool
    reason: str
    unlock: str | None = None
    asks: bool = False  # it passes, and a person is asked at every call


class ExplainedGate(NamedTuple):
    """One line of an explanation."""

    gate: Gate
    ruling: GateResult


UNKNOWN = Decision(
    verdict=Verdict.HIDDEN, gate=Gate.SCOPE, reason="no tool of this name is known here", unlock=None
)


def decide(tool: Tool, context: Context) -> Decision:
    """Decide whether a tool may be used in a context."""
    return decide_by(GATES, tool, context)


def decide_by(gates: "Gates", tool: Tool, context: Context) -> Decision:
    """Decide by some of the gates, in their order."""
    for gate, rule in gates:
        ruling = rule(tool, context)
        if not ruling.passed or ruling.asks:
            verdict = Verdict.ASK if ruling.passed else Verdict.HIDDEN
            return Decision(verdict=verdict, gate=gate, reason=ruling.reason, unlock=ruling.unlock)
    reason = _origin(tool, context)
    if tool.status is ToolStatus.DEMOTED:
        reason = f"{reason}; {in_words(tool.outcomes)}"
    return Decision(verdict=Verdict.VISIBLE, gate=None, reason=reason, unlock=None)


def explain(tool: Tool, context: Context) -> list[ExplainedGate]:
    """List what every gate says of a tool, also after the one that decides."""
    return [ExplainedGate(gate, rule(tool, context)) for gate, rule in GATES]


def shorten(path: str, context: Context) -> str:
    """Write a path the way a person in this workspace would."""
    for base, sign in ((context.workspace.dir, ""), (context.home, "~" + os.sep)):
        inside = base.rstrip(os.sep) + os.sep
        if base and path.startswith(inside):
            return sign + path[len(inside) :]
    return path


_IN_SCOPE = {
    Scope.MANAGED: GateResult(True, "managed: applies to everyone on this machine"),
    Scope.DYNAMIC: GateResult(True, "dynamic: given to the client when it is started"),
    Scope.LOCAL: GateResult(True, "local: yours, in this project"),
    Scope.PROJECT: GateResult(True, "project: shared by the files of this directory or one above it"),
    Scope.GLOBAL: GateResult(True, "global: applies in all your projects"),
    Scope.PLUGIN: GateResult(True, "plugin: installed for this project or everywhere"),
}
_OUT_OF_SCOPE = GateResult(False, UNKNOWN.reason)  # isolation: never a hint that it exists
_TOLD = {Authority.REPORT: "reported by an agent", Authority.HOOK: "seen in use"}
_MAIN_SESSION = GateResult(True, "the main session has all that is in force")
_NEEDS_NOTHING = GateResult(True, "it needs no state")
_HAS_ALL = GateResult(True, "all that it needs of the states holds")
_NOTHING_SAID = GateResult(True, "no list and no filter says anything of it")
_LET_THROUGH = GateResult(True, "no list and no filter is against it")
_UNSHADOWED = GateResult(True, "no stronger declaration of the same name")


def _scope(tool: Tool, context: Context) -> GateResult:
    seen = in_scope(tool.scope, tool.project_hash, tool.dir, context.workspace)
    return _IN_SCOPE[tool.scope] if seen else _OUT_OF_SCOPE


def _config(tool: Tool, context: Context) -> GateResult:
    if context.client is not None and tool.client != context.client:
        return GateResult(False, f"declared for {tool.client}", f"ask with `--client {tool.client}`")
    if tool.authority is not Authority.CONFIG:
        return GateResult(True, _origin(tool, context))
    if tool.config_status is None or (tool.status is ToolStatus.STALE and not tool.is_unlisted):
        place = shorten(tool.source, context)
        return GateResult(False, f"no longer configured in {place}", f"declare it again in {place}")
    is_served = context.starts_servers and tool.config_status is ConfigStatus.UNSERVED
    if not is_served and (objection := _OBJECTIONS.get(tool.config_status)):
        return GateResult(False, f"{_origin(tool, context)}, {objection.reason}", objection.unlock)
    if tool.is_unlisted:
        return GateResult(
            False, f"its server `{tool.server}` no longer lists it", "run `remit scan --connect`"
        )
    # What an agent brings along, its client starts.
    if context.starts_servers and tool.is_trusted is False and tool.agent is None:
        return GateResult(
            False,
            f"{_origin(tool, context)}, not trusted",
            f"look at it with `remit trust`, then run `remit trust {tool.server}`",
        )
    return GateResult(True, _origin(tool, context))


_OBJECTIONS = {
    ConfigStatus.DISABLED: GateResult(False, "disabled in the client", "enable it again in the client"),
    ConfigStatus.REJECTED: GateResult(
        False,
        "rejected in the client",
        "take it out of `disabledMcpjsonServers` in the client's settings",
    ),
    ConfigStatus.PENDING: GateResult(False, "waiting for approval", "start the client here and approve it"),
    ConfigStatus.DENIED: GateResult(False, "denied by a policy in the client's settings"),
    ConfigStatus.MANUAL: GateResult(
        False,
        "only a person may invoke it",
        "give it a `description`, and no `disable-model-invocation`",
    ),
    ConfigStatus.ITSELF: GateResult(False, "is Remit itself"),
    ConfigStatus.UNSERVED: GateResult(
        False, "which the client does not start as its gateway", "run `remit install` for the client"
    ),
}


def objection(status: ConfigStatus) -> str:
    """Say what a status in the client's configuration means for those who would use it."""
    return _OBJECTIONS[status].reason


def _precedence(tool: Tool, context: Context) -> GateResult:
    winner = tool.shadowed_by
    if winner is None:
        return _UNSHADOWED
    stronger = f"the {winner.scope} declaration in {shorten(winner.source, context)}"
    return GateResult(False, f"shadowed by {stronger}", f"rename or remove {stronger}")


def _agent(tool: Tool, context: Context) -> GateResult:
    agent = context.agent
    if agent is None:
        if tool.agent is None:
            return _MAIN_SESSION
        return GateResult(False, f"it is agent `{tool.agent}`'s own", f"ask with `--agent {tool.agent}`")
    refusal = tool_refusal(agent, tool.name, tool.kind)
    if tool.server is not None:
        labels = (tool.server, full_label(tool.server, tool.plugin))
        refusal = server_refusal(agent, labels, owner=tool.agent) or refusal
    if refusal is None:
        return GateResult(True, f"agent `{agent.name}` has it")
    return GateResult(False, refusal, f"change the definition of agent `{agent.name}`")


def _state(tool: Tool, context: Context) -> GateResult:
    needed = context.requirements.of(tool.name)
    if not needed:
        return _NEEDS_NOTHING
    if context.snapshot is None:
        return GateResult(False, "the states that it needs were not looked at")
    lack = context.requirements.lack(needed, context.snapshot)
    return _HAS_ALL if lack is None else lacking(lack)


def _policy(tool: Tool, context: Context) -> GateResult:
    if context.policy.is_silent and not context.refusals:
        return _NOTHING_SAID
    if context.refusals and (refusal := context.refusals.get(tool.key)):
        return GateResult(False, refusal)
    agent = context.agent
    agents = () if agent is None else (agent.name, *(each.name for each in agent.parents))
    objection = context.policy.refusal(tool, agents)
    if objection is None:
        return _LET_THROUGH
    place = _place(objection.origin, context)
    return GateResult(False, f"{objection.reason}: {place}", f"{objection.unlock} {place}")


def _danger(tool: Tool, context: Context) -> GateResult:
    rated = context.policy.rate(tool)
    hidden_by, asks = context.policy.answer(rated, context.mode)
    if hidden_by is not None:
        return _forbidden(rated, hidden_by, context)
    if asks:
        return _asked(rated, context)
    if rated.origin is not None:
        return GateResult(True, _rating(rated, context))
    ruling = _RATED.get(rated.rating)
    if ruling is None:
        ruling = _RATED[rated.rating] = GateResult(True, _rating(rated, context))
    return ruling


_RATED: dict[Rating, GateResult] = {}


def _asked(rated: ToolDanger, context: Context) -> GateResult:
    unlock = "call it, then answer with `remit approve`"
    return GateResult(True, f"needs approval: {_why_asked(rated, context)}", unlock, asks=True)


def _forbidden(rated: ToolDanger, mode: Mode, context: Context) -> GateResult:
    if mode is Mode.PLAN:
        reason = f"mode `plan` shows nothing above `low`, and it is {_rating(rated, context)}"
    elif mode is Mode.BYPASS:
        reason = f"mode `bypass` shows nothing `critical`, and it is {_rating(rated, context)}"
    else:
        reason = f"mode `dontAsk` hides what would be asked about: {_why_asked(rated, context)}"
    fixed = context.policy.fixed_mode
    if fixed is not None and fixed.mode is mode:
        return GateResult(False, reason, f"only an administrator can: {_place(fixed.origin, context)}")
    usual = context.policy.mode
    if usual is None or context.mode is not None:
        return GateResult(False, reason, "choose another mode")
    return GateResult(False, reason, f"choose another mode: {_place(usual.origin, context)} sets this one")


def _why_asked(rated: ToolDanger, context: Context) -> str:
    if rated.approval is not None:
        return _place(rated.approval, context)
    ask_from = context.policy.ask_from
    if ask_from is None or rated.rating.level is Danger.CRITICAL:
        return f"it is {_rating(rated, context)}"
    return f"it is {_rating(rated, context)}, and {_place(ask_from[1], context)} asks"


def _rating(rated: ToolDanger, context: Context) -> str:
    source = rated.rating.origin if rated.origin is None else _place(rated.origin, context)
    return f"`{rated.rating.level.word}` ({source})"


def _place(origin: ConfigLocation, context: Context) -> str:
    line = f" line {origin.line}" if origin.line else ""
    key = f"`{origin.key}` in " if origin.key else ""
    return f"{key}{shorten(origin.path, context)}{line}"


def lacking(need: UnmetRequirement) -> GateResult:
    """Say what a tool lacks."""
    return GateResult(
        False, need.reason, need.unlock or "`remit states` shows every state and how it is found"
    )


def _origin(tool: Tool, context: Context) -> str:
    if tool.authority is not Authority.CONFIG:
        return _TOLD[tool.authority]
    subject = f"its server `{tool.server}` is " if tool.kind is Kind.MCP_TOOL else ""
    if tool.source == REMIT:
        return f"{subject}brought along by Remit"
    age = ", listed before its entry changed" if tool.is_outdated else ""
    return f"{subject}declared in {shorten(tool.source, context)}{age}"


Rule = Callable[[Tool, Context], GateResult]
Gates = Sequence[tuple[Gate, Rule]]

_RULES: dict[Gate, Rule] = {
    Gate.SCOPE: _scope,
    Gate.CONFIG: _config,
    Gate.PRECEDENCE: _precedence,
    Gate.AGENT: _agent,
    Gate.POLICY: _policy,
    Gate.STATE: _state,
    Gate.DANGER: _danger,  # last, so a tool that is not there now is not reported as forbidden
}
GATES: Gates = tuple((gate, _RULES[gate]) for gate in Gate)
CATALOG_GATES: Gates = tuple(each for each in GATES if not each[0].depends_on_states)
SNAPSHOT_GATES: Gates = tuple(each for each in GATES if each[0].depends_on_states)
