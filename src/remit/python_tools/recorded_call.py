"""A call of a tool outside of the gateway, as usage and audit record it."""

import os
from typing import NamedTuple

from remit.audit.audit_log import AuditEntry, AuditOutcome, estimated_size
from remit.decision.client_reports import CallOutcome
from remit.decision.decide import Decision
from remit.decision.projects import Workspace
from remit.decision.tool_names import storable
from remit.decision.tools import Tool
from remit.usage.call_batch import CallBatch

_LONGEST_NAME = 256


class RecordedCall(NamedTuple):
    """How a call ended; arguments and answer are only measured."""

    called_at: int  # in Unix milliseconds
    principal: str  # the framework
    outcome: AuditOutcome
    duration_ms: int
    asked: object  # JSON
    answer: str | None

    @property
    def ran(self) -> bool:
        """Whether the tool ran."""
        return self.outcome in (AuditOutcome.DONE, AuditOutcome.FAILED)

    def entry(self, name: str, decision: Decision) -> AuditEntry:
        """Return the entry for the audit."""
        return AuditEntry(
            called_at=self.called_at,
            endpoint=self.principal,
            client=self.principal,
            agent=None,
            principal=None,
            tool=storable(name)[:_LONGEST_NAME],
            verdict=decision.verdict,
            gate=decision.gate,
            outcome=self.outcome,
            duration_ms=self.duration_ms,
            bytes_in=estimated_size(self.asked),
            bytes_out=0 if self.answer is None else estimated_size(self.answer),
        )

    def batch(self, name: str, decision: Decision, answered: Tool | None, workspace: Workspace) -> CallBatch:
        """Return what to store: an entry, and a use of the tool that answered, if there is one."""
        outcome = CallOutcome(None, None, self.outcome is AuditOutcome.DONE, self.duration_ms)
        used = [] if answered is None else [(answered.key, outcome)]
        client = self.principal if answered is None else answered.client  # whose tool it is
        entries = [self.entry(name, decision)]
        return CallBatch(os.urandom(8).hex(), self.called_at, client, workspace, used, entries)
