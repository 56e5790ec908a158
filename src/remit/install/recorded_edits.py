"""Finds what an install wrote in a client's file: from its record, or by its look."""

from remit.errors import FileChangeError
from remit.install.file_edits import EditableText, RemovedEdits, UneditableError
from remit.install.install_record import DENIED, EditedFile, Format, TargetFile
from remit.install.remit_entries import own_keys


def recognised(target: TargetFile, text: str) -> EditedFile:
    """Recognize Remit's entries in a file without a record."""
    document = EditableText(text, target.format)
    found = [document.value(change.path) for change in target.changes]
    keys = list(own_keys(target.changes, [None if value is None else value[0] for value in found]))
    return EditedFile(path=target.path, format=target.format, before="", after="", keys=keys)


def denials_in_place(file: EditedFile, text: str | None) -> list[str]:
    """List the deny rules that Remit wrote, except those that a person has removed since."""
    with named(file.path):
        found = None if text is None else EditableText(text, file.format).value(DENIED)
    return [
        key.value for key in file.keys if found is not None and key.path == DENIED and key.value in found[0]
    ]


def is_empty(taken: RemovedEdits, format: Format) -> bool:
    return EditableText(taken.text, format).value(()) == ({},)


class named:  # noqa: N801 - reads as a word of the `with`
    """Adds the file's path to errors."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, UneditableError):
            place = f", {error.place}" if error.place else ""
            raise FileChangeError(
                f"{self._path}{place}: {error.reason}; nothing was written",
                hint=error.hint
                or "fix the file (the client cannot read all of it either), then run this again",
            ) from None
