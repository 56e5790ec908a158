"""Reads a client's files for a workspace: the loop that all clients share."""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from remit.adapters.clients.wire import Entry, EntryError, Fields
from remit.adapters.files import HOME, FileError, Machine, fingerprint, read_text
from remit.adapters.formats import parse_json
from remit.core.client_settings import Rule
from remit.core.declarations import Declaration, Problem
from remit.core.kinds import Kind
from remit.core.names import server_name, storable
from remit.core.projects import Workspace
from remit.core.reading import Reading
from remit.core.scopes import Scope
from remit.core.views import View

FILE_LIMIT = 16 * 2**20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a group of entries stands."""

    client: str
    source: str
    scope: Scope
    place: str  # the keys that lead to it inside the file
    project_hash: str | None = None
    dir: str | None = None
    plugin: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # set by the client for its servers


@dataclass(slots=True, kw_only=True)
class Parsed:
    """What one file says."""

    source: str
    declarations: list[Declaration] = field(default_factory=list[Declaration])
    rules: list[Rule] = field(default_factory=list[Rule])
    problems: list[Problem] = field(default_factory=list[Problem])

    def note(self, place: str, reason: str) -> None:
        """Note something that cannot be used."""
        self.problems.append(Problem(source=self.source, place=storable(place), reason=storable(reason)))

    @contextmanager
    def part(self, place: str) -> Generator[None]:
        """Note what is wrong in one part of the file, so that the next part is read all the same."""
        try:
            yield
        except EntryError as error:
            self.note(place, str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file that may exist, and how to read it."""

    path: str
    parse: Callable[[object, str, Workspace], Parsed]
    format: Callable[[str], object] = parse_json
    limit: int = FILE_LIMIT


class Reader:
    """Reads one client's files for one workspace, and remembers all that it looked at."""

    def __init__(self, view: View, machine: Machine, *, now_ns: int) -> None:
        self.workspace = view.workspace
        self.flags = view.flags
        self.machine = machine
        self.parsed: list[Parsed] = []
        self.inputs: dict[str, str] = {}
        self.unreadable: set[str] = set()
        self._now_ns = now_ns

    @property
    def rules(self) -> list[Rule]:
        """The rules of all files read so far."""
        return [rule for part in self.parsed for rule in part.rules]

    def look_at(self, name: str) -> bool:
        """Take an input's fingerprint; tell whether it exists."""
        # Taken before it is read: a change in between makes the next look read it again.
        self.inputs[name] = fingerprint(name, self.machine, now_ns=self._now_ns)
        return self.inputs[name] != ""

    def read(self, file: ConfigFile) -> None:
        """Read a file, if it is there, into what was parsed."""
        content = self.content(file.path, file.format, limit=file.limit)
        if content is not None:
            self.parsed.append(file.parse(content[0], file.path, self.workspace))

    def content(
        self, path: str, format: Callable[[str], object] = parse_json, *, limit: int = FILE_LIMIT
    ) -> tuple[object] | None:
        """Read a file's content, as a tuple of its one value; None where it is missing or cannot be used."""
        if not self.look_at(path):
            return None
        try:
            text = read_text(path, limit=limit)
            return None if text is None else (format(text),)
        except FileError as error:
            self.unreadable.add(path)
            self.parsed.append(Parsed(source=path))
            self.parsed[-1].note(error.place, error.reason)
            return None

    def names_in(self, directory: str) -> list[str]:
        """List what a directory holds; nothing where it cannot be listed."""
        self.look_at(directory)
        try:
            return sorted(os.listdir(directory))
        except OSError:
            return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What a client's module offers."""

    name: str
    variables: tuple[str, ...]  # environment variables that say where its files lie
    read: Callable[[Reader], None]  # all files that count in a workspace


def read_client(client: Client, view: View, machine: Machine, *, now_ns: int) -> Reading:
    """Read all that a client's files say for a workspace."""
    reader = Reader(view, machine, now_ns=now_ns)
    for name in (HOME, *(f"${variable}" for variable in client.variables)):
        reader.look_at(name)
    client.read(reader)
    return Reading(
        client=client.name,
        declarations=[declaration for part in reader.parsed for declaration in part.declarations],
        rules=reader.rules,
        inputs=reader.inputs,
        unreadable=frozenset(reader.unreadable),
        problems=[problem for part in reader.parsed for problem in part.problems],
    )


def declare_servers(
    servers: Fields, origin: Origin, into: Parsed, *, read_entry: Callable[[str, Fields], Entry]
) -> None:
    """Turn a map of server entries into declarations; a bad entry costs only itself."""
    for name, entry in servers.items():
        with into.part(f"{origin.place}.{name}"):
            launch, is_off = read_entry(name, Fields(entry))
            launch = replace(launch, variables=origin.variables)
            into.declarations.append(
                Declaration(
                    name=server_name(name, origin.plugin),
                    kind=Kind.MCP_SERVER,
                    client=origin.client,
                    scope=origin.scope,
                    source=origin.source,
                    project_hash=origin.project_hash,
                    dir=origin.dir,
                    server=storable(name),
                    plugin=origin.plugin,
                    endpoint=launch.endpoint,
                    digest=launch.digest,
                    launch=launch,
                    is_remit=launch.starts_remit,
                    is_off=is_off,
                )
            )
