"""Bare `remit`: what there is here, what it costs, what waits, and what to do next, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from remit.bootstrap import open_installer, open_registry
from remit.cli import render
from remit.cli.onboarding.overview import FoundClient, Overview, next_step, read_overview
from remit.decision.context import shorten
from remit.decision.kinds import Kind

if TYPE_CHECKING:
    from remit.presentation.request_cost import RequestCost

_NARROWEST, _WIDEST = 40, 80  # columns
_LABEL = 10  # columns


def show_dashboard() -> None:
    """Print the dashboard of the working directory."""
    with open_registry() as registry:
        overview = read_overview(registry, open_installer(), ".")
        problems = registry.problems(overview.context)
    render.problems(problems, overview.context)
    print_dashboard(overview)


def print_dashboard(overview: Overview) -> None:
    """Print an overview."""
    render.out(render.place(overview.context))
    render.out()
    width = min(max(render.columns(), _NARROWEST), _WIDEST)
    for label, texts in _rows(overview):
        for text in texts:
            for line in wrap(text, width - _LABEL, break_long_words=False):
                render.out(f"{label:<{_LABEL}}{render.printable(line)}")
                label = ""
    step = next_step(overview)
    render.out()
    render.out(f"{'Next':<{_LABEL}}{step.command}")
    render.out(f"{'':<{_LABEL}}{step.purpose}")


def cost_text(overview: Overview) -> str:
    """Compare what tools cost in the first request: for the client as it is configured, and with Remit."""
    cost, client = overview.cost, overview.client
    alone, remit = (f"about {render.rounded(tokens)}" for tokens in (cost.direct, cost.served))
    alone, remit = f"{alone} ({_sent_alone(cost)})", f"{remit} ({_sent_by_remit(cost)})"
    title = client.title if client is not None else overview.context.client or "the client"
    if client is not None and client.is_installed:
        text = f"with Remit: {remit}; {title} alone: {alone}"
    else:
        text = f"{title} now: {alone}; with Remit: {remit}"
    return f"{text}; {_why_more(cost, title)}" if cost.saved < 0 else text


def _sent_alone(cost: RequestCost) -> str:
    if cost.names is None:
        return render.plural(cost.tools, "definition")
    return f"names of {render.plural(cost.tools, 'tool')}; definitions come when it searches"


def _sent_by_remit(cost: RequestCost) -> str:
    if not cost.listed:
        return f"{render.plural(cost.own, 'definition')} of its own, and its instructions"
    listed = render.plural(cost.listed, "definition")
    if cost.budget is not None:
        listed = f"{listed} within `token_budget`, {cost.budget:,}"
    elif not cost.lists_unused and cost.causes:
        listed = f"{listed} of tools {' or '.join(cost.causes)}"
    return f"{listed}, {cost.own:,} of its own, and its instructions"


def _why_more(cost: RequestCost, title: str) -> str:
    """Say why Remit sends more than the client alone, and how to change that."""
    if not cost.lists_unused and cost.is_for_definitions:
        return f"more, because {title} alone sends names only"
    if not cost.lists_unused or not cost.listed:
        return "more, because there are few tools to save on"
    if cost.names is None:
        return "more, because all tools fit the budget; a lower `token_budget` sends fewer"
    return "more, because `token_budget` is set; without it, Remit sends only tools used here"


def _rows(overview: Overview) -> Iterator[tuple[str, Sequence[str]]]:
    used = [each for each in overview.clients if each.servers or each.is_installed]
    yield "Clients", [", ".join(map(client_text, used or overview.clients)) or "none found"]
    yield "Tools", [_tools(overview)]
    yield "Tokens", list(_tokens(overview))
    yield "Waiting", list(_waiting(overview)) or ["nothing"]


def client_text(client: FoundClient) -> str:
    """Name a client, with the number of its servers."""
    installed = ", with Remit" if client.is_installed else ""
    return f"{client.title} ({render.plural(client.servers, 'server')}{installed})"


def _tools(overview: Overview) -> str:
    counts = dict(overview.visible)
    servers, tools = counts.pop(Kind.MCP_SERVER, 0), counts.pop(Kind.MCP_TOOL, 0)
    said = [f"{render.plural(tools, 'tool')} from {render.plural(servers, 'server')}"] if tools else []
    said += [render.plural(servers, "server")] if servers and not tools else []
    said += [render.counted(counts)] if counts else []
    text = ", ".join(said) or "none available"
    if not overview.hidden:
        return text
    return "; ".join(
        [text, f"{overview.hidden:,} hidden", *(each.of(overview.hidden) for each in overview.offered)]
    )


def _tokens(overview: Overview) -> Iterator[str]:
    if overview.cost.direct:
        yield cost_text(overview)
    if overview.unlisted:
        yield f"unknown for {render.quoted(overview.unlisted)}: not listed yet"
    if not (overview.cost.direct or overview.unlisted):
        yield "none"


def _waiting(overview: Overview) -> Iterator[str]:
    """Name each thing that waits for a person, with the command."""
    for path in overview.invalid:
        yield f"{shorten(path, overview.context)} is invalid: remit doctor"
    if overview.approvals:
        verb = "needs" if overview.approvals == 1 else "need"
        yield f"{render.plural(overview.approvals, 'call')} {verb} approval: remit approve"
    if overview.suspicious:
        held, count = render.quoted(overview.suspicious), len(overview.suspicious)
        definition = "suspicious definition" if count == 1 else "suspicious definitions"
        yield f"{render.plural(count, 'tool')} held: {definition} ({held}): remit trust"
    if overview.pending:
        title = "its client" if overview.client is None else overview.client.title
        yield f"approval needed in {title}: {render.quoted(overview.pending)}"
    if overview.untrusted:
        yield f"not trusted: {render.quoted(overview.untrusted)}: remit trust"
    if overview.failed:
        yield f"did not start: {render.quoted(overview.failed)}: remit doctor"
    if overview.errors or overview.warnings:
        counts = [render.plural(overview.errors, "error")] if overview.errors else []
        counts += [render.plural(overview.warnings, "warning")] if overview.warnings else []
        yield f"{' and '.join(counts)}: remit doctor"
