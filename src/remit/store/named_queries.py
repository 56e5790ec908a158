"""Finds the named queries in the SQL files of a database, and inserts their fragments.

The files in `sql/` hold the queries of SQLite. Most are written so that PostgreSQL understands them too; its
own folder holds those that it needs in other words. The name of a query may have a mark in parentheses.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache

SQL = os.path.join(os.path.dirname(__file__), "sql")


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
