"""Puts the parts together for this machine and this user."""

import os
import time

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import CLIENTS, InstallLevel, Scanner, load_record, read_edits, record_path
from remit.config import data_directory
from remit.decision import Face
from remit.errors import FileChangeError
from remit.files import Machine, this_machine
from remit.store import Store, open_store

TYPE_CHECKING = False  # type checkers recognize the name; hooks load this module
if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from remit.gateway import Gateway
    from remit.upstream import OnList, UpstreamPool

_OF_CLIENTS = ("CLAUDE_CODE_", "CLAUDE_PLUGIN_")  # variables of clients for their own children
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


def open_gateway() -> "Gateway":
    """Put a gateway of this user together; `async with` starts it."""
    from remit.gateway import Gateway, Parts  # few commands serve

    machine = this_machine()
    data = data_directory(machine)

    def open_servers(on_list: "OnList") -> "AbstractAsyncContextManager[UpstreamPool]":
        from remit.upstream import LocalLauncher, open_pool

        launcher = LocalLauncher(machine.variables, machine.home, data, _is_of_client)
        return open_pool(launcher, on_list=on_list)

    def open_durable_store() -> Store:
        return open_store(os.path.join(data, "remit.sqlite"), durable=True)

    return Gateway(
        Parts(
            open_registry=open_registry,
            open_pool=open_servers,
            data_directory=data,
            clock=clock,
            open_durable_store=open_durable_store,
        )
    )


def _is_of_client(variable: str) -> bool:
    """Return whether a client sets a variable for its own children."""
    return variable.startswith(_OF_CLIENTS) or any(variable in client.markers for client in CLIENTS.values())
