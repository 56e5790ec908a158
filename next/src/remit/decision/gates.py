"""The gates; each passes a tool, asks about it or hides it, with a reason. `decide` has their order."""

import re
import shlex
from collections.abc import Callable

from remit.decision.agents import server_refusal, tool_refusal
from remit.decision.context import Context, Decision, Face, Gate, Verdict, shorten
from remit.decision.danger import Danger, Rating
from remit.decision.names import CLIENT_TITLES, REMIT, full_label
from remit.decision.permissions import ClientPermissions, PermissionRule
from remit.decision.rules import Mode, NextStep, ToolDanger, ToolRule
from remit.decision.scopes import Kind, Scope, in_scope, is_at_or_below
from remit.decision.snapshot import Snapshot
from remit.decision.tools import Authority, Origin, Status, Tool, is_builtin, is_demoted

UNKNOWN_TOOL = "no tool of this name is known here"
UNKNOWN = Decision(Verdict.HIDDEN, Gate.SCOPE, UNKNOWN_TOOL)
REQUEST_APPROVAL = NextStep("call it: the user is asked to approve the call")
_Names = Callable[[Origin], str]  # how a text names a rule: by its key, or with its file and line


def _passes(gate: Gate, reason: str, detail: str | None = None) -> Decision:
    return Decision(Verdict.VISIBLE, gate, reason, detail=detail)


def _hides(gate: Gate, reason: str, unlock: str | None = None, *, detail: str | None = None) -> Decision:
    return Decision(Verdict.HIDDEN, gate, reason, unlock, detail)


_IN_SCOPE = {
    Scope.MANAGED: _passes(Gate.SCOPE, "managed: applies to everyone on this machine"),
    Scope.DYNAMIC: _passes(Gate.SCOPE, "dynamic: given to the client when it is started"),
    Scope.LOCAL: _passes(Gate.SCOPE, "local: yours, in this project"),
    Scope.PROJECT: _passes(Gate.SCOPE, "project: shared by the files of this directory or one above it"),
    Scope.GROUP: _passes(Gate.SCOPE, "group: shared by several projects"),
    Scope.GLOBAL: _passes(Gate.SCOPE, "global: applies in all your projects"),
    Scope.PLUGIN: _passes(Gate.SCOPE, "plugin: installed for this project or everywhere"),
}


def scope(tool: Tool, context: Context) -> Decision:
    """Hide tools of other projects and other directories, as if they did not exist."""
    is_seen = in_scope(tool.scope, tool.project_hash, tool.dir, context.workspace)
    return _IN_SCOPE[tool.scope] if is_seen else UNKNOWN


_STATUS_REFUSALS = {
    Status.DISABLED: ("disabled in the client", "enable it again in the client"),
    Status.REJECTED: (
        "rejected in the client",
        "remove it from `disabledMcpjsonServers` in the client's settings",
    ),
    Status.DENIED: ("denied by a policy in the client's settings", None),
    Status.MANUAL: (
        "only a person may invoke it",
        "give it a `description`, and remove `disable-model-invocation`",
    ),
    Status.ITSELF: ("is Remit itself", None),
    Status.NESTED: ("starts another gateway of Remit", "remove it from that file"),
    Status.UNSERVED: (
        "served only by Remit's gateway, which the client does not start",
        "run `remit install` for the client",
    ),
}


def config(tool: Tool, context: Context) -> Decision:
    """Hide tools that the client's configuration does not enable here."""
    starts_servers = context.face is Face.GATEWAY
    is_server = tool.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL)
    status = tool.status
    if context.client is not None and tool.client != context.client:
        title = CLIENT_TITLES.get(tool.client, tool.client)
        return _hides(Gate.CONFIG, f"declared for {title}", f"ask with `--client {tool.client}`")
    if is_server and starts_servers and tool.authority is not Authority.CONFIG:
        seen = _UNDECLARED[tool.authority]  # whatever a hook or an agent reports is never served
        return _hides(Gate.CONFIG, f"{seen}, but no server that Remit starts lists it")
    if status is Status.SEEN:
        return _passes(Gate.CONFIG, _declared(tool, context))
    if status is Status.STALE:
        if not tool.is_declared:
            reason = f"{_declared(tool, context)}, but its server is no longer configured"
            return _hides(Gate.CONFIG, reason)
        place = shorten(tool.source, context)
        unlock = f"declare it again in {place}"
        return _hides(Gate.CONFIG, "no longer configured", unlock, detail=f"no longer configured in {place}")
    if status is Status.UNLISTED:
        reason = f"its server `{tool.server}` no longer lists it"
        return _hides(Gate.CONFIG, reason, f"run `remit tools {tool.server} --refresh`")
    if status is Status.PENDING:
        return _refused(tool, context, _pending(tool), _pending_unlock(tool))
    # The first only through the gateway; the second only without it.
    is_excused = {Status.UNSERVED: starts_servers, Status.NESTED: not starts_servers}.get(status, False)
    if not is_excused and (refusal := _STATUS_REFUSALS.get(status)):
        return _refused(tool, context, *refusal)
    if tool.is_trusted is False and context.face is not Face.CLIENT:
        unlock = f"look at it, then trust it: `{trust_command(tool.server)}`"
        is_running = context.face is Face.GUARDED
        reason = "not trusted in Remit: your client runs it, and its calls are refused"
        return _refused(tool, context, reason if is_running else "not trusted", unlock)
    return _passes(Gate.CONFIG, _declared(tool, context))


def trust_command(server: str | None) -> str:
    """Return the command with which a person trusts a server."""
    word = shlex.quote(server or "")
    return f"remit trust {'-- ' if word.startswith('-') else ''}{word}"


def _pending(tool: Tool) -> str:
    title = CLIENT_TITLES.get(tool.client, tool.client)
    return f"waits for your approval in {title}" + (
        ", and is not trusted" if tool.is_trusted is False else ""
    )


def _pending_unlock(tool: Tool) -> str:
    if tool.is_trusted is False:
        return f"approve it in the client, and run `{trust_command(tool.server)}`"
    return "start the client in this directory and approve it"


def _refused(tool: Tool, context: Context, reason: str, unlock: str | None) -> Decision:
    subject = f"its server `{tool.server}`: " if tool.kind is Kind.MCP_TOOL else ""
    detail = f"{_declared(tool, context)}, {reason}"
    return _hides(Gate.CONFIG, f"{subject}{reason}", unlock, detail=detail)


def status_reason(tool: Tool) -> str | None:
    """Return why a status makes a tool unavailable; None if it does not."""
    if tool.status is Status.PENDING:
        return _pending(tool)
    refusal = _STATUS_REFUSALS.get(tool.status)
    return None if refusal is None else refusal[0]


_UNSHADOWED = _passes(Gate.PRECEDENCE, "no stronger declaration of the same name")


def precedence(tool: Tool, context: Context) -> Decision:
    """Hide declarations that a stronger one shadows."""
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
    unlock, detail = f"rename or remove {place}", f"shadowed by {place}"
    return _hides(Gate.PRECEDENCE, f"shadowed by {stronger}", unlock, detail=detail)


_MAIN_SESSION = _passes(Gate.AGENT, "available to the main session")


def agent(tool: Tool, context: Context) -> Decision:
    """Hide servers that the agent does not inherit and tools that its lists exclude."""
    agent = context.agent
    if agent is None:
        if tool.agent is None:
            return _MAIN_SESSION
        return _hides(Gate.AGENT, f"it is agent `{tool.agent}`'s own", f"ask with `--agent {tool.agent}`")
    refusal = tool_refusal(agent, tool.name, tool.kind)
    if tool.server is not None:
        labels = (tool.server, full_label(tool.server, tool.plugin))
        refusal = server_refusal(agent, labels, owner=tool.agent) or refusal
    if refusal is None:
        return _passes(Gate.AGENT, f"agent `{agent.name}` has it")
    is_unknown = agent.lacks_parent and tool.server is not None
    definition = f"change the definition of agent `{agent.name}`"
    return _hides(Gate.AGENT, refusal, "name its parent with `--parent`" if is_unknown else definition)


_NO_RULE = _passes(Gate.POLICY, "no rule applies")
_ALLOWED = _passes(Gate.POLICY, "no rule objects")


def policy(tool: Tool, context: Context) -> Decision:
    """Hide tools that a list, a filter or the client's rules refuse, or that are switched off for AI."""
    permissions = context.permissions.get(tool.client)
    if context.rules.is_silent and not context.refusals and permissions is None:
        return _NO_RULE
    if context.refusals and (filtered := context.refusals.get(tool.key)):
        return _hides(Gate.POLICY, filtered.reason, filtered.unlock, detail=filtered.detail)
    refusal = context.rules.refusal(tool, context.agent_names)
    if refusal is not None:
        origin = refusal.origin
        if origin.key.startswith("tools.") and origin.key.endswith(".ai_enabled"):
            shared = " --shared" if is_at_or_below(origin.path, context.workspace.checkout) else ""
            unlock = f"run `remit enable {shlex.quote(tool.name)}{shared}`"
            detail = f"disabled in {context.reads(origin._replace(key=''))}"
        else:
            unlock = f"{refusal.unlock} {context.reads(origin)}"
            detail = f"{refusal.reason}: {context.reads(origin)}"
        return _hides(Gate.POLICY, f"{refusal.reason}: {_rule(origin)}", unlock, detail=detail)
    if permissions is None:
        return _ALLOWED
    if denying := permissions.denying(tool):
        reason, place = f"the client's rule `{denying.text}` denies it", context.reads(denying.origin)
        unlock = f"remove `{denying.text}` from {place}"
        refused = _hides(
            Gate.POLICY, f"{reason}: {_rule(denying.origin)}", unlock, detail=f"{reason}: {place}"
        )
        return refused._replace(by_client=True)
    return _permitted(tool, permissions, context)


_MOST_RULES = 5  # shown


def _permitted(tool: Tool, permissions: ClientPermissions, context: Context) -> Decision:
    """Pass a tool, with the client's rules that concern it."""
    rules = [*filter(None, (permissions.allowing(tool),)), *permissions.limiting(tool)]
    if not rules:
        return _ALLOWED
    reason, detail = (
        "the client's own rules: "
        + ", ".join(f"`{rule.text}` ({names(rule.origin)})" for rule in rules[:_MOST_RULES])
        + (f" and {len(rules) - _MOST_RULES} more" if len(rules) > _MOST_RULES else "")
        for names in (_rule, context.reads)
    )
    return _passes(Gate.POLICY, reason, detail)


_AS_ACCEPTED = _passes(Gate.DEFINITION, "as accepted")
_NOT_LISTED = _passes(Gate.DEFINITION, "not listed yet")
_UNPINNED = _passes(Gate.DEFINITION, "its definition is not known")


def definition(tool: Tool, context: Context) -> Decision:
    """Hide tools whose definition is held until a person accepts it."""
    del context
    if tool.held is not None:
        return _hides(Gate.DEFINITION, tool.held.reason, tool.held.unlock, detail=tool.held.detail)
    if tool.kind is not Kind.MCP_TOOL:
        return _UNPINNED
    return _NOT_LISTED if tool.definition is None else _AS_ACCEPTED


_NO_STATE = _passes(Gate.STATE, "no state required")
_STATES_HOLD = _passes(Gate.STATE, "its required states hold")
_NO_SNAPSHOT = _hides(Gate.STATE, "its required states were not checked")


def state(tool: Tool, context: Context) -> Decision:
    """Hide tools whose required states are false or unknown, or whose `when` does not hold."""
    rules = [rule for rule in context.rules.of(tool.name) if rule.condition is not None]
    if not rules:
        return _NO_STATE
    if context.snapshot is None:
        return _NO_SNAPSHOT
    for rule in rules:
        if rule.condition is not None and not rule.condition.judge(context.snapshot).truth:
            return _unmet(rule, context)
    return _STATES_HOLD


def _unmet(rule: ToolRule, context: Context) -> Decision:
    condition, snapshot, known = rule.condition, context.snapshot, context.rules
    if condition is None or snapshot is None:
        return _NO_SNAPSHOT
    reason = condition.judge(snapshot).reason
    missing = condition.missing(snapshot)
    ways = [known.unlocks[name] for name in missing if name in known.unlocks]
    if not ways and "git.branch" in reason:  # the reason names what the condition lacks
        ways = [_way_to_branch(reason)]
    way = "; ".join(dict.fromkeys(ways)) or "`remit states` shows every state and how it is found"
    unlock = f"{way}, or change {context.reads(Origin(rule.origin.path, '', rule.origin.line))}"
    return Decision(
        Verdict.HIDDEN,
        Gate.STATE,
        condition.summary(snapshot),
        unlock if rule.origin.path else way,
        reason,
        next((known.steps[name] for name in missing if name in known.steps), None),
    )


def _way_to_branch(lacking: str) -> str:
    """Say which branch to switch to, if a condition names it."""
    wanted = re.search(r"git\.branch (?:==|in) ('[^']*'|\[[^]]*\])", lacking)
    names = [] if wanted is None else re.findall(r"'([^']+)'", wanted[1])
    if not names:
        return "switch to another branch"
    return f"switch to branch {' or '.join(f'`{name}`' for name in names)}"


_ANY_ARGUMENTS = _passes(Gate.ARGUMENTS, "no rule mentions arguments")


def arguments(tool: Tool, context: Context) -> Decision:
    """Hide a call whose arguments a rule refuses; a listing passes, and says what a call checks."""
    rules = [rule for rule in context.rules.of(tool.name) if rule.call is not None]
    if not rules:
        return _ANY_ARGUMENTS
    for rule in rules:
        call = rule.call
        if call is None or context.args is None:
            continue
        value = call.judge(context.snapshot or Snapshot(), context.args)
        if not value.truth:
            place = context.reads(rule.at("when"))
            reason = f"these arguments are not allowed: {value.reason}"
            return _hides(Gate.ARGUMENTS, reason, f"change {place}", detail=f"{reason} ({place})")
    checks = ", ".join(f"`{name}`" for rule in rules if rule.call for name in rule.call.arguments)
    return _passes(Gate.ARGUMENTS, f"each call is checked: {checks}")


_PASSED_BY_DANGER: dict[Rating, Decision] = {}  # a catalog has thousands of tools but few ratings


def danger(tool: Tool, context: Context) -> Decision:
    """Hide tools whose danger the mode forbids, and ask where a rule requires approval."""
    rules = context.rules
    rated = rules.rate(tool)
    asking = rated.approval or _asking(rated, context)
    hidden_by, asks = rules.mode_effect(rated, asking is not None, context.mode)
    if hidden_by is not None:
        return _forbidden(rated, asking, hidden_by, context)
    if asks:
        reason, detail = (
            f"needs approval: {_why_asked(rated, asking, context, names)}" for names in (_rule, context.reads)
        )
        unlock = "call it, then answer with `remit approve`"
        return Decision(Verdict.ASK, Gate.DANGER, reason, unlock, detail, REQUEST_APPROVAL)
    permissions = context.permissions.get(tool.client)
    if permissions is not None and (rule := permissions.asking(tool)):
        return _asked_by_client(rule, context)
    if rated.origin is not None:
        reason, detail = (_rating(rated, names) for names in (_rule, context.reads))
        return _passes(Gate.DANGER, reason, detail)
    decision = _PASSED_BY_DANGER.get(rated.rating)
    if decision is None:
        decision = _PASSED_BY_DANGER[rated.rating] = _passes(Gate.DANGER, _rating(rated, _rule))
    return decision


def _asking(rated: ToolDanger, context: Context) -> Origin | None:
    """Find the rule whose condition asks: it holds, or it has no value."""
    for condition, origin in rated.asking:
        if condition.arguments and context.args is None:
            continue  # a listing; the call is decided again
        if condition.judge(context.snapshot or Snapshot(), context.args).truth is not False:
            return origin
    return None


def _asked_by_client(rule: PermissionRule, context: Context) -> Decision:
    reason, detail = (
        f"the client's rule `{rule.text}` asks about it: {names(rule.origin)}"
        for names in (_rule, context.reads)
    )
    if context.rules.is_in(Mode.DONT_ASK, context.mode):
        text = "mode `dontAsk` hides tools that need approval"
        return _hides(Gate.DANGER, f"{text}: {reason}", detail=f"{text}: {detail}")
    return Decision(
        Verdict.ASK,
        Gate.DANGER,
        f"needs approval: {reason}",
        f"remove `{rule.text}` from {context.reads(rule.origin)}",
        f"needs approval: {detail}",
        REQUEST_APPROVAL,
        by_client=True,
    )


def _forbidden(rated: ToolDanger, asking: Origin | None, mode: Mode, context: Context) -> Decision:
    reason, detail = (_why_forbidden(rated, asking, mode, context, names) for names in (_rule, context.reads))
    fixed, usual = context.rules.fixed_mode, context.rules.mode
    if fixed is not None and fixed.mode is mode:
        unlock = f"only an administrator can: {context.reads(fixed.origin)}"
    elif usual is None or context.mode is not None:
        unlock = "choose another mode"
    else:
        unlock = f"choose another mode: {context.reads(usual.origin)} sets this one"
    return _hides(Gate.DANGER, reason, unlock, detail=detail)


def _why_forbidden(
    rated: ToolDanger, asking: Origin | None, mode: Mode, context: Context, names: _Names
) -> str:
    if mode is Mode.PLAN:
        return f"mode `plan` shows nothing above `low`, and it is {_rating(rated, names)}"
    if mode is Mode.BYPASS:
        return f"mode `bypass` shows nothing `critical`, and it is {_rating(rated, names)}"
    return f"mode `dontAsk` hides tools that need approval: {_why_asked(rated, asking, context, names)}"


def _why_asked(rated: ToolDanger, asking: Origin | None, context: Context, names: _Names) -> str:
    if asking is not None:
        return names(asking)
    ask_from = context.rules.ask_from
    if ask_from is None or rated.rating.level is Danger.CRITICAL:
        return f"it is {_rating(rated, names)}"
    return f"it is {_rating(rated, names)}, and {names(ask_from[1])} asks"


def _rating(rated: ToolDanger, names: _Names) -> str:
    source = rated.rating.origin if rated.origin is None else names(rated.origin)
    return f"`{rated.rating.level.word}` ({source})"


def _rule(origin: Origin) -> str:
    return f"rule `{origin.key}`" if origin.key else f"`{origin.path.rpartition('/')[2]}`"


_UNDECLARED = {Authority.REPORT: "reported by an agent", Authority.HOOK: "seen in use"}


def declared_in(tool: Tool, context: Context) -> str:
    """Return where a tool comes from, and why it ranks lower if it does."""
    declared = _declared(tool, context)
    if not is_demoted(tool.outcomes):
        return declared
    return f"{declared}; {tool.outcomes.count('-')} of its last {len(tool.outcomes)} calls here failed"


def _declared(tool: Tool, context: Context) -> str:
    if not tool.is_declared:
        return "built into the client" if is_builtin(tool) else _UNDECLARED[tool.authority]
    subject = f"its server `{tool.server}` is " if tool.kind is Kind.MCP_TOOL else ""
    if tool.source == REMIT:
        return f"{subject}shipped with Remit"
    return f"{subject}declared in {shorten(tool.source, context)}"
