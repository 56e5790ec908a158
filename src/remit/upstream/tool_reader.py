"""Reads the lists of a server item by item, and quarantines bad tools with a reason."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from remit.decision.tool_names import storable
from remit.decision.tools import Definition
from remit.protocol import header_parameters
from remit.text.redaction import output_redactor
from remit.upstream.ports import ServerLists
from remit.upstream.upstream_model import Offer, Quarantined, ServerExtras, Upstream

MAX_DEFINITION = 2**20  # characters
MAX_NAME = 256  # characters
MAX_DEPTH = 100  # levels of JSON; whoever compares definitions goes through them one in another
_MAX_ITEMS = 10_000  # per list


class ToolDefinitionError(Exception):
    """A tool definition is unusable."""


class ReadTools(NamedTuple):
    """Usable tools, and quarantined ones."""

    tools: list[Definition]
    quarantined: list[Quarantined]


def read_tools(
    items: Iterable[object], upstream: Upstream, secrets: Callable[[], frozenset[str]] = frozenset
) -> ReadTools:
    """Read a raw list of tools; those that cannot be used are reported without secrets."""
    found = ReadTools([], [])
    holders: dict[str, str] = {}  # canonical name to original name
    for at, item in enumerate(items, start=1):
        label = f"number {at}"
        try:
            fields = _object(item, "the tool")
            label = _name(fields)
            if is_too_deep(fields):
                raise ToolDefinitionError(f"its definition is nested more than {MAX_DEPTH} levels deep")
            definition = _definition(label, fields, upstream)
            if (holder := holders.get(definition.name)) == label:
                raise ToolDefinitionError("is listed more than once; the first counts")
            if holder is not None:
                raise ToolDefinitionError(f"collides with `{holder}`: both are called `{definition.name}`")
            holders[definition.name] = label
            found.tools.append(definition)
        except ToolDefinitionError as error:
            found.quarantined.append(Quarantined(tool=label, reason=str(error)))
    return found._replace(quarantined=_reportable(found.quarantined, secrets))


def _reportable(quarantined: list[Quarantined], secrets: Callable[[], frozenset[str]]) -> list[Quarantined]:
    if not quarantined:
        return []
    redact = output_redactor(secrets())
    return [
        Quarantined(tool=storable(redact(each.tool)), reason=storable(redact(each.reason)))
        for each in quarantined
    ]


def is_too_deep(value: object) -> bool:
    """Check whether JSON is nested too deeply to go through it."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return False
    return True


def _inner(value: object) -> Iterator[object]:
    held: Iterable[object] = ()
    if isinstance(value, dict):
        held = cast("dict[str, object]", value).values()
    elif isinstance(value, list):
        held = cast("list[object]", value)
    return filter(_is_nested, held)


def _is_nested(value: object) -> bool:
    return isinstance(value, dict | list)


def _definition(label: str, fields: dict[str, object], upstream: Upstream) -> Definition:
    schema = _object(fields.get("inputSchema"), "inputSchema")
    if schema.get("type") != "object":
        raise ToolDefinitionError('inputSchema: `type` is not "object"')
    if (fault := header_parameters.schema_fault(schema)) is not None:
        raise ToolDefinitionError(f"inputSchema: `x-mcp-header` cannot be used: {fault}")
    definition = Definition(
        name=upstream.canonical(label),
        server=upstream.label,
        tool=storable(label),
        title=_optional_text(fields, "title"),
        description=_optional_text(fields, "description"),
        input_schema=_json(schema),
        output_schema=_json(_optional_object(fields, "outputSchema")),
        annotations=_json(_optional_object(fields, "annotations")),
        raw=_raw(fields),
    )
    if len(definition.raw or "") > MAX_DEFINITION:
        raise ToolDefinitionError(f"its definition is longer than {MAX_DEFINITION:,} characters")
    return definition


def _name(fields: dict[str, object]) -> str:
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ToolDefinitionError("has no name")
    if len(name) > MAX_NAME:
        raise ToolDefinitionError(f"its name is longer than {MAX_NAME} characters")
    return name


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ToolDefinitionError(f"{place}: not an object" if value is not None else f"{place}: is missing")
    return cast("dict[str, object]", value)


def _optional_object(fields: dict[str, object], name: str) -> dict[str, object] | None:
    value = fields.get(name)
    return None if value is None else _object(value, name)


def _optional_text(fields: dict[str, object], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ToolDefinitionError(f"{name}: not text")
    return None if value is None else storable(value)


def _raw(fields: dict[str, object]) -> str:
    """Serialize the definition without its name, since the served name may differ."""
    return _serialize({key: value for key, value in fields.items() if key != "name"}, sort_keys=False)


def _json(value: dict[str, object] | None) -> str | None:
    return None if value is None else _serialize(value, sort_keys=True)


def _serialize(value: dict[str, object], *, sort_keys: bool) -> str:
    try:
        return json.dumps(value, sort_keys=sort_keys, allow_nan=False)
    except ValueError:
        raise ToolDefinitionError("contains a number that JSON cannot represent") from None


def read_offer(lists: ServerLists, upstream: Upstream) -> Offer:
    """Read all lists of a server."""
    tools = read_tools(lists.tools, upstream, lists.secrets)
    return Offer(
        tools=tools.tools,
        quarantined=tools.quarantined,
        protocol_version=lists.protocol_version,
        server_version=None if lists.server_version is None else lists.server_version[:MAX_NAME],
        is_partial=lists.is_partial,
        extras=ServerExtras(
            resources=_usable(lists.resources, "uri"),
            templates=_usable(lists.templates, "uriTemplate"),
            prompts=_usable(lists.prompts, "name"),
            capabilities={} if is_too_deep(lists.capabilities) else dict(lists.capabilities),
            instructions=None if lists.instructions is None else storable(lists.instructions),
        ),
    )


def _usable(items: Iterable[object], key: str) -> list[dict[str, Any]]:
    """Keep objects of bounded size with distinct names."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, Mapping):
            continue
        fields = cast("dict[str, Any]", item)
        name = fields.get(key)
        if isinstance(name, str) and name and _is_bounded(fields):
            found.setdefault(name, fields)
        if len(found) >= _MAX_ITEMS:
            break
    return list(found.values())


def _is_bounded(fields: dict[str, Any]) -> bool:
    if is_too_deep(fields):
        return False
    try:
        text = json.dumps(fields, allow_nan=False)
    except ValueError:
        return False
    return len(text) <= MAX_DEFINITION
