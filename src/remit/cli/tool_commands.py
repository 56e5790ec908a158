"""`remit tools` and `remit context`."""

import click

from remit.bootstrap import open_registry
from remit.catalog.listed_groups import SortKey
from remit.catalog.summary import summarize
from remit.cli import render
from remit.cli.options import WorkspaceOptions, for_a_workspace, for_an_agent, known_names
from remit.cli.output import json_output
from remit.cli.output.selection import Selection


@click.command()
@for_a_workspace
@for_an_agent
@click.option("--server", metavar="NAME", shell_complete=known_names, help="List the tools of one server.")
@click.option("--all", "everything", is_flag=True, help="List every tool; the hidden ones with the reason.")
@click.option(
    "--sort",
    type=click.Choice([key.value for key in SortKey]),
    help="What to sort by; default: tokens, the largest first.",
)
@click.option("--watch", "is_followed", is_flag=True, help="Follow changes live, until Ctrl-C.")
def tools(
    *,
    options: WorkspaceOptions,
    server: str | None,
    everything: bool,
    sort: str | None,
    is_followed: bool,
    as_json: bool,
) -> None:
    """List the available tools, by server.

    Each server has a line: how many tools it has, how many tokens they take in each request, and how often
    they were used. With --watch, the list is redrawn when files, states or rules change it; without a
    terminal, each change is a line of text, or of JSON with --json.
    """
    selection = Selection(server, everything, SortKey(sort) if sort else None)
    if is_followed:
        from remit.cli.output.watch_tools import watch  # rarely used

        watch(options, selection, as_json=as_json)
        return
    with open_registry() as registry:
        context = options.context(registry)
        context = registry.states.with_snapshot(context) if as_json else context
        known = registry.tools(context)
        problems = registry.problems(context)
        lines = [] if as_json else selection.lines(known, context, registry)
    render.problems(problems, context)
    if as_json:
        render.data(json_output.listing(selection.items(known), summarize(known, context), context))
    else:
        render.page(lines)


@click.command("context")
@for_a_workspace
@for_an_agent
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="CHARACTERS",
    help="The maximum length; default: as configured, or 6000.",
)
def session_context(*, options: WorkspaceOptions, budget: int | None, as_json: bool) -> None:
    """Print what an agent gets at session start."""
    with open_registry() as registry:
        context = options.context(registry)
        if budget is None:
            budget = registry.configuration.session_settings(context.workspace).characters
        text = registry.session_context(context, budget=budget)
        problems, notices = registry.problems(context), registry.protection.notices(context)
    render.problems(problems, context)
    render.notices(notices)
    if as_json:
        render.data(json_output.session_context(text, budget))
    else:
        render.text(text)
