"""Recognizes installed toolchains of Python and Node by their places and their layout.

A project's environment links to one of them. The link is the repository's, so a toolchain counts only where a
version manager or the system keeps it, and only its programs and libraries are shown.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from remit.files.bounded_reader import ANYWHERE
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries

_MOST_ENTRIES = 10_000  # of one directory
# Below the home directory: one toolchain for each version.
_VERSIONS = (
    *(".pyenv/versions/*", ".local/share/uv/python/*", ".rye/py/*", ".nvm/versions/node/*"),
    *(".asdf/installs/*/*", ".local/share/mise/installs/*/*", ".volta/tools/image/*/*"),
    ".local/share/fnm/node-versions/*/installation",
)
_PARTS = ("bin", "lib", "lib64", "libexec", "include", "share", "ssl")


def toolchain_parts(path: str, home: str) -> list[str]:
    """List the directories of the toolchain that a program belongs to; none if it belongs to none."""
    base, directory = os.path.split(os.path.dirname(path))
    is_toolchain = directory == "bin" and _is_place(base, home) and _is_place(os.path.realpath(base), home)
    if not (is_toolchain and has_libraries(base)):
        return []
    return [each for each in (os.path.join(base, part) for part in _PARTS) if os.path.isdir(each)]


def _is_place(base: str, home: str) -> bool:
    parts = os.path.relpath(base, home).split(os.sep)
    patterns = [pattern.split("/") for pattern in _VERSIONS]
    return base.startswith("/opt/") or any(
        len(parts) == len(pattern) and all(map(fnmatchcase, parts, pattern)) for pattern in patterns
    )


def has_libraries(base: str) -> bool:
    """Check for the libraries of Python or Node."""
    signs = ("include/node", "lib/node_modules")
    return any(os.path.exists(os.path.join(base, sign)) for sign in signs) or bool(python_libraries(base))


def python_libraries(base: str) -> list[str]:
    """List the directories of Python libraries in a runtime."""
    lib = os.path.join(base, "lib")
    return [os.path.join(lib, name) for name in names_in(lib) if name.startswith("python3")]


def names_in(directory: str) -> list[str]:
    """List the names in a directory; none if it cannot be listed, or has too many."""
    try:
        return sorted(
            each.name for each in entries(directory, WalkBudget(_MOST_ENTRIES, 1.0), within=ANYWHERE)
        )
    except WalkLimitError:
        return []
