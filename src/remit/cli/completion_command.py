"""`remit completion`: tab completion of commands, options and names."""

import os
import shlex
from collections.abc import Callable

import click
from click.shell_completion import get_completion_class

from remit.cli import render
from remit.cli.options import COMPLETES, name_change
from remit.files.bounded_reader import this_machine
from remit.files.safe_changes import change_file, read_exactly
from remit.settings import data_directory

_SHELLS = ("bash", "zsh", "fish")
_MARK = "# Remit: tab completion"
_ZSH = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.option("--install", "is_installed", is_flag=True, help="Set it up for every new shell.")
@click.pass_context
def completion(context: click.Context, shell: str | None, *, is_installed: bool) -> None:
    """Set up tab completion.

    Prints the completion script for a shell. With --install, writes the script to a file and makes your shell
    load it: bash in `~/.bashrc`, zsh in `~/.zshrc`, fish by itself. SHELL is the one you use, if not given.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    script = get_completion_class(name) if name in _SHELLS else None
    if script is None:
        raise click.UsageError(f"name your shell: {', '.join(_SHELLS)}")
    source = script(context.find_root().command, {}, "remit", COMPLETES).source()
    if not is_installed:
        render.out(source)
        return
    name_change(f"remit completion {name} --install")
    changed = _install(name, f"{source}\n")
    if not changed:
        render.out(f"Tab completion for {name} is already set up.")
        return
    files = " and ".join(map(render.printable, changed))
    render.out(f"Tab completion for {name} is set up: changed {files}.")
    render.note("hint: start a new shell to use it; `remit undo` takes this back")


def _install(shell: str, source: str) -> list[str]:
    """Write the script, and the line that loads it; return the changed files."""
    home = os.path.expanduser("~")
    if shell == "fish":
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return _written(os.path.join(config, "fish", "completions", "remit.fish"), source)
    script = os.path.join(data_directory(this_machine()), "completion", f"remit.{shell}")
    base = os.environ.get("ZDOTDIR") or home if shell == "zsh" else home
    return [*_written(script, source), *_loaded(os.path.join(base, f".{shell}rc"), script, shell)]


def _loaded(path: str, script: str, shell: str) -> list[str]:
    line = f"[ ! -f {shlex.quote(script)} ] || . {shlex.quote(script)}"
    line = f"{_ZSH}; {line}" if shell == "zsh" else line

    def change(text: str | None) -> str:
        text = text or ""
        if line in text:
            return text
        gap = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{gap}{_MARK}\n{line}\n"

    return _changed(path, change)


def _written(path: str, source: str) -> list[str]:
    return _changed(path, lambda _: source)


def _changed(path: str, change: Callable[[str | None], str]) -> list[str]:
    before = read_exactly(path)
    change_file(path, change)
    return [path] if read_exactly(path) != before else []
