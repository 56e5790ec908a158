"""`remit context`: what an agent gets at session start."""

import click

from remit.bootstrap import clock, open_registry
from remit.cli import answers, render
from remit.cli.options import JSON, Here, with_agent, with_here
from remit.decision import shorten


@click.command("context")
@with_here
@with_agent
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="CHARACTERS",
    default=6_000,
    show_default=True,
    help="The maximum length.",
)
@JSON
def context(*, here: Here, budget: int, as_json: bool) -> None:
    """Print what an agent gets at session start."""
    from remit.hooks import session_text

    with open_registry() as registry:
        selected = here.context(registry)
        content = session_text(registry, selected, clock, budget=budget)
        problems = registry.problems(selected)
    render.problems(problems, lambda path: shorten(path, selected))
    if as_json:
        render.data(answers.session_context(content, budget))
    else:
        render.text(content)
