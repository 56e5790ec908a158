"""`remit tools`, `remit why` and `remit context`."""

import sys

import click

from remit.bootstrap import open_registry
from remit.catalog.summary import summarize
from remit.cli import json_output, render
from remit.cli.options import NOTHING_DONE, WorkspaceOptions, for_a_workspace, for_an_agent, known_names


@click.command()
@for_a_workspace
@for_an_agent
@click.option("--all", "everything", is_flag=True, help="Add the hidden ones, with gate and reason.")
@click.option("--watch", "is_followed", is_flag=True, help="Follow changes live, until Ctrl-C.")
def tools(*, options: WorkspaceOptions, everything: bool, is_followed: bool, as_json: bool) -> None:
    """List the available tools, by server.

    With --watch, the list is shown again when files, states or rules change it; not on a terminal, a line
    tells each change. With --json that is an object on a line of its own.
    """
    if is_followed:
        from remit.cli.watch_tools import watch  # rarely used

        watch(options, everything=everything, as_json=as_json)
        return
    with open_registry() as registry:
        context = options.context(registry)
        context = registry.states.with_snapshot(context) if as_json else context
        known = registry.tools(context)
        problems = registry.problems(context)
        is_part = not as_json and registry.sends_a_part(known, context)
    render.problems(problems, context)
    summary = summarize(known, context)
    listed = [item for item in known if everything or item.decision.is_available]
    if as_json:
        render.data(json_output.listing(listed, summary, context))
    else:
        render.listing(listed, summary, context, sends_a_part=is_part)
        if listed and len(listed) < len(known):
            render.out("  (`remit tools --all` shows these, too, with the reason)")


@click.command()
@click.argument("name", shell_complete=known_names)
@for_a_workspace
@for_an_agent
def why(*, name: str, options: WorkspaceOptions, as_json: bool) -> None:
    """Explain why a tool is available or hidden.

    NAME is a tool's or a server's; a tool that exists only in another project is unknown here.
    """
    with open_registry() as registry:
        context = options.context(registry)
        explained = registry.explain(name, context)
        problems = registry.problems(context)
        weakened = registry.weakened_protection(context) if not explained.decision.is_available else ()
    render.problems(problems, context)
    render.notices(weakened)  # hidden does not mean blocked where nothing enforces it
    if as_json:
        render.data(json_output.explanation(explained))
    else:
        render.explanation(explained, context)
    if explained.tool is None:
        sys.exit(NOTHING_DONE)


@click.command("context")
@for_a_workspace
@for_an_agent
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="CHARACTERS",
    help="The most to print; default: what the configuration says, or 6000.",
)
def session_context(*, options: WorkspaceOptions, budget: int | None, as_json: bool) -> None:
    """Print what an agent gets at session start."""
    with open_registry() as registry:
        context = options.context(registry)
        budget = registry.configuration.told(context.workspace).characters if budget is None else budget
        text = registry.session_context(context, budget=budget)
        problems, notices = registry.problems(context), registry.install_notices(context)
    render.problems(problems, context)
    render.notices(notices)
    if as_json:
        render.data(json_output.session_context(text, budget))
    else:
        render.text(text)
