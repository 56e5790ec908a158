"""Reads definitions from the text of a file: a `tools/list` answer, a list of tools, or JSON Lines."""

import json
from collections.abc import Iterator
from typing import NamedTuple, cast

from remit.decision.tools import Definition
from remit.errors import BadFileError
from remit.text.json_values import as_object

_SCHEMAS = ("inputSchema", "input_schema", "parameters")


class FileDefinition(NamedTuple):
    """A definition from a file, under the file's own identifier."""

    id: str
    definition: Definition


def read_definitions(text: str, source: str, server: str | None = None) -> list[FileDefinition]:
    """Read the definitions of a file; `server` is the default for tools that do not name theirs.

    Raises:
        BadFileError: the text is not JSON, or holds something else than tools.
    """
    try:
        return [_definition(each, source, server) for each in _items(text.removeprefix("\ufeff"), source)]
    except (ValueError, RecursionError):
        raise BadFileError(f"{source}: not JSON, nor JSON Lines") from None


def _items(text: str, source: str) -> Iterator[object]:
    try:
        whole: object = json.loads(text)
    except ValueError:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())
        return
    answer = as_object(whole)
    listed = as_object(answer.get("result", answer)).get("tools", whole)
    if isinstance(listed, list):
        yield from cast("list[object]", listed)
    elif "name" in answer:
        yield whole
    else:
        raise BadFileError(
            f"{source}: holds no tools", hint="give a `tools/list` answer, or one tool per line"
        )


def _definition(item: object, source: str, server: str | None) -> FileDefinition:
    fields = as_object(item)
    name = fields.get("name")
    if not isinstance(name, str):
        raise BadFileError(f"{source}: a tool has no name")
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
    )
    return FileDefinition(str(fields.get("id", found.name)), found)


def _schema(value: object) -> str | None:
    """Return a schema as text; a plain list names parameters."""
    if isinstance(value, list):
        named: dict[str, object] = {str(each): {} for each in cast("list[object]", value)}
        return json.dumps({"properties": named})
    return json.dumps(value) if isinstance(value, dict) else None


def _text(fields: dict[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None
