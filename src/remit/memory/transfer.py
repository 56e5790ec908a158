"""Export and import: all of memory as lines of JSON, and back, exactly."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from remit.errors import ArtifactError, BadFileError
from remit.memory.artifacts import Kept, Kind, Related, Status
from remit.memory.export_format import (
    HEAD,
    EdgeRecord,
    FocusRecord,
    ProjectRecord,
    Record,
    artifact_of,
    read,
    written,
)
from remit.memory.ports import Home, MemoryStore


class Imported(NamedTuple):
    """What became of an import."""

    added: int
    known: int  # what was there before, just as it is in the lines


def export(store: MemoryStore, project_id: str | None) -> Iterator[str]:
    """Write what is kept, of one project or of all, as lines."""
    yield HEAD
    for record in store.records(project_id):
        yield written(record)


def restore(store: MemoryStore, lines: Iterable[str]) -> Imported:
    """Add what lines hold, all of it or nothing.

    Raises:
        BadFileError: a line cannot be read, or says something else than what is kept under its name.
    """
    records = _read(lines)
    with store.transaction():
        before = {written(record) for record in store.records(None)}
        new = [(number, record) for number, record in records if written(record) not in before]
        added = 0
        for number, record in new:
            try:
                added += _add(store, record)
            except ArtifactError as error:
                raise BadFileError(f"line {number}: {error}", hint=error.hint) from error
    return Imported(added, len(records) - added)


def _read(lines: Iterable[str]) -> Sequence[tuple[int, Record]]:
    found: list[tuple[int, Record]] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if number == 1:
            if text != HEAD:
                raise BadFileError(
                    "line 1: this is no export of memory", hint="`remit memory export` writes one"
                )
        elif text:
            try:
                found.append((number, read(text)))
            except ArtifactError as error:
                raise BadFileError(f"line {number}: {error}", hint=error.hint) from error
    return found


def _add(store: MemoryStore, record: Record) -> bool:
    """Add a record, and tell whether it was: a project or a focus area that is there stays as it is."""
    if isinstance(record, ProjectRecord):
        if store.homes(record.project_id):
            return False
        store.create_project(record.project_id, record.created_at)
        store.mark_checked(record.project_id, record.checked_at)
    elif isinstance(record, FocusRecord):
        project = _home(store, record.project_id, None)
        if any(home.focus == record.focus for home in store.homes(record.project_id)):
            return False
        store.create_focus(project, record.focus, record.created_at)
    elif isinstance(record, EdgeRecord):
        _relate(store, record)
    else:
        _restore(store, record)
    return True


def _restore(store: MemoryStore, kept: Kept) -> None:
    home = _home(store, kept.project_id, kept.focus)
    if store.owner(kept.id) is not None:
        raise ArtifactError("artifact.id", "new", "the id of one that says something else")
    if kept.kind is Kind.ENTITY and store.entity(artifact_of(kept).subject, home) is not None:
        raise ArtifactError("artifact.content.entity_name", "new", "known, with another id")
    if kept.kind is Kind.ENTITY and kept.status is not Status.LIVE:
        raise ArtifactError("artifact.status", "live, of an entity", kept.status)
    store.restore(kept, home)


def _relate(store: MemoryStore, edge: EdgeRecord) -> None:
    for field, id in (("edge.source", edge.source), ("edge.target", edge.target)):
        if store.find(id, edge.project_id) is None:
            raise ArtifactError(field, "an artifact of the same project", "none")
    related = Related(target=edge.target, relation=edge.relation, properties=edge.properties)
    store.relate(edge.source, related, edge.project_id, edge.created_at)


def _home(store: MemoryStore, project_id: str, focus: str | None) -> Home:
    if not project_id:
        return store.global_home()
    for home in store.homes(project_id):
        if home.focus == focus:
            return home
    raise ArtifactError("project_id", "of a project, with its focus, that an earlier line has", "of none")
