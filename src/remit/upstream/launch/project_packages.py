"""Finds the copies of an npm package that a project brings, and digests all that they run.

`npx` prefers a copy in `node_modules`, and compares it with nothing: a repository can commit any code there.
It takes any package of the tree that has the name, and runs what `node_modules/.bin` has for its program.
"""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.decision.scopes import ancestors
from remit.files.bounded_reader import FileError, is_inside, read_bytes, real_path
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.text.json_values import as_object
from remit.upstream.launch.npx_packages import manifest_of, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from remit.trust.package_commands import PackageCommand

_MOST_FILES = 50_000
_MOST_BYTES = 256 * 2**20
_SECONDS = 60.0  # for listing directories; files within the other limits take less
_LOCK_LIMIT = 16 * 2**20  # bytes of a lock file
_ENDINGS = ("", ".cmd", ".ps1", ".exe")  # of a program in `.bin`; the others are for Windows
_ALWAYS = ("dependencies", "peerDependencies", "peerDependenciesMeta")


class PackageCopy(NamedTuple):
    """A copy of a package in a project."""

    path: str  # canonical
    version: str
    programs: tuple[str, ...]


class ProjectPackage(NamedTuple):
    """The package that a runner takes from a project."""

    files: str  # digest, or why there is none
    copies: tuple[PackageCopy, ...] = ()  # the likeliest to run first


def project_package(
    command: PackageCommand, version: str | None, directories: Sequence[str], root: str
) -> ProjectPackage | None:
    """Find what a project brings of a package, perhaps of an exact version; None if it brings nothing."""
    try:
        found = _Tree(root, directories).package(command, version)
        return None if found is None else ProjectPackage(*found)
    except (FileError, WalkLimitError) as error:
        return ProjectPackage(f"unknown: {error}")


class _Tree:
    """The packages in the `node_modules` of a project."""

    def __init__(self, root: str, directories: Sequence[str]) -> None:
        self._root = root
        self._modules = [os.path.join(each, "node_modules") for each in directories]
        self._budget = WalkBudget(4 * _MOST_FILES, _SECONDS)
        self._files_left, self._bytes_left = _MOST_FILES, _MOST_BYTES

    def package(
        self, command: PackageCommand, version: str | None
    ) -> tuple[str, tuple[PackageCopy, ...]] | None:
        modules = [each for each in self._modules if os.path.lexists(each) and self._required(each)]
        copies = [each for folder in modules for each in self._copies(folder, command.name)]
        taken = tuple(each for each in dict.fromkeys(copies) if version in (None, each.version))
        names = {command.package, *((command.rest[:1]) if command.option else ())}
        if taken or command.version is None:
            names |= {command.name.rpartition("/")[2], *(name for each in taken for name in each.programs)}
        own = [each for each in self._own(command.name) if version in (None, each.version)]
        names |= {name for each in own for name in each.programs}
        parts = [f"{self._label(each.path)} has this name" for each in own]
        parts += [line for folder in modules for line in self._programs(folder, names)]
        parts += [line for path in self._needed([each.path for each in taken]) for line in self._lines(path)]
        digest = sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hexdigest()
        return (f"sha256:{digest}", taken) if parts else None

    def _own(self, name: str) -> Iterator[PackageCopy]:
        """Yield the project's own packages that have a name: npx takes them for that package."""
        for directory in map(os.path.dirname, self._modules):
            manifest = manifest_of(directory, within=(self._root,)) or {}
            if manifest.get("name") == name:
                yield PackageCopy(directory, str(manifest.get("version")), _programs_of(manifest, name))

    def _copies(self, modules: str, name: str) -> Iterator[PackageCopy]:
        """Yield every package of a tree that has a name, by its folder, its manifest or the hidden lock."""
        claimed = self._claimed(modules, name)
        for path, folder in self._packages(modules):
            if not path:
                if folder == name:
                    raise FileError(
                        f"the link of `{name}` in `{self._label(modules)}` leads out of the project"
                    )
                continue
            manifest = manifest_of(path, within=(self._root,)) or {}
            claims = claimed.get(path, {})
            for each in (manifest, claims):
                if each and (name in (folder, each.get("name")) or each is claims):
                    programs = _programs_of(each, name)
                    yield PackageCopy(path, str(each.get("version")), programs)

    def _claimed(self, modules: str, name: str) -> dict[str, Mapping[str, Any]]:
        """Read which packages have a name by the lock that npm keeps in `node_modules`, and believes."""
        found = read_lock(os.path.join(modules, ".package-lock.json"), (self._root,))
        packages = as_object(found.get("packages")).items()
        above = os.path.dirname(modules)
        own = f"node_modules/{name}"
        return {
            real_path(os.path.join(above, place)): as_object(entry)
            for place, entry in packages
            if as_object(entry).get("name", name if f"/{place}".endswith(f"/{own}") else None) == name
        }

    def _packages(self, modules: str) -> Iterator[tuple[str, str]]:
        """Yield the packages of a tree in the order of their depth, with the names of their folders.

        A link out of the project has no path.
        """
        waiting, seen = [modules], set[str]()
        while waiting:
            folder = waiting.pop(0)
            for path, name in self._in_folder(folder):
                real = self._inside(path)
                if real not in seen:
                    seen |= {real} - {""}
                    yield real, name
                    waiting += [os.path.join(real, "node_modules")] if real else []

    def _in_folder(self, modules: str) -> Iterator[tuple[str, str]]:
        for entry in sorted(entries(modules, self._budget, within=(self._root,)), key=lambda each: each.name):
            if entry.name.startswith("@"):
                scoped = entries(entry.path, self._budget, within=(self._root,))
                yield from ((each.path, f"{entry.name}/{each.name}") for each in scoped)
            elif not entry.name.startswith("."):
                yield entry.path, entry.name

    def _inside(self, path: str) -> str:
        """Follow the link of a package; empty if it leads out of the project, so the user made it."""
        return real if is_inside(real := real_path(path), (self._root,)) else ""

    def _programs(self, modules: str, names: Iterable[str]) -> Iterator[str]:
        for name in sorted(f"{name}{ending}" for name in names for ending in _ENDINGS):
            path = os.path.join(modules, ".bin", name)
            if os.path.lexists(path):
                leads = os.readlink(path) if os.path.islink(path) else ""
                yield f"{self._label(path)} -> {leads} {self._content(path)}"

    def _needed(self, copies: Sequence[str]) -> list[str]:
        """List packages with all that they declare to need and the project has."""
        found = dict.fromkeys(copies)
        waiting = list(copies)
        while waiting:
            path = waiting.pop()
            manifest = manifest_of(path, within=(self._root,)) or {}
            for name in _needs(manifest):
                real = self._resolved(name, path)
                if real is not None and real not in found and self._counts(name, real, manifest):
                    found[real] = None
                    waiting.append(real)
        return list(found)

    def _counts(self, name: str, path: str, needing: Mapping[str, Any]) -> bool:
        """Leave out a package that is installed only on some platforms: a lock is for all of them."""
        if name not in as_object(needing.get("optionalDependencies")):
            return True
        manifest = manifest_of(path, within=(self._root,)) or {}
        return not any(manifest.get(key) for key in ("os", "cpu", "libc"))

    def _resolved(self, name: str, package: str) -> str | None:
        """Find a needed package as Node.js does; None if the project does not have it."""
        if name.startswith((".", "/")):
            return None
        for directory in ancestors(package, up_to=self._root):
            path = os.path.join(directory, "node_modules", name)
            if os.path.lexists(path):
                return self._required(path)
        return None

    def _required(self, path: str) -> str:
        if not (real := self._inside(path)):
            raise FileError(f"the link `{self._label(path)}` leads out of the project")
        return real

    def _lines(self, package: str) -> Iterator[str]:
        """Yield each file of a package with its digest; packages inside of it count by themselves."""
        waiting = [package]
        while waiting:
            folder = waiting.pop()
            for entry in entries(folder, self._budget, within=(self._root,)):
                if entry.is_dir(follow_symlinks=False):
                    waiting += [entry.path] if entry.name != "node_modules" else []
                else:
                    yield f"{self._label(entry.path)} {self._content(entry.path)}"

    def _content(self, path: str) -> str:
        """Return the digest of a file's content."""
        try:
            found = os.stat(path)
        except OSError:
            return "missing"
        if stat.S_ISDIR(found.st_mode):
            raise FileError(f"`{self._label(path)}` is a link to a directory")
        self._files_left -= 1
        self._bytes_left -= found.st_size
        if self._files_left < 0 or self._bytes_left < 0:
            raise FileError(f"more than {_MOST_FILES:,} files or {_MOST_BYTES // 2**20} MiB")
        try:
            data = read_bytes(path, limit=_MOST_BYTES, within=(self._root,)) or b""
        except FileError as error:
            raise FileError(f"`{self._label(path)}`: {error.reason}") from None
        return sha256(data).hexdigest()

    def _label(self, path: str) -> str:
        return os.path.relpath(path, self._root).replace(os.sep, "/")


def _needs(manifest: Mapping[str, Any]) -> list[str]:
    keys = (*_ALWAYS, "optionalDependencies")
    return sorted({name for key in keys for name in as_object(manifest.get(key))})


def _programs_of(manifest: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = as_object(manifest.get("bin"))
    return tuple(sorted({*map(os.path.basename, given), name.rpartition("/")[2]}))


def read_lock(path: str, within: Sequence[str]) -> Mapping[str, Any]:
    """Read an object from a file; empty if it is missing or invalid."""
    return read_json(path, _LOCK_LIMIT, within) or {}
