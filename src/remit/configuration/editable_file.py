"""A configuration file that a command edits: Remit's own files, of the user, a project or the machine."""

import os

from remit.errors import BadFileError
from remit.files.checkout import link_in_checkout
from remit.files.safe_changes import change_file, read_exactly


class EditableFile:
    """A configuration file as last read; one of a checkout is never reached through a link."""

    def __init__(self, path: str, *, checkout: str | None = None) -> None:
        self.path = path
        self._checkout = checkout
        self._found = self._read()
        self.was_created = False

    @property
    def text(self) -> str:
        """The text of the file; empty if it does not exist."""
        return self._found or ""

    def write(self, text: str) -> None:
        """Replace the text; an empty text deletes the file.

        Raises:
            BadFileError: the file changed in the meantime.
            FileChangeError: the file cannot be written.
        """
        self._require_own()

        def change(before: str | None) -> str | None:
            if before != self._found:
                raise BadFileError(f"`{self.path}` was changed meanwhile", hint="run the command again")
            return text or None

        change_file(self.path, change, is_public=self._checkout is not None)
        self.was_created = self._found is None
        self._found = text or None

    def _require_own(self) -> None:
        link = None if self._checkout is None else link_in_checkout(self.path, self._checkout)
        if link is not None:
            raise BadFileError(
                f"`{link}` is a link to `{os.readlink(link)}`; no link in a project is written through",
                hint="replace the link with a file or directory of your own, and run the command again",
            )

    def _read(self) -> str | None:
        self._require_own()
        found = read_exactly(self.path)
        try:
            return None if found is None else found.encode().decode()
        except UnicodeEncodeError:
            raise BadFileError(f"`{self.path}` is not UTF-8 text") from None
