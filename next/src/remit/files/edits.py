"""Edits of other programs' files that can be taken back, even if others edited the file in between.

What a file should say is computed on its parsed content. Splices only make the text, and a text counts only
if it parses to exactly that content.
"""

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from remit.errors import FileChangeError
from remit.files.formats import BOM, is_same, parse_jsonc, value_at, with_value, without_value
from remit.files.json_text import JsonText, Path, Splice, SpliceError, Step, inverse, splice
from remit.files.reading import FileError
from remit.text import as_list

if TYPE_CHECKING:
    from remit.files.toml_text import TomlText

SERVED = "served by Remit"  # the comment on a switch, where the format has comments on a line


class Format(StrEnum):
    """The format of a file."""

    JSON = "json"
    JSONC = "jsonc"  # with comments and trailing commas
    TOML = "toml"


_EMPTY = {Format.JSON: "{}\n", Format.JSONC: "{}\n", Format.TOML: ""}


class Edit(NamedTuple):
    """A value to write at a path of a file."""

    path: Path
    value: Any
    is_item: bool = False  # an item of a list that others share
    switches: str | None = None  # the server that it switches off, which Remit serves instead


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenKey:
    """A key that was written, with the previous source text."""

    path: Path
    value: Any
    is_item: bool = False
    earlier: str | None = None  # source text; None: the key was absent
    known: int = 0  # how many keys of the path existed before
    switches: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedFile:
    """An edited file, and how to undo the edits; it holds only the replaced parts, so no secrets."""

    path: str
    format: Format
    is_new: bool = False  # the file did not exist
    made: Sequence[str] = ()  # directories created, innermost first
    before: str  # digests of the text before and after
    after: str
    steps: Sequence[Step] = ()
    keys: Sequence[WrittenKey] = ()


def digest(text: str) -> str:
    """Return the digest of a text."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def apply_edits(text: str | None, path: str, format: Format, edits: Sequence[Edit]) -> tuple[str, EditedFile]:
    """Apply edits to a text, or to a new file, and record how to undo them.

    Raises:
        FileChangeError: the text is invalid, or an edit does not fit.
    """
    before = after = _EMPTY[format] if text is None else text
    steps: list[Step] = []
    if _is_blank(before) and format is not Format.TOML:  # a client may create an empty file
        after = _EMPTY[format]
        steps.append([Splice(0, before, after)])
    with _path_in_errors(path):
        document = _document(
            after, format, {edit.path: SERVED for edit in edits if edit.switches is not None}
        )
        content = document.content
        keys: list[WrittenKey] = []
        for edit in edits:
            if edit.is_item and _stands(content, edit):  # its owner keeps it when ours is removed
                continue
            _require_room(document, content, edit)
            keys.append(_written_key(document, content, edit))
            content = _with_edit(content, edit)
        whole: dict[Path, str | None] = {edit.path: None for edit in edits if not edit.is_item}
        after, made = _brought(document, content, whole, keys)
    edited = EditedFile(
        path=path,
        format=format,
        is_new=text is None,
        before=digest(before),
        after=digest(after),
        steps=[*steps, *made],
        keys=keys,
    )
    return after, edited


def are_in_place(text: str | None, format: Format, edits: Sequence[Edit], edited: EditedFile | None) -> bool:
    """Tell whether a text has all edits, and no key of earlier ones that is no longer wanted.

    Raises:
        FileError: the text is invalid.
    """
    if text is None or _is_blank(text):
        return not edits
    paths = [(edit.path, edit.is_item, edit.value) for edit in edits]
    if edited is not None and any((key.path, key.is_item, key.value) not in paths for key in edited.keys):
        return False
    content = _document(text, format).content
    return all(_stands(content, edit) for edit in edits)


def put_back(text: str, edited: EditedFile) -> tuple[str | None, Sequence[str]]:
    """Take edits back: restore every byte if nothing else changed, else remove key by key.

    Returns the text, or None for a new file with nothing else in it, and the keys of which something remains.

    Raises:
        FileChangeError: the text is invalid.
    """
    left: Sequence[str] = ()
    now = digest(text)
    original = text if now == edited.before or _is_blank(text) else None
    if original is None and now == edited.after:
        original = _undone(text, edited)
    if original is None:
        with _path_in_errors(edited.path):
            original, left = _removed(text, edited)
    is_gone = edited.is_new and original.strip(_SPACE) in ("", "{}")
    return None if is_gone else original, left


def without_edits(content: object, edited: EditedFile) -> object:
    """Return the parsed content of a file as it would be without the edits; what others changed stays."""
    return _without(cast("dict[str, Any]", content), edited)[0] if isinstance(content, dict) else content


def _removed(text: str, edited: EditedFile) -> tuple[str, Sequence[str]]:
    """Remove the edits from a text that others changed.

    The inserted texts that are still as they were go to the last byte, if that gives the same content.
    """
    document = _document(text, edited.format)
    wanted, left = _without(document.content, edited)
    sources: dict[Path, str | None] = {}
    for key in edited.keys:
        earlier, value = _earlier(key, edited.format), value_at(wanted, key.path)
        if earlier is not None and value is not None and is_same(earlier[0], value[0]):
            sources[key.path] = key.earlier
    try:
        shortened = _document(_without_insertions(text, edited.steps), edited.format)
        if shortened.trailing_commas <= document.trailing_commas:
            return _brought(shortened, wanted, sources, edited.keys)[0], left
    except FileError:
        pass
    return _brought(document, wanted, sources, edited.keys)[0], left


def _without(content: dict[str, Any], edited: EditedFile) -> tuple[dict[str, Any], list[str]]:
    """Take the keys out of content, last first, and name those of which something remains."""
    left: list[str] = []
    for key in reversed(edited.keys):
        current, earlier = value_at(content, key.path), _earlier(key, edited.format)
        if current is not None and key.is_item:
            content = _without_item(content, key.path, key.value)
        elif current is not None and key.switches is not None and not is_same(current[0], key.value):
            continue  # its user turned the switch again
        elif current is not None and _are_lists(current[0], key.value) and not is_same(current[0], key.value):
            for item in key.value:
                content = _without_item(content, key.path, item)
            for item in as_list(earlier[0]) if earlier is not None else ():
                if not _stands(content, edit := Edit(key.path, item, is_item=True)):
                    content = _with_edit(content, edit)
        elif current is not None:
            is_new = earlier is None
            content = (
                without_value(content, key.path) if is_new else with_value(content, key.path, earlier[0])
            )
        for length in range(len(key.path), key.known, -1):
            if value_at(content, key.path[:length]) in (({},), ([],)):
                content = without_value(content, key.path[:length])
        if not key.is_item and earlier is None and value_at(content, key.path) is not None:
            left.append(".".join(key.path))
    return content, left


def _without_item(content: dict[str, Any], path: Path, item: object) -> dict[str, Any]:
    """Remove the last item of a list that is the same as one."""
    items = (value_at(content, path) or (None,))[0]
    if not isinstance(items, list):
        return content
    items = cast("list[Any]", items)
    at = next((at for at in reversed(range(len(items))) if is_same(items[at], item)), None)
    return content if at is None else with_value(content, path, items[:at] + items[at + 1 :])


def _without_insertions(text: str, steps: Sequence[Step]) -> str:
    """Remove the inserted texts, wherever they are now, except those that others' text could be taken for."""
    splices = [part for step in steps for part in step]
    left = Counter(part.inserted for part in splices)
    for part in reversed(splices):
        is_ours = text.count(part.inserted) == left[part.inserted]
        left[part.inserted] -= 1
        if part.inserted and not part.removed and is_ours:
            text = text.replace(part.inserted, "", 1)
    return text


def _undone(text: str, edited: EditedFile) -> str | None:
    """Return the text before the edits; None if the record does not fit."""
    try:
        for step in reversed(edited.steps):
            text = splice(text, inverse(step))
    except SpliceError:
        return None
    return text if digest(text) == edited.before else None


def _written_key(document: "JsonText | TomlText", content: dict[str, Any], edit: Edit) -> WrittenKey:
    path, value, is_item, switches = edit
    current, earlier = value_at(content, path), None
    if current is not None and not is_item:
        is_unedited = value_at(document.content, path) == current
        earlier = document.source(path) if is_unedited else document.written(current[0])
    known = sum(value_at(content, path[: at + 1]) is not None for at in range(len(path)))
    return WrittenKey(
        path=path, value=value, is_item=is_item, earlier=earlier, known=known, switches=switches
    )


def _earlier(key: WrittenKey, format: Format) -> tuple[Any] | None:
    """Parse the source text before an edit."""
    if key.earlier is None:
        return None
    if format is Format.TOML:
        from remit.files.toml_text import content_of

        return content_of(key.earlier, key.path)
    try:
        return (parse_jsonc(key.earlier),)
    except FileError:
        return None


def _require_room(document: "JsonText | TomlText", content: dict[str, Any], edit: Edit) -> None:
    """Require that the parents on a path are objects, and that an item goes into a list.

    Raises:
        FileError: the file has something else there.
    """
    kinds = [*[(dict, "an object")] * (len(edit.path) - 1), *([(list, "a list")] if edit.is_item else [])]
    for length, (kind, words) in enumerate(kinds, 1):
        found = value_at(content, edit.path[:length])
        if found is not None and not isinstance(found[0], kind):
            path = edit.path[:length]
            raise FileError(f"`{'.'.join(path)}`: expected {words}", document.place(path))


def _stands(content: object, edit: Edit) -> bool:
    current = value_at(content, edit.path)
    if current is None:
        return False
    if edit.is_item:
        return any(is_same(item, edit.value) for item in as_list(current[0]))
    return is_same(current[0], edit.value)


def _with_edit(content: dict[str, Any], edit: Edit) -> dict[str, Any]:
    if not edit.is_item:
        return with_value(content, edit.path, edit.value)
    items = value_at(content, edit.path) or ([],)
    return with_value(content, edit.path, [*items[0], edit.value])


def _are_lists(*values: object) -> bool:
    return all(isinstance(value, list) for value in values)


def _brought(
    document: "JsonText | TomlText",
    wanted: dict[str, Any],
    sources: Mapping[Path, str | None],
    keys: Sequence[WrittenKey],
) -> tuple[str, list[Step]]:
    """Make a text say what is wanted, and return it with the steps.

    Raises:
        FileError: its form cannot be edited in place.
    """
    text, steps = document.text, [*document.steps(wanted, sources)]
    for step in steps:
        text = splice(text, step)
    if not document.is_said_by(text, wanted, [key.path for key in keys]):
        raise FileError("the file is written in a form that cannot be edited in place")
    return text, steps


def _document(text: str, format: Format, comments: Mapping[Path, str] | None = None) -> "JsonText | TomlText":
    if format is not Format.TOML:
        return JsonText(text, lenient=format is Format.JSONC)
    from remit.files.toml_text import TomlText

    return TomlText(text, comments or {})


_SPACE = f"{BOM} \t\r\n"


def _is_blank(text: str) -> bool:
    return not text.strip(_SPACE)


@contextmanager
def _path_in_errors(path: str) -> Generator[None]:
    try:
        yield
    except FileError as error:
        place = f", {error.place}" if error.place else ""
        raise FileChangeError(
            f"{path}{place}: {error.reason}; nothing was written",
            hint=error.hint or "fix the file (the client cannot read all of it either), then run this again",
        ) from None
