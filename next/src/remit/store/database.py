"""The seam to a database that runs named queries, where it finds them, and what limits them to a scope."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from remit.decision import ancestors

if TYPE_CHECKING:
    from remit.decision import Key, View, Workspace

Value = str | int | float | bytes | None
Row = tuple[Any, ...]  # each caller knows the columns of its query
SQL = os.path.join(os.path.dirname(__file__), "sql")
_KEY = ("client", "kind", "scope", "project_hash", "dir", "agent", "server", "name")


class Database(Protocol):
    """A connection to Remit's database; it belongs to the thread that opened it."""

    place: str  # for messages: a path, or an address without a password
    is_shared: bool  # other machines write it, so nothing that is run is read from it

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        """Run a named query and return its rows."""
        ...

    def run_each(self, query: str, values: Iterable[Mapping[str, Value]], /) -> None:
        """Run a named query once for each set of values."""
        ...

    def transaction(self, *, changes: str | None = None) -> AbstractContextManager[None]:
        """Run several queries atomically; `changes` names the part whose revision they raise."""
        ...

    def revision(self, part: str = "catalog") -> int:
        """Return a number that changes with a part of the data, whoever writes it; from any thread."""
        ...

    def follow(self, changed: Callable[[], object]) -> list[str]:
        """Return files that change whenever anybody writes; calls for changes that no file shows."""
        ...

    def enable_vectors(self) -> bool:
        """Let queries compare vectors; False if the database cannot."""
        ...

    def erase(self) -> None:
        """Leave no copies of deleted rows."""
        ...

    def locate(self, name: str) -> Workspace | None:
        """Find a project without a directory."""
        ...

    def document(self, path: str) -> str | None:
        """Return a text that stands for a file of such a project."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def scope_parameters(workspace: Workspace) -> dict[str, str]:
    """Return the parameters of the `in_scope` fragment."""
    reach = json.dumps(ancestors(workspace.dir))
    group = "" if workspace.group is None else workspace.group.hash
    return {"project": workspace.project.hash, "reach": reach, "group": group}


def place_parameters(workspace: Workspace) -> dict[str, str]:
    """Return the parameters of what belongs to one workspace alone."""
    return {"workspace": workspace.dir, "project": workspace.project.hash}


def key_parameters(key: Key) -> dict[str, str | None]:
    """Return the parameters that identify a row."""
    return dict(zip(_KEY, key, strict=True))


def see_project(database: Database, workspace: Workspace, at: int) -> None:
    """Store that a project was seen: every row of a project refers to it."""
    project = workspace.project
    database.rows("see_project", project=project.hash, path=project.path, at=at)


def storable(text: str) -> str:
    """Replace NUL and lone surrogates, which JSON can express but databases cannot store."""
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def view_parameters(view: View) -> dict[str, str]:
    """Return the parameters that identify a view."""
    return {**place_parameters(view.workspace), "client": view.client, "flags": view.flags.key}


class NamedQueries:
    """The queries of some folders, by name; a later folder replaces those of an earlier one."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(folders)
        self._complete: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        sql = self._complete.get(name)
        if sql is None:
            queries, fragments = _blocks(self._folders)
            sql = queries[name]
            for fragment in reversed(fragments):  # a fragment may contain earlier ones
                sql = sql.replace(f"{{{fragment}}}", fragments[fragment])
            self._complete[name] = sql
        return sql

    def names(self) -> list[str]:
        """List the names of all queries."""
        return list(_blocks(self._folders)[0])


@cache
def _blocks(folders: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Read the named queries and the fragments of all SQL files."""
    queries: dict[str, str] = {}
    fragments: dict[str, str] = {}
    for folder in folders:
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".sql"):
                continue
            for block in read_sql(os.path.join(folder, file)).split("\n-- ")[1:]:
                title, _, sql = block.partition("\n")
                sort, _, name = title.partition(": ")
                if sort in ("name", "fragment"):
                    name = name.partition(" ")[0]  # without the mark of a query over every project
                    (queries if sort == "name" else fragments)[name] = sql.strip()
    return queries, fragments


def read_sql(path: str) -> str:
    """Read a file of SQL."""
    with open(path, encoding="utf-8") as opened:
        return opened.read()
