"""Bare `remit`: what there is here, what it costs, what waits, and what to do next, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from remit.bootstrap import open_registry
from remit.bootstrap_install import open_installer
from remit.cli import render
from remit.cli.onboarding.overview import FoundClient, Overview, next_step, read_overview
from remit.decision.kinds import Kind

SEARCHES = "claude-code"  # its own tool search is on by default, and sends names instead of definitions
_WIDTH = 80
_LABEL = 10  # columns


def show_dashboard(directory: str = ".") -> None:
    """Print the dashboard of a directory."""
    with open_registry() as registry:
        overview = read_overview(registry, open_installer(), directory)
        problems = registry.problems(overview.context)
    render.problems(problems, overview.context)
    print_dashboard(overview)


def print_dashboard(overview: Overview) -> None:
    """Print an overview."""
    render.out(render.place(overview.context))
    render.out()
    for label, texts in _rows(overview):
        for text in texts:
            for line in wrap(text, _WIDTH - _LABEL, break_long_words=False):
                render.out(f"{label:<{_LABEL}}{render.printable(line)}")
                label = ""
    step = next_step(overview)
    render.out()
    render.out(f"{'Next':<{_LABEL}}{step.command}")
    render.out(f"{'':<{_LABEL}}{step.purpose}")


def cost_text(overview: Overview) -> str:
    """Describe what tool definitions cost in each request, with and without Remit."""
    direct, served = (f"about {render.rounded(tokens)}" for tokens in overview.cost)
    is_installed = overview.client is not None and overview.client.is_installed
    if overview.context.client == SEARCHES:
        everything, note = f"{direct} in definitions of all tools", "Claude Code's own search"
        if is_installed:
            return f"Remit sends {served}, of {everything} ({note} would send names only)"
        return f"{everything} ({note} sends names only); Remit sends {served}"
    if is_installed:
        return f"{served} tokens per request; {direct} without Remit"
    return f"{direct} tokens per request now; {served} with Remit"


def _rows(overview: Overview) -> Iterator[tuple[str, Sequence[str]]]:
    used = [each for each in overview.clients if each.servers or each.is_installed]
    yield "Clients", [", ".join(map(client_text, used or overview.clients)) or "none found"]
    yield "Tools", [_tools(overview)]
    yield "Tokens", list(_tokens(overview))
    yield "Waiting", list(_waiting(overview)) or ["nothing"]


def client_text(client: FoundClient) -> str:
    """Name a client, with the number of its servers."""
    installed = ", with Remit" if client.is_installed else ""
    return f"{client.title} ({_count(client.servers, 'server')}{installed})"


def _tools(overview: Overview) -> str:
    counts = dict(overview.visible)
    servers, tools = counts.pop(Kind.MCP_SERVER, 0), counts.pop(Kind.MCP_TOOL, 0)
    said = [f"{_count(tools, 'tool')} from {_count(servers, 'server')}"] if tools else []
    said += [_count(servers, "server")] if servers and not tools else []
    said += [render.counted(counts)] if counts else []
    text = ", ".join(said) or "none available"
    return f"{text}; {overview.hidden:,} hidden" if overview.hidden else text


def _tokens(overview: Overview) -> Iterator[str]:
    if overview.cost.direct:
        yield cost_text(overview)
    if overview.unlisted:
        yield f"unknown for {render.quoted(overview.unlisted)}: not listed yet"
    if not (overview.cost.direct or overview.unlisted):
        yield "none"


def _waiting(overview: Overview) -> Iterator[str]:
    """Name each thing that waits for a person, with the command."""
    if overview.approvals:
        verb = "needs" if overview.approvals == 1 else "need"
        yield f"{_count(overview.approvals, 'call')} {verb} approval: remit approve"
    if overview.pending:
        title = "its client" if overview.client is None else overview.client.title
        yield f"approval needed in {title}: {render.quoted(overview.pending)}"
    if overview.untrusted:
        yield f"not trusted: {render.quoted(overview.untrusted)}: remit trust"
    if overview.failed:
        yield f"did not start: {render.quoted(overview.failed)}: remit doctor"
    if overview.errors or overview.warnings:
        counts = [_count(overview.errors, "error")] if overview.errors else []
        counts += [_count(overview.warnings, "warning")] if overview.warnings else []
        yield f"{' and '.join(counts)}: remit doctor"


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
