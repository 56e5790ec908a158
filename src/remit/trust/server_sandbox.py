"""The sandbox of a server: what it may reach when Remit starts it, as Remit's configuration says.

Each file can only narrow what another file says, so a repository can add a sandbox but neither widen nor
remove the user's. A project's own sandbox is remembered with the user's trust, and stays a limit until the
user trusts the server again.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from remit.configuration.config_model import OF_A_PROJECT, SandboxOptions
from remit.configuration.policy_compiler import is_inside
from remit.decision.globs import glob
from remit.decision.scopes import ancestors, is_at_or_below
from remit.decision.tool_names import full_label
from remit.text.untrusted_text import one_line
from remit.trust.executed_files import is_kept
from remit.trust.trust_rule import declaration_needs_trust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from remit.configuration.config_model import AccessLists, ConfigurationFile
    from remit.decision.declarations import Declaration, Key
    from remit.decision.projects import Workspace

_LONGEST_REASON = 300


class SandboxError(Exception):
    """A server cannot be started in its sandbox."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        self.reason = one_line(reason, _LONGEST_REASON)  # it may name a path that a repository chose
        super().__init__(self.reason)
        self.hint = hint


class OpenedPaths(NamedTuple):
    """What a sandbox opens read-only for its server to run, or why that is unknown."""

    paths: tuple[str, ...] = ()  # short
    problem: str | None = None
    hint: str | None = None  # what to do about the problem


class Sandbox(NamedTuple):
    """What a sandboxed server may reach besides the programs and libraries it needs to run."""

    root: str  # of the project, inside which links are refused
    network: bool = False
    read: tuple[str, ...] = ()  # absolute paths
    write: tuple[str, ...] = ()
    unix_sockets: bool = False  # whether it may connect to programs outside through files that it can read

    def narrowed(self, other: Sandbox) -> Sandbox:
        """Return what both sandboxes allow."""
        readable, theirs = (*self.read, *self.write), (*other.read, *other.write)
        write = _common(self.write, other.write, partial(_makes_writable, self.root))
        read = (path for path in _common(readable, theirs, is_at_or_below) if path not in write)
        return Sandbox(
            self.root,
            self.network and other.network,
            tuple(read),
            write,
            self.unix_sockets and other.unix_sockets,
        )

    @property
    def options(self) -> SandboxOptions:
        """What it allows, with short paths: relative to the project where they are inside."""
        read, write = (tuple(map(self._short, paths)) for paths in (self.read, self.write))
        return SandboxOptions(self.network, read, write, self.unix_sockets)

    @property
    def text(self) -> str:
        """A text to store, which also counts for another checkout of the project."""
        return json.dumps(self.options if self.unix_sockets else self.options[:-1])  # as stored before

    def __str__(self) -> str:
        network, read, write, unix_sockets = self.options
        parts = ["network" if network else "no network", *(["Unix sockets"] if unix_sockets else [])]
        parts += [f"reads {', '.join(read)}"] if read else []
        parts += [f"writes {', '.join(write)}"] if write else []
        return "; ".join(parts if read or write else [*parts, "no files"])

    def short(self, path: str, home: str) -> str:
        """Write a path relative to the project, or to the user's home directory."""
        found = self._short(path)
        is_homes = os.path.isabs(found) and is_at_or_below(found, home)
        return f"~/{os.path.relpath(found, home)}" if is_homes else found

    def _short(self, path: str) -> str:
        return os.path.relpath(path, self.root) if is_at_or_below(path, self.root) else path


def _common(
    some: Sequence[str], others: Sequence[str], is_covered: Callable[[str, str], bool]
) -> tuple[str, ...]:
    """Return the paths of either side that the other side covers."""
    both = [path for path in some if any(is_covered(path, other) for other in others)]
    both += [path for path in others if any(is_covered(path, one) for one in some)]
    return tuple(sorted(dict.fromkeys(both)))


def _makes_writable(root: str, path: str, directory: str) -> bool:
    """Check whether a writable directory makes a path writable: what runs code later must be named."""
    if not is_at_or_below(path, directory):
        return False
    between = ancestors(path, up_to=directory)[:-1]
    return not any(is_kept(os.path.basename(each), at_top=os.path.dirname(each) == root) for each in between)


class ServerSandboxes:
    """Finds the sandbox that a server starts in."""

    def __init__(
        self,
        servers: Sequence[tuple[ConfigurationFile, AccessLists]],
        trusted: Mapping[Key, str],
        workspace: Workspace,
        home: str,
    ) -> None:
        self._servers = [(file, each) for file, each in servers if each.sandbox is not None]
        self._trusted = trusted  # texts of the sandboxes that projects declared when they were trusted
        self._workspace = workspace
        self._root = workspace.checkout
        self._home = home

    @property
    def is_empty(self) -> bool:
        """Whether no server has a sandbox."""
        return not (self._servers or self._trusted)

    def of(self, declaration: Declaration) -> Sandbox | None:
        """Return the sandbox of a server; None if it runs without one."""
        found = [each for of_project in (False, True) for each in self._declared(declaration, of_project)]
        trusted = self.trusted(declaration)
        return _narrowest([*found, *([] if trusted is None else [trusted])])

    def of_project(self, declaration: Declaration) -> Sandbox | None:
        """Return the sandbox that the project's own files declare for a server now."""
        return _narrowest(self._declared(declaration, True))

    def trusted(self, declaration: Declaration) -> Sandbox | None:
        """Return the sandbox that the project declared when the user trusted the server."""
        text = self._trusted.get(declaration.key)
        if text is None:
            return None
        network, read, write, *unix_sockets = json.loads(text)
        options = SandboxOptions(network, tuple(read), tuple(write), *unix_sockets)
        return self._made(options, of_project=True)

    def _declared(self, declaration: Declaration, of_project: bool) -> Iterator[Sandbox]:
        """Yield what each file says: the last of its tables that match.

        For a project's server, a table of the user's only narrows what the tables before it say, unless it
        names the project: the project can call its server like one of the user's.
        """
        label = declaration.server or declaration.name
        labels = (label, full_label(label, declaration.plugin))
        is_projects = declaration_needs_trust(declaration, self._workspace)
        said: dict[str, list[SandboxOptions]] = {}
        for file, each in self._servers:
            if (file.layer in OF_A_PROJECT) is of_project and any(map(glob(each.name).matches, labels)):
                adds = is_projects and not of_project and not each.projects
                before = said.get(file.path, []) if adds else []
                said[file.path] = [*before, *([each.sandbox] if each.sandbox else [])]
        for found in said.values():
            yield from (self._made(each, of_project=of_project) for each in found)

    def _made(self, options: SandboxOptions, *, of_project: bool) -> Sandbox:
        """Make the paths absolute; a project can name only its own, and none if the home is in it."""
        has_home = is_at_or_below(self._home, self._root)  # to name a place in it would open a secret
        read, write = (
            tuple(
                self._absolute(path) for path in paths if not of_project or (is_inside(path) and not has_home)
            )
            for paths in (options.read, options.write)
        )
        return Sandbox(self._root, options.network, read, write, options.unix_sockets)

    def _absolute(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return os.path.normpath(os.path.join(self._root, path))


def _narrowest(found: Iterable[Sandbox]) -> Sandbox | None:
    made: Sandbox | None = None
    for each in found:
        made = each if made is None else made.narrowed(each)
    return made
