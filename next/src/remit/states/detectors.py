"""Detectors that only look: at files, patterns, git's own files, variables, and values in files.

They share five seconds, because a project may declare thousands of states.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple, cast

from remit.config import Detector
from remit.decision import Glob, Workspace, glob, is_at_or_below
from remit.files import (
    ANYWHERE,
    FileError,
    Machine,
    WalkBudget,
    WalkLimitError,
    entries,
    git_directory,
    read_text,
    take_fingerprints,
)

MOST_SECONDS = 5.0  # for all detectors of a look that run nothing
MOST_ENTRIES = 10_000  # names that a pattern examines
_MOST_BYTES = 2**20  # of a file with values
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Reading(NamedTuple):
    """The result of a detector, `None` if unknown, and the reason, which never shows a value."""

    truth: bool | None
    reason: str
    amount: int | None = None  # the count, if the detector counts


class Look:
    """One look at a workspace, which reads git's own files once."""

    def __init__(self, workspace: Workspace, machine: Machine, *, seconds: float = MOST_SECONDS) -> None:
        self._workspace = workspace
        self._machine = machine
        self._seconds = self._seconds_left = seconds

    def detect(self, detector: Detector, bases: Sequence[str]) -> Reading:
        """Detect a state from the directories of its file, nearest first; any failure makes it unknown."""
        if not self._workspace.has_files:
            return Reading(None, "the project has no files here: push this state")
        if detector.runs:
            return self._detect(detector, bases)
        if self._seconds_left <= 0:
            return Reading(None, f"checking all states takes longer than {self._seconds:g} s")
        start = time.monotonic()
        limited = detector._replace(timeout=min(detector.timeout, self._seconds_left))
        observation = self._detect(limited, bases)
        self._seconds_left -= time.monotonic() - start
        return observation

    def _detect(self, detector: Detector, bases: Sequence[str]) -> Reading:
        try:
            if detector.runs:
                from remit.states.slow_detectors import detect  # few states start a program

                return detect(detector, bases, self._workspace, self._machine)
            match detector.kind:
                case "file":
                    return _file(detector.value, bases, self._workspace)
                case "glob":
                    return _glob(detector, bases, self._workspace)
                case "git":
                    return _git_fact(detector, self._git, self._workspace)
                case "env":
                    return _variable(detector, self._machine.variables)
                case "value":
                    return _value(detector, bases, self._workspace)
                case _:
                    return _entities(detector, bases, self._workspace)
        except FileError as error:
            parts = (detector.file or detector.value[0], error.place, error.reason)
            return Reading(None, ": ".join(filter(None, parts)))
        except Exception as error:  # one failing detector must not break the others
            return Reading(None, f"the detector failed: {type(error).__name__}")

    def basis(self, detector: Detector, bases: Sequence[str], *, now_ns: int) -> str | None:
        """Return the fingerprint of the file that a result depends on, if it depends on a single one."""
        if detector.file is None or not self._workspace.has_files:
            return None
        try:
            paths = [path for path, _ in _existing(detector.file, bases, self._workspace)][:1]
        except FileError as error:
            return error.reason
        return "".join(take_fingerprints(paths, self._machine, now_ns=now_ns).stored.values())

    def paths(self, detector: Detector, bases: Sequence[str]) -> Iterator[str]:
        """List the files and directories that a result depends on."""
        if detector.kind == "git":
            yield from _git_files(self._workspace)
            return
        is_of_files = detector.kind in ("file", "glob", "value", "entities")
        for path in [detector.file] if detector.file else detector.value if is_of_files else ():
            parts = takewhile(lambda part: "*" not in part, path.removesuffix("/").split("/"))
            yield from (os.path.join(base, *below) for below in [[*parts]] for base in bases)

    def variables(self, shown: Sequence[str]) -> Mapping[str, object]:
        """Return what conditions may use of the machine and the checkout, and the variables to show."""
        variables: dict[str, object] = {"env": dict(self._shown(shown))}
        if self._workspace.has_files:
            facts = self._git
            git: dict[str, object] = {"repository": facts.is_repository, "detached": facts.is_detached}
            git |= {"merging": facts.is_merging, "rebasing": facts.is_rebasing}
            branch = {} if facts.branch is None else {"branch": facts.branch}
            variables |= {"git": {**git, **branch}, "os": self._machine.platform}
        return variables

    def _shown(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            from remit.secrets import may_be_secret  # it compiles patterns, and few files show variables

            value = self._machine.variables.get(name)
            if value and not may_be_secret(value, name):
                yield name, value

    @cached_property
    def _git(self) -> "_GitFacts":
        return _git_facts(self._workspace)


def _existing(path: str, bases: Sequence[str], workspace: Workspace) -> Iterator[tuple[str, os.stat_result]]:
    """Find a relative path in the given directories, with its `stat` result.

    Raises:
        FileError: the path leads out of the project, or is not accessible.
    """
    for base in bases:
        resolved = _resolve(base, path, workspace)
        if resolved is not None:
            try:
                yield resolved, os.stat(resolved)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise FileError(error.strerror or "cannot be accessed") from None


def _resolve(base: str, path: str, workspace: Workspace) -> str | None:
    """Resolve a relative path below a directory; None if it does not exist."""
    resolved = base
    try:
        for part in path.removesuffix("/").split("/"):
            resolved = f"{resolved}{os.sep}{part}"  # `os.path.join` is as slow as the `lstat`
            if stat.S_ISLNK(os.lstat(resolved).st_mode):
                resolved = os.path.realpath(resolved)
                if not is_at_or_below(resolved, workspace.checkout):
                    raise FileError("a symbolic link leads out of the project")
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise FileError(error.strerror or "cannot be accessed") from None
    except ValueError:  # an invalid file name
        return None
    return resolved


def _file(paths: Sequence[str], bases: Sequence[str], workspace: Workspace) -> Reading:
    """Check whether any of the paths exists; a path that ends in `/` must be a directory."""
    problem = None
    for path in paths:
        is_directory = path.endswith("/")
        try:
            for _, status in _existing(path, bases, workspace):
                if stat.S_ISDIR(status.st_mode) if is_directory else stat.S_ISREG(status.st_mode):
                    return Reading(True, f"{path} exists")
                if not is_directory and not stat.S_ISDIR(status.st_mode):
                    problem = f"{path} is not a regular file"
        except FileError as error:
            problem = f"{path}: {error.reason}"
    if problem is not None:
        return Reading(None, problem)
    named = " or ".join(paths[:3]) + (f" or {len(paths) - 3} others" if len(paths) > 3 else "")
    inside = os.path.relpath(bases[0], workspace.checkout) if bases[0] != workspace.checkout else ""
    return Reading(False, f"no {named} in {os.path.join(_name(workspace), inside).rstrip(os.sep)}")


def _name(workspace: Workspace) -> str:
    return os.path.basename(workspace.checkout) or workspace.checkout


def _glob(detector: Detector, bases: Sequence[str], workspace: Workspace) -> Reading:
    """Count the files and directories of the nearest directory that match a pattern."""
    pattern = detector.value[0]
    count = 0
    try:
        for _ in _Pattern(pattern, detector.timeout).matches(bases[0], workspace):
            count += 1
    except WalkLimitError as error:
        is_certain = detector.amount.sign in (">=", ">") and detector.amount.holds(count)
        return Reading(True if is_certain else None, f"{error}; {count:,} of them match {pattern}")
    return Reading(detector.amount.holds(count), f"{count:,} match {pattern}", count)


class _Pattern:
    """Finds matching names in directories, without following links; `**` skips hidden directories."""

    def __init__(self, pattern: str, timeout: float) -> None:
        self._parts = pattern.removesuffix("/").split("/")
        self._globs = [None if part == "**" else glob(part) for part in self._parts]
        self._only_directories = pattern.endswith("/")
        self._budget = WalkBudget(MOST_ENTRIES, timeout)

    def matches(self, base: str, workspace: Workspace) -> Iterator[str]:
        """Yield the matching paths, walking down with all possible positions in the pattern.

        So no directory is read twice, however many `**` the pattern has.

        Raises:
            FileError: the directory cannot be used.
            WalkLimitError: there are too many names, or time ran out.
        """
        fixed = len([*takewhile(lambda part: "*" not in part, self._parts[:-1])])
        top = _resolve(base, "/".join(self._parts[:fixed]), workspace) if fixed else base
        waiting = [] if top is None else [(top, self._with_any_depth({fixed}))]
        while waiting:
            directory, positions = waiting.pop()
            for entry in entries(directory, self._budget, within=ANYWHERE):
                is_directory = entry.is_dir(follow_symlinks=False)
                after = {at + 1 for at in positions if _matches(self._globs[at], entry.name)}
                if len(self._parts) in after and (is_directory or not self._only_directories):
                    yield entry.path
                if is_directory and not entry.name.startswith("."):
                    after |= {at for at in positions if self._globs[at] is None}
                onward = after - {len(self._parts)}
                if is_directory and onward:
                    waiting.append((entry.path, self._with_any_depth(onward)))

    def _with_any_depth(self, positions: set[int]) -> frozenset[int]:
        """Add the positions after each `**`, because it also matches zero directories."""
        every = set(positions)
        for position in positions:
            while position < len(self._globs) - 1 and self._globs[position] is None:
                position += 1
                every.add(position)
        return frozenset(every)


def _matches(pattern: Glob | None, name: str) -> bool:
    if pattern is None:  # a trailing `**` matches everything below
        return not name.startswith(".")
    is_hidden = name.startswith(".") and not pattern.parts[0].startswith(".")
    return not is_hidden and pattern.matches(name)


class _GitFacts(NamedTuple):
    """Facts about a checkout that do not require running git."""

    is_repository: bool
    branch: str | None = None
    is_detached: bool = False
    is_merging: bool = False
    is_rebasing: bool = False
    problem: str | None = None  # why the other facts are unknown


_REBASES = ("rebase-merge", "rebase-apply")


def _git_facts(workspace: Workspace) -> _GitFacts:
    if not os.path.lexists(os.path.join(workspace.checkout, ".git")):
        return _GitFacts(False)
    directory = git_directory(workspace.checkout)
    if directory is None:
        return _GitFacts(True, problem="`.git` points at another place")
    try:
        head = read_text(os.path.join(directory, "HEAD"), limit=4096, within=[directory])
    except FileError as error:
        return _GitFacts(True, problem=f"HEAD: {error.reason}")
    line = (head or "").strip()
    branch = line.removeprefix("ref: refs/heads/")
    return _GitFacts(
        is_repository=True,
        branch=branch if branch != line else None,
        is_detached=bool(line) and not line.startswith("ref: "),
        is_merging=os.path.isfile(os.path.join(directory, "MERGE_HEAD")),
        is_rebasing=any(os.path.isdir(os.path.join(directory, name)) for name in _REBASES),
        problem=None if line else "there is no HEAD",
    )


def _git_files(workspace: Workspace) -> Iterator[str]:
    yield os.path.join(workspace.checkout, ".git")
    directory = git_directory(workspace.checkout)
    if directory is not None:
        yield from (os.path.join(directory, name) for name in ("HEAD", "MERGE_HEAD", *_REBASES))


def _git_fact(detector: Detector, facts: _GitFacts, workspace: Workspace) -> Reading:
    fact = detector.value[0]
    if fact == "repository":
        reason = f"{'there is a' if facts.is_repository else 'no'} .git in {_name(workspace)}"
        return Reading(facts.is_repository, reason)
    if not facts.is_repository:
        return Reading(False, "there is no repository")
    if facts.problem is not None:
        return Reading(None, facts.problem)
    if fact == "branch":
        is_wanted = facts.branch is not None and glob(str(detector.equals or "*")).matches(facts.branch)
        return Reading(is_wanted, "on no branch" if facts.branch is None else f"on branch {facts.branch}")
    if fact == "detached":
        reason = "HEAD is detached" if facts.is_detached else "HEAD is on a branch"
        return Reading(facts.is_detached, reason)
    is_so, name = (facts.is_merging, "merge") if fact == "merging" else (facts.is_rebasing, "rebase")
    return Reading(is_so, f"{'a' if is_so else 'no'} {name} is in progress")


def _variable(detector: Detector, variables: Mapping[str, str]) -> Reading:
    """Check a variable; an empty one counts as unset."""
    (name,) = detector.value
    value = variables.get(name)
    if not value:
        return Reading(False, f"the variable {name} is not set")
    if detector.equals is None or value == detector.equals:
        return Reading(True, f"the variable {name} is set")
    return Reading(False, f"the variable {name} has another value")


_NOTHING = object()


def _value(detector: Detector, bases: Sequence[str], workspace: Workspace) -> Reading:
    """Check that a file has a value, or the expected one."""
    path, _, keys = detector.value[0].rpartition("#")
    content = _content(path, bases, workspace)
    if content is _NOTHING:
        return Reading(False, f"there is no {path}")
    value, wanted = _value_at(content, keys), detector.equals
    if value is _NOTHING or value is None:
        return Reading(False, f"{path} has no {keys}")
    if wanted is None:
        return Reading(True, f"{path} has {keys}")
    is_equal = value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
    return Reading(is_equal, f"{keys} in {path} is {'so' if is_equal else 'another value'}")


def _entities(detector: Detector, bases: Sequence[str], workspace: Workspace) -> Reading:
    """Count the files that match a pattern, or the items of a list or map in a file."""
    path, sign, keys = detector.value[0].rpartition("#")
    if not sign:
        return _glob(detector, bases, workspace)
    value = _value_at(_content(path, bases, workspace), keys)
    count = len(cast("list[object]", value)) if isinstance(value, list | dict) else 0
    return Reading(detector.amount.holds(count), f"there are {count:,}", count)


def _content(path: str, bases: Sequence[str], workspace: Workspace) -> object:
    """Read a JSON, TOML or YAML file of the project.

    Raises:
        FileError: the file is invalid or outside the project.
    """
    from remit.files import parse_json, parse_toml, parse_yaml  # few states read values

    for resolved, _ in _existing(path, bases, workspace):
        text = read_text(resolved, limit=_MOST_BYTES, within=[workspace.checkout])
        if text is not None:
            parse = (
                parse_json if path.endswith(".json") else parse_toml if path.endswith(".toml") else parse_yaml
            )
            return parse(text)
    return _NOTHING


def _value_at(content: object, keys: str) -> object:
    """Follow keys into tables and indexes into lists."""
    for key in keys.split("."):
        if isinstance(content, dict):
            content = cast("Mapping[str, object]", content).get(key, _NOTHING)
        elif isinstance(content, list) and key.isdecimal() and len(key) < 9:
            items = cast("list[object]", content)
            content = items[int(key)] if int(key) < len(items) else _NOTHING
        else:
            return _NOTHING
    return content
