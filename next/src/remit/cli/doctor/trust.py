"""Checks of what a person has to accept: servers, changed definitions, and what differs from the lock."""

import shlex
from collections.abc import Iterator

from remit.cli.doctor.findings import ClientSetup, Finding, Severity, about
from remit.decision import COULD_RUN, Face, Kind, Tool, trust_command

_MOST_NAMED = 5


def changed_entries(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose entries changed after the user trusted them, whoever starts them."""
    for item, _ in setup.servers:
        trusted = setup.trusted.get(item.key)
        if item.launch is not None and trusted is not None and trusted.digest != item.digest:
            yield about(
                item,
                Severity.WARNING,
                "trust",
                reason="its entry changed since you trusted it",
                fix="`remit trust` shows what changed; if that is right, run "
                f"`{trust_command(item.server or item.name)}`",
            )


def untrusted_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that the client would start and Remit may not."""
    if setup.context.face is not Face.GATEWAY:
        return
    changed = {item.key for item, _ in setup.servers if item.key in setup.trusted}
    for item in setup.started:
        if item.key in setup.untrusted and item.key not in changed:
            yield about(
                item,
                Severity.WARNING,
                "trust",
                reason="it is not trusted, so Remit does not start it",
                fix=f"read what it runs with `remit trust`, then run "
                f"`remit trust {shlex.quote(item.server or item.name)}`",
            )


def pending_definitions(setup: ClientSetup) -> Iterator[Finding]:
    """Find definitions that a person has to accept."""
    for item in setup.pending:
        name = "its instructions" if item.is_instructions else f"`{item.tool.name}`"
        yield about(
            item.tool,
            Severity.WARNING,
            "definition",
            reason=f"{name}: {item.reason}",
            fix="`remit trust` shows the change, and "
            f"`remit trust {shlex.quote(item.accepting_name)}` accepts it",
        )


def differing_from_lock(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers and tools that differ from the project's lock."""
    broken = {problem.source for problem in setup.reading.problems}  # what they declare is not known now
    waiting = {item.tool.key for item in setup.pending}
    by_server: dict[str | None, list[Tool]] = {}
    for tool in setup.tools:
        is_locked = tool.held is not None and "remit.lock" in tool.held.detail
        if is_locked and tool.status in COULD_RUN and tool.source not in broken and tool.key not in waiting:
            by_server.setdefault(tool.server, []).append(tool)
    for tools in by_server.values():
        server = next((tool for tool in tools if tool.kind is Kind.MCP_SERVER), None)
        first = server or tools[0]
        held = first.held
        names = ", ".join(f"`{tool.name}`" for tool in tools[:_MOST_NAMED])
        more = f" and {len(tools) - _MOST_NAMED} more" if len(tools) > _MOST_NAMED else ""
        reason = f"{names}{more} not as in `remit.lock`" if server is None or held is None else held.detail
        fix = "review it, then run `remit lock`" if held is None else held.unlock
        yield about(first, Severity.WARNING, "lock", reason=reason, fix=fix)
