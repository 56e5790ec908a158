"""`remit inspect`: judges tool definitions."""

import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import ERRORS_FOUND, FAILURE, WorkspaceOptions, for_a_workspace
from remit.decision.decide import ToolDecision
from remit.decision.gates import Gate
from remit.decision.tool_names import REMIT
from remit.errors import BadFileError, NoSuchFileError, RemitError
from remit.files.bounded_reader import ANYWHERE, FileError, read_text
from remit.inspection.definition_file import FileDefinition, read_definitions
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, worst
from remit.inspection.inspector import inspect
from remit.inspection.surroundings import Surroundings, own_name

_LARGEST = 16 * 2**20  # bytes of a file, as of a client's


class Inspected(NamedTuple):
    """A definition to inspect."""

    item: FileDefinition
    is_held: bool = False  # its tool is hidden until a person accepts it


class Flagged(NamedTuple):
    """A definition with findings."""

    item: FileDefinition
    is_held: bool
    severity: Suspicion
    findings: Sequence[InspectionFinding]


@click.command("inspect")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path())
@click.option(
    "--fail-on",
    type=click.Choice([each.value for each in Suspicion]),
    help="Exit with 1 if a definition is flagged with this severity or a worse one.",
)
@for_a_workspace
def inspect_definitions(
    *, files: tuple[str, ...], fail_on: str | None, options: WorkspaceOptions, as_json: bool
) -> None:
    """Find tool definitions that steer the model.

    Inspects the tools available here and those whose definitions are held, or those in FILEs: `tools/list`
    answers, or JSON Lines with `id`, `name`, `description`, `server` and `inputSchema`. Nothing is started or
    sent. If a FILE cannot be read, the others are inspected nevertheless; then exits with 2.
    """
    items, failures = _read_all(files) if files else (_known(options), [])
    flagged = _inspected(items)
    if as_json and (items or not failures):
        render.data({"tools": len(items), "flagged": [_shape(each) for each in flagged]})
    elif items or not failures:
        _show(len(items), flagged)
    for failure in failures:
        render.error(failure)
    if failures:
        sys.exit(FAILURE)
    if fail_on is not None and any(_is_as_bad(each, Suspicion(fail_on)) for each in flagged):
        sys.exit(ERRORS_FOUND)


def _inspected(items: Sequence[Inspected]) -> list[Flagged]:
    """Inspect definitions next to each other, and return those with findings, worst first."""
    others = Surroundings.of(each.item.definition for each in items)
    judged = [(each, inspect(each.item.definition, others)) for each in items]
    return [
        Flagged(*each, severity, findings)
        for severity in Suspicion
        for each, findings in judged
        if worst(findings) is severity
    ]


def _is_as_bad(flagged: Flagged, severity: Suspicion) -> bool:
    worst_first = list(Suspicion)
    return worst_first.index(flagged.severity) <= worst_first.index(severity)


def _read_all(files: Sequence[str]) -> tuple[list[Inspected], list[RemitError]]:
    """Read the definitions of all files, and why some files cannot be read."""
    items: list[Inspected] = []
    failures: list[RemitError] = []
    for file in files:
        try:
            items += map(Inspected, _read(file))
        except (BadFileError, NoSuchFileError) as failure:
            failures.append(failure)
    return items, failures


def _read(file: str) -> list[FileDefinition]:
    try:
        text = read_text(file, limit=_LARGEST, within=ANYWHERE)
    except FileError as failure:
        raise BadFileError(f"{file}: {failure.reason}") from failure
    if text is None:
        raise NoSuchFileError(f"{file}: no such file")
    return read_definitions(text, file, PurePath(file).stem)


def _known(options: WorkspaceOptions) -> list[Inspected]:
    """Find the tools of others that are available here, or that only their definition hides."""
    with open_registry() as registry:
        context = options.context(registry)
        others = (item for item in registry.tools(context) if item.tool.source != REMIT)
        listed = [item for item in others if item.decision.is_available or _is_held(item)]
        found = registry.catalog.definitions([item.tool for item in listed], context)
        problems = registry.problems(context)
    render.problems(problems, context)
    known = [(item, found[item.tool.key]) for item in listed if item.tool.key in found]
    return [Inspected(FileDefinition(each.name, each), _is_held(item)) for item, each in known]


def _is_held(item: ToolDecision) -> bool:
    return item.decision.gate is Gate.DEFINITION


def _shape(flagged: Flagged) -> dict[str, object]:
    definition = flagged.item.definition
    return {
        "id": flagged.item.id,
        "name": own_name(definition),
        "server": definition.server,
        "severity": flagged.severity.value,
        "held": flagged.is_held,
        "findings": [
            {"rule": each.rule, "reason": each.reason, "excerpt": each.excerpt} for each in flagged.findings
        ],
    }


def _show(count: int, flagged: Sequence[Flagged]) -> None:
    for each in flagged:
        held = " (held)" if each.is_held else ""
        render.out(render.printable(f"{each.severity.value}: {each.item.definition.name}{held}"))
        for found in each.findings:
            render.out(render.printable(f"  {found.rule}: {found.reason}"))
            render.out(render.printable(f"    “{found.excerpt}”"))
    if flagged:
        render.out()
    sums = (
        f"{sum(each.severity is severity for each in flagged)} {severity.value}" for severity in Suspicion
    )
    render.out(f"{render.plural(count, 'tool')} inspected: {', '.join(sums)}")
