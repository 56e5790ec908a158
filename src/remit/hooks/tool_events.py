"""Tool calls: what is said before them, and what is kept of them afterwards."""

from typing import TYPE_CHECKING

from remit.decision.client_reports import ClientCall
from remit.decision.tool_names import MCP, served_name
from remit.hooks.answers import Answer, decision
from remit.hooks.decision_cache import Judgement, judge
from remit.hooks.event import Event
from remit.hooks.hook_log import note
from remit.hooks.quick_store import audit_refusal, is_known, record_use, report_call

_SAYS = {"hidden": "deny", "ask": "ask"}
_LONGEST_PATH = 4_096
# In the names of tools that may leave something behind: for all others, what tells is not even loaded.
_LEAVING = ("Edit", "Write", "Bash", "Web", "fetch", "scrape", "read_url", "extract", "docs", "documentation")

if TYPE_CHECKING:
    from remit.memory.traces import Trace


def before(event: Event) -> Answer:
    """Say what is to become of a call, unless it may go on."""
    if event.tool is None:
        return None
    call = ClientCall(
        event.tool,
        server=event.server,
        source=event.inner("mcp_server").text("source"),
        subject=event.subject,
        agent=event.text("agent_type"),
        mode=event.text("permission_mode"),
    )
    judged = judge(call, event.directory, is_headless=event.is_headless)
    says = _SAYS.get(judged.verdict)
    if says is None:
        return None
    if says == "ask":
        return decision(says, f"Remit: {judged.reason}.")
    _audit(call, judged, event)
    unlock = f" To change it: {judged.unlock}." if judged.unlock else ""
    name = event.subject or event.tool
    return decision(says, f"Remit: `{name}` is not for use here: {judged.reason}.{unlock}")


def _audit(call: ClientCall, judged: Judgement, event: Event) -> None:
    """Keep that a call was refused; where that is not possible, it is refused all the same."""
    try:
        audit_refusal(
            call.tool, agent=call.agent, verdict=judged.verdict, gate=judged.gate, directory=event.directory
        )
    except Exception as error:
        note(event.name, error)


def after(event: Event) -> Answer:
    """Count a call that went well."""
    return _record(event, succeeded=True)


def failed(event: Event) -> Answer:
    """Count a call that failed; one that a person broke off says nothing of its tool.

    Of a call through Remit the gateway knows how it went: what it refused, or holds for a person's word,
    is an error to the client, and neither a failure of the tool nor a use.
    """
    if served_name(event.tool or "") is not None:
        return _report(event)
    return _record(event, succeeded=None if event.fields.get("is_interrupt") is True else False)


def _record(event: Event, *, succeeded: bool | None) -> Answer:
    name = event.tool
    if name is None:
        return None
    own = served_name(name)
    if own is not None:
        # The gateway counts it too, by the name of the tool itself, and the same call counts once.
        name = MCP + own
        if not is_known(name, event.directory):
            return _report(event)
    record_use(
        name,
        directory=event.directory,
        server=event.server if own is None else None,
        subject=event.subject,
        session_id=event.session_id,
        call_id=event.text("tool_use_id"),
        succeeded=succeeded,
        duration_ms=event.number("duration_ms"),
        at=event.at,
        trace=_trace(name, event, succeeded=succeeded),
        made_in=event.text("cwd", _LONGEST_PATH) or "",
    )
    return None


def _report(event: Event) -> Answer:
    """Say in which session a call was; whether there was one, the gateway knows."""
    call_id = event.text("tool_use_id")
    if call_id is not None and event.session_id is not None:
        report_call(event.session_id, call_id, event.directory)
    return None


def _trace(name: str, event: Event, *, succeeded: bool | None) -> "Trace | None":
    """Tell what a call left behind that the next session may want to know of."""
    if succeeded is None or not any(part in name for part in _LEAVING):
        return None
    from remit.memory.trace_rules import trace_of

    answer = event.fields.get("tool_response" if succeeded else "error")
    return trace_of(name, event.arguments.fields, answer, succeeded=succeeded)
