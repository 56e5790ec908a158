"""Takes snapshots: the values of all states of a workspace at one moment."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from remit.configuration.config_model import StateEntry, base_dirs
from remit.configuration.detector_kinds import Detector
from remit.configuration.file_parser import LOCATION, WORKFLOW
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.errors import StoreUnavailableError
from remit.states.observations import Observation, StoredObservation, StoredStates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.configuration.merged_configuration import Configuration, DeclaredState
    from remit.decision.projects import Workspace
    from remit.states.detectors.local_detectors import LocalDetectors, LocalLook
    from remit.text.times import Clock

_CLAIM_MARGIN = 1_000  # milliseconds that a claim lasts beyond its detector's timeout


class ObservedStates(Protocol):
    """Stores what detectors find."""

    def known(self, workspace: Workspace) -> StoredStates: ...

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool: ...

    def keep_observation(self, name: str, kept: StoredObservation, workspace: Workspace) -> None: ...


class LastKnownStates:
    """The stored states, as last known while the store cannot be used.

    Without the store, detectors still run and pushed values still expire.
    """

    def __init__(self, store: ObservedStates) -> None:
        self._store = store
        self._known: dict[str, StoredStates] = {}

    def known(self, workspace: Workspace) -> StoredStates:
        """Return what is stored, or what was stored when the store could last be used."""
        try:
            self._known[workspace.dir] = self._store.known(workspace)
        except StoreUnavailableError:
            if workspace.dir not in self._known:
                raise
        return self._known[workspace.dir]

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool:
        """Claim the detection of a state; without the store, each process detects for itself."""
        try:
            return self._store.claim(name, mark, workspace, at, until)
        except StoreUnavailableError:
            return True

    def keep_observation(self, name: str, kept: StoredObservation, workspace: Workspace) -> None:
        """Store the result of a detector, if possible: it is found again otherwise."""
        with suppress(StoreUnavailableError):
            self._store.keep_observation(name, kept, workspace)


class SnapshotReader:
    """Reads the states of a workspace from the store and from detectors, and stores detectors' results."""

    def __init__(self, store: ObservedStates, detectors: LocalDetectors, clock: Clock) -> None:
        self._store = store
        self._detectors = detectors
        self._clock = clock

    def read(
        self, configuration: Configuration, workspace: Workspace, *, client: str | None, agent: str | None
    ) -> Snapshot:
        """Take a snapshot of all states, and of the variables that conditions may use."""
        moment = _Moment(
            workspace, self._clock(), self._store.known(workspace), self._detectors.look(workspace)
        )
        found = {
            name: observation
            for name, state in configuration.states.items()
            if name not in configuration.waiting and (observation := self._observe(state, moment)) is not None
        }
        closed = configuration.implications.close(
            {name: StateValue(each.truth, each.reason) for name, each in found.items()}
        )
        for name in configuration.waiting:
            closed[name] = StateValue(None, _untrusted(name))
        variables = {
            **moment.look.variables(configuration.env),
            LOCATION: moment.location,
            "project": {"name": _base_name(workspace.project.path), "path": workspace.project.path},
            "workspace": {"path": workspace.dir},
            "client": client or "all",
            "agent": {"name": agent or ""},
            "entities": {name: each.amount for name, each in found.items() if each.amount is not None},
        }
        return Snapshot(states=closed, variables=variables)

    def _observe(self, state: DeclaredState, moment: _Moment) -> Observation | None:
        """Return the value of a state; None if only other states imply it."""
        entry, detector = state.entry, state.entry.detector
        if entry.kind == WORKFLOW:
            return _workflow_value(entry, moment)
        if detector is None:
            return None
        if not state.may_run:
            return Observation(None, _untrusted(entry.name))
        if detector.is_pushed:
            return _pushed_value(entry, moment)
        bases = base_dirs(state.file, moment.workspace)
        basis = moment.look.basis(detector, bases)
        if basis is None and not detector.lifetime:
            return moment.look.detect(detector, bases)
        mark = sha256(json.dumps([detector, bases, basis]).encode()).hexdigest()
        stored = moment.stored.observed.get(entry.name)
        if stored is not None and (
            stored.is_fresh(mark, moment.now) or (basis and stored.mark == mark and stored.at)
        ):
            return stored.observation
        return self._detect_and_store(entry.name, detector, bases, mark, moment)

    def _detect_and_store(
        self, name: str, detector: Detector, bases: Sequence[str], mark: str, moment: _Moment
    ) -> Observation:
        """Run a detector and store its result, unless another process is running it."""
        now, workspace = moment.now, moment.workspace
        claimed_until = now + int(detector.timeout * 1000) + _CLAIM_MARGIN
        if not self._store.claim(name, mark, workspace, now, claimed_until):
            stored = moment.stored.observed.get(name)
            if stored is not None and stored.is_usable(mark, now):
                return stored.observation
            return Observation(None, "another process is checking it")
        found = moment.look.detect(detector, bases)
        until = self._clock() + int(detector.lifetime * 1000)
        self._store.keep_observation(name, StoredObservation(mark, found, now, until), workspace)
        return found


class _Moment(NamedTuple):
    """The inputs of one snapshot."""

    workspace: Workspace
    now: int
    stored: StoredStates
    look: LocalLook

    @property
    def location(self) -> dict[str, object]:
        """The user's location, if the host application pushed it."""
        pushed = self.stored.pushed.get(LOCATION)
        parts = (
            cast("dict[str, object]", pushed.value) if pushed is not None and pushed.counts(self.now) else {}
        )
        return {name: part for name, part in parts.items() if part is not None}


def _workflow_value(entry: StateEntry, moment: _Moment) -> Observation:
    step = moment.stored.workflow.get(entry.name)
    if step is None:
        return Observation(False, "not set")
    return Observation(True, f"set by {step.by}" if step.by else "set by hand")


def _pushed_value(entry: StateEntry, moment: _Moment) -> Observation:
    pushed = moment.stored.pushed.get(entry.name)
    if pushed is None:
        return Observation(None, "nothing was pushed")
    if not pushed.counts(moment.now) or not isinstance(pushed.value, bool):
        return Observation(None, "the pushed value has expired")
    return Observation(pushed.value, "pushed by the host application")


def _untrusted(name: str) -> str:
    return f"waits for your trust: `remit trust {shlex.quote(name)}` shows it"


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
