"""Commands for scripts: `remit forget`, `completion` and `hook`."""

import os
import sys

import click
from click.shell_completion import get_completion_class

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.install import leftover_lines
from remit.cli.options import COMPLETES, YES, confirm, require_person
from remit.decision import project_called
from remit.errors import NotFoundError
from remit.files import locate

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("project")
@YES
def forget(project: str, *, yes: bool) -> None:
    """Delete everything stored about a project.

    PROJECT is a directory in it, or its hash. Asks for confirmation, and lists the files that stay in it.
    """
    require_person("delete what is stored, with trust and accepted definitions", yes=yes)
    with open_registry() as registry:
        projects = registry.store.catalog.projects()
        found = project_called(project, projects)
        if found is None and os.path.isdir(project):
            own = locate(project).project
            found = own if own in projects else None
        found = found or next((item for item in projects if item.path == os.path.abspath(project)), None)
        if found is None:
            raise NotFoundError(
                f"nothing is stored about `{project}`", hint="name a directory in the project"
            )
        confirm(f"Delete everything Remit stored about {render.printable(found.path)}?", yes=yes)
        registry.store.catalog.forget(found)
    render.out(f"forgot {found.path}")
    render.note(leftover_lines([found.path], data=False))


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.pass_context
def completion(context: click.Context, shell: str | None) -> None:
    """Print the set-up of tab completion.

    SHELL is the one you use, if not given. For bash: `remit completion bash >> ~/.bashrc`; for zsh, into
    ~/.zshrc; for fish, into ~/.config/fish/completions/remit.fish.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    script = get_completion_class(name) if name in _SHELLS else None
    if script is None:
        raise click.UsageError(f"name your shell: {', '.join(_SHELLS)}")
    render.text(script(context.find_root().command, {}, "remit", COMPLETES).source())


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def hook(words: tuple[str, ...]) -> None:
    """Answer one hook event of Claude Code.

    Reads the event as JSON from stdin and writes the answer to stdout. Failures are logged in `hooks.log` in
    Remit's data directory.
    """
    from importlib import import_module

    # By name: the command starts the command line, so no command can import it.
    import_module("remit.__main__").hook(words)
    sys.exit(0)
