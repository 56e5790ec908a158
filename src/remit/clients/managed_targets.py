"""The files that `remit install claude-code --managed` edits: they apply to every user of the machine.

Only Claude Code has them. Its managed hooks run even if a user or a repository switches hooks off, and with a
`managed-mcp.json` it loads no other server.
"""

import os
from collections.abc import Callable, Sequence

from remit.clients.claude.installed_hooks import claude_hooks
from remit.clients.claude_code import MANAGED_SERVERS, MANAGED_SETTINGS, managed_directory
from remit.clients.install_targets import Declared, claude_entry
from remit.decision.permissions.client_facts import client_title
from remit.files.bounded_reader import Machine
from remit.files.safe_changes import change_file
from remit.install.install_record import Format, TargetFile, denials
from remit.install.install_record_path import managed_record_path


class ManagedTargets:
    """The administrator's install targets on one machine."""

    def __init__(self, machine: Machine, command: Callable[[], Sequence[str]]) -> None:
        self._machine = machine
        self._command = command
        self.clients: Sequence[str] = ("claude-code",)

    def title(self, client: str) -> str:
        """Return the display name of a client."""
        return f"{client_title(client)} for every user of this machine"

    def targets(
        self,
        client: str,
        declared: Declared,  # noqa: ARG002 - as of `ClientTargets`
        blocks: Sequence[str],
        served: Callable[[], Declared] = tuple,  # noqa: ARG002 - as of `ClientTargets`
    ) -> Sequence[TargetFile]:
        """Return the files to edit, with the edits; no user's servers are named in them."""
        folder, command = managed_directory(self._machine), self._command()
        record = managed_record_path(client, self._machine)
        settings = [*claude_hooks(command, record, " --managed"), *denials(blocks)]
        return [
            TargetFile(os.path.join(folder, MANAGED_SETTINGS), Format.JSON, settings),
            TargetFile(os.path.join(folder, MANAGED_SERVERS), Format.JSON, [claude_entry(command, record)]),
        ]

    def projects(self, client: str) -> Sequence[str]:  # noqa: ARG002 - as of `ClientTargets`
        """List no directories: they are a user's."""
        return ()

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None:
        """Replace a file's text with the result of a function; every user can read a new one."""
        change_file(path, change, is_public=True)
