"""Puts together the lock of a project: what its files declare, decided without any user's files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from remit.bootstrap import now, open_states
from remit.decision.context import Context
from remit.decision.decide import decide
from remit.decision.definitions.definition_changes import is_held
from remit.decision.definitions.project_lock import (
    ENTRY,
    INSTRUCTIONS,
    LockedServer,
    LockTexts,
    Place,
    ProjectLock,
    lock_place,
)
from remit.decision.kinds import COULD_RUN, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Definition
from remit.files.bounded_reader import Machine, this_machine
from remit.search.engine import SearchEngine
from remit.text.untrusted_text import one_line

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration, Key, Resolved
    from remit.decision.tools import Tool
    from remit.registry import Registry

_MOST_TEXT = 250_000  # characters of all texts: a lock can have a megabyte
_LONGEST_TEXT = 8_000  # characters of one definition
_LONGEST_LINE = 4_000
_NOWHERE = os.path.join(os.sep, "nonexistent")  # the home directory of nobody
MAIN = "main"  # the main session, among the agents


class ProjectServers(NamedTuple):
    """The servers that a project declares, with what is known about their tools."""

    declared: Mapping[Place, Sequence["Declaration"]]  # several clients may read the same file
    listed: Mapping[Place, Sequence["Tool"]]  # the tools of those that listed them
    definitions: Mapping["Key", "Definition"]
    instructions: Mapping[Place, str | None]  # of the servers that were listed
    held: Sequence["Tool"]  # tools, and servers by their instructions, that nobody accepted as they are
    listed_at: Mapping[Place, int]  # when, in milliseconds
    untrusted: Sequence[Place] = ()  # whose entries the user does not trust as they are
    sandboxes: Mapping[Place, str] = MappingProxyType({})  # that the project declares, in words

    def listable(self) -> list[Place]:
        """List the servers that Remit can start; it starts none of those that agents declare."""
        return [place for place, (first, *_) in self.declared.items() if first.agent is None]

    def unlisted(self) -> list[Place]:
        """List the servers whose tools are not known."""
        return sorted(place for place in self.listable() if place not in self.listed)


def project_servers(registry: "Registry", context: Context) -> ProjectServers:
    """Find the servers that the files of a project declare, for all clients."""
    everyone, root = replace(context, client=None), context.workspace.checkout
    declared: dict[Place, list[Declaration]] = {}
    for item in registry.catalog.resolved(everyone):
        place = lock_place(item.declaration, root)
        if place is not None and _is_locked(item):
            declared.setdefault(place, []).append(item.declaration)
    clients = {each.client for entries in declared.values() for each in entries}
    views = [registry.catalog.tools(replace(context, client=client)) for client in sorted(clients)]
    found = {tool.key: tool for tools in views for tool in tools if lock_place(tool, root) is not None}
    rows = [*found.values()]
    current = {row.key: row.listed_at for row in rows if row.listed_at is not None and not row.is_outdated}
    extras = registry.catalog.extras(everyone)
    listed: dict[Place, list[Tool]] = {}
    instructions: dict[Place, str | None] = {}
    listed_at: dict[Place, int] = {}
    servers: list[Tool] = []
    for place, entries in declared.items():
        listing = [each for each in entries if each.key in current]
        if listing:
            known = max(listing, key=lambda each: current[each.key])  # for whichever client it was listed
            listed_at[place] = current[known.key]
            listed[place] = [row for row in rows if _is_tool_of(row, known)]
            servers += [row for row in rows if row.key == known.key]
            if known.key in extras:
                instructions[place] = extras[known.key].instructions
    changes = registry.configuration.current(context.workspace).compiled.policy.changes
    tools = [tool for of_server in listed.values() for tool in of_server]
    definitions = registry.catalog.definitions(tools, everyone)
    held = [tool for tool in (*tools, *servers) if is_held(tool.change, changes)]
    trusts = {each.declaration.key: each for each in registry.trust.servers(everyone)}
    untrusted = _untrusted(declared, {key: each.is_trusted for key, each in trusts.items()})
    sandboxes = {
        place: str(trusts[first.key].projects_sandbox).replace(os.sep, "/")
        for place, (first, *_) in declared.items()
        if first.key in trusts and trusts[first.key].projects_sandbox is not None
    }
    return ProjectServers(declared, listed, definitions, instructions, held, listed_at, untrusted, sandboxes)


def _untrusted(
    declared: Mapping[Place, Sequence["Declaration"]], trusts: Mapping["Key", bool]
) -> list[Place]:
    """List the servers whose entry, as a lock would have it, the user trusts for no client."""
    return sorted(
        place
        for place, entries in declared.items()
        if not any(trusts.get(each.key, True) and each.digest == entries[0].digest for each in entries)
    )


def _is_locked(item: "Resolved") -> bool:
    """Tell whether a declaration of the project is a server that a client could start."""
    declaration = item.declaration
    is_server = declaration.kind is Kind.MCP_SERVER and declaration.launch is not None
    return is_server and item.config_status in COULD_RUN and not declaration.is_remit


def _is_tool_of(row: "Tool", declaration: "Declaration") -> bool:
    is_tool = row.kind is Kind.MCP_TOOL and row.pin is not None and not row.is_unlisted
    return is_tool and _owner(row) == _owner(declaration)


def _owner(item: "Tool | Declaration") -> tuple[str | None, ...]:
    return item.client, item.scope, item.project_hash, item.dir, item.agent, item.plugin, item.server


def build_lock(servers: ProjectServers, context: Context) -> ProjectLock:
    """Build the lock of a project from what is known about its servers."""
    from remit.trust.definition_pin import instructions_pin
    from remit.upstream.launch.installed_packages import launched_package

    machine, root = this_machine(), context.workspace.checkout
    locked: dict[Place, LockedServer] = {}
    for place, (declaration, *_) in servers.declared.items():
        launch = declaration.launch
        package = None
        if launch is not None:
            package = launched_package(launch, root, machine.variables, machine.home)
        tools = servers.listed.get(place)
        pins = None if tools is None else {tool.name: tool.pin or "" for tool in tools}
        said = instructions_pin(servers.instructions[place]) if place in servers.instructions else None
        entry = _entry(declaration)
        locked[place] = LockedServer(entry, package, pins, said, servers.sandboxes.get(place))
    return ProjectLock(root=root, servers=locked, visible=_visible(servers, context))


def lock_texts(servers: ProjectServers) -> LockTexts:
    """Write what people read of each server, so that a later check can show what changed.

    A long definition, and what exceeds the size of a lock, has only its digest.
    """
    from remit.trust.definition_diff import definition_lines, instruction_lines
    from remit.trust.entry_text import entry_outline

    left, found = _MOST_TEXT, dict[Place, dict[str, list[str]]]()
    for place, (declaration, *_) in sorted(servers.declared.items()):
        parts: dict[str, list[str]] = {}
        if declaration.launch is not None:
            parts[ENTRY] = entry_outline(declaration.launch)
        if said := servers.instructions.get(place):
            parts[INSTRUCTIONS] = instruction_lines(Definition(name="", description=said))
        for tool in servers.listed.get(place, ()):
            lines = definition_lines(servers.definitions.get(tool.key))
            parts[tool.name] = [line for line in lines if not line.startswith("name: ")]
        for part, lines in parts.items():
            shown = [one_line(line, _LONGEST_LINE) for line in lines]
            size = sum(map(len, shown))
            if shown and size <= min(left, _LONGEST_TEXT):
                left -= size
                found.setdefault(place, {})[part] = shown
    return found


def _entry(declaration: "Declaration") -> str:
    """Return the digest of an entry, without the folders of a plugin on this machine."""
    launch = declaration.launch
    if declaration.scope is Scope.PLUGIN and launch is not None:
        return replace(launch, variables={}).digest
    return declaration.digest or ""


def _visible(servers: ProjectServers, context: Context) -> dict[str, dict[str, dict[str, str]]]:
    """Decide what each client and agent sees of the project, as for a user without any files."""
    from remit.registry import Registry
    from remit.scanning.client_files import ClientFiles
    from remit.store.open_store import open_store

    nobody = Machine(home=_NOWHERE, variables={}, platform=this_machine().platform, root=_NOWHERE)
    store = open_store(":memory:")
    with Registry(store, ClientFiles(nobody), open_states(store, nobody), SearchEngine({}), now) as registry:
        found: dict[str, dict[str, dict[str, str]]] = {}
        for client in sorted({each.client for entries in servers.declared.values() for each in entries}):
            at = replace(registry.at(context.workspace.dir, client), starts_servers=True, ignores_lock=True)
            _list_as_known(registry, servers, at)
            found[client] = _by_agent(registry, at)
        return found


def _list_as_known(registry: "Registry", servers: ProjectServers, context: Context) -> None:
    """Store what the servers of the project list, and trust them, in a registry of nobody."""
    from remit.upstream.upstream_model import Offer

    for item in registry.catalog.resolved(context):
        place = lock_place(item.declaration, context.workspace.checkout)
        if place is not None and place in servers.listed and _is_locked(item):
            found = (servers.definitions.get(tool.key) for tool in servers.listed[place])
            tools = [definition for definition in found if definition is not None]
            registry.catalog.keep(item.declaration, Offer(tools=tools), context)
    registry.trust.grant(registry.trust.servers(context), context)


def _by_agent(registry: "Registry", context: Context) -> dict[str, dict[str, str]]:
    """List the visible tools of the main session, and of each agent that the project declares."""
    context, listed = registry.catalog.listing(context)
    agents = [item.tool.name for item in listed if item.tool.profile is not None]
    found = {MAIN: _usable((item.tool for item in listed), context)}
    for name in agents:
        found[name] = _usable((item.tool for item in listed), registry.as_agent(name, context))
    return found


def _usable(tools: Iterable["Tool"], context: Context) -> dict[str, str]:
    """Rate the tools that can be used once the user has approved their server in the client."""
    own = (tool for tool in tools if tool.kind is Kind.MCP_TOOL and tool.scope is Scope.PROJECT)
    decided = ((tool, decide(tool, context)) for tool in map(_approved, own))
    return {
        tool.name: f"{decision.verdict}, {context.policy.rate(tool).rating.level.word}"
        for tool, decision in decided
        if decision.is_available
    }


def _approved(tool: "Tool") -> "Tool":
    is_pending = tool.config_status is ConfigStatus.PENDING
    return tool._replace(config_status=ConfigStatus.ENABLED) if is_pending else tool
