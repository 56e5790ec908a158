"""`remit inspect`: what inspection finds in the definitions here, or in files, worst first."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from remit.bootstrap import open_inspector, open_registry
from remit.cli import render
from remit.cli.options import ERRORS_FOUND, FAILURE, JSON, Here, with_here
from remit.cli.render import Line, Shape
from remit.decision import REMIT, Definition, Kind, shorten, tool_name
from remit.errors import BadFileError
from remit.files import ANYWHERE, FileError, read_text
from remit.store import make_definition
from remit.text import as_object, plural
from remit.trust import Finding, OtherTools, read_findings

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context

_SEVERITIES = ("high", "medium")  # worst first
_LARGEST = 16 * 2**20  # bytes of a file
_EXPECTED = "give a `tools/list` answer, or one tool per line"


class Flagged(NamedTuple):
    """A definition with findings."""

    name: str
    server: str | None
    findings: Sequence[Finding]
    is_held: bool = False

    @property
    def severity(self) -> str:
        """The worst severity."""
        return min((finding.severity for finding in self.findings), key=_SEVERITIES.index)


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path())
@with_here
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    help="Exit with 1 if a definition is flagged with this severity or a worse one.",
)
@JSON
def inspect(*, files: tuple[str, ...], here: Here, fail_on: str | None, as_json: bool) -> None:
    """Find tool definitions that steer the model.

    Shows what inspection found in the definitions of the tools here, when their servers listed them; or
    inspects those in FILEs: `tools/list` answers, or JSON Lines with `name`, `description`, `server` and
    `inputSchema`. Nothing is started or sent. If a FILE cannot be read, the others are inspected
    nevertheless; then exits with 2.
    """
    failures: list[BadFileError] = []
    if files:
        definitions = [*_read_all(files, failures)]
        count, flagged = len(definitions), inspect_definitions(definitions)
    else:
        with open_registry() as registry:
            context = here.context(registry)
            count, flagged = read_flagged(registry, context)
            problems = registry.problems(context)
        render.problems(problems, lambda path: shorten(path, context))
    flagged.sort(key=lambda item: (_SEVERITIES.index(item.severity), item.name))
    if as_json:
        render.data({"tools": count, "flagged": [_shape(item) for item in flagged]})
    elif count or not failures:
        render.paged(flagged_lines(count, flagged))
    for failure in failures:
        render.error(failure)
    severities = _SEVERITIES[: _SEVERITIES.index(fail_on) + 1] if fail_on else ()
    if failures:
        sys.exit(FAILURE)
    if any(item.severity in severities for item in flagged):
        sys.exit(ERRORS_FOUND)


def read_flagged(registry: "Registry", context: "Context") -> tuple[int, list[Flagged]]:
    """Return how many definitions were inspected here, and those with findings."""
    tools = {tool.key: tool for tool, _ in registry.tools(context)}
    rows = [
        row
        for row in registry.store.catalog.rows(context)
        if row.pin is not None and row.tool.source != REMIT and row.tool.key in tools
    ]
    flagged: list[Flagged] = []
    for row in rows:
        if findings := read_findings(row.findings):
            is_instructions, label = row.tool.kind is Kind.MCP_SERVER, row.tool.server
            name = f"{label}:instructions" if is_instructions else row.tool.name
            flagged.append(Flagged(name, label, findings, tools[row.tool.key].held is not None))
    return len(rows), flagged


def inspect_definitions(definitions: Sequence[Definition]) -> list[Flagged]:
    """Inspect definitions next to each other, and return those with findings."""
    others = OtherTools(
        frozenset(item.server for item in definitions if item.server),
        frozenset(item.name for item in definitions if item.server),
    )
    inspector, found = open_inspector(), list[Flagged]()
    for server in dict.fromkeys(item.server for item in definitions):
        own = [item for item in definitions if item.server == server]
        names = others.tools - {item.name for item in own}
        rest = OtherTools(others.servers - {server or ""}, names)
        findings = inspector.inspect(own, rest)
        found += [
            Flagged(item.name, item.server, about) for item, about in zip(own, findings, strict=True) if about
        ]
    return found


def _read_all(files: Iterable[str], failures: list[BadFileError]) -> Iterator[Definition]:
    """Read the definitions of all files, and note why some cannot be read."""
    for file in files:
        try:
            text = read_text(file, limit=_LARGEST, within=ANYWHERE)
            if text is None:
                raise BadFileError(f"{file}: no such file")
            items = _items(text.removeprefix("\ufeff"), file)
            yield from [_definition(item, file, number) for number, item in enumerate(items, 1)]
        except FileError as error:
            failures.append(BadFileError(f"{file}: {error.reason}"))
        except BadFileError as error:
            failures.append(error)


def _items(text: str, file: str) -> Sequence[object]:
    """Return the tools of a file: an answer, a list, or one in each line."""
    try:
        whole: object = json.loads(text)
    except (ValueError, RecursionError):
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise BadFileError(f"{file}: not JSON, nor JSON Lines", hint=_EXPECTED) from None
    answer = as_object(whole)
    listed = as_object(answer.get("result", answer)).get("tools", whole)
    if isinstance(listed, list):
        return cast("list[object]", listed)
    if "name" in answer:
        return [whole]
    raise BadFileError(f"{file}: has no tools", hint=_EXPECTED)


def _definition(item: object, file: str, number: int) -> Definition:
    fields = as_object(item)
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str):
        raise BadFileError(f"{file}: tool {number} has no name", hint=_EXPECTED)
    server = fields.pop("server", None)
    server = server if isinstance(server, str) else PurePath(file).stem
    text = description if isinstance(description, str) else None
    return make_definition(tool_name(server, name), server, name, text, fields)


def flagged_lines(count: int, flagged: Sequence[Flagged]) -> Iterator[Line]:
    """Write each flagged definition with what was found, and the sums."""
    for item in flagged:
        withheld = " (withheld)" if item.is_held else ""
        yield (
            (item.severity, "bad" if item.severity == "high" else "warn"),
            (f": {item.name}{withheld}", "title"),
        )
        for finding in item.findings:
            place = f" ({finding.place})" if finding.place else ""
            yield f"  {finding.says}{place}"
            if finding.quote:
                yield f"    “{finding.quote}”"
    if flagged:
        yield ""
    sums = ", ".join(f"{sum(item.severity == word for item in flagged)} {word}" for word in _SEVERITIES)
    yield f"{plural(count, 'definition')} inspected: {sums}"


def _shape(item: Flagged) -> Shape:
    return {
        "id": item.name,
        "name": item.name,
        "server": item.server,
        "severity": item.severity,
        "held": item.is_held,
        "findings": [
            {"reason": finding.says, "excerpt": finding.quote, "place": finding.place}
            for finding in item.findings
        ],
    }
