"""The modules that read the clients' files, and what shows that a client is on this machine.

A file in a project does not count: anyone may have written it, and several clients read the same one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from remit.decision.permissions.client_facts import CLIENTS
from remit.files.bounded_reader import Machine

if TYPE_CHECKING:
    from remit.clients.parsing.client_reader import Client


_MODULES = {"continue": "continue_dev"}  # a keyword cannot be imported


def load(name: str) -> Client:
    """Load a client's module."""
    return import_module(f"remit.clients.{_MODULES.get(name) or name.replace('-', '_')}").CLIENT


def is_on_machine(name: str, machine: Machine) -> bool:
    """Tell whether a client's program is on the PATH or its own settings exist; an unknown one counts."""
    import shutil  # every command loads the list of clients, and few look for them

    client = CLIENTS.get(name)
    if client is None:
        return True
    path = os.pathsep.join(filter(os.path.isabs, machine.variables.get("PATH", "").split(os.pathsep)))
    has_program = any(shutil.which(program, path=path) for program in client.programs)
    return has_program or any(map(os.path.exists, trace_places(name, machine)))


def trace_places(name: str, machine: Machine) -> Iterator[str]:
    """Yield where a client keeps files on a machine, whether they exist or not."""
    from remit.clients.parsing import platform_paths

    client = CLIENTS[name]
    if client.directory and (given := machine.variables.get(client.directory)):
        yield given
    bases = (machine.home, platform_paths.app_data(machine), platform_paths.xdg_config(machine))
    for base, names in zip(bases, (client.home, client.app, client.config), strict=True):
        yield from (os.path.join(base, *name.split("/")) for name in names)
