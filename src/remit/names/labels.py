"""Keeps the scopes file: who may use which command, and when; what a person wrote stays as it is."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.decision.danger import of_command
from remit.decision.globs import glob
from remit.names.name_tree import Command, Names
from remit.names.scopes_file import read_scopes
from remit.text.limits import one_line

_HEAD = """\
# Who may use which command of `{package}`, and when. `remit names label` adds new commands at the end,
# and changes nothing that is here.
#
# ai_enabled  whether an agent may use it at all
# danger      safe, low, moderate, destructive or critical
# approval    whether a person has to agree to each call
# states, when, location, namespace    as in remit.toml
"""


class UpdatedScopes(NamedTuple):
    """A scopes file, with what became new and what is left over."""

    text: bytes
    added: tuple[str, ...]
    removed: tuple[str, ...]  # names that no command has any more


def label(names: Names, before: bytes | None, path: str) -> UpdatedScopes:
    """Add the commands that a scopes file does not have; nothing else is changed.

    Raises:
        BadFileError: it is no scopes file, or cannot be added to.
    """
    known = set[str]() if before is None else _labelled(before, path)
    new = [command for command in names.commands if command.name not in known]
    current = {command.name for command in names.commands}
    removed = tuple(sorted(name for name in known - current if glob(name).is_name))
    end = b"\r\n" if before is not None and b"\r\n" in before else b"\n"
    head = _HEAD.format(package=names.package).encode() if before is None else before
    if new and head and not head.endswith(b"\n"):
        head += end
    text = head + b"".join(_section(command).replace("\n", end.decode()).encode() for command in new)
    if new:
        _labelled(text, path)  # what was added has to be readable, too
    return UpdatedScopes(text, tuple(command.name for command in new), removed)


def _labelled(data: bytes, path: str) -> set[str]:
    return set(read_scopes(data, path).tables)


def _section(command: Command) -> str:
    return "\n".join(("", f"[tools.{_quoted(command.name)}]", *_lines(command), ""))


def _lines(command: Command) -> Iterator[str]:
    """Write what a new command starts with: what its code says, else what is safe."""
    said = command.label
    danger = said.danger or of_command(command.name).word
    enabled = danger == "safe" if said.ai_enabled is None else said.ai_enabled
    if command.description:
        yield f"# {one_line(command.description, 100)}"
    yield f"ai_enabled = {str(enabled).lower()}"
    yield f"danger = {_quoted(danger)}"
    if said.approval is not None:
        yield f"approval = {str(said.approval).lower()}"
    if said.states:
        yield f"states = {_list(said.states)}"
    if said.when is not None:
        yield f"when = {_quoted(said.when)}"
    places = {name: getattr(said, name) for name in ("pages", "routes", "components", "elements")}
    if given := [f"{name} = {_list(each)}" for name, each in places.items() if each is not None]:
        yield f"location = {{ {', '.join(given)} }}"


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
