"""`remit policy`: finds mistakes in the configuration."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import ERRORS_FOUND, WorkspaceOptions, for_a_workspace
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.context import Context, shorten
from remit.decision.problems import Severity

if TYPE_CHECKING:
    from remit.configuration.configuration_service import ConfigurationFinding


@click.group()
def policy() -> None:
    """Manage policy."""


@policy.command("check")
@for_a_workspace
def check_policy(*, options: WorkspaceOptions, as_json: bool) -> None:
    """Find mistakes in Remit's own configuration.

    Each mistake has its file, line, column and fix. Exits with 1 if there is an error.
    """
    with open_registry() as registry:
        context = options.context(registry)
        found = registry.check_policy(context)
    if as_json:
        render.data(_checked(found, context))
    else:
        _check(found, context)
    if any(item.severity is Severity.ERROR for item in found):
        sys.exit(ERRORS_FOUND)


def _check(found: Sequence[ConfigurationFinding], context: Context) -> None:
    """Show findings by file."""
    render.out(render.heading(context))
    if not found:
        render.out("No problems found.")
        return
    for source, group in groupby(found, key=lambda each: each.problem.source):
        render.out(f"\n{render.printable(shorten(source, context))}")
        for severity, problem in group:
            what = ": ".join(filter(None, (problem.place, problem.reason)))
            render.out(f"  {severity}: {render.printable(render.from_home(what))}")
    counts = _counts(found)
    render.out(
        "\n" + ", ".join(f"{count} {name[:-1] if count == 1 else name}" for name, count in counts.items())
    )


def _checked(found: Sequence[ConfigurationFinding], context: Context) -> Shape:
    """Return the JSON of `remit policy check`."""
    return {**asked_for(context), "findings": [_noticed(each) for each in found], **_counts(found)}


def _counts(found: Sequence[ConfigurationFinding]) -> dict[str, int]:
    return {f"{each}s": sum(item.severity is each for item in found) for each in Severity}


def _noticed(item: ConfigurationFinding) -> Shape:
    line, column = item.position
    return {
        "severity": item.severity,
        "source": item.problem.source,
        "line": line or None,
        "column": column or None,
        "reason": item.problem.reason,
    }
