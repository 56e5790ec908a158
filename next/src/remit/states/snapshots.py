"""One reading: the values of the states that are asked for, and the variables that conditions may use."""

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.config import Configuration, Detector, StateRule
from remit.decision import Context, Snapshot, StateValue, Workspace
from remit.errors import StoreUnavailableError
from remit.store import Observation, StateStore, StoredStates

if TYPE_CHECKING:
    from remit.states.detectors import Look

LOCATION = "location"
_CLAIM_MARGIN = 1_000  # milliseconds that a claim lasts beyond its detector's timeout
_STALE_LIFETIMES = 10  # for which a result serves while another process detects it again

_Reading = tuple[bool | None, str, int | None]  # truth, reason, count


class SnapshotReader:
    """Takes snapshots; without the store, detectors still run and pushed values still expire."""

    def __init__(
        self, store: StateStore, look: "Callable[[Workspace], Look]", clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._look = look
        self._clock = clock
        self._known: dict[str, StoredStates] = {}

    def read(
        self, configuration: Configuration, context: Context, names: Collection[str] | None = None
    ) -> Snapshot:
        """Take a snapshot of the named states and those that they follow from; of all if None."""
        workspace = context.workspace
        moment = _Moment(workspace, self._clock(), self.known(workspace), self._look(workspace))
        wanted = None if names is None else implying(names, configuration)
        readings = {
            name: reading
            for name, state in configuration.states.items()
            if (wanted is None or name in wanted) and (reading := self._read(state, moment)) is not None
        }
        states = configuration.implications.close(
            {name: StateValue(truth, reason) for name, (truth, reason, _) in readings.items()}
        )
        if wanted is not None:
            states = {name: value for name, value in states.items() if name in wanted}
        project = workspace.project.path
        variables = {
            **moment.look.variables(configuration.env),
            LOCATION: _location(moment),
            "project": {"name": project.replace("\\", "/").rpartition("/")[2], "path": project},
            "workspace": {"path": workspace.dir},
            "client": context.client or "all",
            "agent": {"name": "" if context.agent is None else context.agent.name},
            "entities": {name: count for name, (_, _, count) in readings.items() if count is not None},
        }
        return Snapshot(states, variables)

    def known(self, workspace: Workspace) -> StoredStates:
        """Return what is stored, or what was stored when the store could last be used."""
        try:
            self._known[workspace.dir] = self._store.known(workspace)
        except StoreUnavailableError:
            if workspace.dir not in self._known:
                raise
        return self._known[workspace.dir]

    def _read(self, state: StateRule, moment: "_Moment") -> _Reading | None:
        """Return the value of a state; None if only other states imply it."""
        detector = state.detector
        if state.waits:
            return None, f"waits for your trust: `remit trust {shlex.quote(state.name)}` shows it", None
        if state.kind == "workflow":
            step = moment.stored.workflow.get(state.name)
            if step is None:
                return False, "not set", None
            return True, f"set by {step.by}" if step.by else "set by hand", None
        if detector is None:
            return None
        if detector.kind == "push":
            return _pushed(state.name, moment)
        observation = self._observe(state.name, detector, state.bases(moment.workspace), moment)
        if observation.truth is None and detector.otherwise is not None:
            return detector.otherwise, f"{observation.reason}, which counts as {_word(detector)}", None
        return observation.truth, observation.reason, observation.amount if detector.counts else None

    def _observe(self, name: str, detector: Detector, bases: Sequence[str], moment: "_Moment") -> Observation:
        basis = moment.look.basis(detector, bases, now_ns=moment.now * 1_000_000)
        if basis is None and not detector.lifetime:
            return Observation("", *moment.look.detect(detector, bases), moment.now, moment.now)
        mark = sha256(json.dumps([detector, bases, basis]).encode()).hexdigest()
        stored = moment.stored.observed.get(name)
        if stored is not None and stored.mark == mark and 0 < stored.at <= moment.now:
            if basis or moment.now < stored.until:  # of a file that has not changed, or young enough
                return stored
            usable = stored.until + (stored.until - stored.at) * (_STALE_LIFETIMES - 1)
            stored = stored if moment.now < usable else None
        else:
            stored = None  # a result from the future was stored before the clock was set back
        claimed = moment.now + int(detector.timeout * 1000) + _CLAIM_MARGIN
        if not self._claim(name, mark, claimed, moment):
            return stored or Observation(mark, None, "another process is checking it", None, 0, 0)
        until = int(detector.lifetime * 1000)
        found = moment.look.detect(detector, bases)
        observation = Observation(mark, *found, moment.now, self._clock() + until)
        with suppress(StoreUnavailableError):  # it is found again otherwise
            self._store.keep_observation(name, observation, moment.workspace)
        return observation

    def _claim(self, name: str, mark: str, until: int, moment: "_Moment") -> bool:
        try:
            return self._store.claim(name, mark, moment.workspace, moment.now, until)
        except StoreUnavailableError:
            return True


class _Moment(NamedTuple):
    """The inputs of one snapshot."""

    workspace: Workspace
    now: int
    stored: StoredStates
    look: "Look"


def implying(names: Iterable[str], configuration: Configuration) -> frozenset[str]:
    """Return states and all that imply them, by their names or by declaration."""
    implied_by: dict[str, list[str]] = {}
    for name in configuration.implications.names:
        parent = name.rpartition(".")[0]
        state = configuration.states.get(name)
        for other in (*([parent] if parent else ()), *(state.implies if state is not None else ())):
            implied_by.setdefault(other, []).append(name)
    reached: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(implied_by.get(name, ()))
    return frozenset(reached)


def _pushed(name: str, moment: _Moment) -> _Reading:
    pushed = moment.stored.pushed.get(name)
    if pushed is None:
        return None, "nothing was pushed", None
    if not pushed.at <= moment.now < pushed.until or not isinstance(pushed.value, bool):
        return None, "the pushed value has expired", None
    return pushed.value, "pushed by the host application", None


def _location(moment: _Moment) -> Mapping[str, object]:
    pushed = moment.stored.pushed.get(LOCATION)
    if pushed is None or not pushed.at <= moment.now < pushed.until or not isinstance(pushed.value, dict):
        return {}
    parts = cast("Mapping[str, object]", pushed.value)
    return {name: part for name, part in parts.items() if part is not None}


def _word(detector: Detector) -> str:
    return "true" if detector.otherwise else "false"
