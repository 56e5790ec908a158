"""Tool calls: what is said before them, and what is kept of them afterwards."""

from remit.apps.hooks.answers import Answer, decision
from remit.apps.hooks.events import Event
from remit.core.names import MCP, OWN
from remit.core.sightings import Call
from remit.hot_paths import is_known, record_use
from remit.judgements import judge

_SAYS = {"hidden": "deny", "ask": "ask"}


def before(event: Event) -> Answer:
    """Say what is to become of a call, unless it may go on."""
    if event.tool is None:
        return None
    call = Call(
        event.tool,
        server=event.server,
        source=event.inner("mcp_server").text("source"),
        subject=event.subject,
        agent=event.text("agent_type"),
        mode=event.text("permission_mode"),
    )
    if call.is_own and call.agent is None:
        return None  # the gateway decides, asks and records
    judged = judge(call, event.directory, is_headless=event.is_headless)
    says = _SAYS.get(judged.verdict)
    if says is None:
        return None
    if says == "ask":
        return decision(says, f"Remit: {judged.reason}.")
    unlock = f" To change it: {judged.unlock}." if judged.unlock else ""
    name = event.subject or event.tool
    return decision(says, f"Remit: `{name}` is not for use here: {judged.reason}.{unlock}")


def after(event: Event) -> Answer:
    """Count a call that went well."""
    return _record(event, succeeded=True)


def failed(event: Event) -> Answer:
    """Count a call that failed; one that a person broke off says nothing of its tool.

    Of a call through Remit the gateway knows how it went: what it refused, or holds for a person's word,
    is an error to the client and no failure of the tool.
    """
    is_open = event.fields.get("is_interrupt") is True or (event.tool or "").startswith(OWN)
    return _record(event, succeeded=None if is_open else False)


def _record(event: Event, *, succeeded: bool | None) -> Answer:
    name = event.tool
    if name is None:
        return None
    if name.startswith(OWN):
        # The gateway counts it too, by the name of the tool itself, and the same call counts once.
        name = MCP + name.removeprefix(OWN)
        if not is_known(name, event.directory):
            return None
    record_use(
        name,
        directory=event.directory,
        server=event.server if name == event.tool else None,
        subject=event.subject,
        session_id=event.session_id,
        call_id=event.text("tool_use_id"),
        succeeded=succeeded,
        duration_ms=event.number("duration_ms"),
    )
    return None
