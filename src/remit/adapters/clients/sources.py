"""The clients' files on this machine, as the registry asks for them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from remit.adapters.clients import CLIENTS
from remit.adapters.clients.reading import read_client
from remit.adapters.files import Machine, are_unchanged
from remit.adapters.git import locate
from remit.core.projects import Workspace
from remit.core.reading import Reading


class ClientFiles:
    """Reads the files of every client that Remit knows."""

    def __init__(self, machine: Machine, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._machine = machine
        self._now_ns = now_ns
        self.home = machine.home
        self.clients: Sequence[str] = tuple(CLIENTS)

    def locate(self, directory: str) -> Workspace:
        """Find the workspace of a directory."""
        return locate(directory)

    def canonical(self, directory: str) -> str:
        """Write the path of a directory that may no longer exist as it was stored when it did."""
        return os.path.realpath(os.path.expanduser(directory))

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether every file and variable is as a scan found it."""
        return are_unchanged(inputs, self._machine, now_ns=self._now_ns())

    def read(self, client: str, workspace: Workspace) -> Reading:
        """Read all that one client's files say for a workspace."""
        return read_client(CLIENTS[client], workspace, self._machine, now_ns=self._now_ns())
