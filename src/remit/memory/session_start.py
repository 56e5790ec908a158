"""Writes the memory sections for the start of a session."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.memory.artifacts import DAY, ArtifactKind, Home, ObservationType, StoredArtifact, body_of, name_of
from remit.memory.traces import StoredTrace
from remit.text.sections import Section
from remit.text.untrusted_text import one_line

if TYPE_CHECKING:
    from remit.store.memory_store import SqlMemory

_MOST = 200  # characters per line


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentSection:
    """A section of recent artifacts, limited by count and age."""

    title: str
    kind: ArtifactKind
    observed: ObservationType | None
    limit: int
    days: int
    keep: int  # when space is short, the section with the lowest value is dropped first


RECENT = (
    RecentSection(
        title="Recent Changes",
        kind=ArtifactKind.OBSERVATION,
        observed=ObservationType.CHANGE,
        limit=10,
        days=1,
        keep=3,
    ),
    RecentSection(
        title="Active Decisions", kind=ArtifactKind.DECISION, observed=None, limit=5, days=7, keep=4
    ),
    RecentSection(
        title="Recent Findings",
        kind=ArtifactKind.OBSERVATION,
        observed=ObservationType.FINDING,
        limit=5,
        days=7,
        keep=2,
    ),
    RecentSection(
        title="References",
        kind=ArtifactKind.OBSERVATION,
        observed=ObservationType.REFERENCE,
        limit=3,
        days=3,
        keep=1,
    ),
)
_KEEP_SESSION = 5
_KEEP_ID = 6


def since(recent: RecentSection, now: int) -> int:
    """Return the time of the oldest artifacts that a section lists."""
    return now - recent.days * DAY


def memory_sections(
    memory_id: str,
    last_session: StoredArtifact | None,
    found: Sequence[tuple[RecentSection, Sequence[StoredArtifact]]],
) -> list[Section]:
    """Write the memory sections, each with its priority for when space is short."""
    sections = [Section(text=f"## Project Memory\nproject_id: {memory_id}", keep=_KEEP_ID)]
    if last_session is not None:
        sections.append(Section(text=_session(last_session), keep=_KEEP_SESSION))
    for recent, items in found:
        if items:
            lines = [f"## {recent.title}", *(f"- {_line(item)}" for item in items[: recent.limit])]
            sections.append(Section(text="\n".join(lines), keep=recent.keep))
    return sections


def _session(kept: StoredArtifact) -> str:
    lines = ["## Last Session", one_line(name_of(kept.kind, kept.content), _MOST)]
    for key, title in (("open_items", "Open"), ("next_actions", "Next")):
        items = kept.content.get(key)
        if isinstance(items, list) and items:
            lines.append(f"{title}: {one_line('; '.join(map(str, items)), _MOST)}")  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return "\n".join(lines)


def _line(kept: StoredArtifact) -> str:
    if kept.kind is ArtifactKind.OBSERVATION:
        return one_line(body_of(kept.kind, kept.content), _MOST)
    return one_line(f"{name_of(kept.kind, kept.content)} - {body_of(kept.kind, kept.content)}", _MOST)


def sections(
    store: "SqlMemory", project_id: str, now: int, left: Sequence[StoredTrace] = ()
) -> list[Section]:
    """Write the sections on a project's memory: its id, the last session, and recent artifacts.

    Traces in `left` are not saved as observations yet. They are listed too, in place of the observations that
    they update.
    """
    homes = store.homes(project_id)
    sessions = [kept for home in homes for kept in store.newest(home, ArtifactKind.SESSION, 1)]
    last = max(sessions, key=lambda kept: (kept.created_at, kept.id), default=None)
    found = [(sort, _newest(store, homes, sort, now, left)) for sort in RECENT]
    return memory_sections(project_id, last, found)


def _newest(
    store: "SqlMemory", homes: Sequence[Home], sort: RecentSection, now: int, left: Sequence[StoredTrace]
) -> list[StoredArtifact]:
    subject = None if sort.observed is None else sort.observed.value
    outdone = {each.artifact for each in left}
    observed = [
        _observation(each) for each in left if each.observed == subject and each.at >= since(sort, now)
    ]
    found = [
        kept
        for home in homes
        for kept in store.newest(
            home, sort.kind, sort.limit + len(outdone), since=since(sort, now), subject=subject
        )
        if kept.id not in outdone
    ]
    return sorted((*found, *observed), key=lambda kept: (-kept.created_at, kept.id))[: sort.limit]


def _observation(left: StoredTrace) -> StoredArtifact:
    return StoredArtifact(
        id=f"trace-{left.id}",
        kind=ArtifactKind.OBSERVATION,
        project_id="",
        focus=None,
        content={"type": left.observed, "text": left.text},
        dated_at=left.at,
        created_at=left.at,
        updated_at=left.at,
    )
