"""The clients' files on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.clients.known_clients import is_on_machine, load
from remit.decision.permissions.client_facts import CLIENTS
from remit.decision.projects import TEAM
from remit.errors import UnknownProjectError
from remit.files.bounded_reader import FileError, Machine, are_unchanged, read_text
from remit.files.checkout import locate, locate_on_shared_store
from remit.files.file_stamps import FileStamps
from remit.install.install_record_path import record_paths

if TYPE_CHECKING:
    from remit.decision.declarations import ClientReading, Declaration, Key
    from remit.decision.declared_launch import Launch
    from remit.decision.projects import View, Workspace
    from remit.scanning.ports import Teams
    from remit.trust.server_sandbox import OpenedPaths, Sandbox
    from remit.upstream.launch.start_obstacles import LaunchFacts


_LINES_LIMIT = 16 * 2**20  # bytes of a file in which a line is looked for


class ClientFiles:
    """Reads the files of every supported client; for a team's project, what the shared store declares."""

    def __init__(
        self, machine: Machine, *, now_ns: Callable[[], int] = time.time_ns, teams: Teams | None = None
    ) -> None:
        self._machine = machine
        self._now_ns = now_ns
        self._teams = teams  # None: the store is not shared
        self.home = machine.home
        self.clients: Sequence[str] = tuple(CLIENTS)

    def locate(self, directory: str) -> Workspace:
        """Find the workspace of a team's project, `NAME` or `team:TEAM/NAME`, else that of a directory."""
        if self._teams is None:
            return locate(directory)
        return locate_on_shared_store(directory, self._teams.locate)

    def canonical(self, path: str) -> str:
        """Return a path as it was stored; it may no longer exist."""
        if self._is_of_team(path):
            return path
        return os.path.realpath(os.path.expanduser(path))

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory exists."""
        return os.path.exists(path)

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether all inputs still have these fingerprints."""
        of_teams = {name: seen for name, seen in inputs.items() if self._is_of_team(name)}
        if of_teams:
            return all(self._team_fingerprint(name) == seen for name, seen in of_teams.items())
        return are_unchanged(inputs, self._machine, now_ns=self._now_ns())

    def stamps(self, inputs: Iterable[str]) -> FileStamps:
        """Stamp files and variables, to check cheaply and often whether they changed."""
        # The revision of the store tells whether a team changed.
        files = (name for name in inputs if not self._is_of_team(name))
        return FileStamps(files, self._machine, now_ns=self._now_ns())

    def read(self, view: View) -> ClientReading:
        """Read one client's files for a workspace."""
        if self._teams is not None and view.workspace.team is not None:
            from remit.scanning.team_servers import read_team  # imported late: few workspaces are of teams

            return read_team(view, self._teams.servers(view.workspace))
        from remit.clients.parsing.client_reader import read_client  # imported late: files rarely change

        return read_client(load(view.client), view, self._machine, now_ns=self._now_ns())

    def examine(self, declarations: Sequence[Declaration], workspace: Workspace) -> LaunchFacts:
        """Collect facts about this machine for a diagnosis, without starting anything."""
        from remit.upstream.launch.machine_facts import collect_launch_facts

        if workspace.team is not None:  # its servers start there
            workspace = workspace._replace(dir=self.home)
        return collect_launch_facts(declarations, workspace, self._machine)

    def examine_sandboxes(self, facts: LaunchFacts, sandboxes: Mapping[Key, Sandbox | None]) -> LaunchFacts:
        """Add which of these sandboxes are not possible on this machine."""
        from remit.upstream.launch.machine_facts import add_sandboxes

        return add_sandboxes(facts, sandboxes, self._machine.home)

    def opened_paths(
        self, launch: Launch, sandbox: Sandbox, workspace: Workspace, *, is_projects: bool
    ) -> OpenedPaths:
        """Return what the sandbox of a server, the project's or the user's, opens for it to run."""
        from remit.upstream.launch.ready_server import opened_paths  # imported late: few servers have one

        return opened_paths(launch, sandbox, workspace, self._machine, is_projects=is_projects)

    def foreign_variables(self, client: str, workspace: Workspace) -> frozenset[str]:
        """Return the names of the variables that files of the repository set for a client."""
        from remit.clients.project_variables import foreign_variables  # imported late: for servers to start

        return foreign_variables(client, workspace)

    def line_of(self, path: str, *keys: str) -> int:
        """Find the line of the member that keys lead to in a JSON or TOML file; 0 if it is not there.

        A link is not followed: a repository's may lead to a file of the user's that nobody asked for.
        """
        from remit.files.json_positions import JsonText, position  # imported late: only warnings need it

        try:
            text = read_text(path, limit=_LINES_LIMIT, within=[path]) or ""
            if path.endswith(".toml"):
                return _toml_line(text, keys)
            document = JsonText(text, lenient=True)
        except (FileError, ValueError):
            return 0
        found = document.find(keys)
        return 0 if found is None else position(document.text, found.start)[0]

    def is_on_machine(self, client: str) -> bool:
        """Tell whether a client is on this machine."""
        return is_on_machine(client, self._machine)

    def leaves_servers(self, client: str) -> bool:
        """Tell whether a client loads Remit instead of its servers, because Remit is installed in it."""
        # Without an install record, the client's module need not be loaded.
        has_record = any(map(self.exists, record_paths(client, self._machine)))
        return has_record and load(client).leaves_servers(self._machine)

    def _is_of_team(self, name: str) -> bool:
        return self._teams is not None and name.startswith(TEAM)

    def _team_fingerprint(self, path: str) -> str | None:
        from remit.scanning.team_servers import servers_fingerprint  # imported late, as above

        try:
            workspace = self.locate(path)
        except UnknownProjectError:
            return None
        return None if self._teams is None else servers_fingerprint(self._teams.servers(workspace))


def _toml_line(text: str, keys: Sequence[str]) -> int:
    from remit.configuration.config_model import KEY_SEPARATOR  # imported late, as above
    from remit.configuration.toml_positions import positions
    from remit.files.formats import parse_toml

    parse_toml(text)  # positions are only found in valid text
    return positions(text).get(KEY_SEPARATOR.join(keys), [0])[0]
