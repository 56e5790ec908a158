"""The clients' files on this machine, as the registry asks for them."""

import time
from collections.abc import Mapping, Sequence

from remit.adapters.clients import CLIENTS
from remit.adapters.clients.files import Machine, fingerprint
from remit.adapters.clients.reading import read_client
from remit.adapters.git import locate
from remit.core.declarations import Reading
from remit.core.projects import Workspace


class ClientFiles:
    """Reads the files of every client that Remit knows."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.home = machine.home
        self.clients: Sequence[str] = tuple(CLIENTS)

    def locate(self, directory: str) -> Workspace:
        """Find the workspace of a directory."""
        return locate(directory)

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether every file and variable is as a scan found it."""
        now = time.time_ns()
        return all(fingerprint(name, self._machine, now_ns=now) == known for name, known in inputs.items())

    def read(self, client: str, workspace: Workspace) -> Reading:
        """Read all that one client's files say for a workspace."""
        return read_client(CLIENTS[client], workspace, self._machine, now_ns=time.time_ns())
