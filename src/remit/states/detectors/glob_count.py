"""Counts files and directories that match a pattern, within limits of time and number."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from remit.conditions.count_comparison import SOME, Comparison
from remit.configuration.detector_kinds import Detector
from remit.decision.globs import Glob, glob
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, Machine
from remit.states.detectors.project_files import resolve
from remit.states.observations import Observation

MOST_ENTRIES = 10_000  # names examined
_CHECK_EVERY = 100  # names between two checks of the time limit
_ANY_DEPTH = "**"


class TooManyError(Exception):
    """A limit was exceeded."""


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, _machine: Machine) -> Observation:
    """Count matches until the result is certain."""
    wanted = detector.amount or SOME
    return observe(detector.glob, wanted, bases, workspace, timeout=detector.timeout)


def observe(
    pattern: str, wanted: Comparison, bases: Sequence[str], workspace: Workspace, *, timeout: float
) -> Observation:
    """Count the matches in the first directory."""
    walk = Walk(pattern, deadline=time.monotonic() + timeout)
    count = 0
    try:
        for _ in walk.found(bases[0], workspace):
            count += 1
    except TooManyError as error:
        is_sure = wanted.holds(count) and wanted.sign in (">=", ">")
        return Observation(True if is_sure else None, f"{error}; {count:,} of them match {pattern}")
    except FileError as error:
        return Observation(None, f"{pattern}: {error.reason}")
    return Observation(wanted.holds(count), f"{count:,} match {pattern}", count)


class Walk:
    """Finds matching names in directories, without following links; `**` skips hidden directories."""

    def __init__(self, pattern: str, deadline: float) -> None:
        self._parts = pattern.removesuffix("/").split("/")
        self._globs = [None if part == _ANY_DEPTH else glob(part) for part in self._parts]
        self._only_directories = pattern.endswith("/")
        self._deadline = deadline
        self._seen = 0

    def found(self, base: str, workspace: Workspace) -> Iterator[str]:
        """Yield the matching paths.

        Raises:
            FileError: the base directory cannot be used.
            TooManyError: there are too many names, or time ran out.
        """
        fixed = 0
        while fixed < len(self._parts) - 1 and "*" not in self._parts[fixed]:
            fixed += 1
        start = resolve(base, "/".join(self._parts[:fixed]), workspace) if fixed else base
        if start is not None:
            yield from self._below(start, frozenset({fixed}))

    def _below(self, top: str, at_top: frozenset[int]) -> Iterator[str]:
        """Walk down with all possible positions in the pattern, so no directory is read twice."""
        waiting = [(top, self._with_any_depth(at_top))]
        while waiting:
            directory, places = waiting.pop()
            for entry in self._entries(directory):
                is_directory = _is_directory(entry)
                matched = self._after(entry.name, places)
                if len(self._parts) in matched and (is_directory or not self._only_directories):
                    yield entry.path
                onward = frozenset(matched | self._staying(entry.name, places)) - {len(self._parts)}
                if is_directory and onward:
                    waiting.append((entry.path, self._with_any_depth(onward)))

    def _after(self, name: str, places: frozenset[int]) -> set[int]:
        return {place + 1 for place in places if _matches(self._globs[place], name)}

    def _staying(self, name: str, places: frozenset[int]) -> set[int]:
        return set() if name.startswith(".") else {at for at in places if self._globs[at] is None}

    def _with_any_depth(self, places: frozenset[int]) -> frozenset[int]:
        """Add the positions after each `**`, because it also matches zero directories."""
        every = set(places)
        for place in sorted(places):
            while place < len(self._globs) - 1 and self._globs[place] is None:
                place += 1
                every.add(place)
        return frozenset(every)

    def _entries(self, directory: str) -> Iterator["os.DirEntry[str]"]:
        with suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > MOST_ENTRIES:
                    raise TooManyError(f"there are more than {MOST_ENTRIES:,} names to look at")
                if self._seen % _CHECK_EVERY == 0 and time.monotonic() > self._deadline:
                    raise TooManyError("looking takes too long")
                yield entry


def _matches(pattern: Glob | None, name: str) -> bool:
    if pattern is None:  # a trailing `**` matches everything below
        return not name.startswith(".")
    hides = name.startswith(".") and not pattern.parts[0].startswith(".")
    return not hides and pattern.matches(name)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False
