"""What a session is told of memory when it starts."""

from collections.abc import Sequence

from remit.core.memory.artifacts import Kept, Kind
from remit.core.memory.sections import RECENT, Recent, memory_sections, since
from remit.core.session_context import Section
from remit.memory.ports import Home, MemoryStore


def sections(store: MemoryStore, project_id: str, now: int) -> list[Section]:
    """Write the sections on a project's memory: its id, the last session, and what is new of each sort."""
    homes = store.homes(project_id)
    sessions = [kept for home in homes for kept in store.newest(home, Kind.SESSION, 1)]
    last = max(sessions, key=lambda kept: (kept.created_at, kept.id), default=None)
    return memory_sections(project_id, last, [(sort, _newest(store, homes, sort, now)) for sort in RECENT])


def _newest(store: MemoryStore, homes: Sequence[Home], sort: Recent, now: int) -> list[Kept]:
    subject = None if sort.observed is None else sort.observed.value
    found = [
        kept
        for home in homes
        for kept in store.newest(home, sort.kind, sort.limit, since=since(sort, now), subject=subject)
    ]
    return sorted(found, key=lambda kept: (-kept.created_at, kept.id))[: sort.limit]
