"""The records of installs: one file for each client, for its user's eyes only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from remit.errors import FileChangeError
from remit.files.safe_changes import change_file, read_exactly, remove_empty
from remit.install.record import Install, read, write
from remit.install.record_path import record_path

if TYPE_CHECKING:
    from remit.files.bounded_reader import Machine


class InstallRecords:
    """Keeps the records in Remit's own directory."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def load(self, client: str) -> Install | None:
        """Read a client's record; None where there is none.

        Raises:
            FileChangeError: it cannot be read.
        """
        path = record_path(client, self._machine)
        text = read_exactly(path)
        try:
            return None if text is None else read(text)
        except ValueError as error:
            raise FileChangeError(
                f"{path}: {error}", hint="move it away; `remit uninstall` then goes by what it recognises"
            ) from None

    def save(self, install: Install) -> None:
        """Keep a record; a file of it is made readable for its user alone."""
        change_file(record_path(install.client, self._machine), lambda _: write(install))

    def drop(self, client: str) -> None:
        """Forget a record."""
        path = record_path(client, self._machine)
        change_file(path, lambda _: None)
        remove_empty([os.path.dirname(path)])
