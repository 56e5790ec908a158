"""Plain FTS5, the search to beat where words are quoted: names and descriptions, any of the query's words."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

DEPTH = 100


def fts5(tools: Sequence[dict[str, Any]]) -> Callable[[str], list[int]]:
    """Index tools with SQLite's own search as it comes."""
    base = sqlite3.connect(":memory:")
    base.execute("create virtual table t using fts5 (name, description, tokenize = 'porter unicode61')")
    rows = ((at, tool["name"], tool["description"]) for at, tool in enumerate(tools))
    base.executemany("insert into t (rowid, name, description) values (?, ?, ?)", rows)
    statement = "select rowid from t where t match ? order by bm25(t, 2.0, 1.0), rowid limit ?"

    def search(query: str) -> list[int]:
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        match = " OR ".join(f'"{word}"' for word in words)
        return [row[0] for row in base.execute(statement, (match, DEPTH))] if match else []

    return search
