"""Reads generated names files as data; Python files are parsed, never run."""

import ast
from collections.abc import Mapping
from typing import Any, cast

from remit.errors import BadFileError, NoSuchFileError
from remit.files.bounded_reader import FileError, read_text
from remit.files.checkout import enclosing_roots
from remit.files.formats import parse_json
from remit.names.file_writer import VERSION
from remit.names.name_tree import Command, Form, Label, Names, Parameter, Start

_LARGEST = 2**24  # bytes
_HOW = "generate it again with `remit names generate`"


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
        tuple(_parameter(each) for each in said["parameters"]),
        Label(**{key: _tuple(value) for key, value in said.get("label", {}).items()}),
    )


def _parameter(said: Mapping[str, Any]) -> Parameter:
    given = {key: _tuple(value) for key, value in said.items() if key != "form"}
    return Parameter(form=Form(said["form"]), **given)


def _tuple(value: Any) -> Any:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value
