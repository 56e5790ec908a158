"""`remit doctor`: finds problems in the configuration."""

import sys

import click

from remit.bootstrap import open_registry, read_store_facts
from remit.cli import render
from remit.cli.options import ERRORS_FOUND, WorkspaceOptions, for_a_workspace
from remit.cli.output import json_output
from remit.cli.output.inspection_notes import inspection_notes, show_notes
from remit.cli.output.unenforced import unenforced
from remit.decision.problems import Severity


@click.command()
@for_a_workspace
def doctor(*, options: WorkspaceOptions, as_json: bool) -> None:
    """Find problems in the configuration, with fixes.

    Starts nothing and shows no secrets. Exits with 1 if there is an error.
    """
    store = read_store_facts()
    with open_registry() as registry:
        context = options.context(registry)
        findings = registry.diagnose(context)
        offered = [] if as_json else [*unenforced(registry.tools(context), context, registry)]
        notes = [] if as_json else inspection_notes(registry, context)
    if as_json:
        render.data({**json_output.diagnosis(findings, context), "store": json_output.store_shape(store)})
    else:
        render.diagnosis(findings, context)
        render.print_lines(line for each in offered for line in render.wrapped(f"{each}"))
        show_notes(notes)
        render.store(store)
    if any(finding.severity is Severity.ERROR for finding in findings):
        sys.exit(ERRORS_FOUND)
