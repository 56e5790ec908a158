"""Differences between two lists of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.decide import UNKNOWN, ToolDecision

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.state_snapshot import Snapshot, StateValue


class ListDifference(NamedTuple):
    """The differences between two lists."""

    appeared: Sequence[ToolDecision] = ()
    disappeared: Sequence[ToolDecision] = ()  # with their current decisions
    changed: Sequence[ToolDecision] = ()
    states: Mapping[str, StateValue] = {}  # with a new value

    @property
    def is_empty(self) -> bool:
        """Whether there is no difference."""
        return not any(self)


def difference(
    before: Sequence[ToolDecision], after: Sequence[ToolDecision], known: Sequence[ToolDecision]
) -> ListDifference:
    """Compare two lists; `known` tells why tools disappeared."""
    old, new = _by_key(before), _by_key(after)
    now = _by_key(known)
    return ListDifference(
        appeared=[item for key, item in new.items() if key not in old],
        disappeared=[
            now.get(key, ToolDecision(item.tool, UNKNOWN)) for key, item in old.items() if key not in new
        ],
        changed=[item for key, item in new.items() if key in old and _told(item) != _told(old[key])],
    )


def changed_states(before: Snapshot, after: Snapshot) -> dict[str, StateValue]:
    """Return the states whose value changed; a removed state is unknown."""
    old = {name: value.truth for name, value in before.states.items()}
    new = {name: value.truth for name, value in after.states.items()}
    names = sorted({*old, *new})
    return {
        name: after.state(name)
        for name in names
        if (name in old, old.get(name)) != (name in new, new.get(name))
    }


def _by_key(listed: Sequence[ToolDecision]) -> dict[Key, ToolDecision]:
    return {item.tool.key: item for item in listed}


def _told(item: ToolDecision) -> tuple[object, ...]:
    """Return the parts that count as a change; usage does not."""
    tool = item.tool
    return item.decision, tool.source, tool.status, tool.description, tool.tokens
