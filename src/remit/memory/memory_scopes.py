"""Whether the project and focus area of a memory call exist, and which memories an agent may use."""

from collections.abc import Collection
from enum import StrEnum

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
