"""Reads a client's files for a workspace; shared by all clients."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.install_reading import mark_gateway, read_installs, switched_off
from remit.clients.parsing.runner_file_digests import RunnerFileDigests
from remit.clients.parsing.server_entries import ServerEntry
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.declared_launch import VariableSyntax
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.permissions.client_facts import CLIENTS
from remit.decision.problems import Problem
from remit.decision.projects import View, Workspace
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ASKS_AT_A_TERMINAL, ClientBehavior, ExecutedSetting, SettingsRule
from remit.decision.tool_names import server_name, storable
from remit.files.bounded_reader import (
    HOME,
    OUTSIDE,
    FileError,
    Machine,
    fingerprint,
    is_inside,
    read_head,
    read_text,
    real_path,
    require_text,
)
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries, files_below
from remit.files.checkout import link_roots
from remit.files.formats import parse_json
from remit.files.front_matter import MAX_FRONT_MATTER
from remit.install.install_record import InstallRecord
from remit.install.switches import without_switches

FILE_LIMIT = 16 * 2**20  # bytes of a user's file
PROJECT_FILE_LIMIT = 2**20  # bytes of a project's file
MAX_DEPTH = 16  # of folders in folders
MAX_SERVERS = 1_000  # per file
_MAX_FILES = 2_000  # commands, skills and agents that are read, of a project
_PROJECT_YAML, _USER_YAML = 256 * 2**10, 8 * 2**20  # characters in all Markdown files


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOrigin:
    """The file, place and scope of a group of entries."""

    client: str
    source: str
    scope: Scope
    place: str  # the keys that lead to it
    project_hash: str | None = None
    dir: str | None = None
    plugin: str | None = None
    agent: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # set by the client for its servers


@dataclass(slots=True, kw_only=True)
class ParsedFile:
    """The content of one file."""

    source: str
    declarations: list[Declaration] = field(default_factory=list[Declaration])
    rules: list[SettingsRule] = field(default_factory=list[SettingsRule])
    problems: list[Problem] = field(default_factory=list[Problem])
    own_rules: list[SettingsRule] = field(default_factory=list[SettingsRule])  # written by Remit
    executed: list[ExecutedSetting] = field(default_factory=list[ExecutedSetting])  # of a repository
    ignored: list[Declaration] = field(default_factory=list[Declaration])  # where the client reads no servers

    def note(self, place: str, reason: str) -> None:
        """Record a problem at a place."""
        self.problems.append(Problem(source=self.source, place=storable(place), reason=storable(reason)))

    @contextmanager
    def part(self, place: str) -> Generator[None]:
        """Record an error in one part of the file and continue with the next."""
        try:
            yield
        except EntryError as error:
            self.note(place, str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file that may exist, and its parser."""

    path: str
    parse: Callable[[EntryFields, ParsedFile, Workspace], None]
    format: Callable[[str], object] = parse_json
    limit: int = FILE_LIMIT

    def parsed(self, content: object, workspace: Workspace) -> ParsedFile:
        """Parse the file's content."""
        found = ParsedFile(source=self.path)
        with found.part(""):
            self.parse(EntryFields(content), found, workspace)
        return found


class ClientReader:
    """Reads one client's files for one workspace, and records every input."""

    def __init__(self, view: View, machine: Machine, *, now_ns: int) -> None:
        self.workspace = view.workspace
        self.flags = view.flags
        self.machine = machine
        self.parsed: list[ParsedFile] = []
        self.inputs: dict[str, str] = {}
        self.unreadable: set[str] = set()
        self.files: list[str] = []
        self.lost: set[Scope] = set()  # scopes whose files an unreadable file refers to
        self.installs: Sequence[InstallRecord] = ()
        self._now_ns = now_ns
        self._home = real_path(machine.home)
        self._budgets = {
            True: WalkBudget(10_000, 3.0, directories=1_000),
            False: WalkBudget(100_000, 20.0, directories=20_000),
        }
        self._heads_left = _MAX_FILES
        self._yaml_left = {True: _PROJECT_YAML, False: _USER_YAML}

    def within(self, path: str) -> Sequence[str]:
        """Return the directories that a path's links must not leave; empty for the user's own files."""
        return link_roots(path, self.workspace, self._home)

    @property
    def rules(self) -> list[SettingsRule]:
        """Return the rules of all files read so far."""
        return [rule for part in self.parsed for rule in part.rules]

    def look_at(self, name: str) -> bool:
        """Record an input's fingerprint; return whether it exists."""
        if storable(name) != name:
            return False  # clients write no such paths, and the database cannot hold them
        # Before reading: a change in between triggers another read.
        self.inputs[name] = fingerprint(name, self.machine, now_ns=self._now_ns)
        return self.inputs[name] != ""

    def read(self, file: ConfigFile) -> None:
        """Parse a file if it exists."""
        content = self.content(file.path, file.format, limit=file.limit)
        if content is not None:
            self.parsed.append(file.parsed(content[0], self.workspace))

    @contextmanager
    def part(self, source: str, place: str = "") -> Generator[ParsedFile]:
        """Parse a part of a file, recording an error in it."""
        parsed = ParsedFile(source=source)
        self.parsed.append(parsed)
        with parsed.part(place):
            yield parsed

    def fields(self, path: str, format: Callable[[str], object] = parse_json) -> EntryFields:
        """Read an object from a file; empty if missing or invalid (which is recorded)."""
        content = self.content(path, format)
        try:
            return EntryFields({} if content is None else content[0])
        except EntryError as error:
            self.note(path, str(error))
            return EntryFields({})

    def fields_in(self, fields: EntryFields, name: str, path: str) -> EntryFields:
        """Read a nested object; empty if missing or invalid (which is recorded)."""
        try:
            return fields.fields(name)
        except EntryError as error:
            self.note(path, str(error))
            return EntryFields({})

    def note(self, path: str, reason: str, place: str = "") -> None:
        """Record a problem in a file."""
        with self.part(path) as parsed:
            parsed.note(place, reason)

    def content(
        self, path: str, format: Callable[[str], object] = parse_json, *, limit: int = FILE_LIMIT
    ) -> tuple[object] | None:
        """Parse a file and return its value in a tuple; None if it is missing or invalid."""
        if not self.look_at(path):
            return None
        self.files.append(path)
        try:
            within = self.within(path)
            text = read_text(path, limit=min(limit, PROJECT_FILE_LIMIT) if within else limit, within=within)
            return None if text is None else (self._as_written(path, format(text)),)
        except FileError as error:
            self.unreadable.add(path)
            self.note(path, error.reason, error.place)
            return None

    def _as_written(self, path: str, content: object) -> object:
        """Return the content as its user wrote it, without the switches of an install."""
        for install in self.installs:
            if (file := install.file(path)) is not None:
                content = without_switches(content, file)
        return content

    def head(self, path: str, size: int) -> str | None:
        """Read the beginning of a file; None if it is missing, invalid, or one too many of a project."""
        if self.within(path):
            self._heads_left -= 1
            if self._heads_left == -1:
                self.note(path, f"more than {_MAX_FILES:,} such files; the others are left out")
            if self._heads_left < 0:
                return None
        if not self.look_at(path):
            return None
        try:
            return read_head(path, size=size, within=self.within(path))
        except FileError as error:
            self.unreadable.add(path)
            self.note(path, error.reason, error.place)
            return None

    def files_below(self, folder: str, *, depth: int = MAX_DEPTH) -> list[str]:
        """List the files below a folder, by relative path."""
        within = self.within(folder)
        walked = files_below(
            folder, budget=self._budgets[bool(within)], depth=depth, within=within, visit=self.look_at
        )
        for path, reason in walked.problems:
            self.note(storable(path), reason)
        return walked.files

    def names_in(self, directory: str) -> list[str]:
        """List the names in a directory, except those that are not text; empty if it cannot be listed."""
        self.look_at(directory)
        within = self.within(directory)
        if within and not is_inside(directory, within):
            self.note(directory, OUTSIDE)
            return []
        names: list[str] = []
        try:
            names.extend(
                entry.name for entry in entries(directory, self._budgets[bool(within)], within=within)
            )
        except WalkLimitError as error:
            self.note(directory, f"{error}; the others are left out")
        return sorted(name for name in names if name == storable(name))

    def may_parse_yaml(self, path: str, size: int) -> bool:
        """Count the YAML of a Markdown file; return whether to parse it, and record if not."""
        if size > MAX_FRONT_MATTER:
            self.note(path, f"more than {MAX_FRONT_MATTER:,} characters of YAML; only plain fields are read")
            return False
        is_projects = bool(self.within(path))
        left = self._yaml_left[is_projects]
        self._yaml_left[is_projects] = left - size
        if left >= 0 > left - size:
            self.note(
                path, "the files before it have too much YAML; from here on, only plain fields are read"
            )
        return left >= size


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The interface of a client's module."""

    name: str
    read: Callable[[ClientReader], None]  # all files that apply to a workspace
    syntaxes: tuple[VariableSyntax, ...]  # how its entries write variables
    behavior: ClientBehavior = ASKS_AT_A_TERMINAL
    leaves_servers: Callable[[Machine], bool] = lambda _machine: False  # to Remit, which is installed in it


def read_client(client: Client, view: View, machine: Machine, *, now_ns: int) -> ClientReading:
    """Read a client's files for a workspace.

    Raises:
        BadVariableError: a variable that locates files is invalid.
    """
    reader = ClientReader(view, machine, now_ns=now_ns)
    reader.look_at(HOME)
    for variable in CLIENTS[client.name].locating:
        require_text(variable, machine.variables)
        reader.look_at(f"${variable}")
    reader.installs = read_installs(reader, client.name)
    client.read(reader)
    own_rules = [rule for part in reader.parsed for rule in part.own_rules]
    if any(install.switched for install in reader.installs):
        as_client = ClientReader(view, machine, now_ns=now_ns)  # which knows nothing of installs
        client.read(as_client)
        own_rules += switched_off(reader, as_client, client.behavior)
    runner_files = RunnerFileDigests(reader)
    declarations = [
        runner_files.added_to(mark_gateway(_with_syntaxes(declaration, client), reader.installs))
        for part in tuple(reader.parsed)
        for declaration in part.declarations
    ]
    return ClientReading(
        client=client.name,
        declarations=declarations,
        rules=reader.rules,
        inputs=reader.inputs,
        unreadable=frozenset(reader.unreadable),
        lost=frozenset(reader.lost),
        problems=list(dict.fromkeys(problem for part in reader.parsed for problem in part.problems)),
        files=list(dict.fromkeys(reader.files)),
        behavior=client.behavior,
        own_rules=own_rules,
        executed=[each for part in reader.parsed for each in part.executed],
        ignored=[_with_syntaxes(each, client) for part in reader.parsed for each in part.ignored],
        gateway_files=frozenset(each.gateway.source for each in reader.installs if each.gateway is not None),
    )


def _with_syntaxes(declaration: Declaration, client: Client) -> Declaration:
    launch = declaration.launch
    if launch is None:
        return declaration
    return replace(declaration, launch=replace(launch, syntaxes=client.syntaxes))


def declare_servers(
    servers: EntryFields,
    origin: EntryOrigin,
    into: ParsedFile,
    *,
    read_entry: Callable[[str, EntryFields], ServerEntry | None],
) -> None:
    """Turn a map of entries into declarations; skip non-servers and record invalid entries."""
    every = servers.items()
    if len(every) > MAX_SERVERS:
        into.note(origin.place, f"{len(every):,} servers; only the first {MAX_SERVERS:,} are read")
    for name, entry in every[:MAX_SERVERS]:
        with into.part(f"{origin.place}.{name}"):
            server = read_entry(name, EntryFields(entry))
            if server is None:
                continue
            launch = replace(server.launch, variables=origin.variables)
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
                    agent=origin.agent,
                    endpoint=launch.endpoint,
                    digest=launch.digest,
                    launch=launch,
                    own_status=off_status(server.is_off),
                )
            )


def plugin_row(
    origin: EntryOrigin, name: str, *, own_status: ConfigStatus | None, description: str | None = None
) -> Declaration:
    """Declare the row of a plugin."""
    return Declaration(
        name=storable(name),
        kind=Kind.PLUGIN,
        client=origin.client,
        scope=Scope.PLUGIN,
        source=origin.source,
        project_hash=origin.project_hash,
        description=description,
        own_status=own_status,
    )


def off_status(is_off: bool) -> ConfigStatus | None:
    """Return DISABLED for an item that its own file disables, else None."""
    return ConfigStatus.DISABLED if is_off else None
