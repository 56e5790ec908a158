"""The detectors on this machine, as those who take a snapshot ask for them."""

import time
from collections.abc import Callable, Mapping, Sequence

from remit.adapters.detectors import Detect, load, module_of
from remit.adapters.detectors.git import facts
from remit.adapters.detectors.inside import look
from remit.adapters.files import FileError, Machine, fingerprint
from remit.core.configuration.values import Detector, DetectorKind
from remit.core.observations import Observation
from remit.core.projects import Workspace
from remit.core.secrets import may_be_secret

_OF_A_FILE = (DetectorKind.VALUE, DetectorKind.ENTITIES)


class LocalDetectors:
    """Finds out about workspaces on this machine."""

    def __init__(self, machine: Machine, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._machine = machine
        self._now_ns = now_ns
        self._loaded: dict[str, Detect] = {}

    def detect(self, detector: Detector, bases: Sequence[str], workspace: Workspace) -> Observation:
        """Find out whether a state holds; whatever goes wrong, it is unknown."""
        try:
            name = module_of(detector)
            if name not in self._loaded:
                self._loaded[name] = load(name)
            return self._loaded[name](detector, bases, workspace, self._machine)
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            return Observation(None, f"the detector failed: {type(error).__name__}")

    def basis(self, detector: Detector, bases: Sequence[str], workspace: Workspace) -> str | None:
        """Tell what an answer depends on, where that is one file: it holds while the file is the same."""
        if detector.kind not in _OF_A_FILE or not detector.paths:
            return None
        try:
            places = [where for where, _ in look(detector.paths[0], bases, workspace)][:1]
        except FileError as error:
            return error.reason
        return "".join(fingerprint(where, self._machine, now_ns=self._now_ns()) for where in places)

    def variables(self, workspace: Workspace, env: Sequence[str]) -> Mapping[str, object]:
        """List what conditions may ask about this machine, and this workspace."""
        git = facts(workspace)
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

    def _shown(self, env: Sequence[str]) -> Sequence[tuple[str, str]]:
        given = [(name, self._machine.variables.get(name)) for name in env]
        return [(name, value) for name, value in given if value and not may_be_secret(value, name)]
