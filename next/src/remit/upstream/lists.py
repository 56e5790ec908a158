"""Reads the lists of a server item by item, and quarantines bad tools with a reason."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from remit.decision import LEVELS, DeclaredStates, DeclaredTool, Definition, Offer, Quarantined
from remit.protocol import Handshake, RawLists, schema_fault
from remit.store import make_definition
from remit.text import as_list, as_object
from remit.upstream.failures import is_too_deep, output_redactor
from remit.upstream.model import Upstream

# The capability of a server that knows states: `{"tools": [{"tool", "states", "namespace", "danger"}],
# "states": {name: {"description", …a detector}}, "directory"}`. Each tool is a whole definition.
DECLARES_STATES = "remit/states"
MAX_DEFINITION = 2**20  # characters
MAX_NAME = 256  # characters
_MAX_ITEMS = 10_000  # per list
_EXTENSIONS = ("experimental", "extensions")  # the members of the capabilities, by era


class _BadToolError(Exception):
    """A tool cannot be used."""


class _Reader:
    """Reads definitions of one server, of which no two may have the same canonical name."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._holders: dict[str, str] = {}  # canonical name to original name
        self.quarantined: list[Quarantined] = []

    def tools(self, items: Iterable[object]) -> list[Definition]:
        """Read a list of tools."""
        tools: list[Definition] = []
        for at, item in enumerate(items, start=1):
            definition = self._read(item, f"number {at}")
            if definition is not None:
                tools.append(definition)
        return tools

    def declared(self, capabilities: Mapping[str, Any]) -> DeclaredStates | None:
        """Read what a server that knows states declares."""
        extensions = (as_object(capabilities.get(member)) for member in _EXTENSIONS)
        content = next((each[DECLARES_STATES] for each in extensions if DECLARES_STATES in each), None)
        if content is None or is_too_deep(content):
            return None
        content = as_object(content)
        self._holders = {}
        tools: list[DeclaredTool] = []
        for at, item in enumerate(as_list(content.get("tools"))[:_MAX_ITEMS], start=1):
            fields = as_object(item)
            definition = self._read(fields.get("tool"), f"declared tool number {at}")
            states, namespace, danger = (fields.get(name) for name in ("states", "namespace", "danger"))
            if definition is None:
                continue
            if not _are_texts(states or []) or (danger is not None and danger not in LEVELS):
                self._quarantine(definition.tool or "", "its declared states or danger cannot be read")
                continue
            namespace = namespace if isinstance(namespace, str) else None
            tools.append(DeclaredTool(definition, tuple(as_list(states)), namespace, danger))
        states = {name: as_object(state) for name, state in as_object(content.get("states")).items()}
        directory = content.get("directory")
        return DeclaredStates(tools, states, directory if isinstance(directory, str) else None)

    def _read(self, item: object, label: str) -> Definition | None:
        try:
            fields = _object(item, "the tool")
            label = _name(fields)
            if is_too_deep(fields):
                raise _BadToolError("its definition is nested too deeply")
            definition = self._definition(label, fields)
            if (holder := self._holders.get(definition.name)) == label:
                raise _BadToolError("is listed more than once; the first counts")
            if holder is not None:
                raise _BadToolError(f"collides with `{holder}`: both are called `{definition.name}`")
        except _BadToolError as error:
            self._quarantine(label, str(error))
            return None
        self._holders[definition.name] = label
        return definition

    def _definition(self, label: str, fields: dict[str, object]) -> Definition:
        schema = _object(fields.get("inputSchema"), "inputSchema")
        if schema.get("type") != "object":
            raise _BadToolError('inputSchema: `type` is not "object"')
        if (fault := schema_fault(schema)) is not None:
            raise _BadToolError(f"inputSchema: `x-mcp-header` cannot be used: {fault}")
        for name in ("outputSchema", "annotations"):
            if fields.get(name) is not None:
                _object(fields[name], name)
        for name in ("title", "description"):
            if not isinstance(fields.get(name, ""), str | None):
                raise _BadToolError(f"{name}: not text")
        if len(_json(fields)) > MAX_DEFINITION:
            raise _BadToolError(f"its definition is longer than {MAX_DEFINITION:,} characters")
        name, description = storable(label), fields.get("description")
        text = storable(description) if isinstance(description, str) else None
        return make_definition(self._upstream.canonical(label), self._upstream.label, name, text, fields)

    def _quarantine(self, tool: str, reason: str) -> None:
        self.quarantined.append(Quarantined(tool, reason))


def read_offer(
    lists: RawLists,
    handshake: Handshake,
    upstream: Upstream,
    *,
    secrets: Iterable[str] = (),
    is_partial: bool = False,
    seconds: float = 0.0,
) -> Offer:
    """Read the lists of a server; tools that cannot be used are reported without secrets."""
    reader, redact = _Reader(upstream), output_redactor(secrets)
    tools = reader.tools(lists.get("tools", ()))
    declared = reader.declared(handshake.capabilities)
    version = handshake.server.get("version")
    return Offer(
        tools=tools,
        quarantined=[
            Quarantined(storable(redact(bad.tool)), storable(redact(bad.reason)))
            for bad in reader.quarantined
        ],
        resources=_usable(lists.get("resources", ()), "uri"),
        templates=_usable(lists.get("templates", ()), "uriTemplate"),
        prompts=_usable(lists.get("prompts", ()), "name"),
        capabilities=_plain(handshake.capabilities),
        instructions=None if handshake.instructions is None else storable(handshake.instructions),
        protocol_version=handshake.version,
        server_version=storable(version)[:MAX_NAME] if isinstance(version, str) else None,
        seconds=seconds,
        is_partial=is_partial,
        declared=declared,
    )


def storable(text: str) -> str:
    """Replace lone surrogates, which JSON can express but a database cannot store."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out what is read as declared states, and what cannot be stored."""
    plain = dict(capabilities)
    for member in _EXTENSIONS:
        if DECLARES_STATES in as_object(plain.get(member)):
            plain[member] = {
                name: value for name, value in as_object(plain[member]).items() if name != DECLARES_STATES
            }
    return plain if _is_bounded(plain) else {}


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value))


def _name(fields: dict[str, object]) -> str:
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _BadToolError("has no name")
    if len(name) > MAX_NAME:
        raise _BadToolError(f"its name is longer than {MAX_NAME} characters")
    return name


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _BadToolError(f"{place}: not an object" if value is not None else f"{place}: is missing")
    return cast("dict[str, object]", value)


def _json(value: Mapping[str, object]) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise _BadToolError("contains a number that JSON cannot represent") from None


def _usable(items: Iterable[object], key: str) -> list[dict[str, Any]]:
    """Keep objects of bounded size with distinct names."""
    usable: dict[str, dict[str, Any]] = {}
    for item in items:
        fields = as_object(item)
        name = fields.get(key)
        if isinstance(name, str) and name and _is_bounded(fields):
            usable.setdefault(name, fields)
    return list(usable.values())[:_MAX_ITEMS]


def _is_bounded(fields: Mapping[str, Any]) -> bool:
    if is_too_deep(fields):
        return False
    try:
        return len(_json(fields)) <= MAX_DEFINITION
    except _BadToolError:
        return False
