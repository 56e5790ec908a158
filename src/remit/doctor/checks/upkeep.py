"""Servers that are pending, failed or unused."""

from collections.abc import Iterator

from remit.decision.client_settings import ClientSettings
from remit.decision.context import shorten
from remit.decision.declarations import Declaration
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.permissions.client_consents import pending_reason, pending_unlock
from remit.decision.problems import Severity
from remit.decision.tools import Tool
from remit.doctor.findings import ClientSetup, Finding, finding_about
from remit.upstream.launch.start_obstacles import failure_fix, failure_remedy, start_obstacles
from remit.upstream.upstream_model import IN_ITS_SANDBOX

UNUSED_AFTER = 30 * 24 * 60 * 60 * 1000  # milliseconds


def waiting_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that wait for approval."""
    settings = ClientSettings(setup.rules)
    rows = {tool.key: tool for tool in setup.tools}
    for item in setup.servers:
        if item.config_status is ConfigStatus.PENDING:
            declaration, row = item.declaration, rows.get(item.declaration.key)
            is_trusted = None if row is None else row.is_trusted
            rule = settings.ineffective_approval(declaration.server or "")
            place = None if rule is None else shorten(rule.source, setup.context)
            yield finding_about(
                declaration,
                Severity.NOTE,
                "pending",
                reason=pending_reason(declaration.client, is_trusted=is_trusted, approved_in=place),
                fix=pending_unlock(
                    declaration.client,
                    declaration.server,
                    is_trusted=is_trusted,
                    is_approved=rule is not None,
                ),
            )


def failed_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose last connection failed, with their current entries.

    Other checks report servers that cannot start at all.
    """
    hindered = start_obstacles(setup.resolved, setup.facts, by_remit=True)
    for declaration in setup.in_force:
        row = _row(declaration, setup)
        if row is None or row.failure is None or declaration.key in hindered:
            continue
        if row.failure.startswith(IN_ITS_SANDBOX):
            yield from _failed_in_sandbox(declaration, row.failure, setup)
        else:
            yield _failed(declaration, row.failure, failure_remedy(row.failure, _label(declaration)))


def _failed_in_sandbox(declaration: Declaration, failure: str, setup: ClientSetup) -> Iterator[Finding]:
    """Judge a failure by the sandbox that the server has now; without one, it no longer counts."""
    opened = setup.opened(declaration)
    if opened is None:
        return
    told = failure if opened.problem is None else f"{IN_ITS_SANDBOX}{opened.problem}"
    yield _failed(declaration, told, opened.hint or failure_remedy(told, _label(declaration)))


def _failed(declaration: Declaration, failure: str, remedy: str | None) -> Finding:
    return finding_about(
        declaration,
        Severity.ERROR,
        "start",
        reason=f"last connection failed: {failure}",
        fix=failure_fix(remedy, _label(declaration)),
    )


def _label(declaration: Declaration) -> str:
    return declaration.server or declaration.name


def unused_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers unused for a long time, if usage has been recorded for that long."""
    before = setup.at - UNUSED_AFTER
    used = [tool for tool in setup.tools if tool.usage_count and tool.kind is not Kind.MCP_SERVER]
    if not any(tool.discovered_at <= before for tool in used):
        return
    for declaration in setup.in_force:
        row = _row(declaration, setup)
        if row is None or declaration.is_remit or row.discovered_at > before:
            continue
        if row.last_used_at is None or row.last_used_at < before:
            is_new = row.last_used_at is None
            yield finding_about(
                declaration,
                Severity.NOTE,
                "unused",
                reason="was never used" if is_new else "was not used in the last 30 days",
                fix="disable it in the client to save the tokens of its tools",
            )


def _row(declaration: Declaration, setup: ClientSetup) -> Tool | None:
    return next((tool for tool in setup.tools if tool.key == declaration.key), None)
