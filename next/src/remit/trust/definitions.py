"""Which definitions are not as accepted, so no model may use or read them; and how a person accepts them.

Hooks load this, so whatever compares texts is loaded where people read a change.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import (
    COULD_RUN,
    REMIT,
    Gate,
    Held,
    Kind,
    by_name,
    decide,
    server_name,
    spellings,
    trust_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit.decision import Context, Definition, Tool
    from remit.store import Accepted, CatalogRow, Store
    from remit.trust.inspection import Finding
    from remit.trust.lock import Lock

NOTE = "note"  # the value of `changes` that lets changes pass
PERSON = "person"


class Cause(StrEnum):
    """Why a definition waits for a person."""

    SUSPICIOUS = "suspicious"  # inspection finds something; only its own name accepts it
    NEW = "new"  # its server was listed before, without it
    CHANGED = "changed"


_REASONS = {
    Cause.SUSPICIOUS: "its definition looks suspicious and was not accepted",
    Cause.NEW: "its server added it after its tools were accepted",
    Cause.CHANGED: "its definition changed after it was accepted",
}
_INSTRUCTIONS = {
    Cause.SUSPICIOUS: "its instructions look suspicious and were not accepted",
    Cause.NEW: "its server added instructions after its tools were accepted",
    Cause.CHANGED: "its instructions changed after they were accepted",
}


def held(row: CatalogRow, lock: Lock | None, changes: str) -> Held | None:
    """Return why a tool or a server must not be used until a person accepts it; None if it may be."""
    if row.tool.kind is Kind.MCP_TOOL:
        cause = _cause(row)
        if cause is Cause.SUSPICIOUS or (cause is not None and changes != NOTE):
            return _held(row, cause)
    return _locked(row.tool, None if lock is None else lock.objection(row))


def held_instructions(row: CatalogRow, lock: Lock | None, changes: str) -> Held | None:
    """Return why the instructions of a server are left out; its tools stay."""
    cause = _cause(row)
    if cause is Cause.SUSPICIOUS or (cause is not None and changes != NOTE):
        return _held(row, cause)
    return _locked(row.tool, None if lock is None else lock.instructions_objection(row))


def judged(row: CatalogRow, lock: Lock | None, changes: str) -> Tool:
    """Return the tool of a row with what holds it; a change that passes never lowers its danger."""
    tool = row.tool._replace(held=held(row, lock, changes))
    if tool.held is None and row.accepted is not None and tool.kind is Kind.MCP_TOOL:
        named = by_name(tool.name).level
        before, now = (named if danger is None else danger for danger in (row.accepted.danger, tool.danger))
        return tool._replace(danger=before) if before > now else tool
    return tool


class HeldDefinition(NamedTuple):
    """A definition that is not the accepted one, as a person reads it."""

    tool: Tool  # of instructions, their server
    cause: Cause
    definition: Definition
    before: Accepted | None  # None: nothing was accepted
    accepted: Definition | None
    findings: Sequence[Finding]

    @property
    def is_instructions(self) -> bool:
        """Whether it is the instructions of a server."""
        return self.tool.kind is Kind.MCP_SERVER

    @property
    def title(self) -> str:
        """What changed, by name."""
        return f"instructions of {self.tool.server}" if self.is_instructions else self.tool.name

    @property
    def accepting_name(self) -> str:
        """The name that accepts this definition and nothing else."""
        return _accepting_name(self.tool)

    @property
    def reason(self) -> str:
        """Why it waits, for people, with quotes."""
        return _detail(self.tool, self.cause, self.findings)

    def lines(self) -> list[str]:
        """Write all that differs from what was accepted."""
        from remit.trust.pins import diff

        return diff(self.accepted, self.definition)

    def is_called(self, name: str) -> bool:
        """Return whether a name means it: its own, or its server's unless it looks suspicious."""
        if name == self.accepting_name or (not self.is_instructions and self.tool.name in spellings(name)):
            return True
        row = server_name(self.tool.server or "", self.tool.plugin)
        return self.cause is not Cause.SUSPICIOUS and name in (self.tool.server, row, row.removesuffix("__*"))


def pending(store: Store, context: Context) -> list[HeldDefinition]:
    """List the definitions that are not the accepted ones, except of what is off here anyway."""
    rows = [(row, cause) for row in store.catalog.rows(context) if (cause := _cause(row)) is not None]
    rows = [(row, cause) for row, cause in rows if _is_wanted(row.tool, context)]
    digests = {row.definition for row, _ in rows} | {row.accepted.digest for row, _ in rows if row.accepted}
    definitions = store.catalog.definitions([digest for digest in digests if digest], context.workspace)
    return [
        HeldDefinition(
            row.tool,
            cause,
            definition,
            row.accepted,
            None if row.accepted is None else definitions.get(row.accepted.digest),
            _findings(row),
        )
        for row, cause in rows
        if (definition := definitions.get(row.definition or "")) is not None
    ]


def accept(store: Store, items: Iterable[HeldDefinition], context: Context, at: int) -> list[HeldDefinition]:
    """Accept definitions exactly as they were shown; return those that have changed since."""
    shown = list(items)
    digests = [(item.tool.key, item.definition.digest) for item in shown]
    store.trust.accept(digests, PERSON, context.workspace, at)
    rows = store.catalog.named({item.tool.name for item in shown}, context)
    accepted = {(row.tool.key, row.accepted.digest) for row in rows if row.accepted is not None}
    return [item for item, digest in zip(shown, digests, strict=True) if digest not in accepted]


def _cause(row: CatalogRow) -> Cause | None:
    """Return how the definition of a row differs from what was accepted, never from what came last."""
    accepted = row.accepted
    if row.pin is None or row.tool.source == REMIT or (accepted is not None and accepted.pin == row.pin):
        return None
    if row.findings is not None and _is_suspicious(row):
        return Cause.SUSPICIOUS
    return Cause.NEW if accepted is None else Cause.CHANGED


def _is_suspicious(row: CatalogRow) -> bool:
    from remit.trust.inspection import has_high

    return has_high(_findings(row))


def _findings(row: CatalogRow) -> Sequence[Finding]:
    from remit.trust.inspection import read_findings

    return read_findings(row.findings)


def _is_wanted(tool: Tool, context: Context) -> bool:
    """Return whether a tool could be used here if it was accepted: no rule hides it, and it is not gone."""
    is_there = tool.status in COULD_RUN
    return is_there and decide(tool, context).gate is not Gate.POLICY


def _held(row: CatalogRow, cause: Cause) -> Held:
    tool = row.tool
    reasons = _INSTRUCTIONS if tool.kind is Kind.MCP_SERVER else _REASONS
    findings = _findings(row) if cause is Cause.SUSPICIOUS else ()
    unlock = f"read it, then accept it: `{trust_command(_accepting_name(tool))}`"
    return Held(reasons[cause], _detail(tool, cause, findings), unlock)


def _detail(tool: Tool, cause: Cause, findings: Sequence[Finding]) -> str:
    reason = (_INSTRUCTIONS if tool.kind is Kind.MCP_SERVER else _REASONS)[cause]
    if not findings:
        return reason
    from remit.trust.inspection import told

    return f"{reason}: {told(findings)}"


def _accepting_name(tool: Tool) -> str:
    return f"{tool.server}:instructions" if tool.kind is Kind.MCP_SERVER else tool.name


def _locked(tool: Tool, objection: str | None) -> Held | None:
    if objection is None:
        return None
    steps = "`remit lock --check` shows what differs; `remit lock` updates the lock"
    if tool.is_trusted is False:
        steps = f"look at it, then trust it: `{trust_command(tool.server)}`; then run `remit lock`"
    return Held(objection, objection, steps)
