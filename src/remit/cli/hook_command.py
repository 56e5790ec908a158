"""`remit hook`: answers one event of Claude Code."""

import click

from remit.hooks.hook_process import main as answer_event
from remit.install.recorded_environment import OPTION


@click.command()
@click.option(
    OPTION,
    "record",
    metavar="FILE",
    help="Take all paths from this install record, not from variables; `remit install` writes it.",
)
def hook(*, record: str | None) -> None:
    """Answer one hook event of Claude Code.

    Reads the event as JSON from stdin and writes the answer to stdout. The exit code is always 0; failures
    are logged in `hooks.log` in Remit's data directory.
    """
    answer_event(record)
