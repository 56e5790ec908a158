"""Reads the folders of tools and queries that the models are trained and chosen on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from text import Fields, fields

LEFT_OUT = ("metatool", "seal-tools")  # of mode `sel`, so that all dev sets lie outside of training


class Tool(NamedTuple):
    """A tool of a set: its fields, and what else weak queries are made of."""

    id: str
    server: str
    fields: Fields
    server_description: str
    params: tuple[tuple[str, str], ...]


class Query(NamedTuple):
    """A request and the ids of the tools that answer it."""

    text: str
    relevant: tuple[str, ...]


class Set(NamedTuple):
    """One folder."""

    name: str
    tools: list[Tool]
    queries: list[Query]
    meta: dict[str, Any]


def read_sets(folder: Path) -> list[Set]:
    """Every set in a folder, by name."""
    return [_read_set(path) for path in sorted(folder.iterdir()) if path.is_dir()]


def _read_set(folder: Path) -> Set:
    tools = [_tool(row) for row in _rows(folder / "tools.jsonl")]
    queries = [Query(row["text"], tuple(row["relevant"])) for row in _rows(folder / "queries.jsonl")]
    return Set(folder.name, tools, queries, json.loads((folder / "meta.json").read_text("utf-8")))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _tool(row: dict[str, Any]) -> Tool:
    params = _params(row.get("parameters"))
    server = row.get("server_name") or row.get("server") or ""
    return Tool(
        id=row["id"],
        server=row.get("server") or "",
        fields=fields(row["name"], server, row.get("description") or "", params),
        server_description=row.get("server_description") or "",
        params=params,
    )


def _params(given: Any) -> tuple[tuple[str, str], ...]:
    """Names and descriptions of the top-level parameters, in whichever of the sets' four forms."""
    if isinstance(given, dict) and isinstance(given.get("properties"), dict) and "type" in given:
        given = given["properties"]
    elif isinstance(given, dict) and isinstance(given.get("required"), list):
        given = [*given["required"], *given.get("optional", [])]
    if isinstance(given, dict):
        return tuple((name, _described(entry)) for name, entry in given.items() if isinstance(entry, dict))
    entries = [entry for entry in given or [] if isinstance(entry, dict) and "name" in entry]
    return tuple((str(entry["name"]), _described(entry)) for entry in entries)


def _described(entry: dict[str, Any]) -> str:
    text = entry.get("description") or entry.get("desc") or ""
    return text if isinstance(text, str) else ""
