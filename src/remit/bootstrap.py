"""Puts the parts together; the one place that imports late, so that nobody pays for what they do not use."""

import os
import sys
import time
from typing import TYPE_CHECKING

from remit import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from remit.adapters.files import Machine
    from remit.adapters.storage.database import Database
    from remit.core.configuration.layers import Configuration
    from remit.core.configuration.values import Content, File, Mistake, ToolEntry
    from remit.core.decide import Context
    from remit.core.findings import Finding
    from remit.core.projects import Workspace
    from remit.core.requirements import Condition
    from remit.ports import Clock, Store, Upstreams
    from remit.registry import Registry
    from remit.situation import Situation


class ConditionLanguage:
    """Opens the language of conditions when a configuration has one."""

    def condition(self, entry: "ToolEntry", withheld: "Collection[str]") -> "Condition":
        """Make a condition of what a rule asks for."""
        from remit.core.configuration.language import RuleCondition

        return RuleCondition(entry, withheld)

    def mistakes_in(self, content: "Content") -> "Sequence[Mistake]":
        """List what is wrong with the conditions of one file."""
        from remit.core.configuration.language import mistakes_in

        return mistakes_in(content)

    def mistakes_of(self, configuration: "Configuration") -> "Iterable[tuple[File, Mistake]]":
        """List what is wrong when all files are put together."""
        from remit.core.configuration.language import mistakes_of

        return mistakes_of(configuration)


class WordsOnly:
    model = None
    fusion = None

    def embedder(self):
        raise NotImplementedError

    def in_memory(self, entries):
        from remit.adapters.search.arrays import Arrays

        return Arrays(entries)


def open_registry() -> "Registry":
    """Open the registry of this user on this machine.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        StoreError: the database cannot be used.
    """
    from remit.adapters.clients.sources import ClientFiles
    from remit.adapters.storage.sqlite import SqliteStore
    from remit.registry import Registry

    machine = _machine()
    store = SqliteStore(database_path(machine))
    return Registry(store, ClientFiles(machine), _now, WordsOnly(), open_situation(store, machine))


def open_situation(
    store: "Store",
    machine: "Machine",
    clock: "Clock | None" = None,
    now_ns: "Callable[[], int]" = time.time_ns,
) -> "Situation":
    """Make ready to read Remit's own configuration, and the states, as this user on this machine."""
    from remit.adapters.configuration import TomlFiles
    from remit.adapters.detectors.local import LocalDetectors
    from remit.configurations import Configurations
    from remit.situation import Situation

    clock = clock or _now
    configurations = Configurations(
        store.states, TomlFiles(machine, now_ns=now_ns), ConditionLanguage(), clock
    )
    return Situation(store.states, configurations, LocalDetectors(machine, now_ns=now_ns), clock)


def diagnose(registry: "Registry", context: "Context") -> "list[Finding]":
    """Name what is wrong with the configuration of a workspace, and how to mend it."""
    from remit.core import diagnosis

    return diagnosis.diagnose(registry.examine(context))


def open_upstreams() -> "Upstreams":
    """Make ready to start and reach servers, as this user on this machine."""
    from remit import __version__
    from remit.adapters.upstream.live import LiveServers

    machine = _machine()
    return LiveServers(machine.variables, home=machine.home, version=__version__)


def record_use(
    name: str,
    *,
    directory: str = ".",
    client: str = "claude-code",
    server: str | None = None,
    session_id: str | None = None,
    call_id: str | None = None,
    succeeded: bool | None = None,
    duration_ms: int | None = None,
) -> bool:
    """Count one use of a tool, from a process that lives only for this; False when the call was known.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    from remit.adapters.files import are_unchanged
    from remit.adapters.git import locate
    from remit.adapters.storage.database import Database
    from remit.adapters.storage.usage import record
    from remit.core.kinds import Authority
    from remit.core.names import storable
    from remit.core.sightings import Sighting, Use

    machine, workspace = _machine(), locate(directory)
    label = None if server is None else storable(server)
    database = Database(database_path(machine))
    try:
        view = {"client": client, "workspace": workspace.dir, "project": workspace.project.hash, "flags": ""}
        is_scanned = are_unchanged(dict(database.rows("inputs", **view)), machine, now_ns=time.time_ns())
        if succeeded:  # which may change a state
            _configure(database, workspace, machine)
        sighting = Sighting(name, client, workspace, Authority.HOOK, _now(), is_scanned, label)
        return record(database, sighting, Use(session_id, call_id, succeeded, duration_ms))
    finally:
        database.leave()


def _configure(database: "Database", workspace: "Workspace", machine: "Machine") -> None:
    """Read Remit's own configuration of a workspace, if any of it changed since it was last read."""
    from remit.adapters.configuration_paths import configuration_paths
    from remit.adapters.files import fingerprint
    from remit.adapters.storage.states import SqliteStates, configuration

    now = time.time_ns()
    paths = [path for _, path, _ in configuration_paths(workspace, machine)]
    inputs = {path: fingerprint(path, machine, now_ns=now) for path in paths}
    known = configuration(database, workspace)
    if known.inputs == inputs if known is not None else not any(inputs.values()):
        return
    from remit.adapters.configuration import TomlFiles
    from remit.configurations import Configurations

    Configurations(SqliteStates(database), TomlFiles(machine), ConditionLanguage(), _now).current(workspace)


def database_path(machine: "Machine") -> str:
    """Name the file of the database."""
    return os.path.join(
        settings.data_directory(machine.variables, sys.platform, machine.home), settings.DATABASE
    )


def _machine() -> "Machine":
    from remit.adapters.files import Machine, require_text

    for name in ("HOME", "USERPROFILE", "REMIT_HOME", "REMIT_CONFIG", "XDG_DATA_HOME", "LOCALAPPDATA"):
        require_text(name, os.environ)  # those of a client are checked when its files are read
    return Machine(home=os.path.expanduser("~"), variables=os.environ, platform=sys.platform)


def _now() -> int:
    return time.time_ns() // 1_000_000
