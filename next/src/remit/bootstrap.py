"""Puts the parts together for this machine and this user."""

import os
import time

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import InstallLevel, Scanner, load_record, read_edits, record_path
from remit.config import data_directory
from remit.decision import Face
from remit.errors import FileChangeError
from remit.files import Machine, this_machine
from remit.store import open_store

_FACES = {InstallLevel.FULL: Face.GATEWAY, InstallLevel.HOOKS: Face.GUARDED}


def clock() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def open_registry() -> Registry:
    """Open the registry of this user."""
    machine = this_machine()
    store = open_store(os.path.join(data_directory(machine), "remit.sqlite"))
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
