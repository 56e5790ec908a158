"""Reads definitions from the text of a file: a `tools/list` answer, a list of tools, or JSON Lines."""

import json
from collections.abc import Iterator
from typing import NamedTuple, cast

from remit.decision.tools import Definition
from remit.errors import BadFileError
from remit.text.json_values import as_object

_EXPECTED = "give a `tools/list` answer, or one tool per line"
_SCHEMAS = ("inputSchema", "input_schema", "parameters")


class FileDefinition(NamedTuple):
    """A definition from a file, under the file's own identifier."""

    id: str
    definition: Definition


def read_definitions(text: str, source: str, server: str | None = None) -> list[FileDefinition]:
    """Read the definitions of a file; `server` is the default for tools that do not name theirs.

    Raises:
        BadFileError: the text is empty, is not JSON, or holds something else than tools.
    """
    content = text.removeprefix("\ufeff")
    if not content.strip():
        raise BadFileError(f"{source}: the file is empty", hint=_EXPECTED)
    return [_definition(item, f"{source}: {place}", server) for place, item in _items(content, source)]


def _items(text: str, source: str) -> Iterator[tuple[str, object]]:
    """Yield the items of a file, each with its place."""
    try:
        whole: object = json.loads(text)
    except (ValueError, RecursionError) as failure:
        yield from _lines(text, source, failure)
        return
    answer = as_object(whole)
    listed = as_object(answer.get("result", answer)).get("tools", whole)
    if isinstance(listed, list):
        yield from ((f"tool {at}", each) for at, each in enumerate(cast("list[object]", listed), 1))
    elif "name" in answer:
        yield "tool 1", whole
    else:
        raise BadFileError(f"{source}: holds no tools", hint=_EXPECTED)


def _lines(text: str, source: str, failure: Exception) -> list[tuple[str, object]]:
    """Read JSON Lines; the error names the bad line, if most lines are good, or where JSON ends."""
    numbered = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    read = [(at, _parsed(line)) for at, line in numbered]
    bad = [at for at, item in read if item is None]
    if not bad:
        return [(f"line {at}", item) for at, item in read]
    if len(bad) <= len(read) // 2:
        more = f" (the first of {len(bad)})" if len(bad) > 1 else ""
        raise BadFileError(f"{source}: line {bad[0]} is not a JSON object{more}")
    position = ""
    if isinstance(failure, json.JSONDecodeError) and len(numbered) > 1:
        position = f" (line {failure.lineno}: {failure.msg})"
    raise BadFileError(f"{source}: not JSON{position}, nor JSON Lines")


def _parsed(line: str) -> dict[str, object] | None:
    """Parse a line that must be an object."""
    try:
        item: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", item) if isinstance(item, dict) else None


def _definition(item: object, place: str, server: str | None) -> FileDefinition:
    fields = as_object(item)
    name = fields.get("name")
    if not isinstance(name, str):
        raise BadFileError(f"{place} has no name")
    holder = _text(fields, "server") or server
    schema = next((fields[key] for key in _SCHEMAS if fields.get(key) is not None), None)
    found = Definition(
        name=f"mcp__{holder}__{name}" if holder else name,
        server=holder,
        tool=name,
        title=_text(fields, "title"),
        description=_text(fields, "description"),
        input_schema=_schema(schema),
        output_schema=_schema(fields.get("outputSchema")),
        annotations=_schema(fields.get("annotations")),
        raw=json.dumps({key: value for key, value in fields.items() if _is_servers(key, fields)}),
    )
    return FileDefinition(str(fields.get("id", found.name)), found)


def _is_servers(key: str, fields: dict[str, object]) -> bool:
    """Return whether a field is the server's; what else a record with an `id` or a `server` has is a note."""
    return key == "_meta" if "id" in fields or "server" in fields else key != "name"


def _schema(value: object) -> str | None:
    """Return a schema as text; a plain list names parameters."""
    if isinstance(value, list):
        named: dict[str, object] = {str(each): {} for each in cast("list[object]", value)}
        return json.dumps({"properties": named})
    return json.dumps(value) if isinstance(value, dict) else None


def _text(fields: dict[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None
