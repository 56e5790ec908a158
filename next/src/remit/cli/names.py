"""`remit names`: the name tree of a program, its scopes, and a generated server."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from remit.cli import render
from remit.cli.options import JSON
from remit.cli.render import Line, Shape
from remit.errors import RemitError
from remit.files import read_exactly
from remit.text import plural

if TYPE_CHECKING:
    from remit.names import Branch, LabeledCommand

_OUTDATED = 1  # exit code
_NAMES, _SCOPES = "names.py", "scopes.toml"
_CHECK = click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the file is out of date.")


@click.group("names", invoke_without_command=True)
@click.option(
    "--names", "file", metavar="FILE", default=_NAMES, show_default=True, help="The file of names to show."
)
@click.option("--scopes", metavar="FILE", help=f"Its scopes file; default: {_SCOPES} next to it.")
@JSON
@click.pass_context
def names(context: click.Context, *, file: str, scopes: str | None, as_json: bool) -> None:
    """Show or generate the tool names of a program's commands.

    Finds the commands of click, typer and argparse in a Python package, and functions with Remit's own @tool.
    """
    if context.invoked_subcommand is not None:
        return
    from remit.names import labeled_commands, read_names, read_scopes, tree

    known = read_names(file)
    labeled = labeled_commands(known, read_scopes(scopes or _beside(file)))
    if as_json:
        render.data({"names": file, "commands": [_shape(item) for item in labeled]})
    else:
        by_name = {item.command.name: item for item in labeled}
        render.out(tree_lines(tree(known.commands), by_name))


@names.command()
@click.argument("source", metavar="SRC")
@click.option("--out", metavar="FILE", help="The output file; `.json` writes JSON. Default: stdout.")
@_CHECK
@JSON
def generate(*, source: str, out: str | None, check: bool, as_json: bool) -> None:
    """Write the names of a package's commands.

    SRC is the directory of a Python package, or one file of it.
    """
    from remit.names import generate as name_commands
    from remit.names import names_text

    if out is None and check:
        raise click.UsageError("--check needs a file to compare with: pass --out")
    made = name_commands(source)
    for warning in made.warnings:
        render.warning(RemitError(warning))
    path = out or (f"{_NAMES}.json" if as_json else _NAMES)
    text = names_text(made.names, path)
    if out is None:
        render.text(text.rstrip("\n"))
        return
    commands = [command.name for command in made.names.commands]
    told: Shape = {"commands": commands, "warnings": [*made.warnings]}
    _settle(text, out, len(commands), told, check=check, as_json=as_json)


@names.command()
@click.argument("file", metavar="NAMES")
@click.option("--out", metavar="SCOPES", help=f"The scopes file to update; default: {_SCOPES} next to it.")
@_CHECK
@JSON
def label(*, file: str, out: str | None, check: bool, as_json: bool) -> None:
    """Add new names to the scopes file.

    New names are disabled for agents, unless their words say that they only read. Existing lines stay
    unchanged, to the byte. Names whose command no longer exists are reported; remove them yourself.
    """
    from remit.names import label as label_names
    from remit.names import read_names

    known, path = read_names(file), out or _beside(file)
    made = label_names(known, path)
    if not as_json:
        render.out(f"added {name}" for name in made.added)
    for name in made.removed:
        render.warning(RemitError(f"{path}: the command `{name}` no longer exists"))
    told: Shape = {"added": [*made.added], "removed": [*made.removed]}
    _settle(made.text, path, len(known.commands), told, check=check, as_json=as_json)


@names.command()
@click.argument("file", metavar="NAMES")
@click.argument("scopes", metavar="SCOPES")
@click.option("--out", metavar="FILE", help="The output file. Default: stdout.")
@_CHECK
@JSON
def server(*, file: str, scopes: str, out: str | None, check: bool, as_json: bool) -> None:
    """Generate an MCP server from names and scopes.

    The server shows and runs a command only if its scopes and the states of the directory it was started in
    allow it. Each command runs in its own process.
    """
    from remit.names import labeled_commands, read_names, read_scopes, server_text

    if out is None and check:
        raise click.UsageError("--check needs a file to compare with: pass --out")
    labeled = labeled_commands(read_names(file), read_scopes(scopes))
    unlabeled = [item.command.name for item in labeled if not item.is_labeled]
    for name in unlabeled:
        render.warning(RemitError(f"{scopes}: `{name}` is not listed, so no agent may use it"))
    text = server_text(file, scopes, out or "server.py")
    if out is None:
        render.text(text.rstrip("\n"))
        return
    told: Shape = {"commands": [item.command.name for item in labeled], "unlabelled": unlabeled}
    _settle(text, out, len(labeled), told, check=check, as_json=as_json)


def _settle(text: str, path: str, count: int, told: Shape, *, check: bool, as_json: bool) -> None:
    """Write a file, or with `check` only say whether it would change."""
    from remit.names import write

    is_changed = read_exactly(path) != text if check else write(text, path)
    if as_json:
        render.data({"file": path, "changed": is_changed, **told})
    else:
        word = ("is out of date" if check else "written") if is_changed else "is up to date"
        render.out(f"{path} {word}: {plural(count, 'command')}")
    if check and is_changed:
        sys.exit(_OUTDATED)


def _beside(file: str) -> str:
    return os.path.join(os.path.dirname(file), _SCOPES)


def tree_lines(
    branches: "Mapping[str, Branch]", labeled: "Mapping[str, LabeledCommand]", depth: int = 0
) -> Iterator[Line]:
    """Write the tree of names, each command with its scopes."""
    for part, branch in branches.items():
        words = f"  {_scope(labeled[branch.name])}" if branch.command is not None else ""
        yield f"{'  ' * depth}{part}{words}"
        yield from tree_lines(branch.branches, labeled, depth + 1)


def _scope(item: "LabeledCommand") -> str:
    if item.command.problem:
        return f"cannot be imported: {item.command.problem}"
    if not item.is_labeled:
        return "not labeled"
    words = [item.danger or "", "" if item.ai_enabled else "not for AI", "approval" if item.approval else ""]
    words += ["conditional"] if any(rule.condition is not None for rule in item.rules) else []
    return " · ".join(filter(None, words))


def _shape(item: "LabeledCommand") -> Shape:
    return {
        "name": item.command.name,
        "description": item.command.description,
        "labelled": item.is_labeled,
        "ai_enabled": item.ai_enabled,
        "danger": item.danger,
        "approval": bool(item.approval),
        "needs": [*_needs(item.command.rules)],
        "parameters": [parameter.name for parameter in item.command.parameters],
    }


def _needs(rules: Iterable[Mapping[str, object]]) -> Iterator[Shape]:
    for rule in rules:
        need = {key: rule.get(key) for key in ("states", "when", "location")}
        if any(value is not None for value in need.values()):
            yield json.loads(json.dumps(need, default=str))
