"""Merges configuration files: decides which states are active, and which parts need the user's trust.

A rule in a stronger file never depends on a weaker file, and an untrusted project can only restrict. So a
project's state needs trust if it redefines a foreign state or implies one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from remit.configuration.builtin_states import BUILTIN
from remit.configuration.config_model import (
    KEY_SEPARATOR,
    OF_A_PROJECT,
    CallLimits,
    ConfigurationFile,
    ConfigurationLayer,
    LoadedFile,
    StateEntry,
    Strategy,
    ToolEntry,
)
from remit.configuration.merged_configuration import (
    VARIABLES,
    Configuration,
    Conflict,
    DeclaredState,
    ToolRule,
    TrustRequest,
)
from remit.decision.state_snapshot import Implications
from remit.errors import StateError

Value = TypeVar("Value")

MAX_CHARACTERS = 6_000
MAX_TOOLS_CHARACTERS = 500
MAX_TOKENS = 2_000
_FOR_AGENTS = "it lets agents set, clear or push it"


Trusted = Mapping[tuple[str, str], str]  # trusted digests by file and subject


def combine(loaded: Sequence[LoadedFile], trusted: Trusted) -> Configuration:
    """Merge files, weakest first."""
    foreign = _foreign((BUILTIN, *loaded))
    layered = _Layers(trusted, foreign)
    for each in (BUILTIN, *loaded):
        for entry in each.content.states:
            layered.declare(entry, each.file)
        layered.show(each.content.env, each.file)
    return Configuration(
        states=layered.states,
        waiting=frozenset(layered.waiting),
        implications=layered.implications(),
        rules=tuple(_rule(entry, each) for each in loaded for entry in each.content.tools),
        trust_requests=tuple(layered.trust_requests),
        conflicts=tuple(layered.conflicts),
        foreign=frozenset(foreign),
        env=tuple(layered.env),
        strategy=last_of(
            each.content.strategy for each in loaded if may_present(each.content.strategy, each.file)
        ),
        token_budget=last_of(each.content.token_budget for each in loaded),
        result_budget=last_of(each.content.result_budget for each in loaded),
        promote=last_of(each.content.promote for each in loaded),
        pinned=tuple(dict.fromkeys(pattern for each in loaded for pattern in each.content.pinned)),
        own_tools=last_of(each.content.own_tools for each in loaded),
        memory=last_of(each.content.memory for each in loaded),
        notifies=last_of(each.content.notifications for each in loaded if each.file.layer not in OF_A_PROJECT)
        is not False,
        memory_projects=last_of(
            each.content.memory_projects for each in loaded if each.file.layer not in OF_A_PROJECT
        )
        or (),
        servers=tuple((each.file, entry) for each in loaded for entry in each.content.servers),
        agents=tuple((each.file, entry) for each in loaded for entry in each.content.agents),
        rooms=tuple((each.file, entry) for each in loaded for entry in each.content.rooms),
        namespaces=tuple(entry for each in loaded for entry in each.content.namespaces),
        filters=_filters(loaded),
        identity=last_of(each.content.identity for each in loaded if each.file.layer not in OF_A_PROJECT),
        access=tuple(
            rule for each in loaded if each.file.layer not in OF_A_PROJECT for rule in each.content.access
        ),
        limits=_limits(loaded),
        is_complete=not any(each.is_unread for each in loaded if each.file.layer not in OF_A_PROJECT),
    )


def meant_here(loaded: LoadedFile, is_this: Callable[[str], bool]) -> LoadedFile:
    """Leave only this project in the `projects` of a file's tables for servers.

    A project can call its server like one of the user's, so a table permits its servers something only if it
    names the project.
    """
    if not any(each.projects for each in loaded.content.servers):
        return loaded
    servers = (
        each._replace(projects=tuple(filter(is_this, each.projects))) for each in loaded.content.servers
    )
    return loaded._replace(content=loaded.content._replace(servers=tuple(servers)))


def _rule(entry: ToolEntry, loaded: LoadedFile) -> ToolRule:
    keys = entry.condition_keys
    path = ("tools", entry.pattern, *(keys if len(keys) == 1 else ()))
    place = loaded.places.get(KEY_SEPARATOR.join(path))
    return ToolRule(entry, loaded.file, place[0] if place else 0)


class _Layers:
    """Collects the states of files, weakest first."""

    def __init__(self, trusted: Trusted, foreign: Mapping[str, ConfigurationFile]) -> None:
        self._trusted = trusted
        self._foreign = foreign  # states of other files, which a project cannot change
        self.states: dict[str, DeclaredState] = {}
        self.waiting: set[str] = set()
        self.env: dict[str, None] = {}
        self.trust_requests: list[TrustRequest] = []
        self.conflicts: list[Conflict] = []

    def declare(self, entry: StateEntry, file: ConfigurationFile) -> None:
        changes = tuple(self._changes(entry, file))
        reasons = (*changes, *_runs(entry, file), *((_FOR_AGENTS,) if changes and entry.agents else ()))
        request = self._trust_request(entry, file, reasons) if reasons else None
        is_trusted = request is None or request.is_trusted
        if changes and not is_trusted:
            self.conflicts.append(Conflict(file, entry.name, changes[0]))
            if entry.name in self._foreign:
                return
            self.waiting.add(entry.name)
        else:
            self.waiting.discard(entry.name)
        before = self.states.get(entry.name)
        if (
            file.layer is ConfigurationLayer.MANAGED
            and before is not None
            and before.file.layer in OF_A_PROJECT
        ):
            self.conflicts.append(
                Conflict(before.file, entry.name, f"{owner(file)} declares it and takes precedence")
            )
        self.states[entry.name] = DeclaredState(entry, file, request is not None, is_trusted)

    def show(self, variables: Sequence[str], file: ConfigurationFile) -> None:
        """Let conditions use environment variables, whose values they may show to an agent."""
        if variables and file.layer in OF_A_PROJECT:
            listed = ", ".join(variables)
            entry = StateEntry(VARIABLES, "", implies=tuple(variables))
            if not self._trust_request(
                entry, file, (f"it lets conditions compare and show {listed}",)
            ).is_trusted:
                return
        self.env |= dict.fromkeys(variables)

    def implications(self) -> Implications:
        """Merge the implications, dropping those of the weakest files in a cycle."""
        names = [name for name in self.states if name not in self.waiting]
        implying = {name: self.states[name] for name in names if self.states[name].entry.implies}
        for weakest in (
            ConfigurationLayer.LOCAL,
            ConfigurationLayer.PROJECT,
            ConfigurationLayer.MACHINE,
            ConfigurationLayer.TEAM,
            None,
        ):
            try:
                return Implications(names, {name: each.entry.implies for name, each in implying.items()})
            except StateError as error:
                for name, state in [*implying.items()]:
                    if state.file.layer is weakest:
                        del implying[name]
                        reason = f"{error}, so what it implies is ignored"
                        self.conflicts.append(Conflict(state.file, name, reason))
        return Implications(names)  # a single file has no cycle

    def _changes(self, entry: StateEntry, file: ConfigurationFile) -> Iterator[str]:
        """List the ways in which a project's state changes foreign states."""
        if file.layer not in OF_A_PROJECT:
            return
        if entry.name in self._foreign:
            yield f"it redefines what {owner(self._foreign[entry.name])} declares"
        for name in _implied(entry):
            if name in self._foreign:
                yield f"it implies `{name}`, which {owner(self._foreign[name])} declares"

    def _trust_request(
        self, entry: StateEntry, file: ConfigurationFile, reasons: tuple[str, ...]
    ) -> TrustRequest:
        known = self._trusted.get((file.path, entry.name))
        request = TrustRequest(entry, file, reasons, digest(entry), known, entry.name)
        self.trust_requests.append(request)
        return request


def _foreign(loaded: Iterable[LoadedFile]) -> dict[str, ConfigurationFile]:
    """Return the states declared or implied outside the project's files, with the strongest such file."""
    theirs = [each for each in loaded if each.file.layer not in OF_A_PROJECT]
    implied = {
        name: each.file for each in theirs for entry in each.content.states for name in _implied(entry)
    }
    return implied | {entry.name: each.file for each in theirs for entry in each.content.states}


def _runs(entry: StateEntry, file: ConfigurationFile) -> Iterator[str]:
    """List the things a state runs that need trust.

    A program in the user's own file may still run code from the workspace; a URL there does not.
    """
    action = None if entry.detector is None else entry.detector.action
    if action is not None and (action.is_program or file.layer in OF_A_PROJECT):
        yield action.reason


def digest(entry: StateEntry) -> str:
    """Return a digest of everything in a state that trust covers."""
    covered = [entry.name, entry.detector, entry.implies, *(["agents"] if entry.agents else [])]
    return sha256(json.dumps(covered).encode()).hexdigest()


def _implied(entry: StateEntry) -> Iterator[str]:
    name = entry.name
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
    yield from entry.implies


def _filters(loaded: Iterable[LoadedFile]) -> tuple[str, ...]:
    """List the filter files; a filter is code, so a project cannot name one, even if it is trusted."""
    own = (each.content.filters for each in loaded if each.file.layer not in OF_A_PROJECT)
    return tuple(dict.fromkeys(path for files in own for path in files))


def _limits(loaded: Iterable[LoadedFile]) -> CallLimits:
    """Merge the limits key by key; the administrator's win."""
    own = [each.content.limits for each in loaded if each.file.layer not in OF_A_PROJECT]
    return CallLimits(*(last_of(getattr(each, key) for each in own) for key in CallLimits._fields))


def may_present(strategy: str | None, file: ConfigurationFile) -> bool:
    """Return whether a file may choose a strategy; a project must not disable state requirements."""
    return strategy != Strategy.FLAT or file.layer not in OF_A_PROJECT


def owner(file: ConfigurationFile) -> str:
    """Return the owner of a file, for messages."""
    return (
        "Remit itself" if file.layer is ConfigurationLayer.BUILTIN else f"the {file.layer} file {file.path}"
    )


def last_of(given: Iterable[Value | None]) -> Value | None:
    """Return the last value that is not None."""
    found = None
    for each in given:
        found = each if each is not None else found
    return found


class SessionSettings(NamedTuple):
    """The session settings: `SessionOptions` with defaults applied."""

    characters: int = MAX_CHARACTERS
    tokens: int = MAX_TOKENS
    tools: int = MAX_TOOLS_CHARACTERS
    hints: bool = True
    shared_patterns: bool = False
    observes: bool = True


def session_settings(loaded: Sequence[LoadedFile]) -> SessionSettings:
    """Merge the files: the machine's, reductions by the project, and the administrator's."""
    found = SessionSettings()
    for each in (
        *_of(loaded, ConfigurationLayer.MACHINE, ConfigurationLayer.TEAM),
        *_of(loaded, *OF_A_PROJECT),
        *_of(loaded, ConfigurationLayer.MANAGED),
    ):
        wanted = {key: value for key, value in each.content.session._asdict().items() if value is not None}
        if each.file.layer in OF_A_PROJECT:
            wanted = {key: min(value, getattr(found, key)) for key, value in wanted.items()}
        found = found._replace(**wanted)
    return found


def _of(loaded: Sequence[LoadedFile], *layers: ConfigurationLayer) -> Iterator[LoadedFile]:
    return (each for each in loaded if each.file.layer in layers)
