"""Counts files and directories that match a pattern, within limits of time and number."""

from collections.abc import Iterator, Sequence

from remit.configuration.detector_kinds import SOME, Comparison, Detector
from remit.decision.globs import Glob, glob
from remit.decision.projects import Workspace
from remit.files.bounded_reader import ANYWHERE, FileError, Machine
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries, is_real_directory
from remit.states.detectors.project_files import resolve
from remit.states.observations import Observation

MOST_ENTRIES = 10_000  # names examined
_ANY_DEPTH = "**"


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, _machine: Machine) -> Observation:
    """Count matches until the result is certain."""
    wanted = detector.amount or SOME
    return observe(detector.glob, wanted, bases, workspace, timeout=detector.timeout)


def observe(
    pattern: str, wanted: Comparison, bases: Sequence[str], workspace: Workspace, *, timeout: float
) -> Observation:
    """Count the matches in the first directory."""
    walk = Walk(pattern, timeout)
    count = 0
    try:
        for _ in walk.found(bases[0], workspace):
            count += 1
    except WalkLimitError as error:
        is_sure = wanted.holds(count) and wanted.sign in (">=", ">")
        return Observation(True if is_sure else None, f"{error}; {count:,} of them match {pattern}")
    except FileError as error:
        return Observation(None, f"{pattern}: {error.reason}")
    return Observation(wanted.holds(count), f"{count:,} match {pattern}", count)


class Walk:
    """Finds matching names in directories, without following links; `**` skips hidden directories."""

    def __init__(self, pattern: str, timeout: float) -> None:
        self._parts = pattern.removesuffix("/").split("/")
        self._globs = [None if part == _ANY_DEPTH else glob(part) for part in self._parts]
        self._only_directories = pattern.endswith("/")
        self._budget = WalkBudget(MOST_ENTRIES, timeout)

    def found(self, base: str, workspace: Workspace) -> Iterator[str]:
        """Yield the matching paths.

        Raises:
            FileError: the base directory cannot be used.
            WalkLimitError: there are too many names, or time ran out.
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
            for entry in entries(directory, self._budget, within=ANYWHERE):
                is_directory = is_real_directory(entry)
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


def _matches(pattern: Glob | None, name: str) -> bool:
    if pattern is None:  # a trailing `**` matches everything below
        return not name.startswith(".")
    hides = name.startswith(".") and not pattern.parts[0].startswith(".")
    return not hides and pattern.matches(name)
