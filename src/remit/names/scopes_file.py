"""Reads scopes files: what they say of the commands that names and patterns cover."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from remit.configuration.condition_rules import mistakes_in
from remit.configuration.config_model import KEY_SEPARATOR, ConfigurationMistake, ToolEntry
from remit.configuration.file_parser import DANGERS, read
from remit.configuration.toml_positions import positions
from remit.errors import BadFileError
from remit.files.bounded_reader import FileError, read_bytes
from remit.files.formats import parse_toml
from remit.names.name_tree import Label

SECTIONS = ("server", "tools")
_LARGEST = 2**20  # bytes
_LONGEST = 3600.0  # seconds that a command may be given


class Server(NamedTuple):
    """What a scopes file says of the server that is made of it."""

    name: str | None = None
    command: tuple[str, ...] = ()  # how the program is started, where the code does not say
    timeout: float = 60.0  # seconds that a command may take


class Scopes(NamedTuple):
    """What a scopes file says."""

    tables: Mapping[str, Mapping[str, object]] = {}  # by name or pattern, as they were written
    server: Server = Server()


def read_scopes(data: bytes, path: str) -> Scopes:
    """Read a scopes file.

    Raises:
        BadFileError: something in it cannot be used.
    """
    document, places = _parsed(data, path)
    server = document.pop("server", {})
    for section in document:
        if section not in SECTIONS:
            hint = "declare states in remit.toml" if section == "states" else "there are `tools` and `server`"
            raise BadFileError(f"{path}: `{section}` has no place in a scopes file", hint=hint)
    content, mistakes = read(document)
    mistakes = mistakes or mistakes_in(content)
    if mistakes:
        raise _bad(mistakes[0], places, path)
    tables = cast("dict[str, dict[str, object]]", document.get("tools", {}))
    return Scopes(tables, _server(server, path))


def open_scopes(path: str) -> bytes | None:
    """Read the bytes of a scopes file; None where there is none.

    Raises:
        BadFileError: it cannot be read.
    """
    try:
        return read_bytes(path, limit=_LARGEST)
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None


def strictest(entries: Sequence[ToolEntry]) -> Label:
    """Put together what several entries say of who may use a command: the strictest counts."""
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


def _bad(mistake: ConfigurationMistake, places: dict[str, list[int]], path: str) -> BadFileError:
    keys = mistake.path
    while keys and KEY_SEPARATOR.join(keys) not in places:
        keys = keys[:-1]
    place = ""
    if keys:
        line, column, inner_line, inner_column = places[KEY_SEPARATOR.join(keys)]
        if mistake.line and keys == mistake.path:
            column = mistake.column if mistake.line > 1 else inner_column + mistake.column - 1
            line = inner_line + mistake.line - 1
        place = f"line {line} column {column}: "
    return BadFileError(f"{path}: {place}{mistake.message}", hint=mistake.hint)


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
