"""Puts together what changes clients' files: the installer and the journal of changes."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from remit.bootstrap import now, open_registry, open_states
from remit.configuration.store_place import is_address, store_place
from remit.files.bounded_reader import Machine, this_machine
from remit.settings import data_directory

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.install.change_journal import ChangeJournal
    from remit.install.installer import Installer


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
