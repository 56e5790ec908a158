"""The states of a workspace: their values, and how to set them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from remit.configuration.config_model import base_dirs
from remit.configuration.detector_kinds import DetectorKind
from remit.configuration.file_parser import LOCATION, WORKFLOW
from remit.configuration.merged_configuration import state_unlock
from remit.decision.projects import TEAM
from remit.decision.requirements import Dependencies
from remit.decision.state_snapshot import Snapshot
from remit.errors import StateError, UnknownStateError
from remit.presentation.serving_plan import EndpointChoice, ServingPlan, make_plan
from remit.states.location import check_location
from remit.states.snapshot_reader import LastKnownStates, SnapshotReader
from remit.states.state_watch import StateWatch, WatchedState
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.configuration.config_model import ConfigurationLayer, StateEntry
    from remit.configuration.configuration_service import ConfigurationService, CurrentConfiguration
    from remit.configuration.merged_configuration import Configuration, DeclaredState
    from remit.decision.context import Context
    from remit.decision.projects import Workspace
    from remit.decision.state_snapshot import StateValue
    from remit.states.detectors.local_detectors import LocalDetectors
    from remit.states.observations import StoredObservation
    from remit.store.state_store import SqlStates
    from remit.text.times import Clock

LOCATION_SECONDS = 60.0  # how long a pushed location counts
_MOST_PUSHED = 65_536  # characters of JSON
_DECLARED_WITH = {WORKFLOW: 'kind = "workflow"', DetectorKind.PUSH: "push = true"}
_CHEAP_VARIABLES = frozenset({"git", "env", "os", "project", "workspace", "client", "agent"})


class StateReport(NamedTuple):
    """A state with its value and its origin."""

    name: str
    value: StateValue
    kind: str
    description: str
    detector: str  # the key that declares it; empty if it has none
    source: str  # the declaring file; empty for a built-in state
    layer: ConfigurationLayer | None  # None: not declared, only implied by other states


class StateService:
    """Takes snapshots, and stores the values that are set or pushed."""

    def __init__(
        self,
        store: SqlStates,
        configuration: ConfigurationService,
        detectors: LocalDetectors,
        clock: Clock,
        *,
        searches_itself: Callable[[str | None], bool],
    ) -> None:
        self._store = store
        self._detectors = detectors
        self._clock = clock
        self._searches_itself = searches_itself
        self._snapshots = SnapshotReader(LastKnownStates(store), detectors, clock)
        self.configuration = configuration

    def with_rules(self, context: Context) -> Context:
        """Add the rules of the configuration to a context."""
        return self.configuration.current(context.workspace).applied_to(context)

    def with_snapshot(self, context: Context) -> Context:
        """Add the rules and one snapshot to a context that has no snapshot yet."""
        if context.snapshot is not None:
            return context
        current = self.configuration.current(context.workspace)
        agent = None if context.agent is None else context.agent.name
        snapshot = self._snapshots.read(
            current.configuration, context.workspace, client=context.client, agent=agent
        )
        return replace(current.applied_to(context), snapshot=snapshot)

    def with_draft(self, drafted: CurrentConfiguration, context: Context) -> Context:
        """Add the rules and the snapshot of a draft to a context; nothing is run or stored for it."""
        self.snapshot(context)  # values of states that run something are those of today
        runs = {name for name, state in drafted.configuration.states.items() if _runs(state)}
        reader = SnapshotReader(_DraftStates(self._store, runs), self._detectors, self._clock)
        agent = None if context.agent is None else context.agent.name
        snapshot = reader.read(drafted.configuration, context.workspace, client=context.client, agent=agent)
        return replace(drafted.applied_to(context), snapshot=snapshot)

    def snapshot(self, context: Context) -> Snapshot:
        """Return the snapshot of a context, taking one if it has none."""
        return self.with_snapshot(context).snapshot or Snapshot()

    def reports(self, context: Context) -> list[StateReport]:
        """List every state with its value, its detector and its file."""
        snapshot, declared = self.snapshot(context), self._configuration(context).states
        return [_report(name, snapshot, declared.get(name)) for name in sorted(snapshot.states)]

    def unlocks(self, context: Context) -> dict[str, str]:
        """Return how to make each state true, where that is known."""
        states = self._configuration(context).states
        return {name: way for name, state in states.items() if (way := state_unlock(state))}

    def plan(self, context: Context) -> ServingPlan:
        """Return the gateway's plan for this workspace, without endpoint options."""
        chosen = EndpointChoice(client_searches=self.searches_itself(context))
        return make_plan(self._configuration(context), chosen)

    def searches_itself(self, context: Context) -> bool:
        """Tell whether the client searches tools by itself, and so sends names instead of definitions."""
        return self._searches_itself(context.client)

    def watch(self, names: Iterable[str], context: Context) -> StateWatch | None:
        """Return what decisions about tools depend on; None if checking it takes a full snapshot."""
        needed = [each.condition.dependencies() for name in names for each in context.requirements.of(name)]
        filters = [path for path, _ in context.filter_files]
        read = () if context.filters is None else context.filters.states.read
        if not needed and not read:
            return StateWatch(filters=filters)
        about = Dependencies(
            {*read, *(state for each in needed for state in each.states)},
            {variable for each in needed for variable in each.variables},
        )
        configuration = self._configuration(context)
        relevant = [
            _watched(state, context.workspace)
            for name, state in configuration.states.items()
            if name not in configuration.waiting
            and (state.entry.kind == WORKFLOW or (state.entry.detector is not None and state.may_run))
            and any(_implies(name, wanted, configuration) for wanted in about.states)
        ]
        if not {*about.variables} <= _CHEAP_VARIABLES or not all(each.is_quick for each in relevant):
            return None
        return StateWatch(relevant, configuration.env if about.variables else None, filters)

    def paths(self, context: Context) -> Iterable[str]:
        """List the files and directories that the configuration and the states depend on."""
        workspace = context.workspace
        current = self.configuration.current(workspace)
        yield from (name for name in current.inputs if not name.startswith(TEAM))
        yield from current.configuration.filters
        look = self._detectors.look(workspace)
        for state in current.configuration.states.values():
            if state.entry.detector is not None:
                yield from look.places(state.entry.detector, base_dirs(state.file, workspace))

    def set(self, name: str, context: Context) -> None:
        """Set a workflow state of the project until it is cleared.

        Raises:
            UnknownStateError: the state does not exist.
            StateError: it is not a workflow state.
        """
        self._require(name, context, WORKFLOW)
        self._store.set_state(name, context.workspace, self._clock())

    def clear(self, name: str, context: Context) -> list[str]:
        """Clear a workflow state of the project and all states that imply it, and return their names.

        Raises:
            UnknownStateError: the state does not exist.
            StateError: it is not a workflow state.
        """
        cleared = self.cleared_with(name, context)
        if (
            name in self._configuration(context).states or not cleared
        ):  # an implied state is cleared by clearing those that imply it
            self._require(name, context, WORKFLOW)
        self._store.clear_states(cleared, context.workspace)
        return cleared

    def cleared_with(self, name: str, context: Context) -> list[str]:
        """List the workflow states that clearing a state clears: itself, and those that imply it."""
        configuration = self._configuration(context)
        return [
            each
            for each, state in configuration.states.items()
            if state.entry.kind == WORKFLOW and _implies(each, name, configuration)
        ]

    def are_open_to_agents(self, names: Iterable[str], context: Context) -> bool:
        """Return whether each of these states lets agents set, clear or push it."""
        states = self._configuration(context).states
        return all(name in states and states[name].entry.agents for name in names)

    def advance(self, tool: str, context: Context) -> None:
        """Set and clear the workflow states that a tool's success changes, without counting a use."""
        if any(True for _ in self._configuration(context).transitions):
            self._store.advance(tool, context.workspace, self._clock())

    def push(self, values: Mapping[str, object], context: Context) -> None:
        """Store the states and the `location` that a host application pushes, until they expire.

        Raises:
            UnknownStateError: the state does not exist.
            StateError: the state cannot be pushed, or cannot have this value.
        """
        now = self._clock()
        until = {
            name: now + int(1000 * self._push_seconds(name, value, context)) for name, value in values.items()
        }
        if len(json.dumps(dict(values))) > _MOST_PUSHED:
            raise StateError(f"the pushed states are longer than {_MOST_PUSHED:,} characters")
        self._store.push(values, context.workspace, now, until)

    def _push_seconds(self, name: str, value: object, context: Context) -> float:
        """Check a pushed value, and return for how many seconds it counts."""
        if name == LOCATION:
            check_location(value)
            Snapshot(variables={LOCATION: value or {}})  # raises if no snapshot can hold the value
            return LOCATION_SECONDS
        state = self._require(name, context, DetectorKind.PUSH)
        if value is not None and not isinstance(value, bool):
            raise StateError(f"`{name}` must be true or false, or null to withdraw it")
        assert state.entry.detector is not None  # noqa: S101 - its kind is `push`
        return state.entry.detector.lifetime

    def _configuration(self, context: Context) -> Configuration:
        return self.configuration.current(context.workspace).configuration

    def _require(self, name: str, context: Context, wanted: str) -> DeclaredState:
        """Find a state that can be set in the wanted way."""
        configuration = self._configuration(context)
        states = configuration.states
        hint = f"declare it with `{_DECLARED_WITH[wanted]}`"
        if name not in states and name in configuration.implications.names:
            raise StateError(f"`{name}` is only implied by others", hint=hint)
        if name not in states:
            hint = did_you_mean(name, states) or "`remit states` lists the declared states"
            raise UnknownStateError(f"no state is called `{name}` here", hint=hint)
        state = states[name]
        if wanted not in (state.entry.kind, state.entry.detector and state.entry.detector.kind):
            how = "set and cleared by hand" if wanted == WORKFLOW else "pushed"
            raise StateError(f"`{name}` is not {how}: it is {_found_by(state.entry)}", hint=hint)
        return state


def _watched(state: DeclaredState, workspace: Workspace) -> WatchedState:
    entry = state.entry
    if entry.kind == WORKFLOW:
        return WatchedState(entry.name)
    return WatchedState(entry.name, entry.detector, base_dirs(state.file, workspace))


def _implies(name: str, other: str, configuration: Configuration) -> bool:
    """Return whether a state implies another, by its name or by its declaration."""
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


class _DraftStates:
    """The stored states for the snapshot of a draft, which stores nothing and runs nothing."""

    def __init__(self, store: SqlStates, runs: Collection[str]) -> None:
        self.known = store.known
        self._runs = runs

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool:  # noqa: ARG002
        return name not in self._runs

    def keep_observation(self, name: str, kept: StoredObservation, workspace: Workspace) -> None:
        pass


def _runs(state: DeclaredState) -> bool:
    return state.entry.detector is not None and state.entry.detector.runs


def _report(name: str, snapshot: Snapshot, state: DeclaredState | None) -> StateReport:
    value = snapshot.states[name]
    if state is None:  # not declared: other states imply it
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
