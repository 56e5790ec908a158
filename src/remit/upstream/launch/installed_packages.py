"""Finds the version and integrity of a package offline: in lock files, caches and installed metadata."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from remit.decision.definitions.project_lock import UNKNOWN, LockedPackage
from remit.files.bounded_reader import ANYWHERE, FileError, read_text
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.files.formats import parse_json, parse_toml
from remit.text.json_values import as_list, as_object
from remit.trust.package_commands import PackageKind
from remit.upstream.launch.npx_packages import manifest_of, npx_cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from remit.trust.package_commands import PackageCommand

Table = dict[str, Any]
_LIMIT = 16 * 2**20  # bytes of a lock file
_TAKES_LOCAL = ("npx", "bunx")  # the others fetch a package, whatever is installed
_NPM_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:[-+][\w.+-]+)?)")
_PYPI_VERSION = re.compile(r"v?(\d[\w.+!-]*)")


def installed_package(
    command: PackageCommand, root: str, variables: Mapping[str, str], home: str
) -> LockedPackage:
    """Find what is known about the package of a command in a project."""
    kind, name = command.kind, command.name.partition("[")[0]
    if not command.is_of_registry:  # a repository, a URL or a file, which the entry names in full
        return LockedPackage(kind, UNKNOWN)
    if kind is PackageKind.OCI:
        version = command.version or UNKNOWN
        return LockedPackage(kind, name, version, version if version.startswith("sha256:") else UNKNOWN)
    exact = (_NPM_VERSION if kind is PackageKind.NPM else _PYPI_VERSION).fullmatch(command.version or "")
    wanted = exact[1] if exact else None
    found = _of_npm(name, root, variables, home) if kind is PackageKind.NPM else _of_pypi(name, root, home)
    for version, integrity in found:
        if wanted in (None, version):
            return LockedPackage(kind, name, version, integrity)
    return LockedPackage(kind, name, wanted or UNKNOWN)


def is_fixed_by_project(command: PackageCommand, root: str) -> bool:
    """Tell whether a runner takes a package from the project, in the version of the project's lock file."""
    if command.runner not in _TAKES_LOCAL or not command.is_of_registry or command.version:
        return False
    manifest = manifest_of(os.path.join(root, "node_modules", command.name), within=(root,))
    locked = next((version for version, _ in _of_npm(command.name, root, {}, root)), None)
    return manifest is not None and locked is not None and manifest.get("version") == locked


def _of_npm(name: str, root: str, variables: Mapping[str, str], home: str) -> Iterator[tuple[str, str]]:
    """Yield versions with their integrity: of the project's lock file, then of the cache of `npx`."""
    hidden = [
        (os.path.join(modules, ".package-lock.json"), ANYWHERE) for modules in npx_cache(variables, home)
    ]
    own = [(os.path.join(root, file), (root,)) for file in ("package-lock.json", "npm-shrinkwrap.json")]
    for path, within in (*own, *hidden):
        package = as_object(as_object(_json(path, within).get("packages")).get(f"node_modules/{name}"))
        if isinstance(version := package.get("version"), str):
            yield version, _text(package.get("integrity"))


def _of_pypi(name: str, root: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield versions with their integrity: of the project's `uv.lock`, then of tools that uv installed."""
    meant = _normal(name)
    for package in _list(_toml(os.path.join(root, "uv.lock"), (root,)).get("package")):
        if _normal(str(package.get("name"))) == meant and isinstance(package.get("version"), str):
            files = [as_object(package.get("sdist")), *_list(package.get("wheels"))]
            hashes = [file["hash"] for file in files if isinstance(file.get("hash"), str)]
            yield package["version"], hashes[0] if hashes else UNKNOWN
    lib = os.path.join(home, ".local/share/uv/tools", name, "lib")
    for python in _names(lib):
        for each in _names(os.path.join(lib, python, "site-packages")):
            found = re.fullmatch(r"(.+)-([^-]+)\.dist-info", each)
            if found and _normal(found[1]) == meant:
                yield found[2], UNKNOWN


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _json(path: str, within: Sequence[str]) -> Table:
    try:
        return as_object(parse_json(read_text(path, limit=_LIMIT, within=within) or "{}"))
    except (FileError, ValueError):
        return {}


def _toml(path: str, within: Sequence[str]) -> Table:
    try:
        return as_object(parse_toml(read_text(path, limit=_LIMIT, within=within) or ""))
    except (FileError, ValueError):
        return {}


def _names(directory: str) -> list[str]:
    try:
        return sorted(each.name for each in entries(directory, WalkBudget(10_000, 1.0), within=ANYWHERE))
    except WalkLimitError:
        return []


def _list(value: object) -> list[Table]:
    return [as_object(each) for each in as_list(value)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else UNKNOWN
