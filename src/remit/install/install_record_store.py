"""Stores install records: one private file per client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from remit.errors import FileChangeError
from remit.files.safe_changes import change_file, read_exactly, remove_empty
from remit.install.install_record import InstallRecord, read, write
from remit.install.install_record_path import record_path

if TYPE_CHECKING:
    from remit.files.bounded_reader import Machine


class InstallRecords:
    """Stores the records in Remit's data directory."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def load(self, client: str) -> InstallRecord | None:
        """Read a client's record; None without one.

        Raises:
            FileChangeError: the record cannot be read.
        """
        path = record_path(client, self._machine)
        text = read_exactly(path)
        try:
            return None if text is None else read(text)
        except ValueError as error:
            raise FileChangeError(
                f"{path}: {error}", hint="move it away; `remit uninstall` then goes by what it recognises"
            ) from None

    def save(self, install: InstallRecord) -> None:
        """Write a record, readable by its user only."""
        change_file(record_path(install.client, self._machine), lambda _: write(install))

    def drop(self, client: str) -> None:
        """Delete a record."""
        path = record_path(client, self._machine)
        change_file(path, lambda _: None)
        remove_empty([os.path.dirname(path)])
