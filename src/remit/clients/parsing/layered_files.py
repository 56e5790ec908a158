"""Clients that merge their files: the merged entry of each server, and the file that declares it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.clients.parsing.client_reader import ClientReader, EntryOrigin, ParsedFile, declare_servers
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.server_entries import ServerEntry
from remit.decision.kinds import Kind
from remit.decision.scopes import Scope, strength


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayer:
    """The servers of one file."""

    origin: EntryOrigin
    servers: Mapping[str, object]
    counts: bool = True  # False: the client ignores the file, because its folder is not trusted
    permissions: EntryFields = field(default_factory=lambda: EntryFields({}))  # the file, for its rules


def declare_layers(
    reader: ClientReader,
    layers: Sequence[FileLayer],
    *,
    read_entry: Callable[[str, EntryFields], ServerEntry],
    merge: Callable[[object, object], object],
) -> None:
    """Declare the servers of each file, weakest first, merged with the weaker files.

    The strongest file that names a server declares it as the client merges it, and only there a mistake is
    recorded. Weaker files declare it too, for workspaces that the strongest file does not apply to, unless
    their scope would win over the strongest's. A server that a project's file contributes to belongs to the
    project, even if another file is stronger, because others can edit it.
    """
    strongest = {name: layer.origin for layer in layers if layer.counts for name in layer.servers}
    whole: dict[str, object] = {}
    declared: dict[str, list[ParsedFile]] = {}
    projects: dict[str, EntryOrigin] = {}  # by server, the nearest project file that contributes
    for layer in layers:
        for name, entry in layer.servers.items():
            merged = merge(whole[name], entry) if name in whole else entry
            origin = layer.origin
            if layer.counts:
                whole[name] = merged
                if origin.scope is Scope.PROJECT:
                    projects[name] = origin
                if merged != entry:
                    origin = projects.get(name, origin)
            if origin is not layer.origin:
                for weaker in declared.get(name, ()):
                    weaker.declarations.clear()
            with reader.part(layer.origin.source) as parsed:
                declare_servers(EntryFields({name: merged}), origin, parsed, read_entry=read_entry)
            declared.setdefault(name, []).append(parsed)
            if layer.counts and _strength(strongest[name]) > _strength(layer.origin):
                parsed.declarations.clear()
            if not layer.counts or strongest[name] is not layer.origin:
                parsed.problems.clear()


def deep_merge(weaker: object, stronger: object) -> object:
    """Merge two values: objects field by field, anything else replaced."""
    if not isinstance(weaker, dict) or not isinstance(stronger, dict):
        return stronger
    merged = dict(cast("dict[str, object]", weaker))
    for name, value in cast("dict[str, object]", stronger).items():
        merged[name] = deep_merge(merged[name], value) if name in merged else value
    return merged


def replace_entry(_weaker: object, stronger: object) -> object:
    """Replace the weaker value."""
    return stronger


def _strength(origin: EntryOrigin) -> tuple[int, int]:
    return strength(Kind.MCP_SERVER, origin.scope, origin.dir)
