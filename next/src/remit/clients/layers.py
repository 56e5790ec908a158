"""Clients that merge their files: the merged entry of each server, and the file that declares it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from remit.clients.fields import EntryFields, storable_text
from remit.clients.reader import ClientReader, EntryOrigin, Part
from remit.clients.server_files import ReadEntry, declare_servers
from remit.clients.settings import Effect, Level, SettingsRule
from remit.decision import Kind, Scope, normalise, server_name, strength, tool_name


class FileLayer(NamedTuple):
    """The servers of one file."""

    origin: EntryOrigin
    servers: Mapping[str, object]
    counts: bool = True  # False: the client ignores the file, because its folder is not trusted


def declare_layers(
    reader: ClientReader,
    layers: Sequence[FileLayer],
    read_entry: ReadEntry,
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
    declared: dict[str, list[Part]] = {}
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
            with reader.part(layer.origin.source) as part:
                declare_servers(EntryFields({name: merged}), origin, part, read_entry)
            declared.setdefault(name, []).append(part)
            if layer.counts and _strength(strongest[name]) > _strength(layer.origin):
                part.declarations.clear()
            if not layer.counts or strongest[name] is not layer.origin:
                part.problems.clear()


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


class RuleWriter(NamedTuple):
    """Makes the permission rules of one place in a file."""

    source: str
    key: str
    level: Level = Level.USER

    def rule(self, effect: Effect, subject: str) -> SettingsRule:
        """Make one rule."""
        return SettingsRule(self.source, self.level, effect, storable_text(subject), self.key)

    def tools(self, effect: Effect, server: str, tools: Iterable[str]) -> list[SettingsRule]:
        """Make rules about a server's tools, by their own names."""
        return [self.rule(effect, tool_name(server, tool)) for tool in tools]

    def whole(self, effect: Effect, server: str) -> SettingsRule:
        """Make a rule about all tools of a server."""
        return self.rule(effect, server_name(server)[:-3])

    def only(self, server: str, tools: Iterable[str]) -> list[SettingsRule]:
        """Make the rules of a list outside of which a server has no tools."""
        listed = self.tools(Effect.LISTS_TOOL, server, tools)
        return [self.whole(Effect.LISTS_TOOLS_OF, server), *listed]

    def joined(self, effect: Effect, pattern: str, servers: Iterable[str], prefix: str) -> list[SettingsRule]:
        """Make rules from a pattern of joined names, such as `git_status` or `mcp_git_status`."""
        rules = [
            self.rule(effect, subject)
            for server in servers
            for subject in _subjects(pattern, f"{prefix}{normalise(server)}_", server)
        ]
        return rules or [self.rule(effect, pattern)]


def _subjects(pattern: str, start: str, server: str) -> Iterator[str]:
    """Yield the canonical form of a pattern for the tools of one server, if it can match any."""
    whole = server_name(server)[:-3]
    head, star, tail = pattern.partition("*")
    if head.startswith(start):
        yield f"{whole}__{normalise(head.removeprefix(start))}{star}{tail}"
    elif star and start.startswith(head):
        yield f"{whole}__*{tail}" if tail.strip("*") else whole


def _strength(origin: EntryOrigin) -> tuple[int, int]:
    return strength(Kind.MCP_SERVER, origin.scope, origin.dir)
