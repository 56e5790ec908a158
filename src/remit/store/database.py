"""The interface of a database that runs named queries, where it finds them, and what limits them to a scope.

The files in `sql/` hold the queries of SQLite. Most are written so that PostgreSQL understands them too; its
own folder holds those that it needs in other words. The name of a query may have a mark in parentheses. Hook
processes import this module, so it needs only a few standard library modules.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from remit.decision.scopes import ancestors

if TYPE_CHECKING:
    from collections.abc import Collection
    from contextlib import AbstractContextManager

    from remit.decision.declarations import Key
    from remit.decision.projects import View, Workspace


Value = str | int | bytes | None
Row = tuple[Any, ...]  # each caller knows the columns of its query
SQL = os.path.join(os.path.dirname(__file__), "sql")
_KEY = ("client", "kind", "scope", "project_hash", "dir", "agent", "server", "name")


class Database(Protocol):
    """A connection to Remit's database."""

    @property
    def place(self) -> str: ...  # for messages: a path, or an address without a password

    @property
    def has_full_text_index(self) -> bool: ...  # whether it splits and scores texts by itself, like SQLite

    @property
    def is_append_only(self) -> bool: ...  # whether only an owner can delete audit entries, by whole months

    @property
    def is_shared(
        self,
    ) -> bool: ...  # whether other machines can write it, so what runs commands is not from it

    def close(self, *, quickly: bool = False) -> None: ...  # quickly: leave cleaning up to a later process

    # As whoever may write teams, tokens and trust: another connection where gateways may not.
    def administrator(self) -> AbstractContextManager[Database]: ...

    def run(self, query: str, /, **values: Value) -> None: ...

    def run_each(self, query: str, /, values: Iterable[Mapping[str, Value]]) -> None: ...

    def rows(self, query: str, /, **values: Value) -> list[Row]: ...

    def revision(self) -> int: ...  # changes whenever another connection writes

    def catalog_revision(self) -> int: ...  # changes with the data of catalogs, whichever process writes it

    def known_catalog_revision(self) -> int | None: ...  # the same; None: a server has to be asked

    def files(self) -> list[str]: ...  # files that change whenever any process writes

    def follow(self, tell: Callable[[], object]) -> None: ...  # of changes that no file shows, until closed

    def listen(self) -> bool: ...  # know revisions without asking a server; False: there is none

    def can_compare(self) -> bool: ...  # whether queries can compare vectors

    def transaction(self) -> AbstractContextManager[None]: ...  # atomic; other writers of its rows wait

    def claimed(self, work: str, ids: Collection[int]) -> AbstractContextManager[Collection[int]]:
        """Claim pieces of work, except those of other nodes, until the block or this process ends."""
        ...

    def time_limit(self, seconds: float) -> AbstractContextManager[None]: ...

    def enable_full_sync(self) -> None: ...  # every transaction reaches the disk before it counts

    def erase(self) -> None: ...  # leaves no copies of deleted data, as far as the database can


def scope_parameters(workspace: Workspace) -> dict[str, str]:
    """Return the parameters of the `in_scope` fragment."""
    reach = json.dumps(ancestors(workspace.dir))
    team = "" if workspace.team is None else workspace.team.hash
    return {"project": workspace.project.hash, "workspace": workspace.dir, "reach": reach, "team": team}


def key_parameters(key: Key) -> dict[str, str | None]:
    """Return the parameters that identify a row."""
    return dict(zip(_KEY, key, strict=True))


def view_parameters(view: View) -> dict[str, str]:
    """Return the parameters that identify a view."""
    workspace = view.workspace
    return {
        "client": view.client,
        "workspace": workspace.dir,
        "project": workspace.project.hash,
        "flags": view.flags.key,
    }


class NamedQueries:
    """The queries of some folders, by name; a later folder replaces those of an earlier one."""

    def __init__(self, folders: Iterable[str], translate: Callable[[str], str] = str) -> None:
        self._folders = tuple(folders)
        self._translate = translate
        self._translated: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        found = self._translated.get(name)
        if found is None:
            queries, fragments, _ = _blocks(self._folders)
            found = self._translated[name] = self._translate(_insert_fragments(queries[name], fragments))
        return found

    def mark(self, name: str) -> str:
        """Return the mark of a query; empty without one."""
        return _blocks(self._folders)[2].get(name, "")

    def names(self) -> list[str]:
        """List the names of all queries."""
        return list(_blocks(self._folders)[0])


@cache
def _blocks(folders: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Read the named queries, the fragments and the marks of queries of all SQL files."""
    queries: dict[str, str] = {}
    fragments: dict[str, str] = {}
    marks: dict[str, str] = {}
    for folder in folders:
        texts = [read_sql(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".sql")]
        for block in (block for text in texts for block in text.split("\n-- ")[1:]):
            title, _, sql = block.partition("\n")
            sort, _, name = title.partition(": ")
            name, _, mark = name.removesuffix(")").partition(" (")
            {"fragment": fragments, "name": queries}[sort][name] = sql.strip()
            if mark:
                marks[name] = mark
    return queries, fragments, marks


def _insert_fragments(sql: str, fragments: Mapping[str, str]) -> str:
    for name in fragments if "{" in sql else ():
        if f"{{{name}}}" in sql:  # a fragment may have others
            sql = sql.replace(f"{{{name}}}", _insert_fragments(fragments[name], fragments))
    return sql


def read_sql(path: str) -> str:
    """Read a file of SQL."""
    with open(path, encoding="utf-8") as opened:
        return opened.read()
