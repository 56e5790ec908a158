"""`remit completion`: shell completion of commands, options and names."""

import click
from click.shell_completion import get_completion_class

from remit.cli import render


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Set up tab completion."""
    script = get_completion_class(shell)
    if script is not None:
        render.out(script(context.find_root().command, {}, "remit", "_REMIT_COMPLETE").source())
