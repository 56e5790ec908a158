"""Puts together the registry, the memory, and what changes clients' files.

Each part is imported late, so a command loads only what it uses. `bootstrap_gateway` does the same for the
gateway.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
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
    from remit.decision.declarations import Declaration
    from remit.decision.projects import Workspace
    from remit.install.change_journal import ChangeJournal
    from remit.install.installer import Installer
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


def open_installer(*, is_managed: bool = False) -> "Installer":
    """Open the installer, which adds Remit to clients: for this user, or for every user of the machine.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
    """
    from remit.clients.install_targets import ClientTargets, ManagedTargets
    from remit.configuration.file_paths import machine_path
    from remit.install.install_record import InstallRecords
    from remit.install.installer import Installer
    from remit.install.own_command import own_command
    from remit.install.recorded_environment import environment_of, managed_environment
    from remit.scanning.client_files import ClientFiles

    machine = this_machine()
    if is_managed:
        places, recorded = ManagedTargets(machine, own_command), managed_environment(machine.variables)
    else:
        places, data = ClientTargets(machine, own_command), data_directory(machine)
        recorded = environment_of(
            machine.home, data, machine_path(machine), machine.variables, is_shared=uses_shared_store()
        )
    return Installer(
        places,
        InstallRecords(machine, is_managed=is_managed),
        ClientFiles(machine),
        now,
        recorded,
        lambda: _static_blocks(machine, is_managed=is_managed),
        _served,
    )


def uses_shared_store() -> bool:
    """Tell whether the store is a PostgreSQL database."""
    return is_address(store_place(this_machine()).place)


def _served(client: str, directories: Sequence[str]) -> "list[Declaration]":
    """List the servers of a client that Remit serves, in any of the directories."""
    from remit.doctor.served_servers import served_servers
    from remit.errors import NoSuchDirectoryError

    found: list[Declaration] = []
    with open_registry() as registry:
        for directory in directories:
            with suppress(NoSuchDirectoryError):
                setups = registry.examine(registry.at(directory, client))
                found += [each for setup in setups for each in served_servers(setup)]
    return found


def installed_clients() -> list[str]:
    """List the clients that this user has installed Remit in."""
    from remit.install.install_record_path import recorded_clients
    from remit.scanning.client_files import ClientFiles

    machine = this_machine()
    return recorded_clients(ClientFiles(machine).clients, machine)


def has_managed_install(client: str) -> bool:
    """Tell whether an administrator has installed Remit in a client."""
    from remit.install.install_record_path import managed_record_path

    return os.path.exists(managed_record_path(client, this_machine()))


def refresh_blocks(*, may_remove: bool) -> bool:
    """Bring Claude Code's own deny rules in step, if Remit is installed there; only a person may remove some.

    Raises:
        FileChangeError: a file of the client cannot be changed.
        StoreError: the database cannot be used.
    """
    from remit.install.install_record_path import record_path

    client = "claude-code"
    if not os.path.exists(record_path(client, this_machine())):
        return False
    with open_journal().recording("remit scan", is_derived=True):
        return open_installer().refresh_blocks(client, may_remove=may_remove)


def _static_blocks(machine: Machine, *, is_managed: bool) -> list[str]:
    from remit.configuration.config_model import ConfigurationLayer
    from remit.configuration.own_files import denied_edits
    from remit.configuration.static_blocks import static_blocks
    from remit.files.checkout import locate
    from remit.store.open_store import open_store

    store = open_store(store_place(machine).place)
    try:
        loaded = open_states(store, machine).configuration.current(locate(machine.home)).loaded
        layers = (ConfigurationLayer.MANAGED,) if is_managed else ConfigurationLayer
        blocks = static_blocks(file for file in loaded if file.file.layer in layers)
        return [*blocks, *denied_edits(machine, is_managed=is_managed)]
    finally:
        store.close()


def open_journal() -> "ChangeJournal":
    """Open the journal of the changes that Remit made to files."""
    from remit.install.change_journal import ChangeJournal

    return ChangeJournal(data_directory(this_machine()), now)


def _open_codes(width: int) -> "NumpySignIndex":
    from remit.search.binary_vector_index import NumpySignIndex

    return NumpySignIndex(width)


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
