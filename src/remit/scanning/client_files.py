"""The clients' files on this machine, as the registry asks for them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.clients import CLIENTS, load
from remit.files.bounded_reader import Machine, are_unchanged
from remit.files.checkout import locate
from remit.files.file_stamps import FileStamps
from remit.install.install_record_path import record_path

if TYPE_CHECKING:
    from remit.decision.declarations import ClientReading, Declaration
    from remit.decision.projects import View, Workspace
    from remit.upstream.launch.launch_facts import LaunchFacts


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

    def canonical(self, path: str) -> str:
        """Write the path of something that may no longer exist as it was stored when it did."""
        return os.path.realpath(os.path.expanduser(path))

    def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory of this path."""
        return os.path.exists(path)

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether every file and variable is as a scan found it."""
        return are_unchanged(inputs, self._machine, now_ns=self._now_ns())

    def stamps(self, inputs: Iterable[str]) -> FileStamps:
        """Remember how files and variables are now, to look often whether that changed."""
        return FileStamps(inputs, self._machine, now_ns=self._now_ns())

    def read(self, view: View) -> ClientReading:
        """Read all that one client's files say for a workspace."""
        from remit.clients.parsing.client_reader import read_client  # mostly, nothing changed

        return read_client(load(view.client), view, self._machine, now_ns=self._now_ns())

    def examine(self, declarations: Sequence[Declaration], workspace: Workspace) -> LaunchFacts:
        """Find out what a diagnosis must know of the machine, without starting anything."""
        from remit.upstream.launch.machine_facts import collect_launch_facts

        return collect_launch_facts(declarations, workspace, self._machine)

    def leaves_servers(self, client: str) -> bool:
        """Tell whether a client loads Remit in place of its servers, because Remit was put into it."""
        # Without a record nothing was put into it, and its module need not be loaded.
        return self.exists(record_path(client, self._machine)) and load(client).leaves_servers(self._machine)
