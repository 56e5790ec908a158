"""Exports memory as lines of JSON, and imports them without loss."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from remit.errors import ONE_OF_THE_FIELDS, ArtifactError, BadFileError
from remit.memory.artifact_models import checked_content
from remit.memory.artifacts import (
    ArtifactKind,
    ArtifactStatus,
    EdgeRecord,
    FocusRecord,
    Home,
    ProjectRecord,
    Record,
    Related,
    Relation,
    StoredArtifact,
    artifact,
)
from remit.memory.checked_model import (
    ArtifactId,
    Checked,
    CheckedModel,
    Identifier,
    Properties,
    choice,
)
from remit.memory.value_checks import checked_id, checked_whole, shown

if TYPE_CHECKING:
    from remit.store.memory_store import SqlMemory

FORMAT = {"remit_memory": 1}
HEAD = json.dumps(FORMAT)
_LATEST = 2**53  # larger integers are not safe in JSON

Moment = Annotated[int, Checked(lambda value: checked_whole(value, 0, _LATEST), {"type": "integer"})]
Owner = Annotated[str, Checked(lambda value: "" if value == "" else checked_id(value), {"type": "string"})]


class _Project(CheckedModel):
    """The line of a project."""

    project_id: Identifier
    created_at: Moment
    checked_at: Moment

    def record(self) -> ProjectRecord:
        return ProjectRecord(**self.model_dump())


class _Focus(CheckedModel):
    """The line of a focus area."""

    project_id: Identifier
    focus: Identifier
    created_at: Moment

    def record(self) -> FocusRecord:
        return FocusRecord(**self.model_dump())


class _Edge(CheckedModel):
    """The line of a relation between two nodes."""

    source: ArtifactId
    relation: Annotated[Relation, choice(Relation)]
    target: ArtifactId
    project_id: Owner
    properties: Properties
    created_at: Moment

    def record(self) -> EdgeRecord:
        return EdgeRecord(**self.model_dump())


class _Artifact(CheckedModel):
    """The line of an artifact."""

    id: ArtifactId
    kind: Annotated[ArtifactKind, choice(ArtifactKind)]
    project_id: Owner
    focus: Identifier | None
    status: Annotated[ArtifactStatus, choice(ArtifactStatus)]
    dated_at: Moment
    created_at: Moment
    updated_at: Moment
    content: Any

    def record(self) -> StoredArtifact:
        if self.focus is not None and not self.project_id:
            raise ArtifactError("artifact.focus", "null where there is no project", "given")
        kept = StoredArtifact(**self.model_dump())
        return replace(kept, content=checked_content(kept.kind, kept.scope, kept.content))


_LINES: Mapping[str, type[_Project | _Focus | _Edge | _Artifact]] = {
    "project": _Project,
    "focus": _Focus,
    "edge": _Edge,
    "artifact": _Artifact,
}

_NAMES = {ProjectRecord: "project", FocusRecord: "focus", EdgeRecord: "edge"}


class ImportResult(NamedTuple):
    """The result of an import."""

    added: int
    known: int  # already stored


def export(store: "SqlMemory", project_id: str | None) -> Iterator[str]:
    """Export a project, or all of memory, as lines."""
    yield HEAD
    for record in store.records(project_id):
        yield record_line(record)


def restore(
    store: "SqlMemory", lines: Iterable[str], project_id: str, approve: Callable[[Sequence[str]], None]
) -> ImportResult:
    """Import lines completely or not at all; what other projects would see, `approve` may refuse by raising.

    Raises:
        BadFileError: a line is invalid, or conflicts with a stored record.
    """
    records = _read(lines)
    with store.transaction():
        before = {record_line(record) for record in store.records(None)}
        new = [(number, record) for number, record in records if record_line(record) not in before]
        added: list[Record] = []
        for number, record in new:
            try:
                added += [record] if _add(store, record) else []
            except ArtifactError as error:
                raise BadFileError(f"line {number}: {error}", hint=error.hint) from error
        if elsewhere := [record_line(record) for record in added if record.project_id != project_id]:
            approve(elsewhere)
    return ImportResult(len(added), len(records) - len(added))


def record_line(record: Record) -> str:
    """Format a record as a line."""
    if not isinstance(record, StoredArtifact):
        return _line(_NAMES[type(record)], record._asdict())
    # Not `asdict`, which makes deep copies.
    return _line("artifact", {each.name: getattr(record, each.name) for each in fields(record)})


def read_record(line: str) -> Record:
    """Parse a line.

    Raises:
        ArtifactError: the line is not a record, or its content breaks a rule.
    """
    try:
        given: object = json.loads(line)
    except (ValueError, RecursionError):
        raise ArtifactError("line", "a line of JSON", "something else") from None
    if not isinstance(given, dict):
        raise ArtifactError("arguments", "an object", shown(given))
    members = cast("dict[str, object]", given)
    for key in members:
        if key not in _LINES:
            raise ArtifactError(
                shown(key, quoted=False), f"{ONE_OF_THE_FIELDS}{', '.join(_LINES)}", "unknown"
            )
    kind = next(iter(members)) if len(members) == 1 else "artifact"
    if kind not in members:
        raise ArtifactError(kind, "given", "missing")
    return _LINES[kind].read(members[kind], kind).record()


def _read(lines: Iterable[str]) -> Sequence[tuple[int, Record]]:
    found: list[tuple[int, Record]] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if number == 1:
            if text != HEAD:
                raise BadFileError("line 1: not a memory export", hint="`remit memory export` writes one")
        elif text:
            try:
                found.append((number, read_record(text)))
            except ArtifactError as error:
                raise BadFileError(f"line {number}: {error}", hint=error.hint) from error
    return found


def _add(store: "SqlMemory", record: Record) -> bool:
    """Add a record; return False for a project or focus area that already exists, which stays unchanged."""
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


def _restore(store: "SqlMemory", kept: StoredArtifact) -> None:
    home = _home(store, kept.project_id, kept.focus)
    if store.owner(kept.id) is not None:
        raise ArtifactError("artifact.id", "new", "the id of one that says something else")
    if (
        kept.kind is ArtifactKind.ENTITY
        and store.entity(artifact(kept.kind, kept.scope, kept.content).subject, home) is not None
    ):
        raise ArtifactError("artifact.content.entity_name", "new", "known, with another id")
    if kept.kind is ArtifactKind.ENTITY and kept.status is not ArtifactStatus.LIVE:
        raise ArtifactError("artifact.status", "live, of an entity", kept.status)
    store.restore(kept, home)


def _relate(store: "SqlMemory", edge: EdgeRecord) -> None:
    for field, id in (("edge.source", edge.source), ("edge.target", edge.target)):
        if store.find(id, edge.project_id) is None:
            raise ArtifactError(field, "an artifact of the same project", "none")
    related = Related(target=edge.target, relation=edge.relation, properties=edge.properties)
    store.relate(edge.source, related, edge.project_id, edge.created_at)


def _home(store: "SqlMemory", project_id: str, focus: str | None) -> Home:
    if not project_id:
        return store.global_home()
    for home in store.homes(project_id):
        if home.focus == focus:
            return home
    raise ArtifactError("project_id", "of a project, with its focus, that an earlier line has", "of none")


def _line(sort: str, content: Mapping[str, object]) -> str:
    return json.dumps({sort: content}, ensure_ascii=False, separators=(",", ":"), default=dict)
