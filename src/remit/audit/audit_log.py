"""The audit log: one entry per call through the gateway, and per call that a hook reported or denied.

Entries never contain arguments or results.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.decision.projects import Project
from remit.decision.tool_names import MCP

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.decision.projects import Workspace
    from remit.store.audit_store import SqlAudit
    from remit.text.times import Clock

HOOK = "hook"  # the endpoint of calls that a client made itself
WEB = "web"  # the endpoint of what people do on the pages of a gateway
_OBJECTS = (dict, Mapping)  # most are dicts, which are recognized at once
_PRUNE_EVERY = 60_000  # milliseconds
_RECENT = 100  # digests in which a check looks for the one that an entry was written after
MOST_BARS = 60  # intervals in a timeline
_STEPS = (60_000, 300_000, 900_000, 3_600_000, 6 * 3_600_000, 86_400_000, 7 * 86_400_000)  # milliseconds


class AuditOutcome(StrEnum):
    """The outcome of a call."""

    DONE = "done"
    FAILED = "failed"  # the tool reported a failure
    ERROR = "error"  # the server returned an error
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    WAITING = "waiting"  # for a person's approval
    UNKNOWN = "unknown"  # the tool does not exist
    CANCELLED = "cancelled"
    ASKS_BACK = "asks_back"  # the server needs more input from the caller first
    APPROVED = "approved"  # by a person on a gateway's page, who is the principal of the entry
    DENIED = "denied"  # the same, or by the person whom a framework asked
    CHANGED = "changed"  # the rules of a team, on a gateway's page


class AuditEntry(NamedTuple):
    """One call."""

    called_at: int
    endpoint: str
    client: str
    agent: str | None
    principal: str | None
    tool: str  # canonical
    verdict: str
    gate: str | None
    outcome: str
    duration_ms: int
    bytes_in: int
    bytes_out: int

    @property
    def is_of_application(self) -> bool:
        """Whether a Python application called a tool of its own, whose rules only it can explain."""
        return self.endpoint == self.client and not self.tool.startswith(MCP)


def page_entry(what: str, outcome: AuditOutcome, *, by: str, client: str | None, at: int) -> AuditEntry:
    """Return the entry of what a person did on a gateway's page."""
    verdict = "" if outcome is AuditOutcome.CHANGED else "ask"
    return AuditEntry(at, WEB, client or "", None, by, what, verdict, None, outcome, 0, 0, 0)


class AuditLink(NamedTuple):
    """An entry and the digest stored with it."""

    entry: AuditEntry
    chain: str


class ExportedCall(NamedTuple):
    """An entry of a project."""

    project: Project
    link: AuditLink


class ChainAnchor(NamedTuple):
    """What is known of the entries that were deleted for their age."""

    chain: str = ""  # digest of the last of them; empty: none was deleted
    entries: int = 0
    until: int | None = None  # when the last of them was called


class BreakKind(StrEnum):
    """What a broken link proves."""

    # The entry was changed or written past Remit, or one before it was removed: nothing tells which.
    ALTERED = "altered"
    ADDED = "added"  # the entry was not there, or not at this place, when the one after it was written


class ChainBreak(NamedTuple):
    """A place where the chain is not as it was written."""

    kind: BreakKind
    called_at: int  # of the altered entry, or the first added one
    entries: int = 1  # that were added


class ChainCheck(NamedTuple):
    """What a check of the audit log of a project found."""

    entries: int
    breaks: Sequence[ChainBreak]  # in the order of the log
    head: str  # digest of the last entry; whoever keeps it can tell later that nothing was cut off
    knows: bool  # whether the log contains the digest that was asked for
    deleted: int = 0  # entries that were deleted for their age
    deleted_until: int | None = None  # when the last of them was called

    @property
    def broken_at(self) -> int | None:
        """The time of the entry at the first break."""
        return self.breaks[0].called_at if self.breaks else None


def linked(previous: str, entry: AuditEntry) -> str:
    """Return the digest of an entry that follows another."""
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("\\u0000", "\N{REPLACEMENT CHARACTER}")  # as PostgreSQL stores it
    return sha256(f"{previous}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


class CallQuery(NamedTuple):
    """Selects calls; None and empty values select all."""

    text: str = ""  # part of a tool's name, in any case
    agent: str | None = None  # empty: the main session
    outcome: str | None = None
    principal: str | None = None
    since: int | None = None  # Unix milliseconds
    until: int | None = None
    offset: int = 0
    limit: int = 100


class FoundCalls(NamedTuple):
    """The selected calls, newest first, and how many there are without the limit."""

    entries: Sequence[AuditEntry]
    total: int


class TimelineBar(NamedTuple):
    """The calls of one interval."""

    start: int  # Unix milliseconds
    calls: int
    failures: int  # failed, or did not reach the server
    refused: int


class Timeline(NamedTuple):
    """The selected calls over time, without gaps."""

    step: int  # milliseconds
    bars: Sequence[TimelineBar]


class AuditLog:
    """Stores and lists audit entries, and drops old ones."""

    def __init__(self, store: SqlAudit, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pruned_at = 0

    def add(self, entries: Sequence[AuditEntry], context: Context) -> None:
        """Store entries, and drop old ones."""
        self._store.add(entries, context.workspace, self._clock())
        self.prune(context)

    def prune(self, context: Context) -> None:
        """Delete what is older than the configuration keeps, once a minute."""
        at = self._clock()
        if at - self._pruned_at > _PRUNE_EVERY:
            self._store.prune(context.workspace, at)
            self._pruned_at = at

    def find(self, query: CallQuery, context: Context) -> FoundCalls:
        """Find the calls in the project that a query selects, newest first."""
        entries = self._store.find(query, context.workspace)
        return FoundCalls(entries, self._store.span(query, context.workspace)[0])

    def application_tools(self, context: Context) -> dict[str, str]:
        """Return the tools of Python applications that were called in the project, with the framework."""
        return self._store.application_tools(context.workspace)

    def verify(self, context: Context, known: str = "") -> ChainCheck:
        """Check that no entry of the project was changed, added or removed, except old ones for their age.

        `known` is a digest from an earlier check: if the log contains it, nothing up to there was cut off.
        """
        anchor = self._store.anchor(context.workspace)
        checker = _ChainChecker(anchor.chain)
        knows = not known or anchor.chain == known
        for link in self._store.links(context.workspace):
            checker.take(link)
            knows = knows or link.chain == known
        breaks = [found for _, found in checker.breaks]
        return ChainCheck(checker.entries, breaks, checker.head, knows, anchor.entries, anchor.until)

    def export(self, query: CallQuery, workspaces: Iterable[Workspace]) -> Iterator[ExportedCall]:
        """Read the entries of projects between two times, each project in the order of its chain."""
        for workspace in workspaces:
            for link in self._store.links(workspace, query.since, query.until):
                yield ExportedCall(workspace.project, link)

    def projects(self) -> Sequence[Project]:
        """List all projects with entries; the path of one that was forgotten is empty."""
        return self._store.projects()

    def note(self, what: str, outcome: AuditOutcome, context: Context, *, by: str) -> None:
        """Store what a person did on a gateway's page."""
        entry = page_entry(what, outcome, by=by, client=context.client, at=self._clock())
        self._store.add([entry], context.workspace, self._clock())

    def agents(self, context: Context, principal: str | None = None) -> Sequence[str]:
        """List the agents that made calls in the project, as any principal or as one."""
        return self._store.agents(context.workspace, principal)

    def timeline(self, query: CallQuery, context: Context) -> Timeline:
        """Count the selected calls by intervals, without gaps, up to the last; limits do not count."""
        _, first, last = self._store.span(query, context.workspace)
        step = next((each for each in _STEPS if last // each - first // each < MOST_BARS), _STEPS[-1])
        bars = {bar.start: bar for bar in self._store.bars(query, context.workspace, step)}
        if not bars:
            return Timeline(step, ())
        end = last - last % step
        start = max(first - first % step, end - (MOST_BARS - 1) * step)
        return Timeline(step, [bars.get(at, TimelineBar(at, 0, 0, 0)) for at in range(start, end + 1, step)])


class _ChainChecker:
    """Follows the chain, entry by entry.

    Digests do not cover the numbers of entries, so a number that nothing uses breaks nothing: a transaction
    that was rolled back took it, or a node died before it committed.
    """

    def __init__(self, head: str) -> None:
        self.head = head
        self.entries = 0
        self.breaks: list[tuple[int, ChainBreak]] = []  # with the place of its first entry
        self._recent = deque([(0, head, 0)], _RECENT)  # place, digest and time of entries, the newest last

    def take(self, link: AuditLink) -> None:
        """Check the next entry."""
        self.entries += 1
        if link.chain != linked(self.head, link.entry):
            self._note_break(link)
        self.head = link.chain
        self._recent.append((self.entries, link.chain, link.entry.called_at))

    def _note_break(self, link: AuditLink) -> None:
        """Tell added entries, after whose predecessor this one was written, from what cannot be told."""
        for back, (place, digest, _) in enumerate(reversed(self._recent)):
            if back and link.chain == linked(digest, link.entry):
                first = place + 1
                self.breaks = [each for each in self.breaks if each[0] < first]
                at = next(at for each, _, at in self._recent if each == first)
                self.breaks.append((first, ChainBreak(BreakKind.ADDED, at, back)))
                return
        self.breaks.append((self.entries, ChainBreak(BreakKind.ALTERED, link.entry.called_at)))


def estimated_size(message: object) -> int:
    """Estimate the JSON length of a message without encoding it, since it may be very long."""
    if isinstance(message, str):
        return len(message) + 2
    if isinstance(message, _OBJECTS):
        members = cast("Mapping[str, object]", message)
        size = 1 if members else 2
        for key, value in members.items():  # a loop, because this runs on every call
            size += len(key) + 4 + (len(value) + 2 if isinstance(value, str) else estimated_size(value))
        return size
    if isinstance(message, list | tuple):
        items = cast("Sequence[object]", message)
        return sum(map(estimated_size, items), 2 + max(len(items) - 1, 0))
    return len(str(message))
