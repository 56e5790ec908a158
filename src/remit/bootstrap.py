"""Puts the registry and the memory together; imports each part late, so a command loads only what it uses.

`bootstrap_install` does the same for what changes clients' files, `bootstrap_gateway` for the gateway.
"""

import os
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from remit.configuration.store_place import StorePlace, admin_place, is_address, store_place
from remit.errors import TeamError
from remit.files.bounded_reader import Machine, this_machine
from remit.search.engine import SearchEngine
from remit.settings import data_directory

if TYPE_CHECKING:
    from remit.configuration.config_model import ConfigurationLayer
    from remit.configuration.editable_file import EditableFile
    from remit.configuration.retention import Retention
    from remit.decision.projects import Workspace
    from remit.memory.project_memory import Memory
    from remit.registry import Registry
    from remit.scanning.ports import Notifier
    from remit.search.binary_vector_index import NumpySignIndex
    from remit.states.state_service import StateService
    from remit.store.postgres.team_store import SqlTeamAdmin, SqlTeams
    from remit.store.sql_store import SqlStore
    from remit.store.store_facts import StoreFacts
    from remit.text.times import Clock


MEMORY_QUEUE = "memory-queue"
MEMORY_PATIENCE = 5.0  # seconds that a write to memory waits for a locked database before it is queued


def open_registry() -> "Registry":
    """Open this user's registry.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        StoreError: the database cannot be used.
    """
    from remit.registry import Registry
    from remit.scanning.client_files import ClientFiles
    from remit.store.open_store import open_store

    machine = this_machine()
    store = open_store(store_place(machine).place, admin=admin_place(machine).place)
    engine, teams = SearchEngine(machine.variables), teams_of(store)
    return Registry(
        store, ClientFiles(machine, teams=teams), open_states(store, machine, teams=teams), engine, now
    )


def teams_of(store: "SqlStore") -> "SqlTeams | None":
    """Return the teams of a store that is shared; an SQLite file has none."""
    if not is_address(store.database.place):
        return None
    from remit.store.postgres.postgres_database import PostgresDatabase
    from remit.store.postgres.team_store import SqlTeams

    return SqlTeams(store.database) if isinstance(store.database, PostgresDatabase) else None


def open_memory(directory: str = ".") -> "Memory":
    """Open this user's memory for a directory.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    machine = this_machine()
    workspace = _locate(directory, machine)
    place, queue = store_place(machine).place, os.path.join(data_directory(machine), MEMORY_QUEUE)
    return memory_at(place, queue, SearchEngine(machine.variables), workspace, now)


def _locate(directory: str, machine: Machine) -> "Workspace":
    """Find the workspace of a directory, or of a team's project."""
    from remit.files.checkout import locate, locate_on_shared_store

    place = store_place(machine).place
    if not is_address(place):
        return locate(directory)

    def locate_team(name: str) -> "Workspace":
        with closing(open_teams(place)) as teams:
            return teams.locate(name)

    return locate_on_shared_store(directory, locate_team)


def open_teams(place: str) -> "SqlTeams":
    """Open the teams of a shared store.

    Raises:
        StoreError: the database cannot be used.
        TeamError: the store is not shared.
    """
    _require_shared(place)
    from remit.store.open_store import PATIENCE
    from remit.store.postgres.postgres_database import PostgresDatabase
    from remit.store.postgres.team_store import SqlTeams

    return SqlTeams(PostgresDatabase(place, patience=PATIENCE))


def open_team_admin(place: str | None = None) -> "SqlTeamAdmin":
    """Open the teams of a shared store to change them, as an administrator; default: the configured address.

    Raises:
        StoreError: the database cannot be used.
        StoreRightsError: the configured address may not administer the store.
        TeamError: the store is not shared.
    """
    place = place or admin_place(this_machine()).place
    _require_shared(place)
    from remit.store.open_store import PATIENCE
    from remit.store.postgres.postgres_database import PostgresDatabase
    from remit.store.postgres.table_rights import ADMIN
    from remit.store.postgres.team_store import SqlTeamAdmin

    return SqlTeamAdmin(PostgresDatabase(place, patience=PATIENCE, role=ADMIN))


def _require_shared(place: str) -> None:
    if not is_address(place):
        raise TeamError(
            "teams need a shared store in PostgreSQL, and this one is an SQLite file",
            hint="set `store` in remit.toml or REMIT_STORE, see `remit store init --help`",
        )
    from remit.store.open_store import require_driver

    require_driver()


def memory_at(
    place: str, queue: str, engine: SearchEngine, workspace: "Workspace", clock: "Clock"
) -> "Memory":
    """Open the memory in a store; writes that fail are queued in a directory of this machine."""
    from remit.files.write_queue import WriteQueue
    from remit.memory.project_memory import Memory
    from remit.store.approval_store import SqlApprovals
    from remit.store.memory_store import SqlMemory
    from remit.store.open_store import open_database

    database = open_database(place, patience=MEMORY_PATIENCE)
    database.enable_full_sync()
    return Memory(
        SqlMemory(database, _open_codes),
        WriteQueue(queue),
        engine,
        clock,
        approvals=SqlApprovals(database),
        workspace=workspace,
        on_close=database.close,
    )


def open_states(
    store: "SqlStore",
    machine: Machine,
    clock: "Clock | None" = None,
    now_ns: "Callable[[], int]" = time.time_ns,
    teams: "SqlTeams | None" = None,
) -> "StateService":
    """Open the service for states and for Remit's own configuration."""
    from remit.configuration.configuration_service import ConfigurationService
    from remit.configuration.toml_files import TomlFiles
    from remit.states.detectors.local_detectors import LocalDetectors
    from remit.states.state_service import StateService

    clock = clock or now
    configuration = ConfigurationService(store.states, TomlFiles(machine, now_ns=now_ns, teams=teams), clock)
    detectors = LocalDetectors(machine, now_ns=now_ns)

    def searches(client: str | None) -> bool:
        from remit.clients.claude_code import searches_itself

        return searches_itself(client, machine)

    return StateService(store.states, configuration, detectors, clock, searches_itself=searches)


def open_configuration_file(layer: "ConfigurationLayer", workspace: "Workspace") -> "EditableFile":
    """Open the user's file for all projects, or one of the two files at the root of a checkout, for editing.

    Raises:
        BadFileError: the file is not UTF-8 text, or reached through a link in the checkout.
        FileChangeError: the file cannot be read.
    """
    from remit.configuration.editable_file import EditableFile
    from remit.configuration.file_paths import editable_path

    path, checkout = editable_path(layer, workspace, this_machine())
    return EditableFile(path, checkout=checkout)


def find_store() -> StorePlace:
    """Find the store.

    Raises:
        BadFileError: a file names something else than a PostgreSQL database.
        BadVariableError: a variable does, or names an invalid directory.
    """
    return store_place(this_machine())


def read_retention() -> "Retention":
    """Read how long this machine keeps records.

    Raises:
        BadFileError: a file has mistakes.
    """
    from remit.configuration.machine_files import machine_retention

    return machine_retention(this_machine())


def read_store_facts() -> "StoreFacts":
    """Tell where the store is, and whether it can be used."""
    from remit.store.store_facts import store_facts

    return store_facts(*find_store())


def open_notifier() -> "Notifier":
    """Open a notifier that watches directories."""
    from remit.files.directory_watcher import DirectoryNotifier

    return DirectoryNotifier()


def _open_codes(width: int) -> "NumpySignIndex":
    from remit.search.binary_vector_index import NumpySignIndex

    return NumpySignIndex(width)


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
