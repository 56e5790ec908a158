"""`remit inspect`: what inspection found in the definitions here, worst first."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import ERRORS_FOUND, JSON, Here, with_here
from remit.cli.render import Line, Shape
from remit.decision import REMIT, Kind, Tool, shorten
from remit.text import plural
from remit.trust import Finding, read_findings

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context

_SEVERITIES = ("high", "medium")  # worst first


class Flagged(NamedTuple):
    """A definition with findings."""

    tool: Tool  # of instructions, their server
    severity: str
    findings: Sequence[Finding]

    @property
    def name(self) -> str:
        """What is flagged."""
        return f"{self.tool.server}:instructions" if self.tool.kind is Kind.MCP_SERVER else self.tool.name


@click.command()
@with_here
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    help="Exit with 1 if a definition is flagged with this severity or a worse one.",
)
@JSON
def inspect(*, here: Here, fail_on: str | None, as_json: bool) -> None:
    """Find tool definitions that steer the model.

    Shows what inspection found in the definitions of the tools here, when their servers listed them. Nothing
    is started or sent.
    """
    with open_registry() as registry:
        context = here.context(registry)
        count, flagged = read_flagged(registry, context)
        problems = registry.problems(context)
    render.problems(problems, lambda path: shorten(path, context))
    if as_json:
        render.data({"tools": count, "flagged": [_shape(item) for item in flagged]})
    else:
        render.paged(flagged_lines(count, flagged))
    severities = _SEVERITIES[: _SEVERITIES.index(fail_on) + 1] if fail_on else ()
    if any(item.severity in severities for item in flagged):
        sys.exit(ERRORS_FOUND)


def read_flagged(registry: "Registry", context: "Context") -> tuple[int, list[Flagged]]:
    """Return how many definitions were inspected here, and those with findings, worst first."""
    held = {tool.key: tool for tool, _ in registry.tools(context)}
    rows = [
        row
        for row in registry.store.catalog.rows(context)
        if row.pin is not None and row.tool.source != REMIT and row.tool.key in held
    ]
    flagged = [
        Flagged(
            held[row.tool.key],
            min((finding.severity for finding in findings), key=_SEVERITIES.index),
            findings,
        )
        for row in rows
        if (findings := read_findings(row.findings))
    ]
    return len(rows), sorted(flagged, key=lambda item: (_SEVERITIES.index(item.severity), item.name))


def flagged_lines(count: int, flagged: Sequence[Flagged]) -> Iterator[Line]:
    """Write each flagged definition with what was found, and the sums."""
    for item in flagged:
        withheld = " (withheld)" if item.tool.held is not None else ""
        yield (
            (item.severity, "bad" if item.severity == "high" else "warn"),
            (f": {item.name}{withheld}", "title"),
        )
        for finding in item.findings:
            place = f" ({finding.place})" if finding.place else ""
            yield f"  {finding.says}{place}"
            if finding.quote:
                yield f"    “{finding.quote}”"
    if flagged:
        yield ""
    sums = ", ".join(f"{sum(item.severity == word for item in flagged)} {word}" for word in _SEVERITIES)
    yield f"{plural(count, 'definition')} inspected: {sums}"


def _shape(item: Flagged) -> Shape:
    return {
        "id": item.name,
        "name": item.name,
        "server": item.tool.server,
        "severity": item.severity,
        "held": item.tool.held is not None,
        "findings": [
            {"reason": finding.says, "excerpt": finding.quote, "place": finding.place}
            for finding in item.findings
        ],
    }
