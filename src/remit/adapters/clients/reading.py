"""Reads a client's files for a workspace: the loop that all clients share."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit.adapters.clients.wire import EntryError, Fields, Server
from remit.adapters.files import HOME, FileError, Machine, fingerprint, read_json
from remit.core.client_settings import Rule
from remit.core.declarations import Declaration, Problem
from remit.core.kinds import Kind
from remit.core.names import server_name, storable
from remit.core.projects import Workspace
from remit.core.reading import Reading
from remit.core.scopes import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a group of entries stands."""

    client: str
    source: str
    scope: Scope
    place: str  # the keys that lead to it inside the file
    project_hash: str | None = None
    dir: str | None = None


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
    parse: (
        Callable[[object, str, Workspace], Parsed] | None
    )  # None: its existence and age are all that counts
    limit: int = 16 * 2**20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What a client's module offers."""

    name: str
    variables: tuple[str, ...]  # environment variables that say where its files lie
    files: Callable[[Workspace, Machine], Sequence[ConfigFile]]  # those that count in a workspace


def read_client(client: Client, workspace: Workspace, machine: Machine, *, now_ns: int) -> Reading:
    """Read all that a client's files say for a workspace."""
    looked_at = [HOME, *(f"${name}" for name in client.variables)]
    inputs = {name: fingerprint(name, machine, now_ns=now_ns) for name in looked_at}
    parsed: list[Parsed] = []
    unreadable: set[str] = set()
    for file in client.files(workspace, machine):
        # Taken before the file is read: a change in between makes the next look read it again.
        inputs[file.path] = fingerprint(file.path, machine, now_ns=now_ns)
        if file.parse is None or not inputs[file.path]:
            continue
        try:
            content = read_json(file.path, limit=file.limit)
        except FileError as error:
            unreadable.add(file.path)
            parsed.append(Parsed(source=file.path))
            parsed[-1].note(error.place, error.reason)
        else:
            if content is not None:
                parsed.append(file.parse(content[0], file.path, workspace))
    return Reading(
        client=client.name,
        declarations=[declaration for part in parsed for declaration in part.declarations],
        rules=[rule for part in parsed for rule in part.rules],
        inputs=inputs,
        unreadable=frozenset(unreadable),
        problems=[problem for part in parsed for problem in part.problems],
    )


def declare_servers(
    servers: Fields, origin: Origin, into: Parsed, *, read_entry: Callable[[str, Fields], Server]
) -> None:
    """Turn a map of server entries into declarations; a bad entry costs only itself."""
    for name, entry in servers.items():
        with into.part(f"{origin.place}.{name}"):
            server = read_entry(name, Fields(entry))
            into.declarations.append(
                Declaration(
                    name=server_name(name),
                    kind=Kind.MCP_SERVER,
                    client=origin.client,
                    scope=origin.scope,
                    source=origin.source,
                    project_hash=origin.project_hash,
                    dir=origin.dir,
                    server=storable(name),
                    endpoint=server.endpoint,
                    url=server.url,
                    digest=server.digest,
                    is_remit=server.is_remit,
                )
            )
