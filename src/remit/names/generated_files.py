"""Writes the content of generated files, names and a server, and reads names files as data.

Python files are parsed, never run.
"""

import ast
import json
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from remit.errors import BadFileError, NoSuchFileError
from remit.files.bounded_reader import FileError, read_text
from remit.files.checkout import enclosing_roots
from remit.files.formats import parse_json
from remit.names.name_tree import Branch, Command, Form, Label, Names, Parameter, Start, tree
from remit.names.scopes_file import Scopes, tables_of

_LARGEST = 2**24  # bytes
_HOW = "generate it again with `remit names generate`"
VERSION = 1
_UNFIT = re.compile(r"\W", re.ASCII)
_WIDEST = 100


def read_names(path: str) -> Names:
    """Read the names of a package.

    Raises:
        BadFileError: the file is not a names file.
        NoSuchFileError: the file does not exist.
    """
    try:
        text = read_text(path, limit=_LARGEST, within=enclosing_roots(path))
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None
    if text is None:
        raise NoSuchFileError(f"there is no file `{path}`", hint="`remit names generate` writes one")
    document = _of_json(text) if path.endswith(".json") else _of_python(text)
    try:
        return _names(document)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadFileError(f"{path} is not a file of names", hint=_HOW) from None


def _of_json(text: str) -> Any:
    try:
        return parse_json(text)
    except FileError:
        return None


def _of_python(text: str) -> Any:
    try:
        body = ast.parse(text).body
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name("NAMES")], value=value):
                    return ast.literal_eval(value)
                case _:
                    pass
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    return None


def _names(document: Mapping[str, Any]) -> Names:
    if document["version"] != VERSION:
        raise ValueError
    commands = cast("Mapping[str, Mapping[str, Any]]", document["commands"])
    return Names(
        str(document["package"]),
        tuple(read_command(str(name), said) for name, said in commands.items()),
        {str(name): str(words) for name, words in document["groups"].items()},
    )


def read_command(name: str, said: Mapping[str, Any]) -> Command:
    """Read a command.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the data is not a command.
    """
    return Command(
        name,
        Start(said["start"]),
        str(said["target"]),
        tuple(map(str, said["words"])),
        str(said["description"]),
        tuple(_read_parameter(each) for each in said["parameters"]),
        Label(**{key: _tuple(value) for key, value in said.get("label", {}).items()}),
    )


def _read_parameter(said: Mapping[str, Any]) -> Parameter:
    given = {key: _tuple(value) for key, value in said.items() if key != "form"}
    return Parameter(form=Form(said["form"]), **given)


def _tuple(value: Any) -> Any:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def names_as_python(names: Names) -> str:
    """Write names as a Python module of constants, followed by the data of all commands."""
    lines = [
        f'"""The names of the commands of `{names.package}`; written by `remit names generate`."""',
        "",
        *_classes(tree(names.commands), names.groups),
        "",
        f"NAMES = {literal(_document(names))}",
    ]
    return "\n".join(lines).replace("\n\n\n\n", "\n\n\n") + "\n"


def names_as_json(names: Names) -> str:
    """Write names as JSON."""
    return json.dumps(_document(names), indent=2, ensure_ascii=False) + "\n"


def literal(value: object, depth: int = 0) -> str:
    """Write a value as a Python literal."""
    short = _flat(value)
    if len(short) + 4 * depth <= _WIDEST or not isinstance(value, Mapping | list | tuple) or not value:
        return short
    inside, outside = "    " * (depth + 1), "    " * depth
    if isinstance(value, Mapping):
        items = [
            f"{inside}{_flat(key)}: {literal(each, depth + 1)},\n"
            for key, each in cast("Mapping[str, object]", value).items()
        ]
        return f"{{\n{''.join(items)}{outside}}}"
    items = [f"{inside}{literal(each, depth + 1)},\n" for each in cast("Sequence[object]", value)]
    return f"[\n{''.join(items)}{outside}]"


def _flat(value: object) -> str:
    match value:
        case None | bool():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)  # also a valid Python literal
        case int() | float():
            return repr(value)
        case Mapping():
            pairs = cast("Mapping[str, object]", value).items()
            return f"{{{', '.join(f'{_flat(key)}: {_flat(each)}' for key, each in pairs)}}}"
        case _:
            return f"[{', '.join(map(_flat, cast('Sequence[object]', value)))}]"


def _document(names: Names) -> dict[str, object]:
    return {
        "version": VERSION,
        "package": names.package,
        "groups": dict(names.groups),
        "commands": {command.name: describe_command(command) for command in names.commands},
    }


def describe_command(command: Command) -> dict[str, object]:
    """Return the data of a command."""
    label = _without(command.label._asdict(), Label()._asdict())
    return {
        "start": str(command.start),
        "target": command.target,
        "words": list(command.words),
        "description": command.description,
        "parameters": [_parameter(each) for each in command.parameters],
        **({"label": label} if label else {}),
    }


def _parameter(parameter: Parameter) -> dict[str, object]:
    usual = Parameter("", parameter.form)._asdict()
    written = {"name": parameter.name, "form": str(parameter.form)}
    return written | {
        key: value for key, value in _without(parameter._asdict(), usual).items() if key not in written
    }


def _without(said: Mapping[str, object], usual: Mapping[str, object]) -> dict[str, object]:
    return {
        key: list(cast("Sequence[object]", value)) if isinstance(value, tuple) else value
        for key, value in said.items()
        if value != usual[key]
    }


def _classes(branches: Mapping[str, Branch], groups: Mapping[str, str], depth: int = 0) -> Iterator[str]:
    indent = "    " * depth
    taken: set[str] = set()
    for part, branch in branches.items():
        own = _identifier(part, taken)
        if branch.branches:
            yield from ("", "") if not depth else ("",)
            yield f"{indent}class {own}:"
            yield f"{indent}    {_docstring(groups.get(branch.name) or f'The commands of `{branch.name}`.')}"
            yield ""
            if branch.command is not None:
                yield f'{indent}    NAME = "{branch.name}"'
            yield from _classes(branch.branches, groups, depth + 1)
            yield from ("", "") if not depth else ("",)
        else:
            yield f'{indent}{own} = "{branch.name}"'


def _docstring(words: str) -> str:
    safe = words.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{safe if safe.endswith((".", "!", "?")) else f"{safe}."}"""'


def _identifier(part: str, taken: set[str]) -> str:
    own = _UNFIT.sub("_", part)
    own = f"_{own}" if own[:1].isdigit() else own
    own = f"{own}_" if keyword.iskeyword(own) or own in ("NAME", "NAMES") else own
    while own in taken:
        own = f"{own}_"
    taken.add(own)
    return own


_LINES = '''\
"""The MCP server of `{package}`; written by `remit names server` from its names and scopes."""

from remit.names.command_server import main

SERVER = {server}

TOOLS = {tools}

if __name__ == "__main__":
    main(SERVER, TOOLS)
'''


def server_as_python(names: Names, scopes: Scopes) -> str:
    """Write a server as a Python program; the same names and scopes give the same bytes."""
    said = scopes.server
    return _LINES.format(
        package=names.package,
        server=literal(
            {"name": said.name or names.package, "command": list(said.command), "timeout": said.timeout}
        ),
        tools=literal(
            {
                command.name: {**describe_command(command), "scopes": tables_of(command.name, scopes)}
                for command in names.commands
            }
        ),
    )
