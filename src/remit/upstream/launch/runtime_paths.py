"""Finds what a program needs in order to run: its interpreter, its libraries, and caches of packages.

A sandbox gets these read-only. A directory counts only if it is a runtime's own, such as a virtual
environment or an installed Node: `~/.local/bin/x` adds one file, not `~/.local`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.launch import program
from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import FileError, read_head
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.upstream.launch.private_places import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
INTERPRETERS = re.compile(r"(?:node|nodejs|bun|deno|tsx|ts-node|ruby|perl|php|sh|bash|python[\d.]*)")
_BINARIES = frozenset({"bin", "sbin", "shims", "libexec"})
_MOST_LINKS = 40
_MOST_FILES = 200  # to look at for one program
_LONGEST_SHEBANG = 512
_LONGEST_PTH = 10_000
_MOST_ENTRIES = 10_000  # of one directory


class RuntimeContext(NamedTuple):
    """Where a program is started, and what it must not open."""

    place: str  # the working directory
    home: str
    root: str  # of the project
    secrets: Sequence[str]
    search_path: str


class RuntimePaths:
    """Collects the files and directories that a program needs."""

    def __init__(self, around: RuntimeContext) -> None:
        self._around = around
        self._seen: set[str] = set()
        self.found: dict[str, str | None] = {}  # paths to show read-only; with the target, links

    def add_command(self, words: Sequence[str]) -> bool:
        """Add a program, and the script that it runs; False if there is no such program."""
        path = find_program(words[0], self._around)
        if path is None:
            return False
        self.add_program(path)
        if INTERPRETERS.fullmatch(program(words[0])):
            script = next((word for word in words[1:] if not word.startswith("-")), None)
            if script is not None:
                self._add_script(os.path.normpath(os.path.join(self._around.place, script)))
        return True

    def add_program(self, path: str) -> None:
        """Add a program with everything that its links and its first line lead to."""
        for hop in _hops(path):
            if hop in self._seen or len(self._seen) >= _MOST_FILES:
                continue
            self._seen.add(hop)
            self._add_file(hop)
            for interpreter in _interpreters(hop, self._around):
                self.add_program(interpreter)

    def add_directory(self, path: str) -> None:
        """Add a directory that exists, unless it is too wide or secret."""
        if os.path.isdir(path) and self._is_narrow(path):
            self._add(path)

    def _add_file(self, path: str) -> None:
        if any(is_at_or_below(path, each) for each in SYSTEM):
            return
        base = _modules(path) or _runtime(path)
        if base is not None and self._is_narrow(base):
            self._add(base)
            self._add_libraries(base)
        elif not self._is_secret(path):
            link = os.readlink(path) if os.path.islink(path) else None
            if link is not None or not self._leads_out(path):  # the target of a link counts by itself
                self.found.setdefault(path, link)

    def _add_script(self, path: str) -> None:
        """Add a script: its directory, and for Node its package and dependencies."""
        if not os.path.isfile(path):
            return
        self.add_program(path)
        self.add_directory(os.path.dirname(path))
        for directory in ancestors(os.path.dirname(path))[:6]:
            manifest = os.path.join(directory, "package.json")
            if os.path.isfile(manifest):
                self._add_file(manifest)
                self.add_directory(os.path.join(directory, "node_modules"))
                return

    def _add_libraries(self, base: str) -> None:
        """Add the interpreter of a virtual environment, and the directories that its `.pth` files name."""
        for name in ("python3", "python", "node"):
            interpreter = os.path.join(base, "bin", name)
            if os.path.lexists(interpreter):
                self.add_program(interpreter)
        packages = [os.path.join(lib, "site-packages") for lib in _pythons(base)]
        for file in (os.path.join(each, name) for each in packages for name in _names(each)):
            for line in _head(file, _LONGEST_PTH).splitlines() if file.endswith(".pth") else ():
                if os.path.isabs(line) and line not in self.found:
                    self.add_directory(line.rstrip())

    def _add(self, path: str) -> None:
        self.found[path] = None
        real = os.path.realpath(path)
        if real != path and self._is_narrow(real):
            self.found[real] = None

    def _is_narrow(self, path: str) -> bool:
        """Check that a directory opens neither the home directory, nor the whole project, nor secrets."""
        if self._is_secret(path) or self._leads_out(path):
            return False
        return all(map(self._is_small, {path, os.path.realpath(path)}))

    def _is_secret(self, path: str) -> bool:
        return any(is_secret(each, self._around.secrets) for each in (path, os.path.realpath(path)))

    def _leads_out(self, path: str) -> bool:
        """Check for links in the project that lead out of it, which a repository could point anywhere."""
        root = self._around.root
        return is_at_or_below(path, root) and not is_at_or_below(os.path.realpath(path), root)

    def _is_small(self, path: str) -> bool:
        around = self._around
        kept = (around.home, around.root, *around.secrets)
        if any(is_at_or_below(each, path) for each in kept) or path.count(os.sep) < 2:
            return False
        is_top = os.path.dirname(path) == around.home
        return not is_top or _manages_versions(path)


def find_program(word: str, around: RuntimeContext) -> str | None:
    """Find a program as a shell does."""
    if os.sep in word:
        places = [os.path.join(around.place, os.path.dirname(word))]
    else:
        places = [place for place in around.search_path.split(os.pathsep) if os.path.isabs(place)]
    paths = (os.path.normpath(os.path.join(place, os.path.basename(word))) for place in places)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def _hops(path: str) -> Iterator[str]:
    """Yield a path, and each path that its links lead to."""
    for _ in range(_MOST_LINKS):
        yield path
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    real = os.path.realpath(path)
    if real != path:
        yield real


def _modules(path: str) -> str | None:
    """Return the outermost `node_modules` that a path is in."""
    before, found, _ = path.partition(f"{os.sep}node_modules{os.sep}")
    return f"{before}{os.sep}node_modules" if found else None


def _runtime(path: str) -> str | None:
    """Return the runtime that a program in a `bin` directory belongs to."""
    directory = os.path.dirname(path)
    if os.path.basename(directory) not in _BINARIES:
        return None
    base = os.path.dirname(directory)
    signs = ("include/node", "lib/node_modules")
    is_runtime = any(os.path.exists(os.path.join(base, sign)) for sign in signs) or _pythons(base)
    return base if is_runtime or _manages_versions(base) else None


def _pythons(base: str) -> list[str]:
    """List the directories of Python libraries in a runtime."""
    lib = os.path.join(base, "lib")
    return [os.path.join(lib, name) for name in _names(lib) if name.startswith("python3")]


def _manages_versions(base: str) -> bool:
    """Check for an environment, or for a version manager whose `shims` start one of its versions."""
    signs = ("shims", "pyvenv.cfg", "conda-meta")
    return any(os.path.exists(os.path.join(base, sign)) for sign in signs)


def _interpreters(path: str, around: RuntimeContext) -> Iterator[str]:
    """Yield the programs that the first line of a script names."""
    first = _head(path, _LONGEST_SHEBANG).partition("\n")[0]
    if not first.startswith("#!"):
        return
    for word in first[2:].split()[:3]:
        found = find_program(word, around)
        if found is not None:
            yield found


def _head(path: str, size: int) -> str:
    try:
        return read_head(path, size=size) or ""
    except FileError:
        return ""


def _names(directory: str) -> list[str]:
    try:
        return sorted(each.name for each in entries(directory, WalkBudget(_MOST_ENTRIES, 1.0)))
    except WalkLimitError:
        return []


def package_caches(words: Sequence[str], environment: Mapping[str, str], home: str) -> Iterator[str]:
    """Yield the directories in which package runners keep packages, and browsers that servers drive."""
    runner = program(words[0])
    if runner in ("uv", "uvx"):
        cache = environment.get("UV_CACHE_DIR") or os.path.join(home, ".cache", "uv")
        # Without the directory itself, in which uv keeps a lock, and what it learned about interpreters.
        buckets = (name for name in _names(cache) if not name.startswith(("interpreter-", ".")))
        yield from (os.path.join(cache, name) for name in buckets)
        for shared in (os.path.join(home, ".local/share/uv", name) for name in ("python", "tools")):
            yield from (os.path.join(shared, name) for name in _names(shared) if not name.startswith("."))
    if runner.startswith("python"):
        yield from _pythons(os.path.join(home, ".local"))
    yield os.path.join(home, ".cache", "ms-playwright")
    yield os.path.join(home, ".cache", "puppeteer")
