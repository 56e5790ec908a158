"""Merges files: which states are active, which rules count, and which parts need the user's trust.

A stronger file never depends on a weaker one, and an untrusted project only restricts. The result is JSON,
which is stored and compiled by every process.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, cast

from remit.config.builtin_states import STATES
from remit.config.detectors import action, read_detector, trust_reason
from remit.config.fields import ConfigKey, KeyPath, Merge, Mistake, Table, Tables, Value
from remit.config.files import LOCKS, ConfigFile, Layer
from remit.config.keys import TOP
from remit.decision import LEVELS, Danger, Implications, ListTarget, RuleStrength, tool_globs
from remit.errors import StateError

Trusted = Mapping[tuple[str, str], str]  # trusted digests by file and subject
Found = tuple[ConfigFile, Mistake]

_CONDITIONS = ("states", "when", "location")
_FOR_AGENTS = "it lets agents set, clear or push it"


class LoadedFile(NamedTuple):
    """A file with its content, or with its last valid content if it is invalid now."""

    file: ConfigFile
    content: Mapping[str, Any]
    places: Mapping[str, Sequence[int]] = {}
    is_valid: bool = True
    asking: Mapping[str, int] = {}  # patterns that the readable part of an invalid file names, with lines

    @property
    def strength(self) -> RuleStrength:
        """The strength of its rules."""
        return self.file.layer.strength

    @property
    def is_projects(self) -> bool:
        """Whether it is in the repository."""
        return self.file.layer.is_projects

    def section(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the tables of a section."""
        return self.content.get(name, {})

    def origin(self, path: KeyPath) -> list[str | int]:
        """Return the place of a key."""
        return [self.file.path, key_path(path), self.line(path)]

    def line(self, path: KeyPath) -> int:
        """Return the line of a key; 0 if unknown."""
        place = self.places.get("\0".join(path))
        return place[0] if place else 0


BUILTIN = LoadedFile(ConfigFile(Layer("builtin", RuleStrength.MACHINE), ""), {"states": STATES})


def key_path(path: KeyPath) -> str:
    """Write keys in TOML syntax."""
    return ".".join(f'"{key}"' if "." in key or "*" in key else key for key in path)


def merge(
    loaded: Sequence[LoadedFile], trusted: Trusted, extra_keys: Iterable[ConfigKey] = ()
) -> tuple[dict[str, Any], list[Found]]:
    """Merge files, weakest first; also returns the mistakes that appear by merging."""
    lock = next(
        (file for file in loaded if file.file.layer is LOCKS and (file.content or not file.is_valid)), None
    )
    files = [file for file in loaded if file.file.layer is not LOCKS]
    states = _States(files, trusted)
    requests = [*states.requests, *_variable_requests(files, trusted), *_rule_requests(files, trusted)]
    granted = {(row[1][0], row[0]) for row in requests if row[4] == row[5]}
    shown = [
        file
        if not file.is_projects or (file.file.path, "env") in granted
        else file._replace(content={key: value for key, value in file.content.items() if key != "env"})
        for file in files
    ]
    users = [file for file in files if not file.is_projects]
    plain = [file for file in users if file.strength is not RuleStrength.MANAGED]
    managed = [file for file in users if file.strength is RuleStrength.MANAGED]
    merged = {
        **states.merged(),
        "tools": [row for file in files for row in _tools(file, granted)],
        "lists": [row for file in files for row in _lists(file)],
        "asking": [[name, file.file.path, line] for file in files for name, line in file.asking.items()],
        "servers": [
            [name, file.strength, file.origin(("servers", name)), table]
            for file in files
            for name, table in file.section("servers").items()
        ],
        "rooms": _rooms(files),
        "namespaces": {
            name: table.get("description", "")
            for file in files
            for name, table in file.section("namespaces").items()
        },
        "pinned": [
            [text, file.origin(("pinned",))] for file in files for text in file.content.get("pinned", ())
        ],
        "mode": _last(plain, "mode"),
        "fixed_mode": _last(managed, "mode"),
        "ask_from": min(
            filter(None, (_last([file], "ask_from") for file in files)),
            key=lambda row: LEVELS[row[0]],
            default=None,
        ),
        "settings": _settings([key for key in TOP.keys if not isinstance(key.type, Tables)], shown),
        "lock": None if lock is None else _lock(lock),
        "extra": _settings(extra_keys, files),
        "requests": requests,
        "invalid": [file.file.path for file in loaded if not file.is_valid],
    }
    mistakes = [*_undoings(files, granted), *states.conflicts]
    return merged, mistakes


def _last(files: Iterable[LoadedFile], key: str) -> list[Any] | None:
    rows = [[file.content[key], file.origin((key,))] for file in files if key in file.content]
    return rows[-1] if rows else None


def _settings(keys: Iterable[ConfigKey], files: Sequence[LoadedFile]) -> dict[str, Any]:
    """Combine the plain values of all files as the table of keys says."""
    settings: dict[str, Any] = {}
    for key in keys:
        given = [file for file in files if key.name in file.content]
        values = [file.content[key.name] for file in given]
        if not values:
            continue
        if isinstance(key.type, Tables):
            settings[key.name] = {name: table for value in values for name, table in value.items()}
        elif isinstance(key.type, Table):
            tables = [LoadedFile(file.file, file.content[key.name]) for file in given]
            settings[key.name] = _settings(key.type.keys, tables)
        elif key.merge is Merge.ADD:
            settings[key.name] = [*dict.fromkeys(item for value in values for item in value)]
        elif key.merge is Merge.LEAST:
            # A project's file only lowers what the user says, or what holds by default.
            if key.default and all(file.is_projects for file in given) and type(values[0]) is int:
                values.append(int(key.default.replace(",", "")))
            order = key.type.order if isinstance(key.type, Value) else ()
            settings[key.name] = min(values, key=order.index if order else None)
        else:
            settings[key.name] = values[-1]
    return settings


def _lock(file: LoadedFile) -> list[Any]:
    problem = "" if file.is_valid else "it is invalid"
    return [file.content if file.is_valid else None, problem, file.file.dir]


def _rooms(files: Iterable[LoadedFile]) -> list[Any]:
    rooms: dict[str, list[Any]] = {}
    for file in files:
        for name, table in file.section("rooms").items():
            room = rooms.setdefault(name, [name, "", []])
            room[1] = table.get("description", room[1])
            origin = file.origin(("rooms", name, "tools"))
            room[2] += [[pattern, origin] for pattern in table.get("tools", ())]
    return [*rooms.values()]


def _tools(file: LoadedFile, granted: Iterable[tuple[str, str]]) -> Iterator[list[Any]]:
    for pattern, table in file.section("tools").items():
        is_granted = (file.file.path, f"tools.{pattern}") in granted
        conditions = [key for key in _CONDITIONS if key in table]
        path = ("tools", pattern)
        origin = file.origin(path)
        if len(conditions) == 1:
            origin[2] = file.line((*path, *conditions)) or origin[2]
        lines = {key: file.line((*path, key)) for key in table}
        yield [pattern, RuleStrength.TRUSTED if is_granted else file.strength, origin, lines, table]


def _lists(file: LoadedFile) -> Iterator[list[Any]]:
    owners: list[tuple[ListTarget, str, KeyPath, Mapping[str, Any]]] = [
        (ListTarget.ALL, "*", (), file.content)
    ]
    for section, target in (("servers", ListTarget.SERVER), ("agents", ListTarget.AGENT)):
        owners += [(target, name, (section, name), table) for name, table in file.section(section).items()]
    for target, owner, path, table in owners:
        for key in ("block", "allow"):
            if table.get(key) or (key == "allow" and key in table):  # an empty list allows nothing
                yield [target, owner, file.origin((*path, key)), key == "allow", table[key]]


class _States:
    """The states of all files, weakest first."""

    def __init__(self, files: Sequence[LoadedFile], trusted: Trusted) -> None:
        self._trusted = trusted
        self._states: dict[str, tuple[LoadedFile, Mapping[str, Any]]] = {}
        self._waiting: set[str] = set()  # declared, but without effect on others until trusted
        self._untrusted: set[str] = set()  # whose detectors must not run
        self.requests: list[list[Any]] = []
        self.conflicts: list[Found] = []
        users = [file for file in (BUILTIN, *files) if not file.is_projects]
        self._foreign = {
            name: file.file
            for file in users
            for state, table in file.section("states").items()
            for name in _implied(state, table)
        } | {name: file.file for file in users for name in file.section("states")}
        for file in (BUILTIN, *files):
            for name, table in file.section("states").items():
                self._declare(name, table, file)

    def _declare(self, name: str, table: Mapping[str, Any], file: LoadedFile) -> None:
        changes = [*self._changes(name, table)] if file.is_projects else []
        reasons = [*changes, *_runs(table, file), *([_FOR_AGENTS] if changes and table.get("agents") else [])]
        is_trusted = True
        if reasons:
            request = _request(f"states.{name}", table, file, reasons, _shown(table), self._trusted)
            self.requests.append(request)
            is_trusted = request[4] == request[5]
        if changes and not is_trusted:
            hint = f"`remit trust {name}` shows it"
            self._conflict(file, name, changes[0], hint)
            if name in self._foreign:
                return
        before = self._states.get(name)
        if file.strength is RuleStrength.MANAGED and before is not None and before[0].is_projects:
            self._conflict(before[0], name, f"{file.file.owner} declares it and takes precedence")
        for names, is_one in ((self._waiting, changes and not is_trusted), (self._untrusted, not is_trusted)):
            (names.add if is_one else names.discard)(name)
        self._states[name] = file, table

    def _changes(self, name: str, table: Mapping[str, Any]) -> Iterator[str]:
        """List the ways in which a project's state changes those of others."""
        if name in self._foreign:
            yield f"it redefines what {self._foreign[name].owner} declares"
        for other in _implied(name, table):
            if other in self._foreign:
                yield f"it implies `{other}`, which {self._foreign[other].owner} declares"

    def _conflict(self, file: LoadedFile, name: str, reason: str, hint: str | None = None) -> None:
        self.conflicts.append((file.file, Mistake(("states", name), reason, hint)))

    def merged(self) -> dict[str, Any]:
        names, implies = self._implications()
        return {
            "states": {
                name: {
                    "table": table,
                    "origin": file.origin(("states", name)),
                    "dir": file.file.dir,
                    "waits": name in self._untrusted,
                }
                for name, (file, table) in self._states.items()
            },
            "names": names,
            "implies": implies,
            "own": sorted(set(self._states) - set(self._foreign)),
            "foreign": sorted(self._foreign),
            "waiting": sorted(self._waiting),
        }

    def _implications(self) -> tuple[list[str], dict[str, list[str]]]:
        """Merge the implications, dropping those of the weakest files in a circle."""
        names = [name for name in self._states if name not in self._waiting]
        implying = {name: self._states[name] for name in names if self._states[name][1].get("implies")}
        for weakest in (RuleStrength.NARROWING, RuleStrength.MACHINE, RuleStrength.MANAGED):
            implies = {name: table["implies"] for name, (_, table) in implying.items()}
            try:
                Implications(names, implies)
                return names, implies
            except StateError as error:
                for name, (file, _) in [*implying.items()]:
                    if file.strength is weakest and file is not BUILTIN:
                        del implying[name]
                        self._conflict(file, name, f"{error}, so what it implies is ignored")
        return names, {name: table["implies"] for name, (_, table) in implying.items()}


def _implied(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
    yield from table.get("implies", ())


def _runs(table: Mapping[str, Any], file: LoadedFile) -> Iterator[str]:
    """List what a state runs; a program may run code of the workspace even if the user's file names it."""
    detector = read_detector(table)
    if detector is not None and detector.runs and (detector.runs_program or file.is_projects):
        yield trust_reason(detector)


def _shown(table: Mapping[str, Any]) -> str:
    detector = read_detector(table)
    if detector is not None and detector.runs:
        return action(detector)
    return json.dumps({key: value for key, value in table.items() if key != "description"})


def _request(
    subject: str,
    covered: object,
    file: LoadedFile,
    reasons: Sequence[str],
    shown: str,
    trusted: Trusted,
) -> list[Any]:
    """Return a row of a `TrustRequest`; the digest covers everything but descriptions."""
    if isinstance(covered, dict):
        table = cast("Mapping[str, Any]", covered)
        covered = {key: value for key, value in table.items() if key != "description"}
    digest = sha256(json.dumps([subject, covered], sort_keys=True).encode()).hexdigest()
    section, _, name = subject.partition(".")
    origin = file.origin((section, name) if name else (section,))
    return [subject, origin, [*reasons], shown, digest, trusted.get((file.file.path, subject))]


def _variable_requests(files: Iterable[LoadedFile], trusted: Trusted) -> Iterator[list[Any]]:
    for file in files:
        if file.is_projects and (names := file.content.get("env")):
            listed = ", ".join(names)
            reason = f"it lets conditions compare and show {listed}"
            yield _request("env", names, file, [reason], listed, trusted)


def _rule_requests(files: Sequence[LoadedFile], trusted: Trusted) -> Iterator[list[Any]]:
    """List the rules of projects that would permit something."""
    for file in files:
        for pattern, table in file.section("tools").items() if file.is_projects else ():
            reasons = [
                mistake.message for mistake, by_trust in _undoing(pattern, table, file, files) if by_trust
            ]
            if LEVELS[table.get("danger", "critical")] < Danger.DESTRUCTIVE:
                reasons.append(f"it can lower the danger of tools to `{table['danger']}`")
            if reasons:
                keys = ("danger", "approval", "ai_enabled")
                covered = {key: table[key] for key in keys if key in table}
                yield _request(f"tools.{pattern}", covered, file, reasons, json.dumps(covered), trusted)


def _undoings(files: Sequence[LoadedFile], granted: Iterable[tuple[str, str]]) -> Iterator[Found]:
    for file in files:
        for pattern, table in file.section("tools").items():
            is_granted = (file.file.path, f"tools.{pattern}") in granted
            for mistake, by_trust in _undoing(pattern, table, file, files):
                if not (is_granted and by_trust):
                    yield file.file, mistake


def _undoing(
    pattern: str, table: Mapping[str, Any], file: LoadedFile, files: Iterable[LoadedFile]
) -> Iterator[tuple[Mistake, bool]]:
    """List the stronger rules that a rule would undo, and whether trust allows it.

    Tools that the user switched off stay off, and an administrator's rules stay in place.
    """
    for other in files:
        if other.strength <= file.strength:
            continue
        for their_pattern, theirs in other.section("tools").items():
            for key in _weaker_keys(table, theirs):
                if covers(their_pattern, pattern):
                    place = f"`{key_path(('tools', their_pattern, key))}` in {other.file.owner}"
                    by_trust = other.strength is RuleStrength.MACHINE and key != "ai_enabled"
                    yield Mistake(("tools", pattern, key), f"it would undo {place}"), by_trust


def _weaker_keys(table: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    if "danger" in table and "danger" in theirs and LEVELS[table["danger"]] < LEVELS[theirs["danger"]]:
        yield "danger"
    if table.get("approval") is False and theirs.get("approval") not in (None, False):
        yield "approval"
    if table.get("ai_enabled") is True and theirs.get("ai_enabled") is False:
        yield "ai_enabled"


def covers(wider: str, pattern: str) -> bool:
    """Return whether a pattern covers everything that another one covers."""
    names = ["*".join(form.parts) for form in tool_globs(pattern)]
    return all(any(form.matches(name) for form in tool_globs(wider)) for name in names)
