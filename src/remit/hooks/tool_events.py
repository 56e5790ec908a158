"""Handles events of tool calls: decides before a call, and records it afterwards."""

from typing import TYPE_CHECKING

from remit.audit.audit_log import HOOK, AuditEntry, AuditOutcome, estimated_size
from remit.configuration.own_files import is_own_file
from remit.decision.client_reports import CallOutcome, ClientCall
from remit.decision.gates import ASK_THE_USER
from remit.decision.tool_names import MCP, served_name
from remit.files.bounded_reader import this_machine
from remit.hooks.decision_cache import CallDecision, decide_call
from remit.hooks.event import Answer, Event, permission_decision
from remit.hooks.hook_context import CLIENT, HookEnvironment, open_context
from remit.hooks.hook_log import log_failure
from remit.text.untrusted_text import one_line

_PERMISSIONS = {"hidden": "deny", "ask": "ask"}
_OWN = "this file belongs to Remit itself"
_OWN_FILE = CallDecision("hidden", _OWN, _OWN)
_MAX_PATH = 4_096
_MAX_NAME = 256
_MAX_REASON = 1_000
# Parts of the names of tools that may leave a trace; for others, the trace rules are not loaded.
_TRACING = ("Edit", "Write", "Bash", "Web", "fetch", "scrape", "read_url", "extract", "docs", "documentation")

if TYPE_CHECKING:
    from remit.memory.traces import Trace


def before_call(event: Event, environment: HookEnvironment) -> Answer:
    """Deny a call or ask for approval, unless it is allowed.

    Raises:
        ValueError: the event names no tool, or its name is too long.
    """
    if event.tool is None:
        raise ValueError("no readable `tool_name`")
    is_agents = event.fields.get("agent_id") is not None
    parents = _parents(event) if is_agents else None
    call = ClientCall(
        event.tool,
        server=event.server,
        source=event.source,
        subject=event.subject,
        agent=event.text("agent_type") or ("" if is_agents else None),
        mode=event.text("permission_mode"),
        through=event.through,
        label=event.label,
        reached=event.reached,
        parents=parents,
        is_orphan=is_agents and parents is None,
    )
    decided = (
        _OWN_FILE
        if event.edited_file is not None and is_own_file(event.edited_file, event.cwd, this_machine())
        else decide_call(call, event.directory, is_headless=event.is_headless, environment=environment)
    )
    permission = _PERMISSIONS.get(decided.verdict)
    if permission is None:
        return permission_decision("allow", f"Remit: {decided.reason}.") if decided.lifts_prompt else None
    if permission == "ask":
        if decided.asked_by_client:
            _note_prompt(call, event, environment)
        if not event.is_unattended:
            return permission_decision(permission, f"Remit: {one_line(decided.full_reason, _MAX_REASON)}.")
    _audit(call, decided, event, environment)
    name = one_line(event.subject or event.tool, _MAX_NAME)
    if decided.next_step is not None:
        called = one_line(call.served or event.tool, _MAX_NAME)
        return permission_decision(permission, f"Remit: `{called}`: {decided.reason}; {decided.next_step}")
    gate = f" (gate `{decided.gate}`)" if decided.gate else ""
    # Unattended, the client refuses a call it should ask about, and its model reads the reason.
    cause = "needs the user's permission" if permission == "ask" else f"is not available here{gate}"
    reason = one_line(decided.reason, _MAX_REASON)
    return permission_decision(permission, f"Remit: `{name}` {cause}: {reason}. {ASK_THE_USER}")


def _parents(event: Event) -> tuple[str, ...] | None:
    from remit.hooks.agent_lineage import find_parents  # only subagents have parents

    return find_parents(event)


def _note_prompt(call: ClientCall, event: Event, environment: HookEnvironment) -> None:
    """Record that the client asks about a call, so the gateway need not ask again; if that fails, it does."""
    from remit.approvals.call_binding import digest_of_arguments

    call_id = event.call_id
    try:
        arguments = digest_of_arguments(event.arguments.fields)
        if call_id is not None:
            with open_context(event.directory, environment) as context:
                context.store.add_prompted_call(call_id, call.tool, arguments, environment.now())
    except Exception as error:
        log_failure(event.name, error)


def _audit(call: ClientCall, decided: CallDecision, event: Event, environment: HookEnvironment) -> None:
    """Record a refused call in the audit; if that fails, the call is still refused."""
    at, verdict, gate = environment.now(), decided.verdict, decided.gate
    entry = AuditEntry(
        at, HOOK, CLIENT, call.agent, None, call.tool, verdict, gate, AuditOutcome.REFUSED, 0, 0, 0
    )
    try:
        with open_context(event.directory, environment) as context:
            context.store.add_audit(entry)
    except Exception as error:
        log_failure(event.name, error)


def add_undecided(event: Event, environment: HookEnvironment) -> None:
    """Record a call that was refused without a decision, and so without a verdict.

    Raises:
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    if event.tool is not None:
        at, agent = environment.now(), event.text("agent_type")
        entry = AuditEntry(at, HOOK, CLIENT, agent, None, event.tool, "", None, AuditOutcome.REFUSED, 0, 0, 0)
        with open_context(event.directory, environment) as context:
            context.store.add_audit(entry)


def after_call(event: Event, environment: HookEnvironment) -> Answer:
    """Count a call that succeeded."""
    return _record(event, environment, succeeded=True)


def after_failed_call(event: Event, environment: HookEnvironment) -> Answer:
    """Count a call that failed; an interrupted call counts without an outcome.

    For a call through Remit, the gateway knows the outcome: a refused or pending call is an error to the
    client, but neither a failure of the tool nor a use.
    """
    if served_name(event.tool or "") is not None:
        return _report(event, environment)
    is_interrupt = event.fields.get("is_interrupt") is True
    return _record(event, environment, succeeded=None if is_interrupt else False)


def _record(event: Event, environment: HookEnvironment, *, succeeded: bool | None) -> Answer:
    name = event.tool
    if name is None:
        return None
    if (own := served_name(name)) is not None:
        return _report(event, environment, _trace(MCP + own, event, succeeded=succeeded))
    with open_context(event.directory, environment) as context:
        is_new = context.record_use(
            name,
            CallOutcome(event.session_id, event.call_id, succeeded, event.number("duration_ms")),
            server=event.server,
            source=event.source,
            subject=event.subject,
            at=event.at,
            trace=_trace(name, event, succeeded=succeeded),
            cwd=event.text("cwd", _MAX_PATH) or "",
        )
        if is_new:
            context.store.add_audit(_completed(name, event, environment, succeeded=succeeded))
    return None


def _completed(
    name: str, event: Event, environment: HookEnvironment, *, succeeded: bool | None
) -> AuditEntry:
    """Return the audit entry of a call that the client made itself."""
    outcomes = {True: AuditOutcome.DONE, False: AuditOutcome.FAILED, None: AuditOutcome.CANCELLED}
    answer = event.fields.get("tool_response" if succeeded else "error")
    return AuditEntry(
        called_at=environment.now() if event.at is None else event.at,
        endpoint=HOOK,
        client=CLIENT,
        agent=event.text("agent_type"),
        principal=None,
        tool=name,
        verdict="visible",  # it ran, so the client or its user allowed it
        gate=None,
        outcome=outcomes[succeeded],
        duration_ms=event.number("duration_ms") or 0,
        bytes_in=estimated_size(event.arguments.fields),
        bytes_out=0 if answer is None else estimated_size(answer),
    )


def _report(event: Event, environment: HookEnvironment, trace: "Trace | None" = None) -> Answer:
    """Report the session of a call through Remit: only the gateway knows whether it was made, and of what."""
    call_id = event.call_id
    if call_id is not None and event.session_id is not None:
        with open_context(event.directory, environment) as context:
            cwd = event.text("cwd", _MAX_PATH) or ""
            context.report_call(event.session_id, call_id, trace=trace, cwd=cwd)
    return None


def _trace(name: str, event: Event, *, succeeded: bool | None) -> "Trace | None":
    """Return the trace of a call that the next session should know about, if any."""
    if succeeded is None or not any(part in name for part in _TRACING):
        return None
    from remit.memory.trace_rules import trace_of

    answer = event.fields.get("tool_response" if succeeded else "error")
    return trace_of(name, event.arguments.fields, answer, succeeded=succeeded)
