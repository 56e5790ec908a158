"""The states of a workspace: read, set, cleared, pushed, and advanced by the success of tools."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.config import Configuration, Configurations, StateRule
from remit.decision import Context, JsonValue, Snapshot, StateValue, Workspace
from remit.errors import NotFoundError, StateError
from remit.states.snapshots import LOCATION, SnapshotReader, implying
from remit.store import StateStore
from remit.text import did_you_mean

if TYPE_CHECKING:
    from remit.files import Machine
    from remit.states.detectors import Look

LOCATION_SECONDS = 60.0  # how long a pushed location counts
_LONGEST_PUSH = 65_536  # characters of JSON
_LOCATION_PARTS: Mapping[str, tuple[type, ...]] = {
    "page": (str,),
    "route": (str,),
    "modal": (str,),
    "selected": (object,),
    "depth": (int,),
    "components": (list,),
    "elements": (list,),
}
_DECLARED_WITH = {"workflow": 'kind = "workflow"', "push": "push = true"}


class StateReport(NamedTuple):
    """A state with its value and its origin."""

    name: str
    value: StateValue
    state: StateRule | None  # None: not declared, only implied by other states


class States:
    """The states of workspaces."""

    def __init__(
        self,
        store: StateStore,
        configurations: Configurations,
        machine: "Machine",
        clock: Callable[[], int],
    ) -> None:
        self._store = store
        self._configurations = configurations
        self._machine = machine
        self._clock = clock
        self._reader = SnapshotReader(store, self._look, clock)

    def snapshot(self, context: Context, names: Collection[str] | None = None) -> Snapshot:
        """Take a snapshot of the named states; of all if None."""
        return self._reader.read(self._current(context), context, names)

    def reports(self, context: Context) -> list[StateReport]:
        """List every state with its value and its origin."""
        declared = self._current(context).states
        snapshot = context.snapshot or self.snapshot(context)
        return [
            StateReport(name, value, declared.get(name)) for name, value in sorted(snapshot.states.items())
        ]

    def paths(self, context: Context) -> Iterator[str]:
        """List the files and directories that the states depend on."""
        look = self._look(context.workspace)
        for state in self._current(context).states.values():
            if state.detector is not None:
                yield from look.paths(state.detector, state.bases(context.workspace))

    def set(self, name: str, context: Context) -> None:
        """Set a workflow state of the project until it is cleared.

        Raises:
            NotFoundError: the state does not exist.
            StateError: it is not a workflow state.
        """
        self._require(name, context, "workflow")
        self._store.advance([name], (), "", context.workspace, self._clock())

    def clear(self, name: str, context: Context) -> list[str]:
        """Clear a workflow state and all that imply it, and return their names.

        Raises:
            NotFoundError: the state does not exist.
            StateError: it is not a workflow state.
        """
        configuration = self._current(context)
        reached = implying([name], configuration)
        cleared = [
            state.name
            for state in configuration.states.values()
            if state.kind == "workflow" and state.name in reached
        ]
        if name in configuration.states or not cleared:  # an implied one is cleared by those that imply it
            self._require(name, context, "workflow")
        self._store.advance((), cleared, "", context.workspace, self._clock())
        return cleared

    def are_open_to_agents(self, names: Iterable[str], context: Context) -> bool:
        """Return whether each of these states lets agents set, clear or push it."""
        states = self._current(context).states
        return all(name in states and states[name].agents for name in names)

    def advance(self, tool: str, context: Context) -> bool:
        """Set and clear the workflow states that a tool's success changes; return whether any may have."""
        changed = self._current(context).transitions(tool)
        if not changed:
            return False
        names = [name for name, truth in changed.items() if truth]
        cleared = [name for name, truth in changed.items() if not truth]
        self._store.advance(names, cleared, tool, context.workspace, self._clock())
        return True

    def push(self, values: Mapping[str, object], context: Context) -> None:
        """Store the states and the `location` that a host application pushes, until they expire.

        Raises:
            NotFoundError: the state does not exist.
            StateError: the state cannot be pushed, or cannot have this value.
        """
        now = self._clock()
        until = {
            name: now + int(1000 * self._seconds(name, value, context)) for name, value in values.items()
        }
        if len(json.dumps(dict(values))) > _LONGEST_PUSH:
            raise StateError(f"the pushed states are longer than {_LONGEST_PUSH:,} characters")
        self._store.push(cast("Mapping[str, JsonValue]", values), until, context.workspace, now)

    def _seconds(self, name: str, value: object, context: Context) -> float:
        """Check a pushed value, and return for how many seconds it counts."""
        if name == LOCATION:
            _check_location(value)
            Snapshot(variables={LOCATION: value or {}})  # raises if no snapshot can hold the value
            return LOCATION_SECONDS
        state = self._require(name, context, "push")
        if value is not None and not isinstance(value, bool):
            raise StateError(f"`{name}` must be true or false, or null to withdraw it")
        return LOCATION_SECONDS if state.detector is None else state.detector.lifetime

    def _require(self, name: str, context: Context, wanted: str) -> StateRule:
        """Find a state that can be set in the wanted way."""
        configuration = self._current(context)
        hint = f"declare it with `{_DECLARED_WITH[wanted]}`"
        if name not in configuration.states:
            if name in configuration.implications.names:
                raise StateError(f"`{name}` is only implied by others", hint=hint)
            hint = did_you_mean(name, configuration.states) or "`remit states` lists the declared states"
            raise NotFoundError(f"no state is called `{name}` here", hint=hint)
        state = configuration.states[name]
        kind = None if state.detector is None else state.detector.kind
        if wanted not in (state.kind, kind):
            how = "set and cleared by hand" if wanted == "workflow" else "pushed"
            found = (
                "a workflow state"
                if state.kind == "workflow"
                else f"found by `{kind}`"
                if kind
                else "implied"
            )
            raise StateError(f"`{name}` is not {how}: it is {found}", hint=hint)
        return state

    def _current(self, context: Context) -> Configuration:
        return self._configurations.current(context.workspace)

    def _look(self, workspace: Workspace) -> "Look":
        from remit.states.detectors import Look  # a hook without states looks at nothing

        return Look(workspace, self._machine)


def _check_location(value: object) -> None:
    if value is None:
        return
    hint = f"its parts are {', '.join(_LOCATION_PARTS)}"
    if not isinstance(value, dict):
        raise StateError("a location must be an object", hint=hint)
    for name, part in cast("dict[str, object]", value).items():
        if name not in _LOCATION_PARTS:
            raise StateError(f"a location has no `{name}`", hint=did_you_mean(name, _LOCATION_PARTS) or hint)
        is_good = part is None or (isinstance(part, _LOCATION_PARTS[name]) and not isinstance(part, bool))
        if isinstance(part, list):
            is_good = all(isinstance(item, str) for item in cast("list[object]", part))
        if not is_good and name != "selected":
            raise StateError(
                f"`{name}` of a location has the wrong type",
                hint="`depth` must be a number; `components` and `elements`, lists; the rest, strings",
            )
