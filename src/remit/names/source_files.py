"""Reads the source files of a package, within limits, without importing or running them."""

import ast
import os
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from remit.decision.scopes import is_at_or_below
from remit.errors import BadFileError, NoSuchFileError
from remit.files.bounded_reader import FileError, read_bytes
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.names.name_tree import ScanWarning

MOST_FILES = 5_000
LARGEST = 2**20  # bytes per file
_MOST_NAMES, _MOST_SECONDS = 100_000, 20.0  # looked at in all directories
_DEEPEST = 40  # nested directories
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "test", "tests", "venv"})
_TESTS = ("test_", "conftest")
COMMANDS = "commands"  # a directory whose files are named by their paths
_NAMELESS_FILES = ("__init", "__main")  # without the underscores at their end


class Module(NamedTuple):
    """One source file."""

    name: str
    file: str  # relative to the root of the package
    tree: ast.Module
    is_package: bool
    data: bytes = b""

    @property
    def own_name(self) -> str:
        """The name of the file, without the underscore that avoids a keyword or built-in."""
        return self.name.rpartition(".")[2].rstrip("_")

    @property
    def package_path(self) -> tuple[str, ...]:
        """The directories of the file, from the root of the package."""
        return tuple(self.file.split("/")[:-1])

    @property
    def command_path(self) -> tuple[str, ...]:
        """The path of the file below its `commands` directory; empty if it lies outside."""
        parts = tuple(part.rstrip("_") for part in self.file.removesuffix(".py").split("/"))
        if COMMANDS not in parts[:-1]:
            return ()
        path = parts[parts.index(COMMANDS) + 1 :]
        return path[:-1] if path[-1] in _NAMELESS_FILES else path

    def mentions(self, *words: bytes) -> bool:
        """Return whether the source contains any of the words; this is faster than searching the tree."""
        return any(word in self.data for word in words)


class Package(NamedTuple):
    """The source files of a package, with warnings about unreadable ones."""

    name: str
    modules: tuple[Module, ...]
    warnings: tuple[ScanWarning, ...]


def read_package(source: str) -> Package:
    """Read a package directory or a single file.

    Raises:
        BadFileError: the source is not Python, or has too many files.
        NoSuchFileError: there is no such file or directory.
    """
    path = os.path.realpath(source)
    if os.path.isfile(path):
        if not path.endswith(".py"):
            raise BadFileError(f"`{source}` is not a Python file", hint="name a package's directory")
        top, files = os.path.dirname(path), [path]
    elif os.path.isdir(path):
        top, files = path, _listed(path, source)
    else:
        raise NoSuchFileError(f"there is no package `{source}`", hint="name a directory of Python files")
    if len(files) > MOST_FILES:
        raise BadFileError(
            f"`{source}` holds more than {MOST_FILES:,} Python files", hint="name the package itself"
        )
    return _read(top, files)


def _listed(path: str, source: str) -> list[str]:
    try:
        return sorted(_files(path, path, 0, WalkBudget(_MOST_NAMES, _MOST_SECONDS)))
    except WalkLimitError as error:
        raise BadFileError(f"`{source}`: {error}", hint="name the package itself") from None


def _read(top: str, files: list[str]) -> Package:
    root = _root(top)
    modules: list[Module] = []
    warned: list[ScanWarning] = []
    for file in files:
        told = os.path.relpath(file, root).replace(os.sep, "/")
        try:
            modules.append(_module(file, told, top))
        except FileError as error:
            line = int(error.place) if error.place else 0
            warned.append(ScanWarning(told, line, f"{error.reason}; it is left out"))
    inside = os.path.relpath(files[0], root).replace(os.sep, "/") if len(files) == 1 else ""
    name = inside.removesuffix(".py").replace("/", ".") or os.path.relpath(top, root).replace(os.sep, ".")
    return Package(os.path.basename(top) if name == "." else name, tuple(modules), tuple(warned))


def _root(top: str) -> str:
    """Find the directory that contains the top-level package; `commands` counts as one in any case."""
    if os.path.basename(top) == COMMANDS and os.path.dirname(top) != top:
        top = os.path.dirname(top)
    while os.path.isfile(os.path.join(top, "__init__.py")) and os.path.dirname(top) != top:
        top = os.path.dirname(top)
    return top


def _files(directory: str, top: str, depth: int, budget: WalkBudget) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    for entry in sorted(entries(directory, budget, within=[top]), key=lambda each: each.name):
        if entry.is_symlink() and not is_at_or_below(os.path.realpath(entry.path), top):
            continue  # a link out of the package
        if entry.is_dir(follow_symlinks=False):
            if not (entry.name.startswith(".") or entry.name in _SKIPPED):
                yield from _files(entry.path, top, depth + 1, budget)
        elif entry.name.endswith(".py") and not entry.name.startswith(_TESTS):
            yield entry.path


def _module(file: str, told: str, top: str) -> Module:
    data = read_bytes(file, limit=LARGEST, within=[top])
    if data is None:
        raise FileError("it no longer exists")
    name = told.removesuffix(".py").replace("/", ".")
    is_package = name.rpartition(".")[2] == "__init__"
    name = name.rpartition(".")[0] if is_package and "." in name else name
    return Module(name, told, _parse(data), is_package, data)


def _parse(data: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes in the scanned code
            return ast.parse(data)
    except SyntaxError as error:
        raise FileError("not valid Python", str(error.lineno or "")) from None
    except (ValueError, RecursionError, MemoryError):
        raise FileError("not usable Python: it has a null character, or is nested too deeply") from None
