"""Output about live servers: progress, results, and what to trust."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from remit.cli import render
from remit.decision.context import Context, shorten
from remit.decision.decide import ToolDecision
from remit.decision.gate_rules import status_reason
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.permissions.client_consents import pending_reason, pending_unlock
from remit.text.redaction import environment_secrets
from remit.trust.entry_secrets import program_finder
from remit.trust.entry_text import EntryText

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.declared_launch import Launch
    from remit.scanning.scanner import Progress
    from remit.scanning.server_lists import ServerListing
    from remit.trust.trust_rule import ServerTrust

_LABEL = 20  # columns of a server's name in a line of progress; a longer one shifts only its own line


@contextmanager
def progress(title: str, *, is_table_next: bool = False) -> Generator[Callable[[Progress], None]]:
    """Show progress on stderr: a line for each server, unless a table follows, and on a terminal a bar."""
    if not sys.stderr.isatty():
        yield lambda step: render.note(_line(step)) if step.offer is not None and not is_table_next else None
        return
    with ExitStack() as drawn:
        bars: list[Callable[[int, int, str], None]] = []

        def show(step: Progress) -> None:
            if not bars:  # started by the first step
                bars.append(drawn.enter_context(render.bar(title)))
            bars[0](step.done, step.total, render.printable(_line(step)))

        yield show


def unasked(listed: Sequence[ToolDecision]) -> None:
    """Print a hint about active servers whose tools are unknown."""
    servers = [tool for tool, decision in listed if tool.kind is Kind.MCP_SERVER and decision.is_available]
    if count := sum(server.listed_at is None for server in servers):
        whose = "1 server" if count == 1 else f"{count} servers"
        sys.stderr.write(f"hint: the tools of {whose} are not known yet: run `remit scan --connect`\n")


def not_embedded() -> None:
    """Print a hint about tools that are found by words only."""
    sys.stderr.write("hint: run `remit scan` to embed new tools, so they are also found by meaning\n")


def warnings(servers: Sequence[ServerListing]) -> None:
    """Warn about servers that were skipped or failed, and about invalid tools."""
    for item in servers:
        tool, decision, offer = item
        label = tool.server or tool.name
        if offer is None:
            _warn(label, item.why_not, decision.unlock)
        elif offer.failure is not None:
            _warn(label, offer.failure.reason, offer.failure.hint, offer.failure.output)
        for bad in offer.quarantined if offer is not None else ():
            _warn(label, f"the tool `{bad.tool}` cannot be used: {bad.reason}", None)


def connected(servers: Sequence[ServerListing]) -> None:
    """Show the result of each connection."""
    render.out()
    if servers:
        columns = ("server", "scope", "tools", "protocol", "seconds", "outcome")
        render.table("servers", columns, [_cells(item) for item in servers])
    else:
        render.out("no server to connect to")


def entries(
    found: Sequence[ServerTrust], context: Context, objections: Mapping[Key, str], *, to_stderr: bool = False
) -> None:
    """Show what servers would run, and how they differ from the project's lock."""
    shown = [entry_lines(item, context, objections.get(item.declaration.key)) for item in found]
    lines = [line for block in shown for line in (*block, "")]
    for line in lines[:-1]:
        (sys.stderr if to_stderr else sys.stdout).write(f"{line}\n")


def trusted(found: Sequence[ServerTrust], objections: Mapping[Key, str]) -> None:
    """Print whether each server is trusted now, and whether the project's lock still holds it."""
    for item in found:
        declaration = item.declaration
        word = "trusted" if item.is_trusted else "not trusted"
        render.out(f"{word}: {render.printable(declaration.server or declaration.name)}")
        if item.is_trusted and item.config_status is ConfigStatus.PENDING:
            step = pending_unlock(declaration.client, declaration.server)
            render.out(f"  still {pending_reason(declaration.client)}: {step}")
        if item.is_trusted and declaration.key in objections:
            render.out(still_held(objections[declaration.key]))


def still_held(objection: str) -> str:
    """Say that the project's lock holds what the user trusts, and how to update it."""
    return f"  still held by the lock, because {objection}: run `remit lock`"


def _line(step: Progress) -> str:
    """Describe the result of a server that answered, or failed."""
    offer = step.offer
    if offer is None:
        return ""
    number = f"{step.done:>{len(str(step.total))}}/{step.total}"
    failure = None if offer.failure is None else offer.failure.reason
    result = render.plural(len(offer.tools), "tool") if failure is None else f"failed: {failure}"
    return f"{number}  {step.label.ljust(_LABEL)}  {offer.seconds:4.1f} s  {result}"


def _warn(label: str, reason: str, hint: str | None, output: Sequence[str] = ()) -> None:
    sys.stderr.write(f"warning: {render.printable(render.from_home(f'{label}: {reason}'))}\n")
    for line in output:
        sys.stderr.write(f"  {render.printable(render.from_home(line))}\n")
    if hint:
        sys.stderr.write(f"hint: {render.printable(render.from_home(hint))}\n")


def _cells(item: ServerListing) -> tuple[str, ...]:
    tool, _, offer = item
    label = tool.server or tool.name
    if offer is None:
        return label, tool.scope, "", "", "", f"skipped: {item.why_not}"
    seconds = f"{offer.seconds:.1f}"
    if offer.failure is not None:
        return label, tool.scope, "", "", seconds, offer.failure.reason
    bad = f"listed, {len(offer.quarantined)} cannot be used" if offer.quarantined else "listed"
    return label, tool.scope, str(len(offer.tools)), offer.protocol_version or "", seconds, bad


def entry_text(launch: Launch, source: str) -> EntryText:
    """Return what writes an entry of a file, without this process's secrets."""
    folder = os.path.dirname(source)
    places = (folder, os.path.join(folder, launch.cwd or ""), "")  # the last: where the command runs
    is_program = program_finder(places, os.environ.get("PATH", os.defpath))
    return EntryText(launch, environment_secrets(os.environ), is_program)


def entry_lines(item: ServerTrust, context: Context, objection: str | None = None) -> list[str]:
    """Write what a server would run, below its state and how it differs from the project's lock."""
    declaration, launch = item.declaration, item.declaration.launch
    state = item.state
    if item.config_status is not ConfigStatus.ENABLED:
        is_waiting = item.is_trusted and item.config_status is ConfigStatus.PENDING
        starts = "started only by `remit lock`" if is_waiting else "not started"
        state += f"; {status_reason(item.config_status, declaration.client)}, so {starts}"
    agent = "" if declaration.agent is None else f"agent {declaration.agent}, "
    place = shorten(declaration.source, context)
    lines = [f"{declaration.server} ({agent}{declaration.scope}, {place}): {state}"]
    if objection is not None:
        lines.append(f"  held    {objection}")
    if launch is None:
        lines.append("  its file cannot be read now")
    else:
        lines += entry_text(launch, declaration.source).lines(item)
    return [render.printable(line) for line in lines]
