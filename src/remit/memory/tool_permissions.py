"""What each memory tool may do when a project or focus area is known, unknown or missing: the scope gate."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from remit.memory.memory_scopes import PlaceStatus


class Permission(StrEnum):
    """What a tool may do."""

    FULL = "all that it does"
    PROJECT_ONLY = "reads what belongs to the project itself: no focus area, nothing global"
    CREATES = "creates what is missing, and goes on"
    BLOCKED = "nothing"


Row = Mapping[PlaceStatus, Permission]

_ASKS: Row = dict.fromkeys(PlaceStatus, Permission.FULL)
_READS: Row = {
    PlaceStatus.NO_PROJECT: Permission.BLOCKED,
    PlaceStatus.UNKNOWN_PROJECT: Permission.PROJECT_ONLY,
    PlaceStatus.UNKNOWN_FOCUS: Permission.PROJECT_ONLY,
    PlaceStatus.KNOWN: Permission.FULL,
}
_WRITES: Row = {
    PlaceStatus.NO_PROJECT: Permission.BLOCKED,
    PlaceStatus.UNKNOWN_PROJECT: Permission.BLOCKED,
    PlaceStatus.UNKNOWN_FOCUS: Permission.CREATES,
    PlaceStatus.KNOWN: Permission.FULL,
}
_BOOTSTRAPS: Row = {**_WRITES, PlaceStatus.UNKNOWN_PROJECT: Permission.CREATES}

_DELETES: Row = dict(_WRITES)

PERMISSIONS: Mapping[str, Row] = {
    "get_scope_state": _ASKS,
    "save_session": _BOOTSTRAPS,
    "save_decision": _WRITES,
    "save_pattern": _WRITES,
    "save_context": _WRITES,
    "upsert_entity_with_deps": _WRITES,
    "store_session_with_learnings": _WRITES,
    "retrieve_context": _READS,
    "memory_surface": _READS,
    "run_hygiene": _READS,
    "delete_project": _DELETES,
}
TOOLS = tuple(PERMISSIONS)
SAVING_TOOLS = tuple(tool for tool, row in PERMISSIONS.items() if row is _WRITES or row is _BOOTSTRAPS)


class MemoryPlace(NamedTuple):
    """The project and focus area of a call, and whether they exist."""

    project_id: str | None
    focus: str | None
    standing: PlaceStatus
    bound: frozenset[str] | None = None  # the projects that the endpoint may see; None: all

    @property
    def is_out_of_bounds(self) -> bool:
        """Whether the endpoint may not see the project."""
        return self.bound is not None and self.project_id is not None and self.project_id not in self.bound

    def permission(self, tool: str) -> Permission:
        """Look up the permission of a tool; out of bounds, a tool may not create anything."""
        allowed = PERMISSIONS[tool][self.standing]
        if self.is_out_of_bounds and allowed is Permission.CREATES:
            return Permission.BLOCKED
        return allowed


class ScopeRefusal(NamedTuple):
    """The reason for a refusal, and the call that would fix it."""

    message: str
    next_step: str


def scope_refusal(place: MemoryPlace) -> ScopeRefusal:
    """Explain a refusal, with the exact call that fixes it."""
    message = f"Scope state: {place.standing.scope_state}"
    if place.project_id is None:
        return ScopeRefusal(
            f"{message}: no project_id was given",
            "Call again with the `project_id` that the session context states; `remit memory id` prints it.",
        )
    message += f": the project {json.dumps(place.project_id, ensure_ascii=False)} does not exist"
    if place.bound is not None and place.is_out_of_bounds:
        known = ", ".join(json.dumps(each, ensure_ascii=False) for each in sorted(place.bound))
        return ScopeRefusal(
            message, f"Call again with a project_id of this endpoint: {known or 'it has none'}."
        )
    return ScopeRefusal(message, f"Create it first: {bootstrap_call(place.project_id, place.focus)}")


def bootstrap_call(project_id: str, focus: str | None = None) -> str:
    """Write the call that creates a project."""
    session: dict[str, object] = {
        "objective": "what this session is for",
        "actions_taken": [],
        "decisions_made": [],
        "open_items": [],
        "next_actions": [],
        "save_scope": "project",
    }
    given = {"session": session, "project_id": project_id, **({} if focus is None else {"focus": focus})}
    return f"save_session({json.dumps(given, ensure_ascii=False)})"
