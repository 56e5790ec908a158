"""Memory: what agents saved about this project, and one artifact of it with its relations."""

from typing import NamedTuple

from remit.memory import Memory
from remit.store import Artifact
from remit.text import as_list, moment
from remit.web.listing import Source
from remit.web.page import Answer, Done, Request, Values, paged

PATH = "/memory"
ROWS = 50
_MOST = 10_000  # artifacts that a page looks at
_FOUND = 50
_TITLES = ("title", "name", "summary", "topic", "text")


class ArtifactRow(NamedTuple):
    """An artifact in a list."""

    artifact: Artifact
    score: float | None

    @property
    def title(self) -> str:
        """What it is called, or how it begins."""
        content = self.artifact.content
        named = next((content[name] for name in _TITLES if content.get(name)), self.artifact.key)
        return str(named)


def read(source: Source, request: Request) -> Answer:
    """List the artifacts of this repository, or show one."""
    with source.open_memory(request.here.directory) as memory:
        return _one(memory, request) if request.params.get("id") else _list(memory, request)


def delete(source: Source, request: Request) -> Done:
    """Erase an artifact.

    Raises:
        NotFoundError: there is none here.
    """
    id = request.params.get("id", "")
    with source.open_memory(request.here.directory) as memory:
        memory.delete_artifact(id)
    return Done(PATH, f"Deleted `{id}`")


def _list(memory: Memory, request: Request) -> Answer:
    query, kind = request.params.get("q", "").strip(), request.params.get("kind", "")
    projects = [project.project_id for project in memory.projects()]
    known = [artifact for id in projects for artifact in memory.artifacts(id, _MOST)]
    scores = _scores(memory, projects, query) if query else {}
    rows = [
        ArtifactRow(artifact, scores.get(artifact.key))
        for artifact in known
        if (not kind or artifact.kind == kind) and (not query or artifact.key in scores)
    ]
    rows.sort(key=lambda row: -(row.score or 0))
    kinds = {
        name: sum(artifact.kind == name for artifact in known) for name in sorted({a.kind for a in known})
    }

    def values() -> Values:
        return {"projects": projects, "page": paged(rows, request.number("page"), ROWS), "kinds": kinds}

    return Answer(
        "memory.html",
        lambda: {"projects": projects, "artifacts": [_shape(row.artifact) for row in rows]},
        values,
        part="part",
    )


def _scores(memory: Memory, projects: list[str], query: str) -> dict[str, float]:
    scores: dict[str, float] = {}
    for id in projects:
        answer = memory.call("memory_surface", {"project_id": id, "query": query, "limit": _FOUND})
        scores |= {str(item["id"]): float(item.get("score", 0)) for item in answer.get("items", ())}
    return scores


def _one(memory: Memory, request: Request) -> Answer:
    artifact = memory.find(request.params["id"])
    relations = memory.relations(artifact.key)

    def values() -> Values:
        fields = {
            name: "\n".join(map(str, as_list(value))) or str(value)
            for name, value in artifact.content.items()
        }
        row = ArtifactRow(artifact, None)
        return {"artifact": artifact, "name": row.title, "fields": fields, "relations": relations}

    def shape() -> dict[str, object]:
        return {**_shape(artifact), "relations": [relation._asdict() for relation in relations]}

    return Answer("artifact.html", shape, values)


def _shape(artifact: Artifact) -> dict[str, object]:
    return {
        "id": artifact.key,
        "kind": artifact.kind,
        "project_id": artifact.project_id,
        "focus": artifact.focus or None,
        "is_live": artifact.is_live,
        "created_at": moment(artifact.created_at),
        "content": artifact.content,
    }
