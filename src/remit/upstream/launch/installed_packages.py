"""Finds offline which package would run: the copy in a project, or a cached, installed or locked one."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from remit.decision.definitions.project_lock import UNKNOWN, LockedPackage
from remit.files.bounded_reader import ANYWHERE, FileError, read_text
from remit.files.formats import parse_toml
from remit.text.json_values import as_list, as_object
from remit.trust.package_commands import PackageKind, package_command
from remit.trust.runner_files import launch_words, runner_directories
from remit.upstream.launch.npx_packages import EXACT, npx_cache
from remit.upstream.launch.project_packages import project_package, read_lock
from remit.upstream.launch.runtime_paths import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from remit.decision.declared_launch import Launch
    from remit.trust.package_commands import PackageCommand
    from remit.upstream.launch.project_packages import ProjectPackage

Table = dict[str, Any]
_LIMIT = 16 * 2**20  # bytes of a lock file
_PYPI_VERSION = re.compile(r"v?(\d[\w.+!-]*)")
_RUN_COPIES = ("npx", "npm", "bunx", "bun")  # the others always fetch packages, whatever a project has
_NPX = ("npx", "npm")  # use the cache of npx
_NPM_LOCKS = ("npm-shrinkwrap.json", "package-lock.json")  # npm reads only the first that exists


def launched_package(
    launch: Launch, root: str, variables: Mapping[str, str], home: str
) -> LockedPackage | None:
    """Find what would run of the package of a project's server; None if its command names none.

    It looks from the root, wherever the command runs: a lock is the same in every directory.
    """
    command = package_command([launch.command, *launch.args]) if launch.command else None
    if command is None:
        return None
    directories = runner_directories(launch, launch_words(launch), root, root)
    return installed_package(command, root, variables, home, directories)


def installed_package(
    command: PackageCommand,
    root: str,
    variables: Mapping[str, str],
    home: str,
    directories: Sequence[str] | None = None,
) -> LockedPackage | None:
    """Find what would run of the package of a command that looks in directories of a project, or in its root.

    Only what a runner compares, or what is really there, counts; the rest is unknown. None if the command
    runs a program of the project, and no package.
    """
    kind, name = command.kind, command.name.partition("[")[0]
    if command.is_of_environment:
        return _of_uv_lock(name, root)
    if not command.is_of_registry:  # a repository, a URL or a file, which the entry names in full
        return LockedPackage(kind, UNKNOWN)
    if kind is PackageKind.OCI:
        version = command.version or UNKNOWN
        return LockedPackage(kind, name, version, version if version.startswith("sha256:") else UNKNOWN)
    exact = (EXACT if kind is PackageKind.NPM else _PYPI_VERSION).fullmatch(command.version or "")
    wanted = exact[1] if exact else None
    if kind is PackageKind.NPM and command.runner in _RUN_COPIES:
        found = project_package(command, wanted, (root,) if directories is None else directories, root)
        if found is not None:
            return _of_project(found, LockedPackage(kind, name, wanted or UNKNOWN), root)
    fetched = _of_tools(name, home) if kind is PackageKind.PYPI else _of_npx(command, variables, home)
    for version, integrity in fetched:
        if wanted in (None, version):
            return LockedPackage(kind, name, version, integrity)
    return LockedPackage(kind, name, wanted or UNKNOWN)


def _of_project(found: ProjectPackage, package: LockedPackage, root: str) -> LockedPackage:
    """Add the copy in a project, with the integrity that npm compared when it installed that copy."""
    if not found.copies:
        return package._replace(files=found.files)
    path, version, _ = found.copies[0]
    locks = [file for name in _NPM_LOCKS if os.path.lexists(file := os.path.join(root, name))]
    packages = as_object(read_lock(locks[0], (root,)).get("packages") if locks else None)
    entry = as_object(packages.get(os.path.relpath(path, root).replace(os.sep, "/")))
    integrity = _text(entry.get("integrity")) if entry.get("version") == version else UNKNOWN
    return package._replace(version=version, integrity=integrity, files=found.files)


def _of_npx(command: PackageCommand, variables: Mapping[str, str], home: str) -> Iterator[tuple[str, str]]:
    """Yield versions in the cache of `npx`, with the integrity that npm compared; npx reads no lock file."""
    for modules in npx_cache(variables, home) if command.runner in _NPX else ():
        packages = read_lock(os.path.join(modules, ".package-lock.json"), ANYWHERE).get("packages")
        package = as_object(as_object(packages).get(f"node_modules/{command.name}"))
        if isinstance(version := package.get("version"), str):
            yield version, _text(package.get("integrity"))


def _of_tools(name: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield versions of tools that uv installed; neither `uvx` nor `pipx run` reads a lock file."""
    lib = os.path.join(home, ".local/share/uv/tools", name, "lib")
    for python in names_in(lib):
        for each in names_in(os.path.join(lib, python, "site-packages")):
            found = re.fullmatch(r"(.+)-([^-]+)\.dist-info", each)
            if found and _normal(found[1]) == _normal(name):
                yield found[2], UNKNOWN


def _of_uv_lock(name: str, root: str) -> LockedPackage | None:
    """Find the package of a program that `uv run` starts, whose files it compares with `uv.lock`."""
    meant = _normal(name)
    for package in _list(_toml(os.path.join(root, "uv.lock"), (root,)).get("package")):
        version = package.get("version")
        if _normal(str(package.get("name"))) == meant and isinstance(version, str):
            files = [as_object(package.get("sdist")), *_list(package.get("wheels"))]
            hashes = {file["hash"] for file in files if isinstance(file.get("hash"), str)}
            integrity = f"sha256:{sha256(' '.join(sorted(hashes)).encode()).hexdigest()}"  # uv takes any
            return LockedPackage(PackageKind.PYPI, name, version, integrity if hashes else UNKNOWN, UNKNOWN)
    return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _toml(path: str, within: Sequence[str]) -> Table:
    try:
        return as_object(parse_toml(read_text(path, limit=_LIMIT, within=within) or ""))
    except (FileError, ValueError):
        return {}


def _list(value: object) -> list[Table]:
    return [as_object(each) for each in as_list(value)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else UNKNOWN
