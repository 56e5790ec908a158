"""What a session is told of memory when it starts."""

from remit.text import Section, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.decision import Workspace
    from remit.store import Artifact, Store

_DAY = 86_400_000  # milliseconds
_MOST = 200  # characters of a line
_PROJECTS = 3
_CONTEXTS = 50  # of the last days, among which findings and references are
_REFERENCE = "reference"  # the topic of a context that refers to something


def sections(store: "Store", workspace: "Workspace", now: int) -> "list[Section]":
    """Write the sections about memory; the section with the lowest `keep` is dropped first."""

    def newest(kind: str, limit: int, days: int | None = None) -> "list[Artifact]":
        since = 0 if days is None else now - days * _DAY
        return store.artifacts.newest(places, [kind], limit, workspace, since=since)

    ids = project_ids(store, workspace)[:_PROJECTS]
    places = [place for id in ids for place in store.artifacts.places(id, workspace).values()]
    changes = [
        line for session in newest("session", 10, 1) for line in session.content.get("actions_taken", ())
    ]
    contexts = newest("context", _CONTEXTS, 7)
    findings = [item for item in contexts if not _is_reference(item)]
    references = [item for item in contexts if _is_reference(item) and item.created_at >= now - 3 * _DAY]
    decisions = [_joined(item, "title", "rationale") for item in newest("decision", 5, 7)]
    return [
        Section("\n".join(["## Project Memory", *(f"project_id: {one_line(id, _MOST)}" for id in ids)]), 6),
        *(Section(_last_session(session), 5) for session in newest("session", 1)),
        _listed("Recent Changes", changes[:10], 3),
        _listed("Active Decisions", decisions, 4),
        _listed("Recent Findings", (_joined(item, "topic", "content") for item in findings[:5]), 2),
        _listed("References", (item.content["content"] for item in references[:3]), 1),
    ]


def project_ids(store: "Store", workspace: "Workspace") -> list[str]:
    """List the projects of a repository's memory, last used first; without any, the one to create."""
    projects = sorted(store.artifacts.projects(workspace), key=lambda project: -project.updated_at)
    return [project.project_id for project in projects] or [workspace.project.short_name]


def _is_reference(context: "Artifact") -> bool:
    return context.content.get("topic", "").lower() == _REFERENCE


def _last_session(session: "Artifact") -> str:
    lines = [one_line(session.content.get("objective", ""), _MOST)]
    for field, title in (("open_items", "Open"), ("next_actions", "Next")):
        if items := session.content.get(field):
            lines.append(f"{title}: {one_line('; '.join(items), _MOST)}")
    text = "\n".join(filter(None, lines))
    return text and f"## Last Session\n{text}"


def _joined(artifact: "Artifact", *fields: str) -> str:
    return " - ".join(filter(None, (artifact.content.get(field) for field in fields)))


def _listed(title: str, lines: "Iterable[str]", keep: int) -> Section:
    text = "\n".join(f"- {one_line(line, _MOST)}" for line in lines)
    return Section(f"## {title}\n{text}" if text else "", keep)
