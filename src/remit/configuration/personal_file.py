"""Writes `remit.local.toml`, the user's own configuration file in a project, atomically."""

import os
import tempfile

from remit.configuration.file_paths import PERSONAL
from remit.decision.projects import Workspace
from remit.decision.scopes import is_at_or_below
from remit.errors import BadFileError
from remit.files.bounded_reader import FileError, read_bytes

_LIMIT = 1024 * 1024  # bytes


class PersonalFile:
    """The `remit.local.toml` at the root of a checkout, as last read."""

    def __init__(self, workspace: Workspace) -> None:
        self.path = os.path.join(workspace.checkout, PERSONAL)
        self._checkout = workspace.checkout
        self._found = self._read()

    @property
    def text(self) -> str:
        """The text of the file; empty if it does not exist."""
        return self._found or ""

    def write(self, text: str) -> None:
        """Replace the text; an empty text deletes the file.

        Raises:
            BadFileError: the file changed in the meantime, or cannot be written.
        """
        if self._read() != self._found:
            raise BadFileError(f"`{self.path}` was changed meanwhile", hint="run the command again")
        try:
            self._replace(text) if text else os.remove(self.path)
        except OSError as error:
            raise BadFileError(f"`{self.path}` cannot be written: {error.strerror}") from error
        self._found = text or None

    def _replace(self, text: str) -> None:
        path = os.path.realpath(self.path)
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
        handle, made = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{PERSONAL}.")
        try:
            with open(handle, "w", encoding="utf-8", newline="") as opened:
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            os.chmod(made, mode)
            os.replace(made, path)
        except BaseException:
            os.unlink(made)
            raise

    def _read(self) -> str | None:
        if os.path.islink(self.path) and not is_at_or_below(os.path.realpath(self.path), self._checkout):
            raise BadFileError(
                f"`{self.path}` is a link that leads out of the checkout: who made it is not known",
                hint="put a file of your own in its place",
            )
        try:
            found = read_bytes(self.path, limit=_LIMIT)
            return None if found is None else found.decode()
        except FileError as error:
            raise BadFileError(f"`{self.path}` cannot be read: {error.reason}") from error
        except UnicodeDecodeError:
            raise BadFileError(f"`{self.path}` is not UTF-8 text") from None
