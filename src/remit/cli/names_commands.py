"""`remit names`: the name tree of a package, its scopes, and a generated server."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import JSON
from remit.errors import RemitError
from remit.names.generator import Generator
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.configuration.config_model import ToolEntry
    from remit.names.generator import Generated, Generator, LabeledCommand
    from remit.names.name_tree import Branch, ScanWarning

OUTDATED = 1
NAMES = "names.py"
SCOPES = "scopes.toml"

_CHECK = click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the file is out of date.")


@click.group("names", invoke_without_command=True)
@click.option(
    "--names", "file", metavar="FILE", default=NAMES, show_default=True, help="The file of names to show."
)
@click.option("--scopes", metavar="FILE", help=f"Its scopes file; default: {SCOPES} next to it.")
@JSON
@click.pass_context
def names(context: click.Context, *, file: str, scopes: str | None, as_json: bool) -> None:
    """Show or generate the tool names of a program's commands.

    Reads the source files of a Python package without importing or running them, and finds the commands of
    click, typer and argparse, and functions with Remit's own @tool.
    """
    if context.invoked_subcommand is not None:
        return
    generator = Generator()
    labelled = generator.labelled(file, scopes or _beside(file))
    if as_json:
        render.data({"names": file, "commands": [_shape(each) for each in labelled]})
    else:
        _draw(generator.tree(labelled), {each.command.name: each for each in labelled})


@names.command()
@click.argument("source", metavar="SRC")
@click.option("--out", metavar="FILE", help="The output file; `.json` writes JSON. Default: stdout.")
@_CHECK
@JSON
def generate(*, source: str, out: str | None, check: bool, as_json: bool) -> None:
    """Write the names of a package's commands.

    SRC is the directory of a Python package, or one file of it.
    """
    generator = Generator()
    made = generator.names(source, as_json=as_json if out is None else out.endswith(".json"))
    _warn(made.warnings)
    if out is None and check:
        raise click.UsageError("--check needs a file to compare with: pass --out")
    if out is None:
        sys.stdout.write(made.data.decode())
        return
    changed = _settle(generator, made, out, check=check)
    if as_json:
        warnings = [each._asdict() for each in made.warnings]
        render.data({"file": out, "changed": changed, "commands": list(made.names), "warnings": warnings})
    else:
        render.out(_told(out, changed, len(made.names), check=check))
    _leave(changed, check=check)


@names.command()
@click.argument("file", metavar="NAMES")
@click.option("--out", metavar="SCOPES", help=f"The scopes file to update; default: {SCOPES} next to it.")
@_CHECK
@JSON
def label(*, file: str, out: str | None, check: bool, as_json: bool) -> None:
    """Add new names to the scopes file.

    New names are disabled for agents, unless their words say that they only read. Existing lines stay
    unchanged, to the byte. Names whose command no longer exists are reported; remove them yourself.
    """
    generator, scopes = Generator(), out or _beside(file)
    made = generator.scopes(file, scopes)
    changed = not generator.is_current(made, scopes) if check else generator.write_scopes(made, scopes)
    if as_json:
        told = {"added": list(made.added), "removed": list(made.removed)}
        render.data({"file": scopes, "changed": changed, **told})
    else:
        for name in made.added:
            render.out(f"added {name}")
        render.out(_told(scopes, changed, len(made.names), check=check))
    for name in made.removed:
        render.warning(RemitError(f"{scopes}: the command `{name}` no longer exists"))
    _leave(changed, check=check)


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
    generator = Generator()
    made = generator.server(file, scopes)
    for name in made.unlabelled:
        render.warning(RemitError(f"{scopes}: `{name}` is not listed, so no agent may use it"))
    _warn_of_states(made.states, scopes)
    if out is None and check:
        raise click.UsageError("--check needs a file to compare with: pass --out")
    if out is None and not as_json:
        sys.stdout.write(made.data.decode())
        return
    changed = None if out is None else _settle(generator, made, out, check=check)
    if as_json:
        told = {
            "commands": list(made.names),
            "unlabelled": list(made.unlabelled),
            "states": list(made.states),
        }
        render.data({"file": out, "changed": changed, **told})
    elif out is not None:
        render.out(_told(out, bool(changed), len(made.names), check=check))
    _leave(bool(changed), check=check)


def _settle(generator: "Generator", made: "Generated", out: str, *, check: bool) -> bool:
    """Write a file, or with `check` only return whether it would change."""
    return not generator.is_current(made, out) if check else generator.write(made, out)


def _leave(changed: bool, *, check: bool) -> None:
    if check and changed:
        sys.exit(OUTDATED)


def _told(file: str, changed: bool, amount: int, *, check: bool) -> str:
    word = ("is out of date" if check else "written") if changed else "is up to date"
    return f"{render.printable(file)} {word}: {amount} command{'' if amount == 1 else 's'}"


def _beside(file: str) -> str:
    return os.path.join(os.path.dirname(file), SCOPES)


def _warn(warnings: "Iterable[ScanWarning]") -> None:
    for each in warnings:
        render.warning(RemitError(f"{each.place}: {each.reason}"))


def _warn_of_states(states: Iterable[str], scopes: str) -> None:
    """Warn about states that are not declared here; the server's directory may declare them."""
    with open_registry() as registry:
        known = [each.name for each in registry.states.reports(registry.at())]
    for name in states:
        if name not in known:
            hint = did_you_mean(name, known) or "declare it in remit.toml, where the server runs"
            render.warning(RemitError(f"{scopes}: the state `{name}` is not declared here", hint=hint))


def _draw(branches: "Mapping[str, Branch]", labelled: "Mapping[str, LabeledCommand]", depth: int = 0) -> None:
    for part, branch in branches.items():
        said = labelled[branch.name] if branch.command is not None else None
        words = f"  {_scope(said)}" if said is not None else ""
        render.out(render.printable(f"{'  ' * depth}{part}{words}"))
        _draw(branch.branches, labelled, depth + 1)


def _scope(said: "LabeledCommand") -> str:
    if not said.is_labelled:
        return "not labelled"
    words = [said.label.danger or "", "" if said.label.ai_enabled else "not for AI"]
    words.append("approval" if said.label.approval else "")
    states = [name for entry in said.entries if entry.states for name in entry.states.all]
    words.append(f"needs {', '.join(dict.fromkeys(states))}" if states else "")
    words += [f"when {entry.when}" for entry in said.entries if entry.when]
    words += ["only at its location" for entry in said.entries if entry.location][:1]
    return " · ".join(filter(None, words))


def _shape(said: "LabeledCommand") -> dict[str, object]:
    return {
        "name": said.command.name,
        "description": said.command.description,
        "labelled": said.is_labelled,
        "ai_enabled": bool(said.label.ai_enabled),
        "danger": said.label.danger,
        "approval": bool(said.label.approval),
        "needs": [_need(entry) for entry in said.entries if entry.has_condition],
        "parameters": [each.name for each in said.command.parameters],
    }


def _need(entry: "ToolEntry") -> dict[str, object]:
    return {
        "states": None if entry.states is None else entry.states._asdict(),
        "when": entry.when,
        "location": None if entry.location is None else entry.location._asdict(),
    }
