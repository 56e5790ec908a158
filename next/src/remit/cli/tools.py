"""`remit tools`: a line for each server and each other kind of tool, and what is hidden, by cause."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.catalog import GroupedTools, ListedGroup, SortKey, Summary, group_tools, summarize
from remit.cli import answers, render
from remit.cli.options import JSON, Here, known_names, with_agent, with_here, with_session
from remit.cli.overview import (
    KIND_WORDS,
    ask_servers,
    cost_lines,
    counted,
    first_texts,
    heading,
    is_startable,
    keep_own_lists,
    name_of,
    nothing_available,
    offered_line,
    still_offered,
)
from remit.cli.render import Line, Span
from remit.decision import Context, Kind, Status, Tool, ToolDecision, is_demoted, normalise, shorten
from remit.errors import NotFoundError
from remit.text import did_you_mean, plural

if TYPE_CHECKING:
    from remit.catalog import Registry, RequestCost
    from remit.store import Changes

_MOST_ROWS = 24  # servers; more are counted in one line
_MOST_NAMES = 8  # of a kind
_COLUMNS = ("", "tools", "ask", "hidden", "tokens", "uses", "")
_TOOL_COLUMNS = ("tool", "tokens", "uses", "")
_UNKNOWN = ("?", "warn")

CAUSES: Mapping[str, str] = {
    "shadowed": "Another declaration of the name counts",
    Status.PENDING: "Waiting for approval in the client",
    "untrusted": "Not trusted, so Remit does not start it",
    Status.DISABLED: "Disabled in the client",
    Status.REJECTED: "Rejected in the client",
    Status.DENIED: "Denied by a policy of the client",
    Status.MANUAL: "Only a person can run it",
    Status.ITSELF: "Remit itself",
    Status.NESTED: "Another gateway of Remit",
    Status.UNSERVED: "Only through the gateway",
    Status.STALE: "No longer configured or listed",
    "agent": "Not for this agent",
    "policy": "Blocked by a rule",
    "definition": "Its definition waits for `remit trust`",
    "state": "Needs a state that is not true",
    "danger": "Too dangerous for this mode",
    "elsewhere": "Declared for other clients",
}


class Listing(NamedTuple):
    """What `remit tools` shows."""

    context: Context
    known: Sequence[ToolDecision]
    cost: "RequestCost"
    summary: Summary
    invalid: Sequence[str]  # Remit's own files that have errors
    offered: Sequence[ToolDecision]  # by the client, although Remit hides it


@click.command()
@click.argument("name", required=False, shell_complete=known_names)
@with_here
@with_agent
@with_session
@click.option("--all", "shows_all", is_flag=True, help="List every tool; the hidden ones with the reason.")
@click.option("--refresh", is_flag=True, help="Ask the servers for their tools first.")
@click.option(
    "--sort",
    type=click.Choice([key.value for key in SortKey]),
    help="What to sort by; default: tokens, the largest first.",
)
@JSON
def tools(
    *, name: str | None, here: Here, shows_all: bool, refresh: bool, sort: str | None, as_json: bool
) -> None:
    """List the available tools, by server.

    Each server has a line: how many tools it has, how many tokens their definitions take, how often they were
    used, and which file declares it. With NAME, a server or a kind of tool such as `skills`, its tools are
    listed. --refresh starts or contacts the servers that are yours or that you trust.
    """
    order = SortKey(sort) if sort else SortKey.TOKENS
    with open_registry() as registry:
        context = here.context(registry)
        if refresh and (labels := _servers(name, registry, context)):
            ask_servers(registry, context, labels)
        keep_own_lists(registry, context)
        if as_json:
            context = context._replace(snapshot=registry.states.snapshot(context))
        known = registry.tools(context)
        problems = registry.problems(context)
        chosen = known if name is None else _named(name, known)
        if as_json:
            answer = answers.tools(_sorted(chosen, sort, shows_all=shows_all), known, context)
            listing = None
        else:
            listing, answer = read_listing(registry, context), None
    render.problems(problems, lambda path: shorten(path, context))
    if answer is not None:
        render.data(answer)
    elif listing is not None:
        if name is not None:
            render.paged(server_lines(chosen, listing, order, shows_all=shows_all))
        else:
            render.paged(all_lines(listing, order) if shows_all else tools_lines(listing, order))


def read_listing(registry: "Registry", context: Context) -> Listing:
    """Collect what is listed, and its cost."""
    known = registry.tools(context)
    catalog = registry.catalog(context)
    return Listing(
        context,
        known,
        registry.request_cost(context, first_texts(registry, context)),
        summarize(known, context),
        catalog.configuration.invalid,
        still_offered(known, catalog.context),
    )


def tools_lines(listing: Listing, order: SortKey = SortKey.TOKENS) -> Iterator[Line]:
    """Write a line for each server and kind, the cost, and how much is hidden."""
    grouped = _groups(listing, order)
    servers = [group for group in grouped.servers if group.is_available]
    kinds = [group for group in grouped.kinds if group.is_available]
    yield heading(listing.context)
    if not servers and not kinds:
        yield from nothing_available(listing.invalid, listing.context)
        return
    yield ""
    rows = [_row(group, listing.context) for group in (*servers[:_MOST_ROWS], *kinds)]
    yield from render.table(_COLUMNS, rows, numbers=_COLUMNS[1:-1])
    if more := servers[_MOST_ROWS:]:
        count = plural(sum(group.visible for group in more), "tool")
        yield f"  and {plural(len(more), 'more server')} with {count}: `remit tools --all`"
    yield ""
    yield from _totals(listing)
    unknown = [group.first for group in servers if not group.is_known and is_startable(group.first)]
    if any(server.is_trusted is not False for server in unknown):
        step = "`remit tools --refresh` asks the servers for their tools"
    elif unknown:
        step = "`remit trust` shows what the servers run that are not trusted, and asks"
    else:
        step = "`remit tools NAME` lists the tools of a server, `remit why NAME` explains one"
    yield ((f"next: {step}", "dim"),)


def all_lines(listing: Listing, order: SortKey) -> Iterator[Line]:
    """Write every tool, and then the hidden ones by cause."""
    grouped = _groups(listing, order)
    yield heading(listing.context)
    for group in (*grouped.servers, *grouped.kinds):
        if group.is_available:
            yield ""
            yield from _group_lines(group, listing.context)
    yield ""
    yield from _totals(listing)
    yield from hidden_lines(listing.summary, listing.context)


def server_lines(
    chosen: Sequence[ToolDecision], listing: Listing, order: SortKey, *, shows_all: bool
) -> Iterator[Line]:
    """Write the tools of one server or kind."""
    costs = listing.cost.by_server
    grouped = group_tools(chosen, order, costs)
    yield heading(listing.context)
    for group in (*grouped.servers, *grouped.kinds):
        yield ""
        yield from _group_lines(group, listing.context)
        hidden = [item for item in group.items if not item.decision.is_available]
        if shows_all:
            yield from _by_reason(hidden)
        elif group.server is not None and not group.server.decision.is_available:
            yield from _by_reason([group.server])
        elif hidden:
            yield (("  ", ""), (f"{len(hidden):,} hidden; `--all` says why", "dim"))


def hidden_lines(summary: Summary, context: Context) -> Iterator[Line]:
    """Write one block for each cause."""
    for group in summary.hidden:
        yield ""
        yield ((f"{CAUSES.get(group.cause, group.cause)}: {len(group.items):,}", "bad"),)
        ways = {item.decision.unlock for item in group.items}
        if len(ways) == 1 and (way := ways.pop()):
            yield f"  to change it: {way}"
        if group.cause == "elsewhere":
            by_client = sorted({item.tool.client for item in group.items})
            for client in by_client:
                count = sum(item.tool.client == client for item in group.items)
                yield f"  {client}: {count:,}; `remit tools --client {client}`"
            continue
        rows = [(name_of(item.tool), item.tool.scope, _shown_reason(item, context)) for item in group.items]
        yield from render.table(("name", "scope", "reason"), rows)


def _shown_reason(item: ToolDecision, context: Context) -> str:
    tool, decision = item
    winner = tool.shadowed_by
    if winner is not None and decision.gate == "precedence":
        return f"{winner.scope}, {shorten(winner.source, context)} counts"
    return decision.full_reason


def _groups(listing: Listing, order: SortKey) -> GroupedTools:
    client = listing.context.client
    mine = [item for item in listing.known if client in (None, item.tool.client)]
    return group_tools(mine, order, listing.cost.by_server)


def _row(group: ListedGroup, context: Context) -> tuple[str | Span, ...]:
    cells: tuple[str | Span, ...] = (
        (_label(group, context), "title"),
        f"{group.visible:,}" if group.is_known else _UNKNOWN,
        f"{group.asking:,}" if group.asking else "",
        f"{group.hidden:,}" if group.hidden else "",
        _tokens(group),
        f"{group.uses:,}" if group.uses else "",
    )
    return (*cells, (_origin(group, context) if _is_server(group) else _names(group), "dim"))


def _is_server(group: ListedGroup) -> bool:
    return group.first.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL)


def _label(group: ListedGroup, context: Context) -> str:
    label = group.label if _is_server(group) else f"{KIND_WORDS[group.first.kind]}s"
    return f"{group.client}: {label}" if context.client is None else label


def _tokens(group: ListedGroup) -> str | Span:
    if not group.is_known:
        return _UNKNOWN
    tokens = [item.tool.tokens for item in group.tools if item.decision.is_available]
    return f"{sum(filter(None, tokens)):,}" if any(tokens) else ""


def _names(group: ListedGroup) -> str:
    names = [item.tool.name for item in group.tools if item.decision.is_available]
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _origin(group: ListedGroup, context: Context) -> str:
    server = group.first
    place = f"{server.scope}, {shorten(server.source, context)}"
    if not group.is_known and server.failure:
        return f"{place}: {server.failure}"
    return f"{place}, not trusted" if not group.is_known and server.is_trusted is False else place


def _group_lines(group: ListedGroup, context: Context) -> Iterator[Line]:
    parts = [plural(group.visible, "tool" if _is_server(group) else KIND_WORDS[group.first.kind])]
    parts = parts if group.is_known else ["tools not known yet"]
    parts += [f"{group.asking:,} ask first"] if group.asking else []
    parts += [f"{group.hidden:,} hidden"] if group.hidden else []
    origin = f" ({_origin(group, context)})" if _is_server(group) else ""
    yield ((_label(group, context), "title"), (f": {', '.join(parts)}{origin}", ""))
    rows = [
        (
            item.tool.name,
            "" if item.tool.tokens is None else f"{item.tool.tokens:,}",
            f"{item.tool.uses:,}" if item.tool.uses else "",
            (_mark(item), "warn"),
        )
        for item in group.tools
        if item.decision.is_available
    ]
    yield from render.table(_TOOL_COLUMNS, rows, numbers=_TOOL_COLUMNS[1:-1])


def _mark(item: ToolDecision) -> str:
    marks = ["asks first"] if item.decision.verdict == "ask" else []
    marks += ["its last calls failed"] if is_demoted(item.tool.outcomes) else []
    return ", ".join(marks)


def _by_reason(hidden: Sequence[ToolDecision]) -> Iterator[Line]:
    """Name hidden tools below their reason."""

    def reason(item: ToolDecision) -> str:
        return item.decision.full_reason

    for why, items in groupby(sorted(hidden, key=reason), key=reason):
        yield (("  ", ""), (f"hidden: {why}", "bad"))
        yield f"    {', '.join(sorted(item.tool.name for item in items))}"


def _totals(listing: Listing) -> Iterator[Line]:
    yield from cost_lines(listing.cost, listing.context)
    summary = listing.summary
    if summary.hidden_count:
        yield f"{counted(summary.visible)} available, {summary.hidden_count:,} hidden"
    if listing.offered:
        yield offered_line(listing.offered, listing.context)


def _servers(name: str | None, registry: "Registry", context: Context) -> list[str]:
    """List the labels of the servers to ask."""
    known = registry.tools(context) if name is None else _named(name, registry.tools(context))
    return [
        item.tool.server
        for item in known
        if is_startable(item.tool) and item.tool.server and item.decision.is_available
    ]


def _named(name: str, known: Sequence[ToolDecision]) -> list[ToolDecision]:
    """Select the tools of a server, or of a kind.

    Raises:
        NotFoundError: neither has the name.
    """
    kinds = {f"{word}s": kind for kind, word in KIND_WORDS.items()}
    if name in kinds:
        return [item for item in known if item.tool.kind is kinds[name]]
    groups = group_tools(known).servers
    items = [item for group in groups if normalise(group.label) == normalise(name) for item in group.items]
    if not items:
        hint = did_you_mean(name, [*(group.label for group in groups), *kinds])
        raise NotFoundError(
            f"no server is called `{name}` here", hint=hint or "`remit tools` lists the servers"
        )
    return items


def _sorted(chosen: Iterable[ToolDecision], sort: str | None, *, shows_all: bool) -> list[ToolDecision]:
    items = [item for item in chosen if shows_all or item.decision.is_available]
    if sort is None:
        return items

    def value(tool: Tool) -> int:
        return {"tokens": tool.tokens or 0, "uses": tool.uses, "name": 0}[sort]

    return sorted(items, key=lambda item: (-value(item.tool), item.tool.name))


@click.command(hidden=True)
@with_here
@JSON
def scan(*, here: Here, as_json: bool) -> None:
    """Read all configuration again, and show what changed."""
    with open_registry() as registry:
        context = here.context(registry)
        views = [context.view(client) for client in _clients(context)]
        is_first = all(registry.store.scans.last(view) is None for view in views)
        changes = registry.scan(context)
        known = registry.tools(context)
        problems = registry.problems(context)
        summary = summarize(known, context)
        copies = _duplicates(known, registry, context)
    render.problems(problems, lambda path: shorten(path, context))
    if as_json:
        render.data(answers.scan(changes, problems, known, summary, copies, context, is_first=is_first))
    else:
        render.out([heading(context), *change_lines(changes, context)])


def change_lines(changes: "Changes", context: Context) -> Iterator[Line]:
    """Write what a scan changed."""
    signs = (("+", changes.added), ("-", changes.removed), ("~", changes.changed))
    for sign, items in signs:
        for item in items:
            yield f"  {sign} {name_of(item)} ({item.scope}, {shorten(item.source, context)})"
    if not any(changes):
        yield "Nothing changed."


def _clients(context: Context) -> Iterable[str]:
    from remit.clients import CLIENTS

    return CLIENTS if context.client is None else (context.client,)


def _duplicates(known: Sequence[ToolDecision], registry: "Registry", context: Context) -> list[list[Tool]]:
    """Group visible servers that are the same program or URL."""
    declarations = registry.catalog(context).declarations
    groups: dict[tuple[str, str], list[Tool]] = {}
    for tool, decision in known:
        resolved = declarations.get(tool.key) if tool.kind is Kind.MCP_SERVER else None
        endpoint = None if resolved is None else resolved.declaration.endpoint
        if endpoint is not None and decision.is_available:
            groups.setdefault((tool.client, endpoint), []).append(tool)
    return [sorted(group, key=lambda tool: tool.name) for group in groups.values() if len(group) > 1]
