"""`remit clients`: lists the clients on this machine."""

import click

from remit.bootstrap import open_registry
from remit.catalog.contexts import ALL_CLIENTS
from remit.cli import render
from remit.cli.options import JSON, PROJECT
from remit.cli.output import json_output


@click.command()
@PROJECT
@click.option("--all", "everything", is_flag=True, help="Include supported clients that were not found.")
@JSON
def clients(*, project: str, everything: bool, as_json: bool) -> None:
    """List the clients on this machine, with their files.

    A client counts as found if its program or its own settings exist.
    """
    with open_registry() as registry:
        context = registry.at(project, ALL_CLIENTS)
        found = [item for item in registry.clients(context) if everything or item.is_found]
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    if as_json:
        render.data(json_output.clients(found, context))
    else:
        render.clients(found, context)
