"""What people see of states, and what applications say of theirs."""

import json
import sys
from collections.abc import Sequence

import click

from remit.apps.cli import render
from remit.apps.cli.shapes import Shape, asked_for
from remit.core.configuration.values import Layer
from remit.core.decide import Context, shorten
from remit.situation import StateReport

_WORDS = {True: "true", False: "false", None: "unknown"}


def shape(found: Sequence[StateReport], context: Context) -> Shape:
    """The answer of `remit states`."""
    return {**asked_for(context), "states": [_state(item) for item in found]}


def table(found: Sequence[StateReport], context: Context) -> None:
    """Show states, those of files before those of Remit itself."""
    render.out(render.heading(context))
    render.out()
    ordered = sorted(found, key=lambda item: (item.layer is Layer.BUILTIN, item.name))
    columns = ("state", "value", "reason", "detector", "source")
    render.table("", columns, [_cells(item, context) for item in ordered])


def read_pushed(text: str) -> dict[str, object]:
    """Read the object that is pushed; `-` stands for what comes in on stdin."""
    try:
        pushed = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError):
        raise click.UsageError("--json is not valid JSON") from None
    if not isinstance(pushed, dict):
        raise click.UsageError("--json is no object")
    return pushed  # pyright: ignore[reportUnknownVariableType] - JSON has only texts as keys


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
