"""Changes of a listing: what differs between two, and waiting for the next."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import UNKNOWN, Context, Key, Snapshot, StateValue, ToolDecision
from remit.files import look_at, wait_for_change

if TYPE_CHECKING:
    from remit.catalog.registry import Registry

_SECONDS = 1.0  # between two looks for what no file shows: a variable, a pushed state, an expired result


class ListDifference(NamedTuple):
    """The differences between two listings."""

    appeared: Sequence[ToolDecision] = ()
    disappeared: Sequence[ToolDecision] = ()  # with their decisions now
    changed: Sequence[ToolDecision] = ()
    states: Mapping[str, StateValue] = {}  # with a new value

    @property
    def is_empty(self) -> bool:
        """Whether there is no difference."""
        return not any(self)


def difference(
    before: Sequence[ToolDecision], after: Sequence[ToolDecision], known: Sequence[ToolDecision]
) -> ListDifference:
    """Compare two listings; `known` tells why tools disappeared."""
    old, new, now = (_by_key(listed) for listed in (before, after, known))
    return ListDifference(
        [item for key, item in new.items() if key not in old],
        [now.get(key, ToolDecision(item.tool, UNKNOWN)) for key, item in old.items() if key not in new],
        [item for key, item in new.items() if key in old and _told(item) != _told(old[key])],
    )


def changed_states(before: Snapshot, after: Snapshot) -> dict[str, StateValue]:
    """Return the states whose value changed; a removed state is unknown."""
    old, new = ({name: value.truth for name, value in each.states.items()} for each in (before, after))
    return {name: after.state(name) for name in sorted({*old, *new}) if _of(name, old) != _of(name, new)}


def _of(name: str, truths: Mapping[str, bool | None]) -> tuple[bool, bool | None]:
    return name in truths, truths.get(name)


class Watcher:
    """Watches one context: each iteration means that its decisions changed; the first comes at once.

    What the registry writes itself is no change, because decisions are compared.
    """

    def __init__(self, registry: "Registry", context: Context) -> None:
        self._registry = registry
        self._context = context
        self._wake = Event()
        self._is_stopped = False
        self._listed: Sequence[ToolDecision] | None = None
        self._store_files = registry.store.database.follow(self._wake.set)

    def __iter__(self) -> Iterator[None]:
        while not self._is_stopped:
            paths = [*self._registry.paths(self._context), *self._store_files]
            marks = look_at(paths)  # first watch, then look: no change is missed
            if self.look():
                yield
            wait_for_change(marks, self._wake, _SECONDS, since=marks)
            self._wake.clear()

    def look(self) -> bool:
        """Return whether decisions changed since the last look; always true at first."""
        before, self._listed = self._listed, self._registry.tools(self._context)
        return before is None or before != self._listed

    def stop(self) -> None:
        """Stop watching, from any thread."""
        self._is_stopped = True
        self._wake.set()


def _by_key(listed: Sequence[ToolDecision]) -> dict[Key, ToolDecision]:
    return {item.tool.key: item for item in listed}


def _told(item: ToolDecision) -> tuple[object, ...]:
    """Return the parts that count as a change; usage does not."""
    tool = item.tool
    return item.decision, tool.source, tool.status, tool.description, tool.tokens
