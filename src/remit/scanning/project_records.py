"""The projects in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.decision.tool_names import storable
from remit.errors import NoSuchDirectoryError, UnknownProjectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.decision.projects import Project
    from remit.scanning.ports import Sources
    from remit.store.sql_store import SqlStore


class ProjectRecords:
    """Finds, lists and erases stored projects."""

    def __init__(self, store: SqlStore, sources: Sources) -> None:
        self._store = store
        self._sources = sources

    def find(self, name: str) -> Project:
        """Find a project by its hash, or by a directory in it.

        Raises:
            UnknownProjectError: nothing is stored about the project.
        """
        clean = storable(name)
        found = None
        if clean.strip():  # an empty name must not mean the current directory
            found = self._store.find_project(clean) or self._store.find_project(self._project_path(clean))
        if found is None:
            raise UnknownProjectError(
                f"nothing is stored about `{clean}`", hint="name a project's directory, or its hash"
            )
        return found

    def named(self, name: str) -> Project:
        """Return the project of a team with this name, else the project of a directory.

        Raises:
            NoSuchDirectoryError: the directory does not exist.
            UnknownProjectError: `team:TEAM/NAME` does not exist.
        """
        return self._sources.locate(name).project

    def all(self) -> Sequence[Project]:
        """List the projects."""
        return self._store.projects()

    def forget(self, project: Project) -> None:
        """Erase everything stored about a project."""
        self._store.forget(project)

    def _project_path(self, directory: str) -> str:
        try:
            return self._sources.locate(directory).project.path
        except NoSuchDirectoryError:  # the directory of a stored project may be gone
            return self._sources.canonical(directory)
