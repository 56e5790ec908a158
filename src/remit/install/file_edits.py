"""Applies edits to a client's file and removes them again, even if others edited it in between."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from remit.files import json_edits, toml_edits
from remit.files.json_positions import JsonText
from remit.files.splices import Splice, SpliceError, Step, TextEditError, apply, undo
from remit.install.install_record import SERVED, Edit, EditedFile, Format, WrittenKey, digest

_EMPTY = {Format.JSON: "{}\n", Format.JSONC: "{}\n", Format.TOML: ""}


class RemovedEdits(NamedTuple):
    """A text after removing Remit's edits."""

    text: str
    left: Sequence[str] = ()  # keys that others changed since, so something remains


class EditableText:
    """A JSON, JSONC or TOML text with successive edits."""

    def __init__(self, text: str, format: Format) -> None:
        self.text = text
        self._format = format
        self._read: JsonText | None = None
        self.steps: list[Step] = []
        if is_blank(text) and format is not Format.TOML:  # a client may create an empty file
            self._make([Splice(0, text, _EMPTY[format])])

    def value(self, path: Sequence[str]) -> tuple[Any] | None:
        """Return the value at a path in a tuple; None if there is none.

        Raises:
            TextEditError: the text is invalid; the other methods raise it too.
        """
        if self._format is Format.TOML:
            return toml_edits.table(self.text, path)
        return self._json().value(path)

    def source(self, path: Sequence[str]) -> str | None:
        """Return the source text at a path; None if there is none."""
        if self._is_flag(path):
            return json.dumps(self.value(path)).strip("[]")
        if self._format is Format.TOML:
            step = toml_edits.take_table(self.text, path)
            return "".join(splice.removed for splice in step) or None
        return self._json().source(path)

    def put(self, path: Sequence[str], value: Any) -> None:
        """Set the value at a path."""
        if self._format is Format.TOML and isinstance(value, bool):
            self._make(toml_edits.put_flag(self.text, path, value, SERVED))
        elif self._format is Format.TOML:
            self.take(path)
            self._make(toml_edits.put_table(self.text, path, value))
        else:
            self._make(json_edits.put(self._json(), path, value))

    def put_source(self, path: Sequence[str], source: str) -> None:
        """Set the source text at a path."""
        if self._is_flag(path):
            self._make(toml_edits.put_flag(self.text, path, json.loads(source)))
        elif self._format is Format.TOML:
            self.take(path)
            self._make([Splice(len(self.text), "", source)])
        else:
            self._make(json_edits.put_source(self._json(), path, source))

    def add(self, path: Sequence[str], item: Any) -> None:
        """Append an item to a list."""
        self._make(json_edits.add(self._json(), path, item))

    def take(self, path: Sequence[str]) -> None:
        """Remove the value at a path."""
        if self._is_flag(path):
            self._make(toml_edits.take_flag(self.text, path))
        elif self._format is Format.TOML:
            self._make(toml_edits.take_table(self.text, path))
        else:
            self._make(json_edits.take(self._json(), path))

    def take_item(self, path: Sequence[str], item: Any) -> None:
        """Remove an item from a list."""
        self._make(json_edits.take_item(self._json(), path, lambda found: found == item))

    def _is_flag(self, path: Sequence[str]) -> bool:
        found = self.value(path) if self._format is Format.TOML else None
        return found is not None and isinstance(found[0], bool)

    def _json(self) -> JsonText:
        if self._read is None or self._read.text is not self.text:
            self._read = JsonText(self.text, lenient=self._format is Format.JSONC)
        return self._read

    def _make(self, step: list[Splice]) -> None:
        if step:
            self.text = apply(self.text, step)
            self.steps.append(step)


def is_blank(text: str) -> bool:
    """Tell whether a text is empty."""
    return not text.strip("\ufeff \t\r\n")


def is_in_place(
    text: str | None, format: Format, changes: Sequence[Edit], known: Sequence[WrittenKey] = ()
) -> bool:
    """Tell whether a text contains all edits, and no item or switch of earlier ones that is no longer wanted.

    Raises:
        TextEditError: the text is invalid.
    """
    if text is None:
        return not changes
    wanted = [(change.path, change.value) for change in changes]
    if any((key.is_item or key.switches) and (key.path, key.value) not in wanted for key in known):
        return False
    document = EditableText(text, format)
    return all(_stands(document, change) for change in changes)


def _stands(document: EditableText, change: Edit) -> bool:
    found = document.value(change.path)
    if found is None:
        return False
    if change.is_item:
        return isinstance(found[0], list) and change.value in found[0]
    return found[0] == change.value


def apply_edits(
    text: str | None, path: str, format: Format, changes: Sequence[Edit]
) -> tuple[str, EditedFile]:
    """Apply edits to a text, or to a new file, and record how to undo them.

    Raises:
        TextEditError: the text is invalid, or an edit does not fit.
    """
    before = _EMPTY[format] if text is None else text
    document = EditableText(before, format)
    keys = [_put(document, change) for change in changes if not _is_theirs(document, change)]
    edited = EditedFile(
        path=path,
        format=format,
        is_new=text is None,
        before=digest(before),
        after=digest(document.text),
        steps=document.steps,
        keys=keys,
    )
    return document.text, edited


def _is_theirs(document: EditableText, change: Edit) -> bool:
    """Tell whether others already have an item in their list, so it stays when ours is removed."""
    return change.is_item and _stands(document, change)


def _put(document: EditableText, change: Edit) -> WrittenKey:
    path, value, is_item, switches = change
    known = sum(document.value(path[: at + 1]) is not None for at in range(len(path)))
    earlier = None if is_item else document.source(path)
    if is_item:
        document.add(path, value)
    elif document.value(path) != (value,):
        document.put(path, value)
    return WrittenKey(
        path=path, value=value, is_item=is_item, earlier=earlier, known=known, switches=switches
    )


def remove_edits(text: str, file: EditedFile) -> RemovedEdits:
    """Remove edits: restore every byte if nothing else changed, else remove key by key.

    Raises:
        TextEditError: the text is invalid.
    """
    if digest(text) == file.before:
        return RemovedEdits(text)
    if digest(text) == file.after and (original := _undone(text, file)) is not None:
        return RemovedEdits(original)
    if is_blank(text):
        return RemovedEdits(text)
    removed = _taken(text, file)
    try:  # first the inserted texts that are still as they were, to the last byte
        literal = _taken(_without_insertions(text, file.steps), file)
        is_same = _content(literal.text, file.format) == _content(removed.text, file.format)
    except TextEditError:
        return removed
    return RemovedEdits(literal.text, left=removed.left) if is_same else removed


def _taken(text: str, file: EditedFile) -> RemovedEdits:
    """Remove the edits key by key."""
    document = EditableText(text, file.format)
    left = [".".join(key.path) for key in reversed(file.keys) if not _take(document, key)]
    return RemovedEdits(document.text, left=left)


def _without_insertions(text: str, steps: Sequence[Step]) -> str:
    """Remove the inserted texts, wherever they are now, except those that others' text could be taken for."""
    splices = [splice for step in steps for splice in step]
    left = Counter(splice.inserted for splice in splices)
    for splice in reversed(splices):
        is_ours = text.count(splice.inserted) == left[splice.inserted]
        left[splice.inserted] -= 1
        if splice.inserted and not splice.removed and is_ours:
            text = text.replace(splice.inserted, "", 1)
    return text


def _content(text: str, format: Format) -> tuple[Any] | None:
    return EditableText(text, format).value(())


def _undone(text: str, file: EditedFile) -> str | None:
    """Return the text before the edits; None if the record does not fit."""
    try:
        original = undo(text, file.steps)
    except SpliceError:
        return None
    return original if digest(original) == file.before else None


def _take(document: EditableText, key: WrittenKey) -> bool:
    """Remove one key; False if something remains because others changed it."""
    found = document.value(key.path)
    if found is None or (key.switches and not key.is_item and found[0] != key.value):
        return True  # gone, or switched by its user since
    if key.is_item:
        document.take_item(key.path, key.value)
    elif _are_lists(key.value, found[0]) and found[0] != key.value:
        _take_items(document, key)
    elif key.earlier is not None:
        document.put_source(key.path, key.earlier)
    else:
        document.take(key.path)
    for path in _made(key):
        if document.value(path) in (({},), ([],)):
            document.take(path)
    return document.value(key.path) is None or key.is_item or key.earlier is not None


def _are_lists(*values: object) -> bool:
    return all(isinstance(value, list) for value in values)


def _take_items(document: EditableText, key: WrittenKey) -> None:
    """Remove our items from a list that others changed, and restore the earlier ones."""
    for item in cast("list[object]", key.value):
        document.take_item(key.path, item)
    earlier = (
        None if key.earlier is None else EditableText(f'{{"a": {key.earlier}}}', Format.JSONC).value(("a",))
    )
    for item in cast("list[object]", earlier[0]) if earlier is not None else ():
        if item not in (document.value(key.path) or ([],))[0]:
            document.add(key.path, item)


def _made(key: WrittenKey) -> Iterator[tuple[str, ...]]:
    """Yield the objects and lists created for a key, innermost first."""
    for length in range(len(key.path), key.known, -1):
        yield key.path[:length]
