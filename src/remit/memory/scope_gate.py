"""The scope gate: decides which tools may run when a project or focus area is known, unknown or missing."""

import json
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from remit.decision.projects import Project, Workspace

MAX_ID = 200  # characters in a project id or the name of a focus area
EVERY_MEMORY = "*"  # as a shared memory


class ScopeState(StrEnum):
    """Whether the project and focus area of a call exist."""

    RESOLVED = "resolved"
    UNCERTAIN = "uncertain"
    UNRESOLVED = "unresolved"


class MemoryScope(StrEnum):
    """Where an artifact is visible, nearest scope first."""

    FOCUS = "focus"
    PROJECT = "project"
    GLOBAL = "global"


class PlaceStatus(StrEnum):
    """Which part of a call's project and focus area exists."""

    NO_PROJECT = "no project was given"
    UNKNOWN_PROJECT = "the project does not exist"
    UNKNOWN_FOCUS = "the focus area does not exist"
    KNOWN = "all that is named exists"

    @property
    def scope_state(self) -> ScopeState:
        """The scope state to report to callers."""
        return _STATES[self]

    @property
    def project_exists(self) -> bool:
        """Whether the project exists."""
        return self in (PlaceStatus.UNKNOWN_FOCUS, PlaceStatus.KNOWN)


_STATES = {
    PlaceStatus.NO_PROJECT: ScopeState.UNRESOLVED,
    PlaceStatus.UNKNOWN_PROJECT: ScopeState.UNCERTAIN,
    PlaceStatus.UNKNOWN_FOCUS: ScopeState.UNCERTAIN,
    PlaceStatus.KNOWN: ScopeState.RESOLVED,
}


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

GATE: Mapping[str, Row] = {
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
TOOLS = tuple(GATE)
SAVING_TOOLS = tuple(tool for tool, row in GATE.items() if row is _WRITES or row is _BOOTSTRAPS)


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
        allowed = GATE[tool][self.standing]
        if self.is_out_of_bounds and allowed is Permission.CREATES:
            return Permission.BLOCKED
        return allowed


def place_status(
    project_id: str | None, focus: str | None, *, project_exists: bool, focus_exists: bool
) -> PlaceStatus:
    """Return which part of a place exists."""
    if project_id is None:
        return PlaceStatus.NO_PROJECT
    if not project_exists:
        return PlaceStatus.UNKNOWN_PROJECT
    if focus is not None and not focus_exists:
        return PlaceStatus.UNKNOWN_FOCUS
    return PlaceStatus.KNOWN


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


def reachable_memories(workspace: Workspace, shared: Collection[str]) -> frozenset[str] | None:
    """Return the memories that an agent may use: the project's, its team's and the shared; None: all."""
    own = memory_id(workspace.project)
    return None if EVERY_MEMORY in shared else frozenset({own, *team_memories(workspace), *shared})


def team_memories(workspace: Workspace) -> frozenset[str]:
    """Return the memory that the projects of a team share; empty for the project of a directory."""
    return frozenset() if workspace.team is None else frozenset({memory_id(workspace.team)})


def memory_id(project: Project) -> str:
    """Return the memory id of a repository: its folder name plus a hash, as folder names are not unique."""
    folder = project.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    plain = "".join(char if char.isalnum() or char in "._-" else "-" for char in folder)
    return f"{plain[:80].strip('-') or 'project'}-{project.hash[:8]}"
