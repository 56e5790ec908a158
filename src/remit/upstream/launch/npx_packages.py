"""Finds a package that `npx` has already installed, to run it in a sandbox without `npx`.

`npx` writes to its cache even if it installs nothing, and a sandboxed server must not change packages that
other servers run.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, cast

from remit.decision.declared_launch import program
from remit.files.bounded_reader import ANYWHERE, FileError, read_text
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.files.formats import parse_json
from remit.trust.package_commands import PackageKind, package_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit.trust.package_commands import PackageCommand

_MANIFEST_LIMIT = 1_000_000  # bytes
EXACT = re.compile(r"v?(\d+\.\d+\.\d+(?:[-+][\w.+-]+)?)")  # a version


def npx_command(words: Sequence[str]) -> PackageCommand | None:
    """Parse a call of `npx`, `bunx` or the like for a package of a registry; None for any other command."""
    found = package_command(words)
    is_direct = found is not None and found.kind is PackageKind.NPM and program(words[0]) == found.runner
    return found if found is not None and is_direct and found.is_of_registry else None


def find_installed(
    command: PackageCommand, directories: Sequence[str], cached: Sequence[str], *, within: Sequence[str]
) -> list[str] | None:
    """Find the program of an installed package, with its arguments: in directories, else in the cache.

    Packages in the directories may be links to any place in `within`.
    """
    rest = [word for at, word in enumerate(command.rest) if at or word != "--"]
    installed = [(os.path.join(each, "node_modules"), within) for each in directories]
    for modules, reach in (*installed, *((each, ANYWHERE) for each in cached)):
        manifest = manifest_of(os.path.join(modules, command.name), within=reach)
        if manifest is None or not _is_wanted(command.version, str(manifest.get("version"))):
            continue
        named = command.option and rest
        name = rest[0] if named else _binary(manifest, command.name)
        found = os.path.join(modules, ".bin", name)
        if os.sep not in name and os.path.isfile(found):  # a manifest could lead out of its package
            return [found, *(rest[1:] if named else rest)]
    return None


def npx_cache(environment: Mapping[str, str], home: str) -> list[str]:
    """List the directories of packages that `npx` keeps, newest first."""
    cache = environment.get("npm_config_cache") or os.path.join(home, ".npm")
    try:
        found = [
            each.path
            for each in entries(os.path.join(cache, "_npx"), WalkBudget(10_000, 1.0), within=ANYWHERE)
        ]
        found.sort(key=os.path.getmtime, reverse=True)
    except (OSError, WalkLimitError):
        return []
    return [os.path.join(path, "node_modules") for path in found]


def manifest_of(directory: str, *, within: Sequence[str]) -> Mapping[str, Any] | None:
    """Read the `package.json` of a package; None if there is none."""
    return read_json(os.path.join(directory, "package.json"), _MANIFEST_LIMIT, within)


def read_json(path: str, limit: int, within: Sequence[str]) -> Mapping[str, Any] | None:
    """Read a file with a JSON object; None if there is none, or it cannot be read."""
    try:
        found = parse_json(read_text(path, limit=limit, within=within) or "null")
    except (FileError, ValueError):
        return None
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else None


def _is_wanted(wanted: str | None, version: str) -> bool:
    """Check a version; of a range or a tag, any installed version counts."""
    exact = EXACT.fullmatch(wanted or "")
    return exact is None or exact[1] == version


def _binary(manifest: Mapping[str, Any], package: str) -> str:
    """Return the program of a package as `npx` chooses it: the only one, or the one of the same name."""
    own = package.rpartition("/")[2]
    given = manifest.get("bin")
    names = [str(name) for name in cast("dict[object, object]", given)] if isinstance(given, dict) else []
    return names[0] if len(names) == 1 else own
