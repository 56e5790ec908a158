"""What a session is told of memory when it starts."""

from collections.abc import Sequence

from remit.memory.artifacts import ArtifactKind, StoredArtifact
from remit.memory.ports import Home, MemoryStore
from remit.memory.session_sections import RECENT, RecentSection, memory_sections, since
from remit.memory.traces import StoredTrace
from remit.text.limits import Section


def sections(
    store: MemoryStore, project_id: str, now: int, left: Sequence[StoredTrace] = ()
) -> list[Section]:
    """Write the sections on a project's memory: its id, the last session, and what is new of each sort.

    What calls left and is no observation yet is told beside those, and instead of the ones that say less.
    """
    homes = store.homes(project_id)
    sessions = [kept for home in homes for kept in store.newest(home, ArtifactKind.SESSION, 1)]
    last = max(sessions, key=lambda kept: (kept.created_at, kept.id), default=None)
    found = [(sort, _newest(store, homes, sort, now, left)) for sort in RECENT]
    return memory_sections(project_id, last, found)


def _newest(
    store: MemoryStore, homes: Sequence[Home], sort: RecentSection, now: int, left: Sequence[StoredTrace]
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
