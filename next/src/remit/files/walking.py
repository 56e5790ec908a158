"""Lists other programs' directories within limits, and without following links out of a project."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from remit.files.reading import ANYWHERE, OUTSIDE, is_inside

_CHECK_EVERY = 100  # entries between two looks at the clock
_MOST_PROBLEMS = 20  # per walk


class WalkLimitError(Exception):
    """A directory has too many entries, or listing takes too long."""


class WalkBudget:
    """The number of entries, and the time, that are left for all directories of one reading."""

    def __init__(self, entries: int, seconds: float, *, directories: int = sys.maxsize) -> None:
        self._entries = self._entries_left = entries
        self._directories = self._directories_left = directories
        self._seconds = seconds
        self._deadline: float | None = None  # set by the first entry

    def enter(self) -> None:
        """Count a directory.

        Raises:
            WalkLimitError: nothing is left.
        """
        self._directories_left -= 1
        if self._directories_left < 0:
            raise WalkLimitError(f"more than {self._directories:,} directories")

    def spend(self) -> None:
        """Count an entry.

        Raises:
            WalkLimitError: nothing is left.
        """
        if self._deadline is None:
            self._deadline = time.monotonic() + self._seconds
        self._entries_left -= 1
        if self._entries_left < 0:
            raise WalkLimitError(f"more than {self._entries:,} files")
        if self._entries_left % _CHECK_EVERY == 0 and time.monotonic() > self._deadline:
            raise WalkLimitError("the search takes too long")


class WalkProblem(NamedTuple):
    """A part of a folder that was not listed."""

    path: str
    reason: str


class Walked(NamedTuple):
    """The files below a folder, by relative path, and what was left out."""

    files: list[str]
    problems: list[WalkProblem]


def entries(directory: str, budget: WalkBudget, *, within: Sequence[str]) -> Iterator["os.DirEntry[str]"]:
    """Yield the entries of a directory; none if it cannot be listed, or is in none of `within`.

    Raises:
        WalkLimitError: the budget is spent.
    """
    if within and not is_inside(directory, within):
        return
    try:
        listing = os.scandir(directory)
    except (OSError, ValueError):
        return
    with listing:
        while True:
            try:
                entry = next(listing, None)
            except OSError:
                return
            if entry is None:
                return
            budget.spend()
            yield entry


def files_below(
    folder: str,
    *,
    budget: WalkBudget,
    depth: int,
    within: Sequence[str],
    visit: Callable[[str], bool] = os.path.exists,
) -> Walked:
    """List the files below a folder; links may lead to any place in `within`, or without it anywhere.

    `visit` is called for each directory, and returns whether to list it.
    """
    walked = Walked([], [])
    seen: set[tuple[int, int]] = set()  # links may form a cycle
    waiting = [""]
    try:
        while waiting:
            inside = waiting.pop()
            directory = os.path.join(folder, inside)
            if not visit(directory) or not _is_new(directory, seen):
                continue
            if within and not inside and not is_inside(directory, within):
                walked.problems.append(WalkProblem(folder, OUTSIDE))
                continue
            budget.enter()
            for entry in entries(directory, budget, within=ANYWHERE):  # checked above
                path = os.path.join(inside, entry.name)
                if within and entry.is_symlink() and not is_inside(entry.path, within):
                    walked.problems.append(WalkProblem(entry.path, OUTSIDE))
                elif not _is_directory(entry):
                    walked.files.append(path)
                elif path.count(os.sep) < depth:
                    waiting.append(path)
    except WalkLimitError as error:
        walked.problems.append(WalkProblem(folder, f"{error}; the others are left out"))
    more = len(walked.problems) - _MOST_PROBLEMS
    if more > 0:
        walked.problems[_MOST_PROBLEMS:] = [WalkProblem(folder, f"{more:,} more problems are not listed")]
    walked.files.sort()
    return walked


def _is_new(directory: str, seen: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(directory)
    except (OSError, ValueError):
        return False
    known = len(seen)
    seen.add((status.st_dev, status.st_ino))
    return len(seen) > known


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
