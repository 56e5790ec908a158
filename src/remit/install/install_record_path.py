"""The paths of install records; every command checks for one, so this module imports little."""

import os
from collections.abc import Iterable

from remit.configuration.file_paths import managed_directory
from remit.files.bounded_reader import Machine
from remit.settings import data_directory


def record_path(client: str, machine: Machine) -> str:
    """Return the path of a client's record."""
    return os.path.join(data_directory(machine), "installs", f"{client}.json")


def managed_record_path(client: str, machine: Machine) -> str:
    """Return the path of the record of an administrator's install."""
    return os.path.join(managed_directory(machine), "installs", f"{client}.json")


def record_paths(client: str, machine: Machine) -> tuple[str, str]:
    """Return the paths of a client's records: the user's and the administrator's."""
    return record_path(client, machine), managed_record_path(client, machine)


def recorded_clients(clients: Iterable[str], machine: Machine) -> list[str]:
    """List the clients that this user has installed Remit in."""
    return [client for client in clients if os.path.exists(record_path(client, machine))]
