"""`remit doctor`: problems with their fixes, and the gateways that run."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from remit.bootstrap import old_store, open_registry, running_gateways
from remit.cli import answers, render
from remit.cli.doctor.diagnosis import diagnose
from remit.cli.doctor.findings import Finding, Severity, read_setups
from remit.cli.options import ERRORS_FOUND, JSON, Here, is_agents, with_here
from remit.cli.overview import heading, offered_line, still_offered
from remit.cli.render import Line
from remit.config import unmatched
from remit.decision import Context, is_at_or_below, shorten
from remit.text import local_time, plural

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.clients import ClientPresence
    from remit.config import Finding as RuleFinding
    from remit.store import Problem

_STYLES = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.NOTE: "dim"}


@click.command()
@with_here
@click.option("--rules", is_flag=True, help="Check Remit's own files alone, with lines and columns.")
@click.option("--clients", is_flag=True, help="List the clients on this machine, with their files.")
@JSON
def doctor(*, here: Here, rules: bool, clients: bool, as_json: bool) -> None:
    """Find problems in the configuration, with fixes, and show what runs.

    Starts nothing and shows no secrets. Exits with 1 if there is an error.
    """
    if rules and clients:
        raise click.UsageError("pass one of --rules and --clients")
    with open_registry() as registry:
        if clients:
            _show_clients(registry, here, as_json=as_json)
            return
        context = here.context(registry)
        problems = registry.config.problems(context.workspace)
        catalog = registry.catalog(context)
        idle = unmatched(catalog.configuration, catalog.tools)
        if rules:
            _show_rules(problems, idle, context, as_json=as_json)
            return
        setups = read_setups(registry, context)
        findings = diagnose(setups, problems, idle)
        store = registry.store.database.place
        offered = still_offered(registry.tools(context), catalog.context)
        servers = answers.servers(registry.tools(context), context) if as_json else []
    gateways = _gateways(context)
    if as_json:
        notices = [notice._asdict() for setup in setups for notice in setup.notices]
        running = {"gateways": gateways, "servers": servers, "notices": notices}
        place = {"place": store, "kind": "sqlite", "problem": None}
        render.data({**answers.diagnosis(findings, context), **running, "store": place})
    else:
        lines = [*finding_lines(findings, context), *gateway_lines(gateways)]
        lines += [offered_line(offered, context)] if offered else []
        render.paged(lines)
        if (old := old_store()) is not None:
            render.note(old)
    if any(finding.severity is Severity.ERROR for finding in findings):
        sys.exit(ERRORS_FOUND)


def _gateways(context: Context) -> list[Mapping[str, Any]]:
    """List the running gateways; an agent learns only of those of its project."""
    gateways = running_gateways()
    return gateways_in(gateways, context.workspace.checkout) if is_agents() else gateways


def gateways_in(gateways: Iterable[Mapping[str, Any]], checkout: str) -> list[Mapping[str, Any]]:
    """Select the gateways that serve nothing outside a checkout."""
    return [
        gateway
        for gateway in gateways
        if all(is_at_or_below(endpoint["directory"], checkout) for endpoint in gateway["endpoints"])
    ]


def finding_lines(findings: Sequence[Finding], context: Context) -> Iterator[Line]:
    """Write findings by file, with their fixes."""
    yield heading(context)
    if not findings:
        yield "No problems found."
        return
    for source, group in groupby(findings, key=lambda finding: finding.source):
        yield ""
        yield ((shorten(source, context), "title"),)
        for finding in group:
            subject = finding.subject or ""
            subject += f" ({finding.scope})" if finding.subject and finding.scope else ""
            said = ": ".join(filter(None, (subject, finding.place, finding.reason)))
            yield (("  ", ""), (f"{finding.severity}: ", _STYLES[finding.severity]), (said, ""))
            yield f"    fix: {finding.fix}"
    yield ""
    counts = ((severity, sum(item.severity is severity for item in findings)) for severity in Severity)
    yield ", ".join(plural(count, severity) for severity, count in counts)


def gateway_lines(gateways: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    """Write what runs: gateways, their endpoints and their servers."""
    for gateway in gateways:
        yield ""
        memory = gateway.get("memory_mb")
        parts = [f"gateway {gateway['pid']} on {gateway['url'] or 'stdio'}"]
        parts += [f"since {local_time(gateway['started_at'])}"]
        parts += [] if memory is None else [f"{memory:g} MB"]
        yield ((", ".join(parts), "title"),)
        columns = ("serves", "listed", "sessions", "calls", "errors", "p50 ms", "p95 ms")
        rows = [
            (
                ", ".join(filter(None, map(endpoint.get, ("directory", "client", "agent", "room")))),
                f"{endpoint['listed_tools']} of {endpoint['available_tools']}",
                str(endpoint["sessions"]),
                *_numbers(endpoint),
            )
            for endpoint in gateway["endpoints"]
        ]
        yield from render.table(columns, rows, numbers=columns[1:])
        columns = ("server", "health", "calls", "errors", "p50 ms", "p95 ms", "problem")
        rows = [
            (server["server"], server["health"], *_numbers(server), server["failure"] or "")
            for server in gateway["upstreams"]
        ]
        yield from render.table(columns, rows, numbers=columns[2:6])


def _numbers(item: Mapping[str, Any]) -> Iterator[str]:
    for name in ("calls", "errors", "p50_ms", "p95_ms"):
        yield "" if item.get(name) is None else f"{item[name]:g}"


def _show_rules(
    problems: "Sequence[Problem]", idle: "Sequence[RuleFinding]", context: Context, *, as_json: bool
) -> None:
    found = [(Severity.ERROR, problem) for problem in problems]
    found += [(Severity.WARNING if item.is_warning else Severity.NOTE, item.problem) for item in idle]
    if as_json:
        render.data(answers.rules(found, context))
    else:
        render.paged(rule_lines(found, context))
    if problems:
        sys.exit(ERRORS_FOUND)


def rule_lines(found: "Sequence[tuple[Severity, Problem]]", context: Context) -> Iterator[Line]:
    """Write mistakes in Remit's own files, with lines and columns."""
    yield heading(context)
    if not found:
        yield "No problems found."
    for severity, problem in found:
        place = ": ".join(filter(None, (shorten(problem.source, context), problem.place)))
        yield ((f"{severity}: ", _STYLES[severity]), (f"{place}: {problem.reason}", ""))


def _show_clients(registry: "Registry", here: Here, *, as_json: bool) -> None:
    from remit.catalog import ALL_CLIENTS

    context = registry.at(here.directory, here.client or ALL_CLIENTS)
    found = [item for item in registry.clients.presences(context) if item.is_found or item.files]
    if as_json:
        render.data(answers.clients(found, context))
    else:
        render.out(client_lines(found, context))


def client_lines(found: "Sequence[ClientPresence]", context: Context) -> Iterator[Line]:
    """Write clients with their files, a line for each file."""
    yield heading(context)
    if not found:
        yield "No clients found on this machine."
    rows: list[tuple[str, ...]] = []
    for item in found:
        first, *others = [shorten(file, context) for file in item.files] or [""]
        rows.append((item.client, str(item.servers), str(item.problems or ""), first))
        rows += [("", "", "", file) for file in others]
    yield from render.table(("client", "servers", "problems", "files"), rows)
