"""Runs the detectors of a workspace on this machine."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from itertools import takewhile

from remit.configuration.detector_kinds import Detector
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, Machine, fingerprint
from remit.states.detectors.git_facts import GitFacts, git_facts, git_files, observe_git
from remit.states.detectors.project_files import look
from remit.states.observations import Observation
from remit.text.secrets import may_be_secret

MOST_SECONDS = 5.0  # total for all detectors of a look that need no trust

Detect = Callable[[Detector, Sequence[str], Workspace, Machine], Observation]


class LocalDetectors:
    """The detectors on this machine."""

    def __init__(
        self, machine: Machine, *, now_ns: Callable[[], int] = time.time_ns, seconds: float = MOST_SECONDS
    ) -> None:
        self._machine = machine
        self._now_ns = now_ns
        self._seconds = seconds

    def look(self, workspace: Workspace) -> "LocalLook":
        """Start a look at a workspace; nothing of this machine tells of a team's project."""
        look = LocalLook if workspace.team is None else _TeamLook
        return look(workspace, self._machine, self._now_ns, self._seconds)


class LocalLook:
    """One look at a workspace, which reads git's files once for all detectors."""

    def __init__(
        self, workspace: Workspace, machine: Machine, now_ns: Callable[[], int], seconds: float
    ) -> None:
        self._workspace = workspace
        self._machine = machine
        self._now_ns = now_ns
        self._seconds = self._left = seconds

    def detect(self, detector: Detector, bases: Sequence[str]) -> Observation:
        """Detect a state; any failure makes it unknown.

        Detectors that run no program share one time limit, because a project may declare thousands of states.
        """
        if detector.runs:
            return self._detect(detector, bases)
        if self._left <= 0:
            return Observation(None, f"checking all states takes longer than {self._seconds:g} s")
        began = time.monotonic()
        if detector.timeout > self._left:
            detector = detector._replace(timeout=self._left)
        found = self._detect(detector, bases)
        self._left -= time.monotonic() - began
        return found

    def _detect(self, detector: Detector, bases: Sequence[str]) -> Observation:
        try:
            if detector.reads_git_files:
                return observe_git(detector, self._git, self._workspace)
            detect = _load(detector.traits.module)
            return detect(detector, bases, self._workspace, self._machine)
        except Exception as error:  # one failing detector must not break the others
            return Observation(None, f"the detector failed: {type(error).__name__}")

    def basis(self, detector: Detector, bases: Sequence[str]) -> str | None:
        """Return the fingerprint of the file that a result depends on, if it depends on a single file."""
        if not detector.traits.is_of_file or not detector.paths:
            return None
        try:
            places = [where for where, _ in look(detector.paths[0], bases, self._workspace)][:1]
        except FileError as error:
            return error.reason
        return "".join(fingerprint(where, self._machine, now_ns=self._now_ns()) for where in places)

    def places(self, detector: Detector, bases: Sequence[str]) -> Iterator[str]:
        """List the files and directories that a result depends on."""
        if detector.fact is not None:
            yield from git_files(self._workspace)
        below = [path.removesuffix("/").split("/") for path in (*detector.paths, detector.database) if path]
        if detector.glob:
            below.append([*takewhile(lambda part: "*" not in part, detector.glob.split("/"))])
        yield from (os.path.join(base, *parts) for base in bases for parts in below)

    def variables(self, env: Sequence[str]) -> Mapping[str, object]:
        """Return the variables that conditions may use, from the machine and the workspace."""
        git = self._git
        known: dict[str, object] = {
            "repository": git.is_repository,
            "detached": git.is_detached,
            "merging": git.is_merging,
            "rebasing": git.is_rebasing,
        }
        return {
            "git": known if git.branch is None else {**known, "branch": git.branch},
            "env": dict(self._shown(env)),
            "os": self._machine.platform,
        }

    @cached_property
    def _git(self) -> GitFacts:
        return git_facts(self._workspace)

    def _shown(self, env: Sequence[str]) -> Sequence[tuple[str, str]]:
        given = [(name, self._machine.variables.get(name)) for name in env]
        return [(name, value) for name, value in given if value and not may_be_secret(value, name)]


class _TeamLook(LocalLook):
    """A look at a team's project, which has no files: its states are pushed, or unknown."""

    def detect(self, detector: Detector, bases: Sequence[str]) -> Observation:  # noqa: ARG002
        return Observation(None, "a team's project has no files: push this state")

    def basis(self, detector: Detector, bases: Sequence[str]) -> str | None:  # noqa: ARG002
        return None

    def places(self, detector: Detector, bases: Sequence[str]) -> Iterator[str]:  # noqa: ARG002
        return iter(())

    def variables(self, env: Sequence[str]) -> Mapping[str, object]:  # noqa: ARG002
        return {"git": {}, "env": {}}


@cache
def _load(name: str) -> Detect:
    """Import the module of a detector."""
    return import_module(f"remit.states.detectors.{name}").detect
