"""Finds what a program needs in order to run: its interpreter, its libraries, and caches of packages.

A sandbox gets these read-only. A directory counts only if it is a runtime's own, such as a virtual
environment or an installed Node: `~/.local/bin/x` adds one file, not `~/.local`.

Files of the project, and what sandboxed servers may write, decide nothing outside of them: a link or a first
line there leads to the system's programs or to an installed toolchain, or the server is not started. A
toolchain counts only where a version manager or the system keeps it, and only its programs and libraries are
shown.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.declared_launch import program
from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import ANYWHERE, FileError, read_head
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch.private_places import is_secret, is_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
INTERPRETERS = re.compile(r"(?:node|nodejs|bun|deno|tsx|ts-node|ruby|perl|php|sh|bash|python[\d.]*)")
_BINARIES = frozenset({"bin", "sbin", "shims", "libexec"})
_MOST_FILES = 200  # to look at for one program
_LONGEST_SHEBANG = 512
_LONGEST_PTH = 10_000
_MOST_ENTRIES = 10_000  # of one directory
# Below the home directory: one toolchain for each version.
_VERSIONS = (
    *(".pyenv/versions/*", ".local/share/uv/python/*", ".rye/py/*", ".nvm/versions/node/*"),
    *(".asdf/installs/*/*", ".local/share/mise/installs/*/*", ".volta/tools/image/*/*"),
    ".local/share/fnm/node-versions/*/installation",
)
_PARTS = ("bin", "lib", "lib64", "libexec", "include", "share", "ssl")


class RuntimeContext(NamedTuple):
    """Where a program is started, and what it must not open."""

    place: str  # the working directory
    home: str
    root: str  # of the project
    readable: Sequence[str]  # what the sandbox shows anyway
    writable: Sequence[str]
    secrets: Sequence[str]
    search_path: str
    users_path: str  # the part that the user chose; all of it for the user's own server
    is_projects: bool  # whether the project's entry names the program


class RuntimePaths:
    """Collects the files and directories that a program needs."""

    def __init__(self, around: RuntimeContext) -> None:
        self._around = around
        self._seen: set[str] = set()
        opened = (around.root, *around.writable)
        self._foreign = {each for path in opened for each in (path, os.path.realpath(path))}
        self.found: dict[str, str | None] = {}  # paths to show read-only; with the target, links

    def add_command(self, words: Sequence[str], *, is_users: bool = False) -> str | None:
        """Add a program, and the script that it runs; return its path, None if there is no such program.

        Raises:
            SandboxError: the project chose it, or its script, and it is not the project's.
        """
        path = find_program(words[0], self._around)
        if path is None:
            return None
        is_named = self._around.is_projects and not (is_users or self._is_looked_up(words[0], path))
        (self._add_named if is_named else self.add_program)(path)
        if INTERPRETERS.fullmatch(program(words[0])):
            script = next((word for word in words[1:] if not word.startswith("-")), None)
            if script is not None:
                self._add_script(os.path.normpath(os.path.join(self._around.place, script)))
        return path

    def add_program(self, path: str) -> None:
        """Add a program with everything that its links and its first line lead to."""
        if path in self._seen or len(self._seen) >= _MOST_FILES:
            return
        self._seen.add(path)
        self._add_file(path)
        is_foreign = self.is_foreign(path)
        for each in _next_hop(path):
            (self._add_named if is_foreign else self.add_program)(each)
        for word, each in _interpreters(path, self._around):
            is_users = INTERPRETERS.fullmatch(word) is not None and self._is_looked_up(word, each)
            (self._add_named if is_foreign and not is_users else self.add_program)(each)

    def add_directory(self, path: str) -> None:
        """Add a directory that exists, unless it is too wide or secret."""
        if os.path.isdir(path) and self._is_narrow(path):
            self._add(path)

    def _add_named(self, path: str) -> None:
        """Add a program that a file of the project names.

        Raises:
            SandboxError: it is neither in the project, nor the system's, nor of a toolchain.
        """
        if self.is_foreign(path):
            self.add_program(path)
            return
        around = self._around
        real = os.path.realpath(path)
        if not (os.path.isfile(real) and os.access(real, os.X_OK)):
            raise _named_outside(path)
        parts = toolchain_parts(path, around.home)
        if parts:
            self.found.update(dict.fromkeys(parts))
        elif not self._is_readable(path):
            if not os.path.islink(path):
                raise _named_outside(path)
            self.found.setdefault(path, os.readlink(path))  # it opens nothing: its target counts
        for each in _next_hop(path):
            self._add_named(each)

    def _add_file(self, path: str) -> None:
        if any(is_at_or_below(path, each) for each in SYSTEM):
            return
        modules = _modules(path)
        around = os.path.dirname(os.path.dirname(path))
        leads_out = self._leads_out(os.path.join(around, "lib"))  # then nothing there is listed
        base = modules or (None if leads_out else _runtime(path))
        if base is not None and self._is_narrow(base):
            self._add(base)
            if base != modules:
                self._add_libraries(base)
        elif not self._is_secret(path):
            link = os.readlink(path) if os.path.islink(path) else None
            if link is not None or not self._leads_out(path):  # the target of a link counts by itself
                self.found.setdefault(path, link)

    def _add_script(self, path: str) -> None:
        """Add a script: its directory, and for Node its package and dependencies."""
        if not os.path.isfile(path):
            return
        if self._around.is_projects and not self.is_foreign(path):
            if not self._is_readable(path):
                raise _named_outside(path)
            return
        self.add_program(path)
        self.add_directory(os.path.dirname(path))
        for directory in ancestors(os.path.dirname(path))[:6]:
            manifest = os.path.join(directory, "package.json")
            if os.path.isfile(manifest):
                self._add_file(manifest)
                self.add_directory(os.path.join(directory, "node_modules"))
                return

    def _is_readable(self, path: str) -> bool:
        """Check whether the sandbox shows a path anyway."""
        around = self._around
        return any(is_at_or_below(path, each) for each in SYSTEM) or is_shown(
            path, around.readable, around.home
        )

    def _add_libraries(self, base: str) -> None:
        """Add the interpreter of a virtual environment, and the directories that its `.pth` files name."""
        for name in ("python3", "python", "node"):
            interpreter = os.path.join(base, "bin", name)
            if os.path.lexists(interpreter):
                self.add_program(interpreter)
        packages = [os.path.join(lib, "site-packages") for lib in python_libraries(base)]
        listed = [each for each in packages if not self._leads_out(each)]
        for file in (os.path.join(each, name) for each in listed for name in names_in(each)):
            is_read = file.endswith(".pth") and not self._leads_out(file)
            for line in _head(file, _LONGEST_PTH).splitlines() if is_read else ():
                place = os.path.normpath(line.rstrip())
                if os.path.isabs(place) and (self.is_foreign(place) or not self.is_foreign(file)):
                    self.add_directory(place)

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
        return self.is_foreign(path) and not self.is_foreign(os.path.realpath(path))

    def _is_looked_up(self, word: str, path: str) -> bool:
        """Check whether the user's own `PATH` leads from a word to a program."""
        return os.sep not in word and os.path.dirname(path) in self._around.users_path.split(os.pathsep)

    def is_foreign(self, path: str) -> bool:
        """Check whether the repository, or a sandboxed server, can write a file, or where it links to."""
        directory, name = os.path.split(path)
        paths = {path, os.path.join(os.path.realpath(directory), name)}
        return any(is_at_or_below(each, place) for each in paths for place in self._foreign)

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


def _next_hop(path: str) -> Iterator[str]:
    """Yield the paths that a link leads to, or a file in a directory that is one."""
    real = os.path.realpath(path)
    if os.path.islink(path):
        yield os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    if real != path:
        yield real


def _named_outside(path: str) -> SandboxError:
    reason = f"the project makes it run `{path}`, which is neither the system's nor a known toolchain's"
    return SandboxError(reason, "add the directory of that program to `read` in your own file")


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
    return base if has_libraries(base) or _manages_versions(base) else None


def _manages_versions(base: str) -> bool:
    """Check for an environment, or for a version manager whose `shims` start one of its versions."""
    signs = ("shims", "pyvenv.cfg", "conda-meta")
    return any(os.path.exists(os.path.join(base, sign)) for sign in signs)


def _interpreters(path: str, around: RuntimeContext) -> Iterator[tuple[str, str]]:
    """Yield the words of a script's first line that are programs, with their paths."""
    first = _head(path, _LONGEST_SHEBANG).partition("\n")[0]
    if not first.startswith("#!"):
        return
    for word in first[2:].split()[:3]:
        found = find_program(word, around)
        if found is not None:
            yield word, found


def _head(path: str, size: int) -> str:
    try:
        return read_head(path, size=size, within=ANYWHERE) or ""
    except FileError:
        return ""


def package_caches(runner: str, place: str, environment: Mapping[str, str], home: str) -> Iterator[str]:
    """Yield the directories in which package runners keep packages, and browsers that servers drive."""
    if runner in ("uv", "uvx"):
        given = environment.get("UV_CACHE_DIR") or os.path.join(home, ".cache", "uv")
        cache = os.path.normpath(os.path.join(place, given))
        # Without the directory itself, in which uv keeps a lock, and what it learned about interpreters.
        buckets = (name for name in names_in(cache) if not name.startswith(("interpreter-", ".")))
        yield from (os.path.join(cache, name) for name in buckets)
        for shared in (os.path.join(home, ".local/share/uv", name) for name in ("python", "tools")):
            yield from (os.path.join(shared, name) for name in names_in(shared) if not name.startswith("."))
    if runner.startswith("python"):
        yield from python_libraries(os.path.join(home, ".local"))
    yield os.path.join(home, ".cache", "ms-playwright")
    yield os.path.join(home, ".cache", "puppeteer")


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
