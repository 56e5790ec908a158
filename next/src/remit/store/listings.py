"""The lists of servers, and definitions, stored once by content."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from remit.decision import (
    Declaration,
    DeclaredStates,
    DeclaredTool,
    Definition,
    Key,
    Offer,
    Workspace,
    by_annotations,
)
from remit.store.catalog import Accepted
from remit.store.database import Database, Value, key_parameters, scope_parameters
from remit.text import as_object, definition_tokens


class PreparedDefinition(NamedTuple):
    """A definition of a list on its way to the store: compared, inspected, perhaps accepted."""

    definition: Definition
    pin: str
    findings: str | None = None  # of the inspection, as JSON
    inspector: str | None = None  # the version that inspected it; None: nobody did now
    accepted_by: str | None = None  # None: what was accepted before stays
    is_listed: bool = True  # False: only declared, by a server that knows states


class KnownDefinition(NamedTuple):
    """What is stored about the content of a definition."""

    pin: str | None
    findings: str | None
    inspector: str | None


class KnownList(NamedTuple):
    """What is stored about a server, to compare its next list with."""

    is_stored: bool = False  # a file declares it
    listed_entry: str | None = None  # digest of its entry at the last listing; None: never listed
    is_plugin_listed: bool = False  # a server that its plugin had before this one was listed
    accepted: Mapping[str, Accepted] = {}  # by canonical name; its instructions by its own
    definitions: Mapping[str, KnownDefinition] = {}  # by digest


class _Server(NamedTuple):
    """The row of a server."""

    id: int
    listed_entry: str | None
    failure: str | None
    failed_entry: str | None
    instructions: str | None  # digest of their definition
    offer_entry: str | None
    offer: str | None


def make_definition(
    name: str, server: str | None, tool: str | None, description: str | None, raw: Mapping[str, Any]
) -> Definition:
    """Make a definition with the digest of its content, in whatever order its keys are written."""
    content = [name, server, tool, description, raw]
    digest = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return Definition(digest, name, server, tool, description, json.dumps(raw))


class ListingStore:
    """Stores the lists of servers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, declaration: Declaration, digests: Iterable[str], workspace: Workspace) -> KnownList:
        """Return what a server's next list is compared with; `digests` are those of its definitions."""
        rows = self._database.rows("known_definitions", digests=json.dumps(list(digests)))
        definitions = {digest: KnownDefinition(*known) for digest, _, *known in rows}
        server = self._server(declaration, workspace)
        if server is None:
            return KnownList(definitions=definitions)
        scope = scope_parameters(workspace)
        plugin = {"plugin": declaration.plugin, "client": declaration.client, "server_id": server.id}
        pins = self._database.rows("pins_of_server", server_id=server.id, **scope)
        return KnownList(
            True,
            server.listed_entry,
            bool(declaration.plugin and self._database.rows("listed_plugin", **plugin, **scope)),
            {name: Accepted(*pin) for name, *pin in pins},
            definitions,
        )

    def names(self, workspace: Workspace) -> tuple[frozenset[str], frozenset[str]]:
        """Return the labels of the servers and the names of the tools in scope, which others may imitate."""
        rows = self._database.rows("names_here", **scope_parameters(workspace))
        tools = frozenset(name for kind, _, name in rows if kind == "mcp_tool")
        return frozenset(server for kind, server, _ in rows if kind == "mcp_server"), tools

    def keep(
        self,
        declaration: Declaration,
        offer: Offer,
        prepared: Sequence[PreparedDefinition],
        workspace: Workspace,
        at: int,
        *,
        instructions: PreparedDefinition | None = None,
    ) -> None:
        """Store a server's list; tools missing from a complete one are no longer listed."""
        server = self._server(declaration, workspace)
        if server is None:
            return
        if offer.failure is not None:  # the tools listed before stay
            self._fail(server, declaration, offer.failure.reason)
            return
        scope, entry = scope_parameters(workspace), declaration.digest
        about = {"server_id": server.id, "entry": entry}
        rows = self._database.rows("tools_of_server", server_id=server.id, **scope)
        listed = [*prepared, *([] if instructions is None else [instructions])]
        known = self.known(declaration, [item.definition.digest for item in listed], workspace)
        tools = _tools_to_write(declaration, server.id, prepared, {row[0]: row[2:] for row in rows}, at)
        missing = _missing(prepared, rows) if not offer.is_partial else []
        definitions = [_columns(item) for item in listed if _is_news(item, known)]
        pins = [
            {**_pin(item, at), **about, **scope} for item in listed if _is_newly_accepted(item, known, entry)
        ]
        content = _write_offer(offer)
        marks = (entry, None, instructions and instructions.definition.digest, entry, content)
        was = (server.listed_entry, server.failure, server.instructions, server.offer_entry, server.offer)
        is_same = not (definitions or tools or missing or pins) and marks == was
        with self._database.transaction(changes=None if is_same else "catalog"):
            self._database.run_each("define", definitions)
            self._database.run_each("list_tool", tools)
            self._database.run_each("unlist_tool", missing)
            self._database.rows("mark_listed", **about, at=at, instructions=marks[2])
            self._database.run_each("pin_listed", pins)
            if not is_same:
                self._database.rows("keep_offer", **about, content=content)

    def offers(self, workspace: Workspace) -> dict[Key, Offer]:
        """Return what servers offer besides tools, by key, except servers whose entry has changed."""
        rows = self._database.rows("offers", **scope_parameters(workspace))
        return {tuple(key): _read_offer(content) for *key, content in rows}

    def _server(self, declaration: Declaration, workspace: Workspace) -> _Server | None:
        place = {**key_parameters(declaration.key), **scope_parameters(workspace)}
        rows = self._database.rows("server_of_key", **place)
        return _Server(*rows[0]) if rows else None

    def _fail(self, server: _Server, declaration: Declaration, reason: str) -> None:
        is_same = (server.failure, server.failed_entry) == (reason, declaration.digest)
        with self._database.transaction(changes=None if is_same else "catalog"):
            about = {"server_id": server.id, "entry": declaration.digest}
            self._database.rows("mark_failed", **about, reason=reason)


def _tools_to_write(
    declaration: Declaration,
    server: int,
    prepared: Sequence[PreparedDefinition],
    stored: Mapping[str, Sequence[Any]],
    at: int,
) -> list[dict[str, Value]]:
    place = {**key_parameters(declaration.key), "server_id": server, "at": at}
    place |= {"plugin": declaration.plugin, "source": declaration.source}
    return [
        {**place, "name": name, "definition": state[0], "is_unlisted": state[1]}
        for name, *state in (
            (item.definition.name, item.definition.digest, int(not item.is_listed)) for item in prepared
        )
        if [*stored.get(name, ())] != state
    ]


def _is_news(item: PreparedDefinition, known: KnownList) -> bool:
    stored = known.definitions.get(item.definition.digest)
    if stored is None or item.inspector is None:
        return stored is None or stored.pin != item.pin
    return stored != (item.pin, item.findings, item.inspector)


def _is_newly_accepted(item: PreparedDefinition, known: KnownList, entry: str | None) -> bool:
    accepted = known.accepted.get(item.definition.name)
    before = None if accepted is None else (accepted.pin, accepted.entry)
    return item.accepted_by is not None and before != (item.pin, entry)


def _pin(item: PreparedDefinition, at: int) -> dict[str, Value]:
    definition = item.definition
    return {"name": definition.name, "definition": definition.digest, "by": item.accepted_by, "at": at}


def _missing(prepared: Sequence[PreparedDefinition], rows: Iterable[Sequence[Any]]) -> list[dict[str, Value]]:
    names = {item.definition.name for item in prepared}
    return [{"tool": id} for name, id, _, is_unlisted in rows if not is_unlisted and name not in names]


def report_columns(
    name: str, description: str | None, schema: Mapping[str, object] | None
) -> dict[str, Value]:
    """Return the row of a definition that a report tells, which nobody pins or inspects."""
    raw = {"description": description, "inputSchema": schema}
    definition = make_definition(name, None, None, description, raw)
    return _columns(PreparedDefinition(definition, "")) | {"pin": None, "danger": None}


def _columns(item: PreparedDefinition) -> dict[str, Value]:
    definition = item.definition
    raw = as_object(json.loads(definition.raw))
    schema = raw.get("inputSchema")
    written = None if schema is None else json.dumps(schema)
    return {
        **definition._asdict(),
        "pin": item.pin,
        "danger": by_annotations(raw),
        "tokens": definition_tokens(definition.name, definition.description, written),
        "findings": item.findings,
        "inspector": item.inspector,
    }


_PARTS = ("resources", "templates", "prompts", "capabilities", "instructions")
_VERSIONS = ("protocol_version", "server_version")


def _write_offer(offer: Offer) -> str:
    content = {part: getattr(offer, part) for part in (*_PARTS, *_VERSIONS)}
    declared = offer.declared
    return json.dumps({**content, "declared": None if declared is None else declared._asdict()})


def _read_offer(content: str) -> Offer:
    parts: dict[str, Any] = json.loads(content)
    declared = parts.pop("declared")
    if declared is not None:
        tools = [DeclaredTool(Definition(*definition), *rest) for definition, *rest in declared["tools"]]
        declared = DeclaredStates(tools, declared["states"], declared["directory"])
    return Offer(**parts, declared=declared)
