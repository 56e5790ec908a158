"""Scopes files: who may use which command and when; read, and extended by new commands to the byte."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from remit.config import check_tools, tool_rule
from remit.decision import LEVELS, Origin, ToolRule, glob, of_command
from remit.errors import BadFileError
from remit.files import FileError, enclosing_roots, parse_toml, positions, read_bytes, toml_value
from remit.names.names_file import Command, Names
from remit.text import as_list, as_object, one_line

_SECTIONS = ("server", "states", "tools")
_LARGEST = 2**20  # bytes
_LONGEST = 3600.0  # seconds, the maximum timeout of a command
_HEAD = """\
# Who may use which command of `{program}`, and when. `remit names label` adds new commands at the end,
# and changes nothing that is here.
#
# ai_enabled  whether an agent may use it at all
# danger      safe, low, moderate, destructive or critical
# approval    whether a person must approve each call
# states, when, location, namespace    as in remit.toml; `[states.NAME]` declares a state
"""


class ServerSettings(NamedTuple):
    """The settings of the generated server."""

    name: str | None = None
    command: tuple[str, ...] = ()  # how to start the program, instead of from its source
    timeout: float = 60.0  # seconds per command


class Scopes(NamedTuple):
    """The content of a scopes file."""

    path: str
    tools: Mapping[str, Mapping[str, Any]] = {}  # by name or pattern
    states: Mapping[str, Mapping[str, Any]] = {}
    server: ServerSettings = ServerSettings()

    def tables(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Return the tables that match a command, by their patterns."""
        return {pattern: table for pattern, table in self.tools.items() if glob(pattern).matches(name)}


class LabeledCommand(NamedTuple):
    """A command with what its code and its scopes say; the strictest value of each counts."""

    command: Command
    is_labeled: bool
    danger: str | None
    approval: bool | None
    ai_enabled: bool  # only if a table says so, and none denies it
    namespace: str | None
    rules: tuple[ToolRule, ...]


class Labeled(NamedTuple):
    """A scopes file after an update, with the added and the obsolete names."""

    text: str
    added: tuple[str, ...]
    removed: tuple[str, ...]  # names without a command; their entries stay


def read_scopes(path: str) -> Scopes:
    """Read a scopes file; empty if it does not exist.

    Raises:
        BadFileError: the file cannot be read, or is invalid.
    """
    text = _text(path)
    return Scopes(path) if text is None else parse_scopes(text, path)


def parse_scopes(text: str, path: str) -> Scopes:
    """Read the text of a scopes file.

    Raises:
        BadFileError: the text is invalid.
    """
    try:
        document: dict[str, Any] = parse_toml(text.removeprefix("\ufeff"))
    except FileError as error:
        place = f"{error.place}: " if error.place else ""
        raise BadFileError(f"{path}: {place}{error.reason}") from None
    for section in document:
        if section not in _SECTIONS:
            hint = "expected `server`, `states` or `tools`"
            raise BadFileError(f"{path}: `{section}` is not allowed in a scopes file", hint=hint)
    server = document.pop("server", {})
    for mistake in check_tools(document):
        places, keys = positions(text.removeprefix("\ufeff")), tuple(mistake.path)
        while keys and keys not in places:
            keys = keys[:-1]
        place = f"line {places[keys][0]}: " if keys else ""
        raise BadFileError(f"{path}: {place}{'.'.join(mistake.path)}: {mistake.message}", hint=mistake.hint)
    return Scopes(path, document.get("tools", {}), document.get("states", {}), _server(server, path))


def labeled_commands(names: Names, scopes: Scopes) -> list[LabeledCommand]:
    """List the commands of a program with their scopes."""
    return [_labeled(command, scopes) for command in names.commands]


def label(names: Names, path: str) -> Labeled:
    """Add missing commands to a scopes file, and change nothing else.

    Raises:
        BadFileError: the file is not a scopes file, or cannot be extended.
    """
    before = _text(path)
    known = set[str]() if before is None else {*parse_scopes(before, path).tools}
    new = [command for command in names.commands if command.name not in known]
    current = {command.name for command in names.commands}
    removed = tuple(sorted(name for name in known - current if glob(name).is_name))
    end = "\r\n" if "\r\n" in (before or "") else "\n"
    text = _HEAD.format(program=names.program) if before is None else before
    if new and text and not text.endswith("\n"):
        text += end
    text += "".join(_section(command).replace("\n", end) for command in new)
    if new:
        parse_scopes(text, path)  # the result must be valid, too
    return Labeled(text, tuple(command.name for command in new), removed)


def _text(path: str) -> str | None:
    try:
        data = read_bytes(path, limit=_LARGEST, within=enclosing_roots(path))
        return None if data is None else data.decode()
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None
    except UnicodeDecodeError:
        raise BadFileError(f"{path}: not UTF-8 text") from None


def _server(content: object, path: str) -> ServerSettings:
    table = as_object(content)
    name, command, timeout = table.get("name"), table.get("command", []), table.get("timeout", 60.0)
    words = as_list(command)
    is_good = (
        isinstance(content, dict)
        and table.keys() <= {"name", "command", "timeout"}
        and isinstance(name, str | None)
        and isinstance(command, list)
        and all(isinstance(word, str) for word in words)
        and isinstance(timeout, int | float)
        and not isinstance(timeout, bool)
        and 0 < timeout <= _LONGEST
    )
    if not is_good:
        reason = "`server` has a `name`, a `command` that is a list of words, and a `timeout` in seconds"
        raise BadFileError(f"{path}: {reason}")
    return ServerSettings(cast("str | None", name), tuple(words), float(timeout))


def _labeled(command: Command, scopes: Scopes) -> LabeledCommand:
    tables = scopes.tables(command.name)
    by_code = [*command.rules]
    every = [*by_code, *tables.values()]
    dangers = sorted((table["danger"] for table in every if "danger" in table), key=lambda word: LEVELS[word])
    approvals = [table["approval"] for table in every if isinstance(table.get("approval"), bool)]
    enabled = [table["ai_enabled"] for table in tables.values() if "ai_enabled" in table]
    enabled += [False for table in by_code if table.get("ai_enabled") is False]
    namespaces = [table["namespace"] for table in tables.values() if "namespace" in table]
    rules = [tool_rule(command.name, table) for table in by_code]
    rules += [tool_rule(command.name, table, origin=Origin(scopes.path)) for table in tables.values()]
    return LabeledCommand(
        command,
        bool(tables),
        danger=dangers[-1] if dangers else None,
        approval=any(approvals) if approvals else None,
        ai_enabled=bool(enabled) and all(enabled),
        namespace=namespaces[-1] if namespaces else command.name.rpartition(".")[0] or None,
        rules=tuple(rules),
    )


def _section(command: Command) -> str:
    return "\n".join(("", f"[tools.{toml_value(command.name)}]", *_lines(command), ""))


def _lines(command: Command) -> Iterator[str]:
    """Write the entry of a new command, from what its code says or safe defaults."""
    said: dict[str, Any] = {key: value for table in command.rules for key, value in table.items()}
    danger = said.get("danger") or of_command(command.name).word
    enabled = said.get("ai_enabled", danger == "safe" and not command.problem)
    if command.problem:
        yield f"# cannot be imported: {one_line(command.problem, 100)}"
    elif command.description:
        yield f"# {one_line(command.description, 100)}"
    yield f"ai_enabled = {str(enabled).lower()}"
    yield f"danger = {toml_value(danger)}"
    if "approval" in said:
        yield f"approval = {toml_value(said['approval'])}"
