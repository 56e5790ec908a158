"""Generates the three files for a package's commands: names, scopes, and a server."""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from remit.configuration.condition_rules import read_condition
from remit.configuration.config_model import ToolEntry
from remit.configuration.file_parser import read
from remit.errors import BadFileError, NoSuchFileError
from remit.files.bounded_reader import FileError, read_bytes
from remit.files.checkout import enclosing_roots, link_in_checkout
from remit.files.safe_changes import ObservedChange, report
from remit.names.generated_files import names_as_json, names_as_python, read_names, server_as_python
from remit.names.name_tree import Branch, Command, Label, Names, ScanWarning, tree
from remit.names.package_scan import scan
from remit.names.scopes_file import Scopes, label, open_scopes, read_scopes, strictest, tables_of

_LARGEST = 2**24  # bytes of a file to replace
_MARKS = (b"; written by `remit names ", b'{\n  "version": 1,\n  "package": ')


class Generated(NamedTuple):
    """A generated file, with warnings and changes to report."""

    data: bytes
    names: tuple[str, ...]  # of its commands
    warnings: tuple[ScanWarning, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    states: tuple[str, ...] = ()  # used in its conditions


class LabeledCommand(NamedTuple):
    """A command with its entries in the scopes file."""

    command: Command
    is_labelled: bool
    label: Label
    entries: tuple[ToolEntry, ...]


class Generator:
    """Generates each file from the previous ones."""

    def names(self, source: str, *, as_json: bool) -> Generated:
        """Generate the names of a package.

        Raises:
            BadFileError: the source is not Python, or has too many files.
            NoSuchFileError: there is no such file or directory.
        """
        found, warnings = scan(source)
        text = names_as_json(found) if as_json else names_as_python(found)
        return Generated(_encoded(text), _names(found), warnings)

    def scopes(self, names: str, scopes: str) -> Generated:
        """Generate the scopes of names; existing scopes stay unchanged.

        Raises:
            BadFileError: one of the files is invalid.
            NoSuchFileError: the names file does not exist.
        """
        found = read_names(names)
        made = label(found, open_scopes(scopes), scopes)
        return Generated(made.text, _names(found), added=made.added, removed=made.removed)

    def server(self, names: str, scopes: str) -> Generated:
        """Generate a server from names and scopes.

        Raises:
            BadFileError: one of the files is invalid.
            NoSuchFileError: one of the files does not exist.
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
            _encoded(server_as_python(found, said)),
            _names(found),
            unlabelled=tuple(each.command.name for each in labelled if not each.is_labelled),
            states=tuple(sorted(states)),
        )

    def labelled(self, names: str, scopes: str) -> list[LabeledCommand]:
        """List the commands of a names file with their scopes.

        Raises:
            BadFileError: one of the files is invalid.
            NoSuchFileError: the names file does not exist.
        """
        data = open_scopes(scopes)
        return _labelled(read_names(names), Scopes() if data is None else read_scopes(data, scopes))

    def tree(self, labelled: Iterable[LabeledCommand]) -> Mapping[str, Branch]:
        """Arrange commands in a tree by the parts of their names."""
        return tree(each.command for each in labelled)

    def is_current(self, made: Generated, path: str) -> bool:
        """Return whether a file is up to date.

        Raises:
            BadFileError: the file cannot be read.
        """
        return _bytes(path) == made.data

    def write(self, made: Generated, path: str) -> bool:
        """Write a file; return False if it is already up to date.

        Raises:
            BadFileError: the existing file was not generated, or the path cannot be written.
        """
        before = _bytes(path)
        if before and not any(mark in before for mark in _MARKS):
            raise BadFileError(f"{path} exists and was not generated", hint="name another file with --out")
        return self.write_scopes(made, path)

    def write_scopes(self, made: Generated, path: str) -> bool:
        """Write an updated scopes file; return False if it is already up to date.

        Raises:
            BadFileError: the path cannot be written, or a link leads to it.
        """
        if (link := link_in_checkout(path)) is not None:
            raise BadFileError(
                f"{link} is a link; Remit does not write through links in a project", hint="name another file"
            )
        if self.is_current(made, path):
            return False
        try:
            _replace(made.data, os.path.realpath(path))
        except OSError as error:
            raise BadFileError(f"{path} cannot be written: {(error.strerror or 'refused').lower()}") from None
        return True


def _encoded(text: str) -> bytes:
    # A lone surrogate cannot be encoded; as an escape it is the same literal in Python and JSON.
    return text.encode("utf-8", "backslashreplace")


def _bytes(path: str) -> bytes | None:
    try:
        return read_bytes(path, limit=_LARGEST, within=enclosing_roots(path))
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}") from None


def _replace(data: bytes, target: str) -> None:
    """Replace a file atomically."""
    before = _bytes(target)
    mode = os.stat(target).st_mode & 0o777 if before is not None else 0o644
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), delete=False) as opened:
        opened.write(data)
    os.chmod(opened.name, mode)
    report(ObservedChange(target, None if before is None else _text(before), _text(data)))
    os.replace(opened.name, target)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


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
