"""`remit suggest`: shows which tools a session would hear of, and why."""

import sys

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import NOTHING_DONE, WorkspaceOptions, for_a_workspace, for_an_agent
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.context import Context
from remit.presentation.discovery_text import LOWEST_SHOWN
from remit.sessions.session_service import Suggestions


@click.command()
@click.argument("prompt", required=False)
@for_a_workspace
@for_an_agent
@click.option("--session", metavar="ID", help="The session to suggest for; default: the last one here.")
def suggest(*, prompt: str | None, options: WorkspaceOptions, session: str | None, as_json: bool) -> None:
    """Show which tools Remit would suggest, and why.

    Suggestions follow the tools used last in a session, the states, and PROMPT if you pass one. Nothing is
    sent or run.
    """
    with open_registry() as registry:
        context = options.context(registry)
        sessions = registry.usage.report(context).sessions
        chosen = session or next((each.session_id for each in sessions), "")
        found = registry.sessions.suggestions(context, session_id=chosen, prompt=prompt)
        problems = registry.problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(_suggested(found, chosen, context))
    else:
        _show_suggested(found, context)
    if not found.choice.said:
        sys.exit(NOTHING_DONE)


def _show_suggested(found: Suggestions, context: Context) -> None:
    render.out(render.heading(context))
    render.out()
    for each in found.choice.said:
        render.out(
            f"{render.printable(found.names(each))}: {render.printable(each.why)} ({each.likelihood:.2f})"
        )
    if not found.choice.said:
        render.out("No suggestions now.")
    withheld = [each for each in found.choice.withheld if each.candidate.likelihood >= LOWEST_SHOWN]
    if withheld:
        render.out()
        rows = [
            (
                found.names(each.candidate),
                each.candidate.cause,
                f"{each.candidate.likelihood:.2f}",
                each.reason,
            )
            for each in withheld
        ]
        render.table("not suggested", ("tool", "by", "likely", "because"), rows, numbers=("likely",))


def _suggested(found: Suggestions, session: str, context: Context) -> Shape:
    said = [{**each._asdict(), "name": found.names(each)} for each in found.choice.said]
    withheld = [
        {**each.candidate._asdict(), "name": found.names(each.candidate), "reason": each.reason}
        for each in found.choice.withheld
    ]
    return {
        **asked_for(context),
        "session": session or None,
        "said": said,
        "withheld": withheld,
        "text": found.text,
    }
