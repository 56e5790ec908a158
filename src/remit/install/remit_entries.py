"""Finds what an install wrote in a client's file: from its record, or by its look."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

from remit.decision.declared_launch import program
from remit.decision.tool_names import SERVER
from remit.errors import FileChangeError
from remit.files.splices import TextEditError
from remit.install.file_edits import EditableText, RemovedEdits
from remit.install.install_record import DENIED, Edit, EditedFile, Format, TargetFile, WrittenKey, entry_words
from remit.install.recorded_environment import OPTION
from remit.text.json_values import as_list, as_object

_VARYING = ("command", "args", "env_vars", "required")  # fields that depend on the machine and the version


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
        if isinstance(error, TextEditError):
            place = f", {error.place}" if error.place else ""
            raise FileChangeError(
                f"{self._path}{place}: {error.reason}; nothing was written",
                hint=error.hint
                or "fix the file (the client cannot read all of it either), then run this again",
            ) from None


def starts(entry: object, command: str) -> bool:
    """Tell whether a server or hook entry starts a Remit command."""
    words = entry_words(cast("dict[str, Any]", entry)) if isinstance(entry, dict) else [""]
    if len(words) == 1:
        words = words[0].split()
    return any(program(word) == "remit" and following == command for word, following in pairwise(words))


def own_keys(changes: Sequence[Edit], values: Sequence[Any]) -> Iterator[WrittenKey]:
    """Yield the keys of Remit's own values at the paths of edits."""
    for change, value in zip(changes, values, strict=True):
        path = change.path
        if change.is_item:
            own = (item for item in as_list(value) if _is_hook(item) or _is_item(item, change.value))
            yield from (WrittenKey(path=path, value=item, is_item=True) for item in own)
        elif wanted := as_list(change.value):
            if items := _own_matchers(as_list(value), wanted):
                yield WrittenKey(
                    path=path, value=[*items, None]
                )  # never equals the list, so others' items remain
        elif _is_entry(value, change.value):
            yield WrittenKey(path=path, value=value, known=len(path) - 1)


def _is_item(item: object, wanted: object) -> bool:
    """Tell whether only Remit writes an item: a tool that is denied as a whole may be the user's rule."""
    return item == wanted and (item == SERVER or str(item).startswith("Edit("))


def _is_entry(value: object, wanted: object) -> bool:
    """Tell whether an entry was written by Remit, from this environment or another."""
    if not starts(value, "serve"):
        return False
    return _call(value) == _call(wanted) and _others(value) == _others(wanted)


def _call(entry: object) -> list[object]:
    """Return the words from `serve` on, without the record: other versions and users have another one."""
    args = entry_words(cast("dict[str, Any]", entry))[1:]
    words = args[args.index("serve") :] if "serve" in args else args
    at = words.index(OPTION) if OPTION in words else len(words)
    return [*words[:at], *words[at + 2 :]]


def _others(entry: object) -> dict[str, Any]:
    fields = cast("dict[str, Any]", entry)
    return {name: value for name, value in fields.items() if name not in _VARYING}


def _is_hook(group: object) -> bool:
    handlers = as_list(as_object(group).get("hooks"))
    return bool(handlers) and all(starts(handler, "hook") for handler in handlers)


def _own_matchers(items: Sequence[object], wanted: Sequence[object]) -> list[object]:
    if not any(map(admits_remit, items)):
        return []
    return [item for item in items if item in wanted or admits_remit(item)]


def admits_remit(item: object) -> bool:
    """Tell whether an item of a list of allowed servers admits our gateway."""
    words = as_list(as_object(item).get("serverCommand"))
    return item == {"serverName": SERVER} or starts({"command": "", "args": words}, "serve")
