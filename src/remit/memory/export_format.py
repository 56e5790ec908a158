"""Records: memory as lines of JSON, written out and read back exactly."""

import json
from collections.abc import Mapping
from typing import NamedTuple, cast

from remit.errors import ArtifactError
from remit.memory.argument_checks import (
    MAX_TEXT,
    Fields,
    checked_properties,
    read_context,
    read_decision,
    read_entity,
    read_pattern,
    read_session,
)
from remit.memory.artifacts import Artifact, Kept, Kind, Observed, Relation, Status, artifact
from remit.memory.scope_gate import MAX_ID, MemoryScope

FORMAT = {"remit_memory": 1}
HEAD = json.dumps(FORMAT)
_LATEST = 2**53  # what every reader of JSON can count to


class ProjectRecord(NamedTuple):
    """A project, and when its memory was last looked through."""

    project_id: str
    created_at: int
    checked_at: int


class FocusRecord(NamedTuple):
    """A focus area."""

    project_id: str
    focus: str
    created_at: int


class EdgeRecord(NamedTuple):
    """That two nodes are related."""

    source: str
    relation: Relation
    target: str
    project_id: str
    properties: Mapping[str, object]
    created_at: int


Record = ProjectRecord | FocusRecord | EdgeRecord | Kept


def written(record: Record) -> str:
    """Write a record as a line."""
    if isinstance(record, ProjectRecord):
        return _line("project", record._asdict())
    if isinstance(record, FocusRecord):
        return _line("focus", record._asdict())
    if isinstance(record, EdgeRecord):
        return _line("edge", record._asdict())
    return _line(
        "artifact",
        {
            "id": record.id,
            "kind": record.kind,
            "project_id": record.project_id,
            "focus": record.focus,
            "status": record.status,
            "dated_at": record.dated_at,
            "created_at": record.created_at,
            "updated_at": record.updated_at,
            "content": record.content,
        },
    )


def read(line: str) -> Record:
    """Read a line.

    Raises:
        ArtifactError: it is no record, or what it holds breaks a rule.
    """
    try:
        given: object = json.loads(line)
    except (ValueError, RecursionError):
        raise ArtifactError("line", "a line of JSON", "something else") from None
    fields = Fields(given, "", ("project", "focus", "edge", "artifact"))
    ((sort, value),) = (
        cast("Mapping[str, object]", given).items()
        if len(cast("dict[str, object]", given)) == 1
        else (("", None),)
    )
    if sort == "project":
        about = Fields(value, sort, ProjectRecord._fields)
        return ProjectRecord(_id(about), _time(about, "created_at"), _time(about, "checked_at"))
    if sort == "focus":
        about = Fields(value, sort, FocusRecord._fields)
        return FocusRecord(_id(about), _focus(about) or "", _time(about, "created_at"))
    if sort == "edge":
        about = Fields(value, sort, EdgeRecord._fields)
        return EdgeRecord(
            about.required_text("source", MAX_ID),
            about.choice("relation", Relation),
            about.required_text("target", MAX_ID),
            _owner(about),
            checked_properties(about.raw("properties"), "edge.properties"),
            _time(about, "created_at"),
        )
    return _artifact(Fields(fields.raw("artifact"), "artifact", _ARTIFACT))


def artifact_of(kept: Kept) -> Artifact:
    """Read what an artifact says anew, by the rules that hold for all.

    Raises:
        ArtifactError: it breaks one.
    """
    given = dict(kept.content)
    if kept.kind is Kind.OBSERVATION:
        return read_observation(given, kept.scope)
    if kept.kind is Kind.SESSION:
        return read_session({**given, "save_scope": kept.scope.value})
    return _READERS[kept.kind]({**given, "scope": kept.scope.value})


def read_observation(given: object, scope: MemoryScope) -> Artifact:
    """Read an observation."""
    fields = Fields(given, "observation", ("type", "text"))
    content = {"type": fields.choice("type", Observed).value, "text": fields.required_text("text", MAX_TEXT)}
    return artifact(Kind.OBSERVATION, scope, content)


_READERS = {
    Kind.DECISION: read_decision,
    Kind.PATTERN: read_pattern,
    Kind.CONTEXT: read_context,
    Kind.ENTITY: read_entity,
}
_ARTIFACT = ("id", "kind", "project_id", "focus", "status", "dated_at", "created_at", "updated_at", "content")


def _artifact(fields: Fields) -> Kept:
    content = fields.raw("content")
    kept = Kept(
        id=fields.required_text("id", MAX_ID),
        kind=fields.choice("kind", Kind),
        project_id=_owner(fields),
        focus=_focus(fields),
        status=fields.choice("status", Status),
        dated_at=_time(fields, "dated_at"),
        created_at=_time(fields, "created_at"),
        updated_at=_time(fields, "updated_at"),
        content=cast("Mapping[str, object]", content) if isinstance(content, Mapping) else {},
    )
    if kept.focus is not None and not kept.project_id:
        raise ArtifactError("artifact.focus", "null where there is no project", "given")
    artifact_of(kept)
    return kept


def _id(fields: Fields) -> str:
    found = fields.identifier("project_id")
    if found is None:
        raise ArtifactError("project_id", "given", "missing")
    return found


def _owner(fields: Fields) -> str:
    return "" if fields.raw("project_id") == "" else _id(fields)


def _focus(fields: Fields) -> str | None:
    return fields.identifier("focus")


def _time(fields: Fields, key: str) -> int:
    fields.raw(key)
    return fields.whole(key, 0, _LATEST, 0)


def _line(sort: str, content: Mapping[str, object]) -> str:
    return json.dumps({sort: content}, ensure_ascii=False, separators=(",", ":"), default=dict)
