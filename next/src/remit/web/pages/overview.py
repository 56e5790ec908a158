"""Overview: what bare `remit` says, with cost by server, what waits, what is hidden, and the last calls."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.catalog import ServerCost
from remit.cli import (
    CAUSES,
    KIND_WORDS,
    Overview,
    cost_lines,
    name_of,
    next_step,
    offered_line,
    overview_answer,
    place,
)
from remit.decision import Kind, client_title
from remit.store import CallQuery
from remit.text import plural, rounded
from remit.web.charts import Part
from remit.web.listing import Listing, Source
from remit.web.page import Answer, Request, Values
from remit.web.pages import waiting
from remit.web.pages.calls import HOUR, start_of, timeline

HOURS = 24
_MOST_SERVERS = 10  # with a bar of their own
_MOST_NAMED = 4


class CostRow(NamedTuple):
    """A bar of the cost chart."""

    label: str
    note: str
    parts: Sequence[Part]
    alone: int | None  # tokens without Remit; None: not known
    with_remit: int
    is_server: bool = True

    @property
    def most(self) -> int:
        """The length of its bar."""
        return sum(part.value for part in self.parts)


class HiddenCause(NamedTuple):
    """Tools that are hidden for one cause."""

    cause: str
    title: str
    tools: int
    names: str


def read(source: Source, request: Request) -> Answer:
    """Summarize as bare `remit` does."""
    listing = source.listing(request.here)
    overview = current(source, listing)

    def values() -> Values:
        cost = overview.cost
        query = CallQuery(since=start_of(HOUR, HOURS))
        workspace = listing.context.workspace
        step = next_step(overview)
        rows = list(cost_rows(overview)) if cost.by_server else []
        return {
            "overview": overview,
            "place": place(listing.context),
            "client": client_title(listing.context.client) if listing.context.client else "All clients",
            "counts": [
                (count, KIND_WORDS[kind], kind)
                for kind, count in overview.visible.items()
                if kind is not Kind.BUILTIN and count
            ],
            "builtins": overview.visible.get(Kind.BUILTIN, 0),
            "available": listing.summary.available_count,
            "cost_lines": [str(line).strip() for line in cost_lines(cost, listing.context)],
            "alone": rounded(cost.alone),
            "with_remit": rounded(cost.with_remit),
            "rows": rows,
            "most": max((row.most for row in rows), default=0),
            "causes": _causes(listing),
            "offered": offered_line(overview.offered, listing.context) if overview.offered else "",
            "step": step,
            "notes": list(_notes(overview)),
            "timeline_": timeline(
                source.registry.store.calls.bars(query, workspace, HOUR), query.since or 0, HOUR, HOURS
            ),
            "example": _example(listing),
            **waiting.waiting(source, listing),
        }

    return Answer("overview.html", lambda: overview_answer(overview), values, part="part")


def current(source: Source, listing: Listing) -> Overview:
    """Return the overview with the approvals and problems of this moment."""
    context = listing.context
    return listing.overview._replace(
        approvals=len(source.registry.approvals.waiting(context)),
        problems=len(source.registry.problems(context)),
    )


def cost_rows(overview: Overview) -> Iterator[CostRow]:
    """Make a bar for each server, largest first, and one for Remit itself: they add up to the cost."""
    servers = sorted(overview.cost.by_server, key=lambda server: -max(server.alone or 0, server.with_remit))
    for server in servers[:_MOST_SERVERS]:
        yield _row(server.label, [server], is_server=True)
    if more := servers[_MOST_SERVERS:]:
        yield _row(plural(len(more), "more server"), more, is_server=False)
    own = overview.cost.with_remit - sum(server.with_remit for server in servers)
    if own > 0:
        yield CostRow(
            "Remit itself", "its tools and instructions", [Part("sent", own)], 0, own, is_server=False
        )


def _row(label: str, servers: Sequence[ServerCost], *, is_server: bool) -> CostRow:
    known = [server.alone for server in servers if server.alone is not None]
    alone = sum(known)
    sent = sum(server.with_remit for server in servers)
    listed, tools = (sum(getattr(server, name) for server in servers) for name in ("listed", "tools"))
    note = f"{listed:,} of {plural(max(tools, listed), 'tool')} sent" if known or listed else "not asked yet"
    parts = [Part("sent", sent), Part("unsent", max(alone - sent, 0))]
    return CostRow(label, note, parts, alone if known else None, sent, is_server)


def _causes(listing: Listing) -> list[HiddenCause]:
    causes: list[HiddenCause] = []
    for group in listing.summary.hidden:
        names = [name_of(item.tool) for item in group.items]
        shown = ", ".join(names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        causes.append(
            HiddenCause(group.cause, CAUSES.get(group.cause, group.cause), len(names), shown + more)
        )
    return causes


def _notes(overview: Overview) -> Iterator[tuple[str, str]]:
    """Say what waits and has no form here, each with the command."""
    if overview.invalid:
        yield (
            f"{plural(len(overview.invalid), 'file')} of Remit is invalid: its last valid version counts",
            "remit doctor",
        )
    elif overview.problems:
        yield f"{plural(overview.problems, 'problem')} in files", "remit doctor"
    if overview.pending:
        title = client_title(overview.context.client or "")
        yield f"approval needed in {title}: {_named(overview.pending)}", ""
    if overview.unlisted:
        yield f"not asked for their tools yet: {_named(overview.unlisted)}", "remit tools --refresh"
    if overview.failed:
        yield f"did not start: {_named(overview.failed)}", "remit doctor"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_MOST_NAMED]) + more


def _example(listing: Listing) -> str:
    """Name a tool of this project for examples."""
    names = (
        tool.name for tool, decision in listing.known if tool.kind is Kind.MCP_TOOL and decision.is_available
    )
    return next(names, "mcp__github__create_issue")
