"""What the registry needs from the outside, in the words of the domain."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from remit.core.declarations import ClientSettings, Declaration, Problem, Reading, Resolved
from remit.core.projects import Project, Workspace
from remit.core.sightings import Sighting
from remit.core.tools import Definition, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a scan found different from the one before."""

    added: Sequence[Declaration] = ()
    removed: Sequence[Declaration] = ()
    changed: Sequence[Declaration] = ()


class Store(Protocol):
    """Keeps what was found; each reading method answers inside one workspace's scope."""

    def close(self) -> None: ...

    def catalog(self, workspace: Workspace) -> Sequence[Tool]: ...

    def inputs(self, client: str, workspace: Workspace) -> Mapping[str, str]: ...

    def problems(self, client: str, workspace: Workspace) -> Sequence[Problem]: ...

    def last_known(
        self, client: str, workspace: Workspace, sources: frozenset[str]
    ) -> tuple[Sequence[Declaration], ClientSettings]: ...

    def save(
        self, reading: Reading, resolved: Sequence[Resolved], workspace: Workspace, at: int
    ) -> Changes: ...

    def record(
        self,
        sighting: Sighting,
        *,
        session_id: str | None = None,
        call_id: str | None = None,
        succeeded: bool | None = None,
        duration_ms: int | None = None,
    ) -> bool: ...

    def report(self, definition: Definition, sighting: Sighting) -> None: ...

    def find_project(self, name: str) -> Project | None: ...

    def forget(self, project: Project) -> None: ...

    def prune_events(self, before: int) -> None: ...


class Sources(Protocol):
    """The clients' files on this machine."""

    home: str
    clients: Sequence[str]

    def locate(self, directory: str) -> Workspace: ...

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool: ...

    def read(self, client: str, workspace: Workspace) -> Reading: ...


Clock = Callable[[], int]  # Unix milliseconds
