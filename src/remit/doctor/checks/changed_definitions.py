"""Tools and instructions that are held because nobody accepted their definition."""

from collections.abc import Iterator

from remit.decision.definitions.definition_changes import ChangeVerdict, is_held, steps_to_settle
from remit.decision.kinds import Kind
from remit.decision.problems import Severity
from remit.doctor.findings import ClientSetup, Finding


def changed_definitions(setup: ClientSetup) -> Iterator[Finding]:
    """Find definitions that wait for the user."""
    for tool in setup.tools:
        change = tool.change
        if change is None or tool.is_unlisted or not is_held(change, setup.changes):
            continue
        is_rejected = change.verdict is ChangeVerdict.REJECTED
        subject = "its instructions" if tool.kind is Kind.MCP_SERVER else f"`{tool.name}`"
        yield Finding(
            severity=Severity.NOTE if is_rejected else Severity.WARNING,
            check="definition",
            source=tool.source,
            subject=tool.server,
            scope=tool.scope,
            reason=f"{subject}: {change.detail}",
            fix=steps_to_settle(change, tool.name),
        )
