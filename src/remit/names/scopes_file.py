"""Reads scopes files, and adds new commands without changing existing content."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from remit.configuration.checks.file_problems import place_of
from remit.configuration.condition_rules import mistakes_in
from remit.configuration.config_model import ToolEntry
from remit.configuration.file_parser import DANGERS, read
from remit.configuration.toml_positions import positions
from remit.decision.danger import of_command
from remit.decision.globs import glob
from remit.errors import BadFileError
from remit.files.bounded_reader import FileError, read_bytes
from remit.files.checkout import enclosing_roots
from remit.files.formats import parse_toml
from remit.files.toml_edits import toml_value
from remit.names.name_tree import Command, Label, Names
from remit.text.untrusted_text import one_line

SECTIONS = ("server", "tools")
_LARGEST = 2**20  # bytes
_LONGEST = 3600.0  # seconds, the maximum timeout of a command


class Server(NamedTuple):
    """The settings of the generated server."""

    name: str | None = None
    command: tuple[str, ...] = ()  # how to start the program, if the code does not show it
    timeout: float = 60.0  # seconds per command


class Scopes(NamedTuple):
    """The content of a scopes file."""

    tables: Mapping[str, Mapping[str, object]] = {}  # by name or pattern, as written in the file
    server: Server = Server()


def read_scopes(data: bytes, path: str) -> Scopes:
    """Read a scopes file.

    Raises:
        BadFileError: the file is invalid.
    """
    document, places = _parsed(data, path)
    server = document.pop("server", {})
    for section in document:
        if section not in SECTIONS:
            hint = "declare states in remit.toml" if section == "states" else "expected `tools` or `server`"
            raise BadFileError(f"{path}: `{section}` is not allowed in a scopes file", hint=hint)
    content, mistakes = read(document)
    mistakes = mistakes or mistakes_in(content)
    if mistakes:
        place = place_of(mistakes[0], places)
        raise BadFileError(
            f"{path}: {place + ': ' if place else ''}{mistakes[0].message}", hint=mistakes[0].hint
        )
    tables = cast("dict[str, dict[str, object]]", document.get("tools", {}))
    return Scopes(tables, _server(server, path))


def open_scopes(path: str) -> bytes | None:
    """Read the bytes of a scopes file; None if it does not exist.

    Raises:
        BadFileError: the file cannot be read.
    """
    try:
        return read_bytes(path, limit=_LARGEST, within=enclosing_roots(path))
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None


def strictest(entries: Sequence[ToolEntry]) -> Label:
    """Combine several entries; the strictest value wins."""
    dangers = sorted((each.danger for each in entries if each.danger), key=DANGERS.index)
    approvals = [each.approval for each in entries if each.approval is not None]
    enabled = [each.ai_enabled for each in entries if each.ai_enabled is not None]
    return Label(
        danger=dangers[-1] if dangers else None,
        approval=any(approvals) if approvals else None,
        ai_enabled=all(enabled) if enabled else None,
    )


def _parsed(data: bytes, path: str) -> tuple[dict[str, object], dict[str, list[int]]]:
    try:
        text = data.decode("utf-8-sig")
        return cast("dict[str, object]", parse_toml(text)), positions(text)
    except UnicodeDecodeError:
        raise BadFileError(f"{path}: not UTF-8 text") from None
    except FileError as error:
        place = f"{error.place}: " if error.place else ""
        raise BadFileError(f"{path}: {place}{error.reason}") from None


def _server(said: object, path: str) -> Server:
    table = cast("dict[str, object]", said) if isinstance(said, dict) else {"": said}
    name, command, timeout = table.pop("name", None), table.pop("command", []), table.pop("timeout", 60.0)
    words = cast("list[object]", command) if isinstance(command, list) else [None]
    is_good = not table and isinstance(name, str | None) and all(isinstance(word, str) for word in words)
    if (
        not is_good
        or isinstance(timeout, bool)
        or not isinstance(timeout, int | float)
        or not 0 < timeout <= _LONGEST
    ):
        raise BadFileError(
            f"{path}: `server` has a `name`, a `command` that is a list of words, and a `timeout` in seconds"
        )
    return Server(cast("str | None", name), tuple(cast("list[str]", words)), float(timeout))


_HEAD = """\
# Who may use which command of `{package}`, and when. `remit names label` adds new commands at the end,
# and changes nothing that is here.
#
# ai_enabled  whether an agent may use it at all
# danger      safe, low, moderate, destructive or critical
# approval    whether a person must approve each call
# states, when, location, namespace    as in remit.toml
"""


class UpdatedScopes(NamedTuple):
    """A scopes file after an update, with the added and the obsolete names."""

    text: bytes
    added: tuple[str, ...]
    removed: tuple[str, ...]  # names without a command


def label(names: Names, before: bytes | None, path: str) -> UpdatedScopes:
    """Add missing commands to a scopes file, and change nothing else.

    Raises:
        BadFileError: the file is not a scopes file, or cannot be extended.
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
        _labelled(text, path)  # the result must be valid, too
    return UpdatedScopes(text, tuple(command.name for command in new), removed)


def _labelled(data: bytes, path: str) -> set[str]:
    return set(read_scopes(data, path).tables)


def _section(command: Command) -> str:
    return "\n".join(("", f"[tools.{toml_value(command.name)}]", *_lines(command), ""))


def _lines(command: Command) -> Iterator[str]:
    """Write the entry of a new command from its declared label or safe defaults."""
    said = command.label
    danger = said.danger or of_command(command.name).word
    enabled = danger == "safe" if said.ai_enabled is None else said.ai_enabled
    if command.description:
        yield f"# {one_line(command.description, 100)}"
    yield f"ai_enabled = {str(enabled).lower()}"
    yield f"danger = {toml_value(danger)}"
    if said.approval is not None:
        yield f"approval = {str(said.approval).lower()}"
    if said.states:
        yield f"states = {toml_value(said.states)}"
    if said.when is not None:
        yield f"when = {toml_value(said.when)}"
    places = {name: getattr(said, name) for name in ("pages", "routes", "components", "elements")}
    if given := [f"{name} = {toml_value(each)}" for name, each in places.items() if each is not None]:
        yield f"location = {{ {', '.join(given)} }}"


def tables_of(name: str, scopes: Scopes) -> list[Mapping[str, object]]:
    """List the tables of a scopes file that match a command."""
    return [table for pattern, table in scopes.tables.items() if glob(pattern).matches(name)]
