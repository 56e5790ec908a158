"""The names of a program: its commands, the tree of their names, and the files that hold them.

A file of names is read as data, also where it is Python.
"""

import ast
import json
import keyword
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pprint import pformat
from typing import Any, NamedTuple, cast

from remit.errors import BadFileError, NotFoundError
from remit.files import FileError, change_file, enclosing_roots, link_in_checkout, parse_json, read_text
from remit.names.command_line import Form, Parameter

VERSION = 1
_LARGEST = 2**24  # bytes
_WIDEST = 100
_UNFIT = re.compile(r"\W", re.ASCII)
_MARKS = ("; written by `remit names ", '{\n  "version": 1,\n  "program": ')
_HOW = "generate it again with `remit names generate`"


class Start(StrEnum):
    """How to start a command."""

    CALL = "call"  # call an object with a command line
    MODULE = "module"  # run a module with a command line
    FUNCTION = "function"  # call a function with the arguments as JSON


class Command(NamedTuple):
    """A command of a program."""

    name: str  # `requirement.list`
    start: Start
    target: str  # `package.module:object`, or a module
    words: tuple[str, ...] = ()  # the subcommands before its parameters
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    schema: Mapping[str, Any] | None = None  # of a function's parameters
    rules: tuple[Mapping[str, Any], ...] = ()  # what its code says, as tables of a scopes file
    problem: str = ""  # why it cannot be imported; only its name is known


class Names(NamedTuple):
    """The commands of a program, by name."""

    program: str
    source: str  # the directory that its modules are imported from
    commands: tuple[Command, ...]
    groups: Mapping[str, str] = {}  # descriptions by group name


class Branch(NamedTuple):
    """A node in the tree of names."""

    name: str  # the full name
    command: Command | None
    branches: "dict[str, Branch]"


def tree(commands: Iterable[Command]) -> dict[str, Branch]:
    """Arrange commands in a tree by the parts of their names."""
    root: dict[str, Branch] = {}
    for command in sorted(commands):
        branches, above = root, ""
        *parents, last = command.name.split(".")
        for part in parents:
            above = f"{above}.{part}".removeprefix(".")
            branches = branches.setdefault(part, Branch(above, None, {})).branches
        known = branches.get(last)
        branches[last] = Branch(command.name, command, {} if known is None else known.branches)
    return root


def read_names(path: str) -> Names:
    """Read the names of a program.

    Raises:
        BadFileError: the file is not a names file.
        NotFoundError: the file does not exist.
    """
    try:
        text = read_text(path, limit=_LARGEST, within=enclosing_roots(path))
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None
    if text is None:
        raise NotFoundError(f"there is no file `{path}`", hint="`remit names generate` writes one")
    document = _of_json(text) if path.endswith(".json") else _of_python(text)
    try:
        return _names(document, os.path.dirname(os.path.realpath(path)))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadFileError(f"{path} is not a file of names", hint=_HOW) from None


def names_text(names: Names, path: str) -> str:
    """Write names as the text of a file: JSON, or a Python module of constants with all details.

    The source is written relative to the file, so the text is the same on every machine.
    """
    document = _document(names, os.path.dirname(os.path.realpath(path)))
    if path.endswith(".json"):
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    lines = [
        f'"""The names of the commands of `{names.program}`; written by `remit names generate`."""',
        "",
        *_classes(tree(names.commands), names.groups),
        "",
        f"NAMES = {pformat(document, width=_WIDEST, sort_dicts=False)}",
    ]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)) + "\n"


def server_text(names: str, scopes: str, path: str) -> str:
    """Write a server of names and scopes as the text of a Python program."""
    here = os.path.dirname(os.path.realpath(path))
    return f'''\
"""An MCP server; written by `remit names server`."""

from pathlib import Path

from remit.names import serve

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    serve(HERE / {_quoted(_relative(names, here))}, HERE / {_quoted(_relative(scopes, here))})
'''


def write(text: str, path: str) -> bool:
    """Write a generated file or updated scopes; return False if it is already up to date.

    Raises:
        BadFileError: the path is a link in a project, or another file is there.
        FileChangeError: the file cannot be replaced.
    """
    if (link := link_in_checkout(path)) is not None:
        reason = f"{link} is a link; Remit does not write through links in a project"
        raise BadFileError(reason, hint="name another file")
    befores: list[str | None] = []

    def replace(before: str | None) -> str:
        if before and _is_generated(text) and not _is_generated(before):
            raise BadFileError(f"{path} exists and was not generated", hint="name another file with --out")
        befores.append(before)
        return text

    change_file(path, replace, is_public=True)
    return befores[-1] != text


def _is_generated(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def _of_json(text: str) -> Any:
    try:
        return parse_json(text)
    except FileError:
        return None


def _of_python(text: str) -> Any:
    try:
        for node in ast.parse(text).body:
            match node:
                case ast.Assign(targets=[ast.Name("NAMES")], value=value):
                    return ast.literal_eval(value)
                case _:
                    pass
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    return None


def _names(document: Mapping[str, Any], here: str) -> Names:
    if document["version"] != VERSION:
        raise ValueError
    commands = cast("Mapping[str, Mapping[str, Any]]", document["commands"])
    groups = {str(name): str(text) for name, text in document["groups"].items()}
    source = os.path.normpath(os.path.join(here, document["source"]))
    return Names(
        str(document["program"]),
        source,
        tuple(read_command({"name": str(name), **fields}) for name, fields in commands.items()),
        groups,
    )


def read_command(fields: Mapping[str, Any]) -> Command:
    """Read a command.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the data is not a command.
    """
    parameters = tuple(_read_parameter(parameter) for parameter in fields.get("parameters", ()))
    values: dict[str, Any] = {key: _tuple(value) for key, value in fields.items()}
    values |= {"start": Start(fields["start"]), "parameters": parameters}
    return Command(**values)


def _read_parameter(fields: Mapping[str, Any]) -> Parameter:
    values: dict[str, Any] = {key: _tuple(value) for key, value in fields.items()}
    values["form"] = Form(fields["form"])
    return Parameter(**values)


def _tuple(value: Any) -> Any:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _document(names: Names, here: str) -> dict[str, object]:
    return {
        "version": VERSION,
        "program": names.program,
        "source": _relative(names.source, here),
        "groups": dict(names.groups),
        "commands": {command.name: _command(command) for command in sorted(names.commands)},
    }


def _command(command: Command) -> dict[str, object]:
    parameters = [_without_defaults(parameter) for parameter in command.parameters]
    fields = {**_without_defaults(command), "parameters": parameters}
    return {key: value for key, value in fields.items() if key != "name" and value != []}


def _without_defaults(value: Command | Parameter) -> dict[str, object]:
    """Return what differs from the defaults, as JSON."""
    fields = value._asdict()
    written = {key: item for key, item in fields.items() if value._field_defaults.get(key, value) != item}
    return {
        key: list(cast("Sequence[object]", item))
        if isinstance(item, tuple)
        else str(item)
        if isinstance(item, StrEnum)
        else item
        for key, item in written.items()
    }


def _relative(path: str, here: str) -> str:
    return os.path.relpath(os.path.realpath(path), here).replace(os.sep, "/")


def _classes(branches: Mapping[str, Branch], groups: Mapping[str, str], depth: int = 0) -> Iterator[str]:
    indent = "    " * depth
    taken: set[str] = set()
    for part, branch in branches.items():
        constant = _identifier(part, taken)
        if not branch.branches:
            yield f"{indent}{constant} = {_quoted(branch.name)}"
            continue
        text = groups.get(branch.name) or f"The commands of `{branch.name}`."
        yield from ("", "") if not depth else ("",)
        yield f"{indent}class {constant}:"
        yield f"{indent}    {_docstring(text)}"
        yield ""
        if branch.command is not None:
            yield f"{indent}    NAME = {_quoted(branch.name)}"
        yield from _classes(branch.branches, groups, depth + 1)
        yield from ("", "") if not depth else ("",)


def _docstring(text: str) -> str:
    safe = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{safe if safe.endswith((".", "!", "?")) else f"{safe}."}"""'


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _identifier(part: str, taken: set[str]) -> str:
    name = _UNFIT.sub("_", part)
    name = f"_{name}" if name[:1].isdigit() else name
    name = f"{name}_" if keyword.iskeyword(name) or name in ("NAME", "NAMES") else name
    while name in taken:
        name = f"{name}_"
    taken.add(name)
    return name
