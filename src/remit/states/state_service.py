"""The situation: the states of a workspace, now, and what they are set to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.configuration.config_model import ConfigurationLayer, Detector, DetectorKind, StateEntry, base_dirs
from remit.configuration.file_parser import LOCATION, WORKFLOW
from remit.configuration.state_unlock import state_unlock
from remit.decision.snapshot import Snapshot, StateValue
from remit.errors import StateError, UnknownStateError
from remit.states.location import check_location
from remit.states.observations import Kept, Known, Observation
from remit.states.state_watch import Watch, Watched
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.configuration.configuration_service import ConfigurationService
    from remit.configuration.merged_configuration import Configuration, DeclaredState
    from remit.decision.context import Context
    from remit.decision.projects import Workspace
    from remit.decision.requirements import Dependencies
    from remit.states.detectors.local_detectors import LocalDetectors, LocalLook
    from remit.store.ports import Clock, StateStore

PUSH_SECONDS = 60.0  # for which a location counts
_MOST_PUSHED = 65_536  # characters of JSON
_HOW = {WORKFLOW: 'kind = "workflow"', DetectorKind.PUSH: "push = true"}
_SEEN = frozenset(
    {"git", "env", "os", "project", "workspace", "client", "agent"}
)  # with one look, or always so
_LATE = 1_000  # milliseconds after its time limit at which a claim is given up


class Location:
    """Tells where in an application its user is, for those who host one."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation

    def set(
        self,
        context: Context,
        *,
        page: str | None = None,
        route: str | None = None,
        modal: str | None = None,
        selected: object = None,
        depth: int | None = None,
        components: Sequence[str] | None = None,
        elements: Sequence[str] | None = None,
    ) -> None:
        """Say where the user is; it counts for a minute, unless it is said again.

        Raises:
            StateError: a part is none that a location could have.
        """
        parts: dict[str, object] = {
            "page": page,
            "route": route,
            "modal": modal,
            "selected": selected,
            "depth": depth,
            "components": None if components is None else list(components),
            "elements": None if elements is None else list(elements),
        }
        self._situation.push({LOCATION: parts}, context.workspace)

    def clear(self, context: Context) -> None:
        """Say that nothing is known of it any more."""
        self._situation.push({LOCATION: None}, context.workspace)


class StateReport(NamedTuple):
    """A state with its value and where both come from."""

    name: str
    value: StateValue
    kind: str
    description: str
    detector: str  # the key that declares it; empty where there is none
    source: str  # the declaring file; empty where Remit itself does
    layer: ConfigurationLayer | None  # None: nobody declares it, and others imply it


class Situation:
    """Reads the configuration, takes snapshots, and keeps what states are set to."""

    def __init__(
        self, store: StateStore, configurations: ConfigurationService, detectors: LocalDetectors, clock: Clock
    ) -> None:
        self._store = store
        self._detectors = detectors
        self._clock = clock
        self.configurations = configurations

    def configuration(self, workspace: Workspace) -> Configuration:
        """Tell what the files say together, as they are now."""
        return self.configurations.current(workspace).configuration

    def snapshot(self, workspace: Workspace, *, client: str | None, agent: str | None) -> Snapshot:
        """Take one reading of all states, and of what else conditions may ask about."""
        configuration = self.configuration(workspace)
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

    def watch(self, about: Dependencies, workspace: Workspace) -> Watch | None:
        """Write down what has to be looked at to know whether an answer that is about something still holds;
        None where a look is not enough.
        """
        configuration = self.configuration(workspace)
        bearing = [
            _watched(state, workspace)
            for name, state in configuration.states.items()
            if name not in configuration.waiting
            and (state.entry.kind == WORKFLOW or (state.entry.detector is not None and state.may_run))
            and any(_implies(name, wanted, configuration) for wanted in about.states)
        ]
        if not {*about.variables} <= _SEEN or not all(each.is_quick for each in bearing):
            return None
        return Watch(bearing, configuration.env if about.variables else None)

    def places(self, workspace: Workspace) -> Iterator[str]:
        """Name the files and directories that the configuration and the states depend on."""
        current = self.configurations.current(workspace)
        yield from current.inputs
        look = self._detectors.look(workspace)
        for state in current.configuration.states.values():
            if state.entry.detector is not None:
                yield from look.places(state.entry.detector, base_dirs(state.file, workspace))

    def states(self, snapshot: Snapshot, workspace: Workspace) -> list[StateReport]:
        """List every state with its value, its detector and its file."""
        declared = self.configuration(workspace).states
        return [_report(name, snapshot, declared.get(name)) for name in sorted(snapshot.states)]

    def ways(self, workspace: Workspace) -> dict[str, str]:
        """Say for each state what would make it true, where that is known."""
        states = self.configuration(workspace).states
        return {name: way for name, state in states.items() if (way := state_unlock(state))}

    def set_state(self, name: str, workspace: Workspace) -> None:
        """Set a workflow state, until it is cleared.

        Raises:
            UnknownStateError: there is no such state.
            StateError: it is no workflow state.
        """
        self._require(name, workspace, WORKFLOW)
        self._store.set_state(name, workspace, self._clock())

    def clear_state(self, name: str, workspace: Workspace) -> list[str]:
        """Clear a workflow state with all that imply it, and name them.

        Raises:
            UnknownStateError: there is no such state.
            StateError: it is no workflow state.
        """
        configuration = self.configuration(workspace)
        cleared = [
            each
            for each, state in configuration.states.items()
            if state.entry.kind == WORKFLOW and (each == name or _implies(each, name, configuration))
        ]
        if name in configuration.states or not cleared:  # else those that imply it are all there is to clear
            self._require(name, workspace, WORKFLOW)
        self._store.clear_states(cleared, workspace)
        return cleared

    def advance(self, tool: str, workspace: Workspace) -> None:
        """Set and clear the workflow states that a tool's success does."""
        if any(True for _ in self.configuration(workspace).transitions):
            self._store.advance(tool, workspace, self._clock())

    def push(self, pushed: Mapping[str, object], workspace: Workspace) -> None:
        """Keep what a host application says of itself, until it expires: states, and the location.

        Raises:
            UnknownStateError: there is no such state.
            StateError: a state is not pushed, or a value is none that it could have.
        """
        now = self._clock()
        until: dict[str, int] = {}
        for name, value in pushed.items():
            if name == LOCATION:
                check_location(value)
                Snapshot(variables={LOCATION: value or {}})  # what no snapshot can hold, nobody may push
                until[name] = now + int(PUSH_SECONDS * 1000)
                continue
            state = self._require(name, workspace, DetectorKind.PUSH)
            if value is not None and not isinstance(value, bool):
                raise StateError(f"`{name}` is true or false, or null to withdraw it")
            assert state.entry.detector is not None  # noqa: S101 - it has one of the kind `push`
            until[name] = now + int(state.entry.detector.lifetime * 1000)
        if len(json.dumps(dict(pushed))) > _MOST_PUSHED:
            raise StateError(f"what is pushed is longer than {_MOST_PUSHED:,} characters")
        self._store.push(pushed, workspace, now, until)

    def _observe(self, state: DeclaredState, moment: _Moment) -> Observation | None:
        """Find out one state; None where only what implies it says anything of it."""
        entry, detector = state.entry, state.entry.detector
        if entry.kind == WORKFLOW:
            return _followed(entry, moment)
        if detector is None:
            return None
        if not state.may_run:
            return Observation(None, _untrusted(entry.name))
        if detector.kind is DetectorKind.PUSH:
            return _pushed(entry, moment)
        bases = base_dirs(state.file, moment.workspace)
        basis = moment.look.basis(detector, bases)
        if basis is None and not detector.lifetime:
            return moment.look.detect(detector, bases)
        mark = sha256(json.dumps([detector, bases, basis]).encode()).hexdigest()
        kept = moment.known.observed.get(entry.name)
        if kept is not None and (
            kept.is_fresh(mark, moment.now) or (basis and kept.mark == mark and kept.at)
        ):
            return kept.observation
        return self._find_out(entry.name, detector, bases, mark, moment)

    def _find_out(
        self, name: str, detector: Detector, bases: Sequence[str], mark: str, moment: _Moment
    ) -> Observation:
        """Find a state out and keep the answer: one at a time, whoever asks."""
        now, workspace = moment.now, moment.workspace
        claimed_until = now + int(detector.timeout * 1000) + _LATE
        if not self._store.claim(name, mark, workspace, now, claimed_until):
            kept = moment.known.observed.get(name)
            if kept is not None and kept.is_usable(mark, now):
                return kept.observation
            return Observation(None, "another process is finding it out")
        found = moment.look.detect(detector, bases)
        until = self._clock() + int(detector.lifetime * 1000)
        self._store.keep_observation(name, Kept(mark, found, now, until), workspace)
        return found

    def _require(self, name: str, workspace: Workspace, wanted: str) -> DeclaredState:
        """Find a state that is set in a certain way."""
        configuration = self.configuration(workspace)
        states = configuration.states
        if name not in states and name in configuration.implications.names:
            raise StateError(f"`{name}` is only implied by others", hint=f"declare it with `{_HOW[wanted]}`")
        if name not in states:
            hint = did_you_mean(name, states) or "`remit states` lists those there are"
            raise UnknownStateError(f"no state is called `{name}` here", hint=hint)
        state = states[name]
        if wanted not in (state.entry.kind, state.entry.detector and state.entry.detector.kind):
            how = "set and cleared by hand" if wanted == WORKFLOW else "pushed"
            raise StateError(
                f"`{name}` is not {how}: it is {_found_by(state.entry)}",
                hint=f"declare it with `{_HOW[wanted]}`",
            )
        return state


class _Moment(NamedTuple):
    """What one snapshot is taken of."""

    workspace: Workspace
    now: int
    known: Known
    look: LocalLook

    @property
    def location(self) -> dict[str, object]:
        """Where the user is, as far as that is known."""
        pushed = self.known.pushed.get(LOCATION)
        parts = (
            cast("dict[str, object]", pushed.value) if pushed is not None and pushed.counts(self.now) else {}
        )
        return {name: part for name, part in parts.items() if part is not None}


def _followed(entry: StateEntry, moment: _Moment) -> Observation:
    step = moment.known.workflow.get(entry.name)
    if step is None:
        return Observation(False, "not set")
    return Observation(True, f"set by {step.by}" if step.by else "set by hand")


def _pushed(entry: StateEntry, moment: _Moment) -> Observation:
    pushed = moment.known.pushed.get(entry.name)
    if pushed is None:
        return Observation(None, "nothing was pushed")
    if not pushed.counts(moment.now) or not isinstance(pushed.value, bool):
        return Observation(None, "what was pushed has expired")
    return Observation(pushed.value, "pushed by the host application")


def _watched(state: DeclaredState, workspace: Workspace) -> Watched:
    entry = state.entry
    if entry.kind == WORKFLOW:
        return Watched(entry.name)
    return Watched(entry.name, entry.detector, base_dirs(state.file, workspace))


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _untrusted(name: str) -> str:
    return f"waits for your trust: `remit trust {name}` shows it"


def _implies(name: str, other: str, configuration: Configuration) -> bool:
    """Tell whether a state implies another, by its name or by what is declared."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each == other:
            return True
        if each not in seen:
            seen.add(each)
            parent = each.rpartition(".")[0]
            state = configuration.states.get(each)
            waiting.extend((*([parent] if parent else ()), *(state.entry.implies if state else ())))
    return False


def _report(name: str, snapshot: Snapshot, state: DeclaredState | None) -> StateReport:
    value = snapshot.states[name]
    if state is None:  # nobody declares it: others imply it
        return StateReport(name, value, "capability", "", "", "", None)
    entry = state.entry
    detector = "" if entry.detector is None else entry.detector.kind
    return StateReport(
        name, value, entry.kind, entry.description, detector, state.file.path, state.file.layer
    )


def _found_by(entry: StateEntry) -> str:
    if entry.kind == WORKFLOW:
        return "a workflow state"
    return "implied by others" if entry.detector is None else f"found by `{entry.detector.kind}`"
