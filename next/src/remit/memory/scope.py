"""The scope gate: what a tool may do in a project and focus area that exist, or do not."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class ScopeState(StrEnum):
    """Whether the project and focus area of a call exist."""

    RESOLVED = "resolved"
    UNCERTAIN = "uncertain"
    UNRESOLVED = "unresolved"


class Access(StrEnum):
    """What a tool may do."""

    FULL = "all that it does"
    PROJECT_ONLY = "read what belongs to the project itself"
    CREATES = "create what is missing, and go on"
    BLOCKED = "nothing"


class Place(NamedTuple):
    """The project and focus area that a call names, and the places of that project that exist."""

    project_id: str | None
    focus: str | None = None
    ids: Mapping[str, int] = {}  # by focus; the project's own under the empty name

    @property
    def project_exists(self) -> bool:
        """Whether the project exists."""
        return bool(self.ids)

    @property
    def focus_exists(self) -> bool:
        """Whether the focus area exists, if the call names one."""
        return self.focus is None or self.focus in self.ids

    @property
    def scope_state(self) -> ScopeState:
        """The state to report."""
        if self.project_id is None:
            return ScopeState.UNRESOLVED
        is_resolved = self.project_exists and self.focus_exists
        return ScopeState.RESOLVED if is_resolved else ScopeState.UNCERTAIN


_ASKS = (Access.FULL,) * 4
_READS = (Access.BLOCKED, Access.PROJECT_ONLY, Access.PROJECT_ONLY, Access.FULL)
_CREATES_PROJECT = (Access.BLOCKED, Access.CREATES, Access.CREATES, Access.FULL)
_WRITES = (Access.BLOCKED, Access.BLOCKED, Access.CREATES, Access.FULL)
_GATE = {  # without a project, in an unknown project, in an unknown focus area, where all exists
    "get_scope_state": _ASKS,
    "retrieve_context": _READS,
    "memory_surface": _READS,
    "save_session": _CREATES_PROJECT,
    "save_decision": _WRITES,
    "save_pattern": _WRITES,
    "save_context": _WRITES,
    "upsert_entity_with_deps": _WRITES,
}
TOOLS = tuple(_GATE)


def gate(tool: str, place: Place) -> Access:
    """Return what a tool may do."""
    if place.project_id is None:
        return _GATE[tool][0]
    if not place.project_exists:
        return _GATE[tool][1]
    return _GATE[tool][3 if place.focus_exists else 2]


def problem(place: Place) -> str:
    """Say what of a place does not exist."""
    if place.project_id is None:
        what = "no project_id was given"
    elif not place.project_exists:
        what = f"the project {json.dumps(place.project_id, ensure_ascii=False)} does not exist"
    else:
        what = f"the focus area {json.dumps(place.focus, ensure_ascii=False)} does not exist"
    return f"Scope state: {place.scope_state}: {what}"


def remedy(place: Place, known: str) -> str | None:
    """Name the call that resolves a place; None if it is. `known` is the id of a project that would do."""
    if place.scope_state is ScopeState.RESOLVED:
        return None
    if place.project_id is None:
        return f"Call again with a project_id, such as {json.dumps(known, ensure_ascii=False)}."
    if place.project_exists:
        return "Saving with this focus creates it; until then, the project's own artifacts are read."
    focus = {} if place.focus is None else {"focus": place.focus}
    given = {"session": {"objective": "what this session is for"}, "project_id": place.project_id, **focus}
    return f"Create it first: save_session({json.dumps(given, ensure_ascii=False)})"
