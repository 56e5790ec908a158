"""Generates the three files of a package's commands: its names, their scopes, and a server of both."""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from remit.configuration.config_model import ToolEntry
from remit.configuration.file_parser import read
from remit.errors import BadFileError, NoSuchFileError
from remit.files.bounded_reader import FileError, read_bytes
from remit.names.file_writer import names_as_json, names_as_python, server_as_python
from remit.names.generated_files import read_names
from remit.names.name_tree import Branch, Command, Label, Names, ScanWarning, tree
from remit.names.package_scan import scan
from remit.names.scopes_file import Scopes, label, open_scopes, read_scopes, strictest, tables_of
from remit.python_tools.tool_rules import read_condition

_LARGEST = 2**24  # bytes of a file that is to be replaced
_MARKS = (b"; written by `remit names ", b'{\n  "version": 1,\n  "package": ')


class Generated(NamedTuple):
    """A generated file, with remarks about it."""

    data: bytes
    names: tuple[str, ...]  # of its commands
    warnings: tuple[ScanWarning, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    states: tuple[str, ...] = ()  # those that its conditions ask for


class LabeledCommand(NamedTuple):
    """A command with its entries in the scopes file."""

    command: Command
    is_labelled: bool
    label: Label
    entries: tuple[ToolEntry, ...]


class Generator:
    """Reads source files, names and scopes, and makes the next file of them."""

    def names(self, source: str, *, as_json: bool) -> Generated:
        """Make the names of a package.

        Raises:
            BadFileError: it is no Python source, or holds more files than are read.
            NoSuchFileError: there is no such file or directory.
        """
        found, warnings = scan(source)
        text = names_as_json(found) if as_json else names_as_python(found)
        return Generated(text.encode(), _names(found), warnings)

    def scopes(self, names: str, scopes: str) -> Generated:
        """Make the scopes of names, from those that there are.

        Raises:
            BadFileError: one of the files is not what it should be.
            NoSuchFileError: there is no file of names.
        """
        found = read_names(names)
        made = label(found, open_scopes(scopes), scopes)
        return Generated(made.text, _names(found), added=made.added, removed=made.removed)

    def server(self, names: str, scopes: str) -> Generated:
        """Make a server of names and scopes.

        Raises:
            BadFileError: one of the files is not what it should be.
            NoSuchFileError: one of the files is not there.
        """
        found, said = read_names(names), _scopes(scopes)
        labelled = _labelled(found, said)
        states = {
            state
            for each in labelled
            for entry in each.entries
            for state in read_condition(entry).mentions.states
        }
        return Generated(
            server_as_python(found, said).encode(),
            _names(found),
            unlabelled=tuple(each.command.name for each in labelled if not each.is_labelled),
            states=tuple(sorted(states)),
        )

    def labelled(self, names: str, scopes: str) -> list[LabeledCommand]:
        """List the commands of a file of names with their scopes.

        Raises:
            BadFileError: one of the files is not what it should be.
            NoSuchFileError: there is no file of names.
        """
        data = open_scopes(scopes)
        return _labelled(read_names(names), Scopes() if data is None else read_scopes(data, scopes))

    def tree(self, labelled: Iterable[LabeledCommand]) -> Mapping[str, Branch]:
        """Put commands into the tree that their names make."""
        return tree(each.command for each in labelled)

    def is_current(self, made: Generated, path: str) -> bool:
        """Return whether a file is up to date.

        Raises:
            BadFileError: it cannot be read.
        """
        return _bytes(path) == made.data

    def write(self, made: Generated, path: str) -> bool:
        """Write a file, unless another program's file is there; return False where it was up to date.

        Raises:
            BadFileError: somebody else's file is there, or nothing can be written there.
        """
        before = _bytes(path)
        if before and not any(mark in before for mark in _MARKS):
            raise BadFileError(f"{path} is there, and was not generated", hint="name another file with --out")
        return self.write_scopes(made, path)

    def write_scopes(self, made: Generated, path: str) -> bool:
        """Write a file that has all that was in it before; False where there is nothing new.

        Raises:
            BadFileError: nothing can be written there.
        """
        if self.is_current(made, path):
            return False
        try:
            _replace(made.data, os.path.realpath(path))
        except OSError as error:
            raise BadFileError(f"{path} cannot be written: {(error.strerror or 'refused').lower()}") from None
        return True


def _bytes(path: str) -> bytes | None:
    try:
        return read_bytes(path, limit=_LARGEST)
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None


def _replace(data: bytes, target: str) -> None:
    """Write a file whole or not at all."""
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o644
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), delete=False) as opened:
        opened.write(data)
    os.chmod(opened.name, mode)
    os.replace(opened.name, target)


def _names(found: Names) -> tuple[str, ...]:
    return tuple(command.name for command in found.commands)


def _scopes(path: str) -> Scopes:
    data = open_scopes(path)
    if data is None:
        raise NoSuchFileError(f"there is no file `{path}`", hint="`remit names label` writes one")
    return read_scopes(data, path)


def _labelled(found: Names, scopes: Scopes) -> list[LabeledCommand]:
    return [_one(command, scopes) for command in found.commands]


def _one(command: Command, scopes: Scopes) -> LabeledCommand:
    tables = tables_of(command.name, scopes)
    entries = _entries(command.name, tables)
    return LabeledCommand(command, bool(tables), strictest(entries), entries)


def _entries(name: str, tables: Sequence[object]) -> tuple[ToolEntry, ...]:
    return tuple(entry for table in tables for entry in read({"tools": {name: table}})[0].tools)
