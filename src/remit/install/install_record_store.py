"""Stores install records: one file per client."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from remit.errors import FileChangeError
from remit.files.safe_changes import change_file, read_exactly, remove_empty
from remit.install.install_record import InstallRecord, read, write
from remit.install.install_record_path import managed_record_path, record_path

if TYPE_CHECKING:
    from remit.files.bounded_reader import Machine


class InstallRecords:
    """Stores a user's records in Remit's data directory, and an administrator's where all users read them."""

    def __init__(self, machine: Machine, *, is_managed: bool = False) -> None:
        self._machine = machine
        self._is_managed = is_managed
        self._path: Callable[[str, Machine], str] = managed_record_path if is_managed else record_path

    def load(self, client: str) -> InstallRecord | None:
        """Read a client's record; None without one.

        Raises:
            FileChangeError: the record cannot be read.
        """
        path = self._path(client, self._machine)
        text = read_exactly(path)
        try:
            return None if text is None else read(text)
        except ValueError as error:
            raise FileChangeError(
                f"{path}: {error}", hint="move it away; `remit uninstall` then removes what it recognizes"
            ) from None

    def save(self, install: InstallRecord) -> None:
        """Write a record; a user's own is private."""
        path = self._path(install.client, self._machine)
        change_file(path, lambda _: write(install), is_public=self._is_managed)

    def drop(self, client: str) -> None:
        """Delete a record."""
        path = self._path(client, self._machine)
        change_file(path, lambda _: None)
        folder = os.path.dirname(path)
        remove_empty([folder, os.path.dirname(folder)] if self._is_managed else [folder])
