"""`remit states`: lists, sets, clears and pushes states."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

import click

from remit.bootstrap import open_registry
from remit.cli import answers, render
from remit.cli.options import JSON, Here, require_person, with_here
from remit.cli.overview import heading
from remit.cli.render import Line
from remit.config import machine_path, managed_path, personal_path, shared_path
from remit.decision import Context, shorten

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.states import StateReport

_WORDS = {True: "true", False: "false", None: "unknown"}


@click.group(invoke_without_command=True)
@with_here
@JSON
@click.pass_context
def states(command: click.Context, *, here: Here, as_json: bool) -> None:
    """List the states and their values; set or clear one.

    A state is a fact about the project, such as "Docker is used here". Rules in `remit.toml` can hide tools
    until a state is true.
    """
    if command.invoked_subcommand is not None:
        command.default_map = {command.invoked_subcommand: {"directory": here.directory}}
        return
    with open_registry() as registry:
        context = here.context(registry)
        reports = registry.states.reports(context)
        problems = registry.config.problems(context.workspace)
    render.problems(problems, lambda path: shorten(path, context))
    if as_json:
        render.data(answers.states(reports, layers(context), context))
    else:
        render.paged(state_lines(reports, context))


def state_lines(reports: "Iterable[StateReport]", context: Context) -> Iterator[Line]:
    """Write a line for each state, configured ones before built-in ones."""
    yield heading(context)
    yield ""
    ordered = sorted(reports, key=lambda report: (_is_builtin(report), report.name))
    rows = [_cells(report, context) for report in ordered]
    yield from render.table(("state", "value", "reason", "found by", "file"), rows)


def _cells(report: "StateReport", context: Context) -> tuple[str, ...]:
    state, value = report.state, report.value
    how = "implied"
    if state is not None:
        how = state.kind if state.detector is None else state.detector.kind
    path = "" if state is None or not state.origin.path else shorten(state.origin.path, context)
    return report.name, _WORDS[value.truth], value.reason, how, "built in" if _is_builtin(report) else path


def _is_builtin(report: "StateReport") -> bool:
    return report.state is not None and not report.state.origin.path and ":" not in report.name


def layers(context: Context) -> Mapping[str, str]:
    """Name the owner of each configuration file; the empty path is Remit itself."""
    from remit.files import this_machine

    machine, workspace = this_machine(), context.workspace
    return {
        "": "builtin",
        shared_path(workspace): "project",
        os.path.join(workspace.dir, "remit.toml"): "project",
        machine_path(machine): "machine",
        personal_path(workspace, machine): "personal",
        managed_path(machine): "managed",
    }


@states.command("set")
@click.argument("name")
@with_here
def set_state(*, name: str, here: Here) -> None:
    """Set a workflow state of the project.

    Agents may do so only if the state has `agents = true`.
    """
    with open_registry() as registry:
        context = here.context(registry)
        _require_right("set a state", (name,), registry, context)
        registry.states.set(name, context)
        _follow(registry, context)
    render.out(f"set {name}")


@states.command("clear")
@click.argument("name")
@with_here
def clear_state(*, name: str, here: Here) -> None:
    """Clear a workflow state, and states that imply it.

    Agents may do so only if each of these states has `agents = true`.
    """
    with open_registry() as registry:
        context = here.context(registry)
        _require_right("clear a state", (name,), registry, context)
        cleared = registry.states.clear(name, context)
        _follow(registry, context)
    render.out([f"cleared {state}" for state in cleared])


@states.command("push")
@with_here
@click.option("--json", "text", metavar="OBJECT", required=True, help="The states as JSON; `-` reads stdin.")
def push_states(*, here: Here, text: str) -> None:
    """Report an application's states, for a while.

    OBJECT maps names of states to true, false, or null to withdraw an earlier report. Its `location` says
    where the user is: page, route, modal, selected, depth, components, elements.

    Agents may do so only if each state has `agents = true`, and may not push the location.
    """
    pushed = _read_pushed(text)
    with open_registry() as registry:
        context = here.context(registry)
        _require_right("push a state", pushed, registry, context)
        registry.states.push(pushed, context)
        _follow(registry, context)
    render.out(f"pushed {', '.join(pushed) or 'nothing'}")


def _follow(registry: "Registry", context: Context) -> None:
    """Hide in the client what the states hide, and show what they show."""
    from remit.cli.rules import follow  # only changes need it

    follow(registry, context, everywhere=False)


def _require_right(act: str, names: Iterable[str], registry: "Registry", context: Context) -> None:
    """Check that no agent runs the command, unless the states let agents change them."""
    if not registry.states.are_open_to_agents(names, context):
        require_person(act, yes=True)  # applications and hooks of other programs run it without a terminal


def _read_pushed(text: str) -> dict[str, object]:
    try:
        pushed = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError):
        raise click.UsageError("--json is not valid JSON") from None
    if not isinstance(pushed, dict):
        raise click.UsageError("--json must be an object")
    return cast("dict[str, object]", pushed)
