"""The rules of the gates; each passes a tool or objects to it, with a reason.

`remit.decision.decide` defines their order.
"""

import shlex
from collections.abc import Callable
from typing import NamedTuple

from remit.decision.agents import server_refusal, tool_refusal
from remit.decision.context import Context, project_option, shorten, shorten_with_line
from remit.decision.danger import Danger, Rating
from remit.decision.definitions.definition_changes import DefinitionChange, is_held, steps_to_settle
from remit.decision.definitions.entry_digests import untrusted_reason
from remit.decision.definitions.project_lock import lock_steps
from remit.decision.gates import NextStep
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.permissions.client_consents import pending_reason, pending_unlock, trust_command
from remit.decision.permissions.client_permissions import ClientPermissions, PermissionRule
from remit.decision.policy_rules import ConfigLocation, Mode, Refusal, ToolDanger
from remit.decision.scopes import Scope, in_scope
from remit.decision.tool_names import REMIT, full_label
from remit.decision.tools import Tool, demotion_reason, is_builtin

UNKNOWN_TOOL = "no tool of this name is known here"
REQUEST_APPROVAL = NextStep("call it: the user is asked to approve the call")


class GateResult(NamedTuple):
    """Whether a gate passes a tool, and the reason; `Decision` says who reads which part."""

    passed: bool
    reason: str
    unlock: str | None = None
    asks: bool = False  # the tool passes, but each call needs approval
    by_client: bool = False  # a rule of the client asks or denies
    detail: str | None = None
    next_step: NextStep | None = None

    @property
    def full_reason(self) -> str:
        """The reason for people."""
        return self.detail or self.reason


_IN_SCOPE = {
    Scope.MANAGED: GateResult(True, "managed: applies to everyone on this machine"),
    Scope.DYNAMIC: GateResult(True, "dynamic: given to the client when it is started"),
    Scope.LOCAL: GateResult(True, "local: yours, in this project"),
    Scope.PROJECT: GateResult(True, "project: shared by the files of this directory or one above it"),
    Scope.TEAM: GateResult(True, "team: shared by the projects of this team"),
    Scope.GLOBAL: GateResult(True, "global: applies in all your projects"),
    Scope.PLUGIN: GateResult(True, "plugin: installed for this project or everywhere"),
}
_OUT_OF_SCOPE = GateResult(False, UNKNOWN_TOOL)  # isolation: never reveal that the tool exists


def scope(tool: Tool, context: Context) -> GateResult:
    """Object to tools of other projects and other directories."""
    is_seen = in_scope(tool.scope, tool.project_hash, tool.dir, context.workspace)
    return _IN_SCOPE[tool.scope] if is_seen else _OUT_OF_SCOPE


_CONFIG_REFUSALS = {
    ConfigStatus.DISABLED: GateResult(False, "disabled in the client", "enable it again in the client"),
    ConfigStatus.REJECTED: GateResult(
        False,
        "rejected in the client",
        "remove it from `disabledMcpjsonServers` in the client's settings",
    ),
    ConfigStatus.DENIED: GateResult(False, "denied by a policy in the client's settings"),
    ConfigStatus.MANUAL: GateResult(
        False,
        "only a person may invoke it",
        "give it a `description`, and remove `disable-model-invocation`",
    ),
    ConfigStatus.ITSELF: GateResult(False, "is Remit itself"),
    ConfigStatus.NESTED: GateResult(False, "starts another gateway of Remit", "remove it from that file"),
    ConfigStatus.UNSERVED: GateResult(
        False,
        "served only by Remit's gateway, which the client does not start",
        "run `remit install` for the client",
    ),
}


_SERVED = (Kind.MCP_SERVER, Kind.MCP_TOOL)  # kinds that the gateway starts or serves


def config(tool: Tool, context: Context) -> GateResult:
    """Object to tools that the client's configuration does not enable here."""
    if context.client is not None and tool.client != context.client:
        return GateResult(False, f"declared for {tool.client}", f"ask with `--client {tool.client}`")
    if tool.authority is not Authority.CONFIG and tool.kind in _SERVED and context.starts_servers:
        # Whatever a hook or an agent reports is never served.
        return GateResult(False, f"{_UNDECLARED[tool.authority]}, but no server that Remit starts lists it")
    is_stale = tool.status is ToolStatus.STALE and not tool.is_unlisted
    if tool.authority is not Authority.CONFIG and not tool.is_placed:
        if is_stale:
            return GateResult(False, f"{_declared(tool, context)}, but its server is no longer configured")
        if tool.config_status is None:
            return GateResult(True, _declared(tool, context))
    if tool.config_status is None or is_stale:
        place = shorten(tool.source, context)
        unlock = f"declare it again in {place}"
        return GateResult(False, "no longer configured", unlock, detail=f"no longer configured in {place}")
    if tool.config_status is ConfigStatus.PENDING:
        reason = pending_reason(tool.client, is_trusted=tool.is_trusted)
        unlock = pending_unlock(tool.client, tool.server, is_trusted=tool.is_trusted)
        return _config_refusal(tool, context, reason, unlock)
    # The first only through the gateway, which alone serves teams; the second only without it.
    is_served = context.starts_servers or context.workspace.team is not None
    applies = {ConfigStatus.UNSERVED: not is_served, ConfigStatus.NESTED: context.starts_servers}
    if applies.get(tool.config_status, True) and (refusal := _CONFIG_REFUSALS.get(tool.config_status)):
        return _config_refusal(tool, context, refusal.reason, refusal.unlock)
    if tool.is_unlisted:
        return GateResult(
            False, f"its server `{tool.server}` no longer lists it", "run `remit scan --connect`"
        )
    if (context.starts_servers or context.is_installed) and tool.is_trusted is False:
        unlock = f"look at it with `remit trust`, then run `{trust_command(tool.server)}`"
        return _config_refusal(tool, context, untrusted_reason(tool.trusted_entry, tool.entry), unlock)
    return GateResult(True, _declared(tool, context))


def _config_refusal(tool: Tool, context: Context, reason: str, unlock: str | None) -> GateResult:
    subject = f"its server `{tool.server}`: " if tool.kind is Kind.MCP_TOOL else ""
    return GateResult(False, f"{subject}{reason}", unlock, detail=f"{_declared(tool, context)}, {reason}")


def status_reason(status: ConfigStatus, client: str) -> str:
    """Return why a status in the client's configuration makes a tool unavailable."""
    return pending_reason(client) if status is ConfigStatus.PENDING else _CONFIG_REFUSALS[status].reason


_UNSHADOWED = GateResult(True, "no stronger declaration of the same name")


def precedence(tool: Tool, context: Context) -> GateResult:
    """Object to declarations that a stronger one shadows."""
    winner = tool.shadowed_by
    if winner is None:
        return _UNSHADOWED
    stronger = f"the {winner.scope} declaration"
    is_server = tool.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL)
    if is_server and winner.name not in (None, tool.server, tool.name):  # the same program or URL
        stronger += f" of `{winner.name}`, which is the same server"
        place = f"{stronger}, in {shorten(winner.source, context)}"
    else:
        place = f"{stronger} in {shorten(winner.source, context)}"
    return GateResult(
        False, f"shadowed by {stronger}", f"rename or remove {place}", detail=f"shadowed by {place}"
    )


_MAIN_SESSION = GateResult(True, "available to the main session")


def agent(tool: Tool, context: Context) -> GateResult:
    """Object to servers that the agent does not inherit and tools that its lists exclude."""
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
    is_unknown = agent.lacks_parent and tool.server is not None
    unlock = (
        "name its parent with `--parent`" if is_unknown else f"change the definition of agent `{agent.name}`"
    )
    return GateResult(False, refusal, unlock)


_NO_RULE = GateResult(True, "no rule applies")
_ALLOWED = GateResult(True, "no rule objects")


def policy(tool: Tool, context: Context) -> GateResult:
    """Object to tools that a list or filter refuses, or that are switched off for AI."""
    permissions = context.permissions_of(tool.client)
    if context.policy.is_silent and context.filters is None and permissions is None:
        return _NO_RULE
    if context.filters is not None and (filtered := context.filters.refusal(tool, context)):
        return GateResult(False, filtered.reason, filtered.unlock, detail=filtered.detail)
    agent = context.agent
    agents = () if agent is None else (agent.name, *(each.name for each in agent.parents))
    refusal = context.policy.refusal(tool, agents)
    rule = permissions.denying(tool) if refusal is None and permissions is not None else None
    if rule is not None:
        refusal = Refusal(
            f"the client's rule `{rule.text}` denies it", rule.origin, f"remove `{rule.text}` from"
        )
    if refusal is None:
        return _ALLOWED if permissions is None else _permitted(tool, permissions, context)
    place = _place(context)(refusal.origin)
    is_switch = refusal.origin.key.startswith("tools.") and refusal.origin.key.endswith(".ai_enabled")
    return GateResult(
        False,
        f"{refusal.reason}: {_rule(refusal.origin)}",
        f"run `remit enable {shlex.quote(tool.name)}`" if is_switch else f"{refusal.unlock} {place}",
        by_client=rule is not None,
        detail=_disabled(refusal.origin, context) if is_switch else f"{refusal.reason}: {place}",
    )


def _disabled(origin: ConfigLocation, context: Context) -> str:
    return f"disabled in {_place(context)(origin._replace(key=''))}"


def _permitted(tool: Tool, permissions: ClientPermissions, context: Context) -> GateResult:
    """Pass a tool, with the client's rules that concern it."""
    rules = [*filter(None, (permissions.allowing(tool),)), *permissions.limiting(tool)]
    if not rules:
        return _ALLOWED
    reason, detail = (
        ", ".join(f"`{rule.text}` ({place(rule.origin)})" for rule in rules[:_MOST_RULES])
        for place in _voices(context)
    )
    more = f" and {len(rules) - _MOST_RULES} more" if len(rules) > _MOST_RULES else ""
    text = "the client's own rules: "
    return GateResult(True, f"{text}{reason}{more}", detail=f"{text}{detail}{more}")


_AS_ACCEPTED = GateResult(True, "as accepted")
_NOT_LISTED = GateResult(True, "not listed yet")
_UNPINNED = GateResult(True, "no definition to compare")


def definition(tool: Tool, context: Context) -> GateResult:
    """Object to tools whose definition is not the one that was accepted, or that the project locked."""
    lock = context.policy.lock
    differs = None if lock is None or context.ignores_lock else lock.objection(tool)
    change = tool.change if tool.kind is not Kind.MCP_SERVER else None  # of instructions: hides no tool
    if change is not None and is_held(change, context.policy.changes):
        return _held(change, tool.name, differs)
    if differs is not None:
        return GateResult(False, differs, lock_steps(tool))
    if tool.change is None:
        if tool.kind is not Kind.MCP_TOOL:
            return _UNPINNED
        return _NOT_LISTED if tool.pin is None else _AS_ACCEPTED
    if change is None:
        return GateResult(True, "passed; its instructions changed", detail=f"passed; {tool.change.detail}")
    return GateResult(True, change.reason, detail=f"{change.detail}; accepted (`trust.changes`)")


def _held(change: DefinitionChange, name: str, differs: str | None) -> GateResult:
    """Object to a change that nobody accepted, which matters more than how it differs from the lock."""
    steps = steps_to_settle(change, name)
    also, then = ("", "") if differs is None else (f"; also, {differs}", ", then run `remit lock`")
    return GateResult(False, f"{change.reason}{also}", f"{steps}{then}", detail=f"{change.detail}{also}")


_MOST_RULES = 5  # shown
_NO_REQUIREMENT = GateResult(True, "no state required")
_REQUIREMENTS_MET = GateResult(True, "its required states hold")
_NO_SNAPSHOT = GateResult(False, "its required states were not checked")


def state(tool: Tool, context: Context) -> GateResult:
    """Object to tools whose required states are false or unknown, or whose `when` does not hold."""
    required = context.requirements.of(tool.name)
    if not required:
        return _NO_REQUIREMENT
    if context.snapshot is None:
        return _NO_SNAPSHOT
    unmet = context.requirements.unmet(required, context.snapshot)
    if unmet is None:
        return _REQUIREMENTS_MET
    way = unmet.unlock or "`remit states` shows every state and how it is found"
    rule = ConfigLocation(unmet.source, "", unmet.line)
    return GateResult(
        False,
        unmet.reason,
        f"{way}, or change {_place(context)(rule)}" if rule.line else way,
        detail=unmet.detail,
        next_step=unmet.next_step,
    )


_PASSED_BY_DANGER: dict[Rating, GateResult] = {}  # a catalog has thousands of tools but few ratings


def danger(tool: Tool, context: Context) -> GateResult:
    """Object to tools whose danger level the mode forbids, and require approval where it asks."""
    rated = context.policy.rate(tool)
    hidden_by, asks = context.policy.mode_effect(rated, context.mode)
    if hidden_by is not None:
        return _forbidden(rated, hidden_by, context)
    if asks:
        reason, detail = (
            f"needs approval: {_why_asked(rated, context, place)}" for place in _voices(context)
        )
        unlock = f"call it, then answer with `remit approve{project_option(context)}`"
        return GateResult(True, reason, unlock, asks=True, detail=detail, next_step=REQUEST_APPROVAL)
    if (permissions := context.permissions_of(tool.client)) and (rule := permissions.asking(tool)):
        return _asked_by_client(rule, context)
    if rated.origin is not None:
        reason, detail = (_rating(rated, place) for place in _voices(context))
        return GateResult(True, reason, detail=detail)
    result = _PASSED_BY_DANGER.get(rated.rating)
    if result is None:
        result = _PASSED_BY_DANGER[rated.rating] = GateResult(True, _rating(rated, _rule))
    return result


def _asked_by_client(rule: PermissionRule, context: Context) -> GateResult:
    reason, detail = (
        f"the client's rule `{rule.text}` asks about it: {place(rule.origin)}" for place in _voices(context)
    )
    if context.policy.is_in(Mode.DONT_ASK, context.mode):
        text = "mode `dontAsk` hides tools that need approval"
        return GateResult(False, f"{text}: {reason}", detail=f"{text}: {detail}")
    return GateResult(
        True,
        f"needs approval: {reason}",
        f"remove `{rule.text}` from {_place(context)(rule.origin)}",
        asks=True,
        by_client=True,
        detail=f"needs approval: {detail}",
        next_step=REQUEST_APPROVAL,
    )


def _forbidden(rated: ToolDanger, mode: Mode, context: Context) -> GateResult:
    reason, detail = (_why_forbidden(rated, mode, context, place) for place in _voices(context))
    fixed, usual = context.policy.fixed_mode, context.policy.mode
    if fixed is not None and fixed.mode is mode:
        unlock = f"only an administrator can: {_place(context)(fixed.origin)}"
    elif usual is None or context.mode is not None:
        unlock = "choose another mode"
    else:
        unlock = f"choose another mode: {_place(context)(usual.origin)} sets this one"
    return GateResult(False, reason, unlock, detail=detail)


def _why_forbidden(rated: ToolDanger, mode: Mode, context: Context, place: "_Place") -> str:
    if mode is Mode.PLAN:
        return f"mode `plan` shows nothing above `low`, and it is {_rating(rated, place)}"
    if mode is Mode.BYPASS:
        return f"mode `bypass` shows nothing `critical`, and it is {_rating(rated, place)}"
    return f"mode `dontAsk` hides tools that need approval: {_why_asked(rated, context, place)}"


def _why_asked(rated: ToolDanger, context: Context, place: "_Place") -> str:
    if rated.approval is not None:
        return place(rated.approval)
    ask_from = context.policy.ask_from
    if ask_from is None or rated.rating.level is Danger.CRITICAL:
        return f"it is {_rating(rated, place)}"
    return f"it is {_rating(rated, place)}, and {place(ask_from[1])} asks"


def _rating(rated: ToolDanger, place: "_Place") -> str:
    source = rated.rating.origin if rated.origin is None else place(rated.origin)
    return f"`{rated.rating.level.word}` ({source})"


_Place = Callable[[ConfigLocation], str]  # how a text names a rule: by its key, or with its file and line


def _voices(context: Context) -> tuple[_Place, _Place]:
    """Return how to name rules to models and to people."""
    return _rule, _place(context)


def _rule(location: ConfigLocation) -> str:
    return f"rule `{location.key}`" if location.key else f"`{location.path.rpartition('/')[2]}`"


def _place(context: Context) -> _Place:
    def place(location: ConfigLocation) -> str:
        key = f"`{location.key}` in " if location.key else ""
        return key + shorten_with_line(location.path, location.line, context)

    return place


_UNDECLARED = {Authority.REPORT: "reported by an agent", Authority.HOOK: "seen in use"}


def origin(tool: Tool, context: Context) -> str:
    """Return where a tool comes from, and why it is demoted if it is."""
    declared = _declared(tool, context)
    return f"{declared}; {demotion_reason(tool.outcomes)}" if tool.status is ToolStatus.DEMOTED else declared


def _declared(tool: Tool, context: Context) -> str:
    if tool.authority is not Authority.CONFIG and not tool.is_placed:
        return "built into the client" if is_builtin(tool) else _UNDECLARED[tool.authority]
    subject = f"its server `{tool.server}` is " if tool.kind is Kind.MCP_TOOL else ""
    if tool.source == REMIT:
        return f"{subject}shipped with Remit"
    age = " (changed since its tools were listed)" if tool.is_outdated else ""
    return f"{subject}declared in {shorten(tool.source, context)}{age}"
