"""`remit states`: lists, sets, clears and pushes states."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import PROJECT, WorkspaceOptions, for_a_workspace, for_an_agent
from remit.cli.output.json_output import Shape, asked_for
from remit.configuration.config_model import ConfigurationLayer
from remit.decision.context import Context, shorten

if TYPE_CHECKING:
    from remit.registry import Registry
    from remit.states.state_service import StateReport

_WORDS = {True: "true", False: "false", None: "unknown"}


@click.group(invoke_without_command=True)
@for_a_workspace
@for_an_agent
@click.pass_context
def states(command: click.Context, *, options: WorkspaceOptions, as_json: bool) -> None:
    """List the states and their values; set or clear one.

    A state is a fact about the project, such as "Docker is used here". Rules in `remit.toml` can hide tools
    until a state is true.
    """
    if command.invoked_subcommand is not None:
        command.default_map = {command.invoked_subcommand: {"project": options.project}}
        return
    with open_registry() as registry:
        context = registry.states.with_snapshot(options.context(registry))
        found = registry.states.reports(context)
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    if as_json:
        render.data(_shape(found, context))
    else:
        _table(found, context)


@states.command("set")
@click.argument("name")
@PROJECT
def set_state(name: str, *, project: str) -> None:
    """Set a workflow state of the project.

    Agents may do so only if the state has `agents = true`.
    """
    with open_registry() as registry:
        context = registry.at(project)
        _require_right("set a state", (name,), registry, context)
        registry.states.set(name, context)
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    render.out(f"set {name}")


@states.command("clear")
@click.argument("name")
@PROJECT
def clear_state(name: str, *, project: str) -> None:
    """Clear a workflow state, and states that imply it.

    Agents may do so only if each of these states has `agents = true`.
    """
    with open_registry() as registry:
        context = registry.at(project)
        _require_right("clear a state", registry.states.cleared_with(name, context), registry, context)
        cleared = registry.states.clear(name, context)
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    for each in cleared:
        render.out(f"cleared {each}")


@states.command("push")
@PROJECT
@click.option("--json", "text", metavar="OBJECT", required=True, help="The states as JSON; `-` reads stdin.")
def push_states(*, project: str, text: str) -> None:
    """Report an application's states, for a while.

    OBJECT maps names of states to true, false, or null to withdraw an earlier report. Its `location` says
    where the user is: page, route, modal, selected, depth, components, elements.

    Agents may do so only if each state has `agents = true`, and may not push the location.
    """
    pushed = _read_pushed(text)
    with open_registry() as registry:
        context = registry.at(project)
        _require_right("push a state", pushed, registry, context)
        registry.states.push(pushed, context)
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    render.out(f"pushed {', '.join(map(render.printable, pushed)) or 'nothing'}")


state = click.Group("state", commands=states.commands, help="Set, clear and push states.", hidden=True)


def _require_right(act: str, names: Iterable[str], registry: Registry, context: Context) -> None:
    """Check that a person runs the command, unless the states let agents change them."""
    if not registry.states.are_open_to_agents(names, context):
        require_person(act)


def _shape(found: Sequence[StateReport], context: Context) -> Shape:
    """Return the JSON of `remit states`."""
    return {**asked_for(context), "states": [_state(item) for item in found]}


def _table(found: Sequence[StateReport], context: Context) -> None:
    """Show states, configured ones before built-in ones."""
    render.out(render.heading(context))
    render.out()
    ordered = sorted(found, key=lambda item: (item.layer is ConfigurationLayer.BUILTIN, item.name))
    columns = ("state", "value", "reason", "detector", "source")
    render.table("", columns, [_cells(item, context) for item in ordered])


def _read_pushed(text: str) -> dict[str, object]:
    """Parse the pushed object; `-` reads stdin."""
    try:
        pushed = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError):
        raise click.UsageError("--json is not valid JSON") from None
    if not isinstance(pushed, dict):
        raise click.UsageError("--json must be an object")
    return pushed  # pyright: ignore[reportUnknownVariableType] - JSON keys are strings


def _state(item: StateReport) -> Shape:
    return {
        "name": item.name,
        "value": item.value.truth,
        "reason": item.value.reason,
        "kind": item.kind,
        "description": item.description,
        "detector": item.detector or None,
        "layer": item.layer,
        "source": item.source or None,
    }


def _cells(item: StateReport, context: Context) -> tuple[str, ...]:
    source = shorten(item.source, context) if item.source else "built in" if item.layer else ""
    how = item.detector or ("workflow" if item.kind == "workflow" else "implied")
    return item.name, _WORDS[item.value.truth], item.value.reason, how, source
