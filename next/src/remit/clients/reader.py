"""Reads one client's files for a workspace, within limits, and records every input.

Each file is read as its user wrote it: what Remit wrote is taken out of the content, except the entry of the
gateway. What a broken file said when it was last valid stays in force, except that it allowed something.
"""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple, cast

from remit.clients.fields import EntryError, EntryFields, storable_text
from remit.clients.settings import Effect, Level, SettingsRule, judge, permission_rules
from remit.clients.table import CLIENTS
from remit.decision import (
    SERVER,
    Declaration,
    Kind,
    PermissionRule,
    Resolved,
    Scope,
    Status,
    View,
    command_digest,
    full_label,
    needs_trust,
    normalise,
    resolve,
)
from remit.files import (
    EditedFile,
    FileError,
    Machine,
    WalkBudget,
    WalkLimitError,
    WrittenKey,
    entries,
    files_below,
    fingerprint,
    is_inside,
    link_roots,
    parse_json,
    read_start,
    read_text,
    real_path,
    require_text,
    without_edits,
)
from remit.store import Problem, StoredFile

FILE_LIMIT = 16 * 2**20  # bytes of a user's file
PROJECT_FILE_LIMIT = 2**20  # bytes of a project's file
MAX_DEPTH = 16  # of folders in folders
MAX_FRONT_MATTER = 16 * 2**10  # characters of YAML in one Markdown file
_MAX_FILES = 2_000  # commands, skills and agents that are read, of a project
_PROJECT_YAML, _USER_YAML = 256 * 2**10, 8 * 2**20  # characters in all Markdown files
_ENTRIES, _FOLDERS = {True: 10_000, False: 100_000}, {True: 1_000, False: 20_000}  # of a project, of a user
_OUTSIDE = "a symbolic link leads out of the project; Remit does not follow it, but the client may"
_ADMITTING = ("allowed", "allowedMcpServers")  # lists without which a client may not start the gateway
_OPEN = (Status.ENABLED, Status.NESTED)
_SETTLED = (Status.DISABLED, Status.MANUAL, Status.NESTED, Status.DENIED)

Format = Callable[[str], object]
EditsOf = Callable[[str], EditedFile | None]


class Kept(NamedTuple):
    """What files said when they were last valid."""

    files: Callable[[Sequence[str]], Mapping[str, StoredFile]] = lambda _paths: {}
    declared: Callable[[Sequence[str]], Sequence[Declaration]] = lambda _paths: ()


NOTHING_KEPT = Kept()


class Ignored(NamedTuple):
    """A server in a file where the client reads none, and the file in which it would count."""

    declaration: Declaration
    instead: str


class MissingServer(NamedTuple):
    """A server that an agent lists, but that no file declares."""

    agent: str
    source: str
    server: str


class Mod(NamedTuple):
    """A module of a plugin that runs inside the client and can decide about calls."""

    file: str
    source: str  # the file that names it
    plugin: str
    is_repositorys: bool


class ExecutedSetting(NamedTuple):
    """A setting of a repository that makes the client run code."""

    source: str
    key: str  # the event of a hook, or the name of a setting
    command: str  # without secrets


class SettingsFacts(NamedTuple):
    """What else a client's files say, as stored with a scan."""

    searches: bool = False  # the client has its own tool search, and it is on
    ignored: Sequence[
        tuple[str, str, str, str]
    ] = ()  # server, scope, source, and the file that counts instead
    missing: Sequence[MissingServer] = ()
    mods: Sequence[Mod] = ()
    only_managed_mods: bool = False
    has_managed_settings: bool = False  # with them, mods cannot override what the settings deny

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> "SettingsFacts":
        """Read stored facts; those of another version are left out."""
        facts = cls(**{name: value for name, value in stored.items() if name in cls._fields})
        return facts._replace(
            ignored=[(server, scope, source, file) for server, scope, source, file in facts.ignored],
            missing=[MissingServer(*item) for item in facts.missing],
            mods=[Mod(*item) for item in facts.mods],
        )


class ClientReading(NamedTuple):
    """What a client's files say in one workspace, judged and resolved, and the inputs it came from."""

    client: str
    resolved: Sequence[Resolved]
    rules: Sequence[SettingsRule]
    permissions: Sequence[PermissionRule]
    inputs: Mapping[str, str]
    problems: Sequence[Problem] = ()
    files: Sequence[str] = ()  # existing ones
    unreadable: frozenset[str] = frozenset()  # files that exist but are invalid
    ignored: Sequence[Ignored] = ()
    executed: Sequence[ExecutedSetting] = ()
    facts: SettingsFacts = SettingsFacts()
    stored: Sequence[StoredFile] = ()  # valid files, for when they break

    @property
    def declarations(self) -> list[Declaration]:
        """The judged declarations."""
        return [item.declaration for item in self.resolved]


class EntryOrigin(NamedTuple):
    """The file, place and scope of a group of entries."""

    client: str
    source: str
    scope: Scope
    place: str  # the keys that lead to it
    project_hash: str | None = None
    dir: str | None = None
    plugin: str | None = None
    agent: str | None = None
    variables: Mapping[str, str] = {}  # set by the client for its servers


class Part:
    """What one part of a file says."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.declarations: list[Declaration] = []
        self.rules: list[SettingsRule] = []
        self.problems: list[Problem] = []

    def note(self, place: str, reason: str) -> None:
        """Record a problem at a place."""
        self.problems.append(Problem(self.source, storable_text(place), storable_text(reason)))

    @contextmanager
    def section(self, place: str) -> Generator[None]:
        """Record an error in one section and continue with the next."""
        try:
            yield
        except EntryError as error:
            self.note(place, str(error))


class ClientReader:
    """Reads one client's files for one workspace, and records every input."""

    def __init__(
        self,
        view: View,
        machine: Machine,
        *,
        now_ns: int,
        read_edits: "ReadEdits | None" = None,
        kept: Kept = NOTHING_KEPT,
    ) -> None:
        self.client = view.client
        self.workspace = view.workspace
        self.flags = view.flags
        self.machine = machine
        self.parts: list[Part] = []
        self.inputs: dict[str, str] = {}
        self.files: list[str] = []
        self.unreadable: set[str] = set()
        self.ignored: list[Ignored] = []
        self.executed: list[ExecutedSetting] = []
        self.mods: list[Mod] = []
        self.searches = False
        self.has_managed_settings = False
        self.everywhere: set[str] = set()  # files whose rules are the same in every project
        self.kept = kept
        self.stored: dict[str, dict[str, Any]] = {}  # what unreadable files said when they were last valid
        self._fields_to_keep: dict[str, dict[str, Any]] = {}
        self._now_ns = now_ns
        self._home = real_path(machine.home)
        self._budgets = {is_projects: _budget(is_projects) for is_projects in (True, False)}
        self._heads_left = _MAX_FILES
        self._yaml_left = {True: _PROJECT_YAML, False: _USER_YAML}
        self.look_at("~")
        for variable in CLIENTS[view.client].locating:
            require_text(variable, machine.variables)
            self.look_at(f"${variable}")
        self.edits_of: EditsOf = read_edits(self) if read_edits is not None else lambda _path: None

    def within(self, path: str) -> Sequence[str]:
        """Return the directories that a path's links must not leave; empty for the user's own files."""
        return link_roots(path, self.workspace, self._home)

    @property
    def rules(self) -> list[SettingsRule]:
        """The rules of all files read so far."""
        return [rule for part in self.parts for rule in part.rules]

    @property
    def declarations(self) -> list[Declaration]:
        """The declarations of all files read so far."""
        return [item for part in self.parts for item in part.declarations]

    def look_at(self, name: str) -> bool:
        """Record an input's fingerprint; return whether it exists."""
        if storable_text(name) != name:
            return False  # clients write no such paths, and the database cannot hold them
        # Before reading: a change in between triggers another read.
        self.inputs[name] = fingerprint(name, self.machine, now_ns=self._now_ns)
        return self.inputs[name] != ""

    @contextmanager
    def part(self, source: str, place: str = "") -> Generator[Part]:
        """Parse a part of a file, recording an error in it."""
        part = Part(source)
        self.parts.append(part)
        with part.section(place):
            yield part

    def note(self, path: str, reason: str, place: str = "") -> None:
        """Record a problem in a file."""
        with self.part(path) as part:
            part.note(place, reason)

    def rule(self, source: str, level: Level, effect: Effect, subject: str = "") -> None:
        """Add a rule that is no text of a file."""
        with self.part(source) as part:
            part.rules.append(SettingsRule(source, level, effect, subject))

    def content(
        self, path: str, format: Format = parse_json, *, limit: int = FILE_LIMIT
    ) -> tuple[object] | None:
        """Parse a file and return its value in a tuple; None if it is missing or invalid.

        The rules of an invalid file stay as they were.
        """
        if not self.look_at(path):
            return None
        self.files.append(path)
        try:
            within = self.within(path)
            text = read_text(path, limit=min(limit, PROJECT_FILE_LIMIT) if within else limit, within=within)
            return None if text is None else (self._as_written(path, format(text)),)
        except FileError as error:
            self.unreadable.add(path)
            with self.part(path) as part:
                part.note(error.place, error.reason)
                if (stored := self.kept.files([path]).get(path)) is not None:
                    self.stored[path] = json.loads(stored.content)
                    part.rules += _kept_rules(path, self.stored[path])
            return None

    def fields(
        self,
        path: str,
        format: Format = parse_json,
        *,
        keep: Callable[[EntryFields], dict[str, Any]] | None = None,
    ) -> EntryFields:
        """Read an object from a file; empty if missing or invalid, which is recorded.

        What `keep` returns of it is stored, and returned while the file is unreadable.
        """
        content = self.content(path, format)
        if content is None and keep is not None and path in self.unreadable:
            return EntryFields(self.stored.get(path, {}).get("fields", {}))
        try:
            fields = EntryFields({} if content is None else content[0])
        except EntryError as error:
            self.note(path, str(error))
            return EntryFields({})
        if content is not None and keep is not None:
            self._fields_to_keep[path] = keep(fields)
        return fields

    def fields_in(self, fields: EntryFields, name: str, path: str) -> EntryFields:
        """Read a nested object; empty if missing or invalid, which is recorded."""
        try:
            return fields.fields(name)
        except EntryError as error:
            self.note(path, str(error))
            return EntryFields({})

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
            data = read_start(path, size=size, within=self.within(path))
        except FileError as error:
            self.unreadable.add(path)
            self.note(path, error.reason, error.place)
            return None
        return None if data is None else data.decode("utf-8-sig", "replace")

    def files_below(self, folder: str, *, depth: int = MAX_DEPTH) -> list[str]:
        """List the files below a folder, by relative path."""
        within = self.within(folder)
        walked = files_below(
            folder, budget=self._budgets[bool(within)], depth=depth, within=within, visit=self.look_at
        )
        for path, reason in walked.problems:
            self.note(storable_text(path), reason)
        return walked.files

    def names_in(self, directory: str) -> list[str]:
        """List the names in a directory, except those that are not text; empty if it cannot be listed."""
        self.look_at(directory)
        within = self.within(directory)
        if within and not is_inside(directory, within):
            self.note(directory, _OUTSIDE)
            return []
        names: list[str] = []
        try:
            names += [entry.name for entry in entries(directory, self._budgets[bool(within)], within=within)]
        except WalkLimitError as error:
            self.note(directory, f"{error}; the others are left out")
        return sorted(name for name in names if name == storable_text(name))

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

    def stored_files(self) -> list[StoredFile]:
        """Return what must stay in force of each valid file while it is broken."""
        project = self.workspace.project.hash
        valid = [path for path in dict.fromkeys(self.files) if path not in self.unreadable]
        rules: dict[str, list[Any]] = {path: [] for path in self.kept.files(valid)}  # maybe without rules now
        for rule in self.rules:
            if rule.source in valid:
                rules.setdefault(rule.source, []).extend(_storable_rules(rule))
        return [
            StoredFile(
                path,
                None if path in self.everywhere or path in self._fields_to_keep else project,
                self.inputs[path],
                json.dumps({"rules": rules.get(path, []), "fields": self._fields_to_keep.get(path, {})}),
            )
            for path in {**rules, **self._fields_to_keep}
        ]

    def _as_written(self, path: str, content: object) -> object:
        """Return the content as its user wrote it, with the entry of the gateway."""
        edited = self.edits_of(path)
        if edited is None:
            return content
        return without_edits(content, replace(edited, keys=[key for key in edited.keys if not _stays(key)]))


ReadEdits = Callable[[ClientReader], EditsOf]  # looks at the install records, and notes invalid ones


def read_client(
    view: View,
    machine: Machine,
    *,
    now_ns: int,
    read_edits: ReadEdits | None = None,
    kept: Kept = NOTHING_KEPT,
) -> ClientReading:
    """Read a client's files for a workspace; judge and resolve what they declare.

    Raises:
        BadFileError: a variable that locates files is invalid.
    """
    client = CLIENTS[view.client]
    reader = ClientReader(view, machine, now_ns=now_ns, read_edits=read_edits, kept=kept)
    if client.files:
        from remit.clients.server_files import read_files

        read_files(reader)
    if client.module:
        import_module(f"remit.clients.{client.module}").read(reader)
    read = [_marked(item, reader.edits_of) for item in reader.declarations]
    last = _last_declared(read, reader)
    rules = reader.rules
    judged = judge(
        [*read, *last],
        rules,
        asks=client.asks,
        off_shadows=client.off_shadows,
        is_headless=view.flags.is_headless,
    )
    known = {item.source for item in last} | reader.stored.keys()
    resolved = resolve(judged)
    return ClientReading(
        client=view.client,
        resolved=resolved,
        rules=rules,
        permissions=permission_rules(rules),
        inputs=reader.inputs,
        problems=_problems(reader, known),
        files=list(dict.fromkeys(reader.files)),
        unreadable=frozenset(reader.unreadable),
        ignored=reader.ignored,
        executed=reader.executed,
        facts=_facts(reader, resolved, rules),
        stored=reader.stored_files(),
    )


def origin(
    reader: ClientReader, path: str, scope: Scope, dir: str | None = None, *, place: str
) -> EntryOrigin:
    """Return the origin of a file's entries."""
    is_here = scope not in (Scope.GLOBAL, Scope.MANAGED)
    project_hash = reader.workspace.project.hash if is_here else None
    return EntryOrigin(reader.client, path, scope, place, project_hash, dir)


def plugin_row(
    origin: EntryOrigin, name: str, *, status: Status, description: str | None = None
) -> Declaration:
    """Declare the row of a plugin."""
    place = (origin.client, Kind.PLUGIN, Scope.PLUGIN, origin.project_hash, None, None, None)
    return Declaration(
        *place, storable_text(name), source=origin.source, description=description, status=status
    )


def off_status(is_off: bool) -> Status:
    """Return the status of an item that its own file may disable."""
    return Status.DISABLED if is_off else Status.ENABLED


def _budget(is_projects: bool) -> WalkBudget:
    seconds = 3.0 if is_projects else 20.0
    return WalkBudget(_ENTRIES[is_projects], seconds, directories=_FOLDERS[is_projects])


def _stays(key: WrittenKey) -> bool:
    """Return whether what Remit wrote is read: the gateway's entry, and what admits it."""
    if key.is_item:
        return key.path[-1] in _ADMITTING
    return key.path[-1] == SERVER and isinstance(key.value, dict)


def _marked(declaration: Declaration, edits_of: EditsOf) -> Declaration:
    """Mark our gateway: in a file of an install record, with the recorded command line."""
    is_users = declaration.scope in (Scope.GLOBAL, Scope.MANAGED) and declaration.plugin is None
    if declaration.server != SERVER or not is_users or declaration.status not in _OPEN:
        return declaration
    edited = edits_of(declaration.source)
    written = [] if edited is None else [key.value for key in edited.keys if _stays(key) and not key.is_item]
    is_itself = any(_endpoint(entry) == declaration.endpoint for entry in written)
    return declaration._replace(status=Status.ITSELF) if is_itself else declaration


def _endpoint(entry: Mapping[str, Any]) -> str:
    """Return the endpoint of an entry that Remit wrote, in any client's form."""
    command = entry.get("command") or entry.get("cmd") or ""
    words = cast("list[str]", command) if isinstance(command, list) else [command, *entry.get("args", ())]
    return command_digest(words)


def _last_declared(read: Iterable[Declaration], reader: ClientReader) -> list[Declaration]:
    """Return what unreadable files declared when they were last valid.

    Without a digest, no trust applies to it: the client may read another entry than the trusted one. Remit's
    own entry counts only while Remit is installed: else the client has no gateway.
    """
    if not reader.unreadable:
        return []
    known = {(item.key, item.source) for item in read}
    last: list[Declaration] = []
    for stored in reader.kept.declared(sorted(reader.unreadable)):
        status = stored.status if stored.status in _SETTLED else Status.ENABLED
        item = _marked(stored._replace(status=status), reader.edits_of)
        is_gone = stored.status is Status.ITSELF and item.status is not Status.ITSELF
        if not is_gone and (item.key, item.source) not in known:
            is_judged = needs_trust(item.scope, item.project_hash, item.source, reader.workspace)
            last.append(item._replace(digest=None) if is_judged else item)
    return last


def _kept_rules(source: str, stored: Mapping[str, Any]) -> list[SettingsRule]:
    """Return the rules of a file when it was last valid, except those that allow tools."""
    rules = [
        SettingsRule(source, Level(level), Effect(effect), subject, key)
        for level, effect, subject, key in stored["rules"]
    ]
    return [rule for rule in rules if rule.effect is not Effect.ALLOWS_TOOL]


def _storable_rules(rule: SettingsRule) -> list[Any]:
    """Return a rule as stored; a URL with a secret stands for every URL where it denies, else for none."""
    subject = rule.subject
    if subject.startswith("url:") and rule.effect in (Effect.DENIES, Effect.ALLOWS):
        from remit.secrets import redact_url  # few lists have URLs

        if redact_url(subject) != subject:
            if rule.effect is Effect.ALLOWS:
                return []
            subject = "url:*"
    return [[rule.level, rule.effect, subject, rule.key]]


def _problems(reader: ClientReader, known: Iterable[str]) -> list[Problem]:
    problems = dict.fromkeys(problem for part in reader.parts for problem in part.problems)
    kept = reader.unreadable.intersection(known)
    return [
        problem._replace(reason=f"{problem.reason}; using the last valid version")
        if problem.source in kept
        else problem
        for problem in problems
    ]


def _facts(
    reader: ClientReader, resolved: Iterable[Resolved], rules: Iterable[SettingsRule]
) -> SettingsFacts:
    declarations = [item.declaration for item in resolved]
    return SettingsFacts(
        searches=reader.searches,
        ignored=[
            (item.declaration.server or "", item.declaration.scope, item.declaration.source, item.instead)
            for item in reader.ignored
        ],
        missing=_missing_servers(declarations),
        mods=reader.mods,
        only_managed_mods=any(rule.effect is Effect.DISABLES_MODS for rule in rules),
        has_managed_settings=reader.has_managed_settings,
    )


def _missing_servers(declarations: Iterable[Declaration]) -> list[MissingServer]:
    """Find servers that agents list, but that no file declares."""
    items = list(declarations)
    servers = [item for item in items if item.kind is Kind.MCP_SERVER and item.server is not None]
    labels = {normalise(full_label(item.server or "", item.plugin)) for item in servers}
    return [
        MissingServer(item.name, item.source, server)
        for item in items
        if item.profile is not None
        for server in item.profile.servers or ()
        if normalise(server) not in labels and server not in item.profile.own_servers
    ]
