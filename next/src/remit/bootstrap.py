"""Puts the parts together for this machine and this user."""

import os
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import InstallLevel, Scanner, load_record, read_edits, record_path
from remit.config import data_directory
from remit.decision import Face
from remit.errors import FileChangeError
from remit.files import Machine, this_machine
from remit.store import open_store

if TYPE_CHECKING:
    from remit.memory import Memory

_STORE, _OLD_STORE = "remit.sqlite", "remit.db"
_FACES = {InstallLevel.FULL: Face.GATEWAY, InstallLevel.HOOKS: Face.GUARDED}


def clock() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def store_path(machine: Machine) -> str:
    """Return the path of this user's database."""
    return os.path.join(data_directory(machine), _STORE)


def open_registry() -> Registry:
    """Open the registry of this user."""
    machine = this_machine()
    store = open_store(store_path(machine))
    scanner = Scanner(store, machine, clock, read_edits=read_edits)
    configurations = JoinedConfigurations(store, machine, clock)

    def face(client: str) -> Face:
        return face_of(client, machine)

    return Registry(store, machine, clock, scanner, configurations, face_of=face)


def face_of(client: str, machine: Machine) -> Face:
    """Return who starts a client's servers, by its install records: the user's, else the administrator's."""
    for is_managed in (False, True):
        try:
            record = load_record(record_path(client, machine, is_managed=is_managed))
        except FileChangeError:
            continue
        if record is not None:
            return _FACES.get(record.level, Face.CLIENT)
    return Face.CLIENT


def installed_clients(clients: Collection[str]) -> list[str]:
    """Select the clients that Remit is installed in."""
    machine = this_machine()
    paths = {client: record_path(client, machine) for client in clients}
    managed = {client: record_path(client, machine, is_managed=True) for client in clients}
    return [client for client in clients if any(map(os.path.exists, (paths[client], managed[client])))]


def old_store() -> str | None:
    """Say that an earlier database stays unused, before a new one is made; None without one."""
    machine = this_machine()
    path = os.path.join(data_directory(machine), _OLD_STORE)
    if os.path.exists(store_path(machine)) or not os.path.exists(path):
        return None
    return f"note: {path} is not used any more; its trust, approvals and memory are not taken over"


def running_gateways() -> list[Mapping[str, Any]]:
    """List the gateways that run for this user."""
    return []


@contextmanager
def open_memory(directory: str = ".") -> "Generator[Memory]":
    """Open the memory of a directory's repository.

    Raises:
        NotFoundError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    from remit.files import locate
    from remit.memory import open_memory as open_memory_of
    from remit.search import open_model

    workspace = locate(directory)
    with open_registry() as registry:
        embeddings = registry.config.current(workspace).embeddings
    store = open_store(store_path(this_machine()), durable=True)
    try:
        yield open_memory_of(store, open_model(*embeddings), workspace)
    finally:
        store.close()
