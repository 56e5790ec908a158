"""What a person may do with an artifact: confirm it, correct it, or let it expire; nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from remit.errors import ArtifactError
from remit.memory.artifacts import (
    SHAPES,
    ArtifactKind,
    ArtifactStatus,
    Content,
    Home,
    Related,
    Relation,
    StoredArtifact,
    artifact,
)
from remit.memory.value_checks import MAX_ITEMS, MAX_LINE, MAX_TEXT, checked_text
from remit.text.times import Clock, day

if TYPE_CHECKING:
    from remit.store.memory_store import SqlMemory

_LONGEST_HISTORY = 100


class Corrections:
    """Changes single artifacts on behalf of a person."""

    def __init__(self, store: SqlMemory, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    def confirm(self, kept: StoredArtifact) -> None:
        """Record that an artifact is still true; one that was held or replaced is recalled again."""
        at = self._clock()
        content = dict(kept.content)
        field = SHAPES[kept.kind].dated_by
        if field is not None:
            content[field] = day(at)
        with self._store.transaction():
            self._store.change(kept.id, kept.project_id, artifact(kept.kind, kept.scope, content), at)
            self._store.set_status(kept.id, kept.project_id, ArtifactStatus.LIVE, at)

    def expire(self, kept: StoredArtifact) -> None:
        """Stop recalling an artifact; it stays stored."""
        self._store.set_status(kept.id, kept.project_id, ArtifactStatus.SUPERSEDED, self._clock())

    def correct(self, kept: StoredArtifact, content: Content) -> str:
        """Replace an artifact with a corrected one, and return its id; the old one stays in the history.

        An entity has one fact, which is changed in place.

        Raises:
            ArtifactError: the content has other fields, or a field breaks a rule.
        """
        at = self._clock()
        corrected = artifact(kept.kind, kept.scope, {**kept.content, **_checked(kept, content)})
        with self._store.transaction():
            if kept.kind is ArtifactKind.ENTITY:
                self._store.change(kept.id, kept.project_id, corrected, at)
                return kept.id
            home = self._home(kept)
            same = self._store.same(corrected, home)
            if same is not None and same[0] == kept.id:
                return kept.id
            id = same[0] if same is not None else f"{kept.kind}-{self._new_id()}"
            if same is None:
                self._store.add(id, corrected, home, ArtifactStatus.LIVE, at)
            replaced = Related(target=kept.id, relation=Relation.SUPERSEDES, properties={})
            self._store.relate(id, replaced, kept.project_id, at)
            self._store.set_status(kept.id, kept.project_id, ArtifactStatus.SUPERSEDED, at)
        return id

    def history(self, kept: StoredArtifact) -> Sequence[StoredArtifact]:
        """List the artifacts that this one replaced, newest first."""
        found: list[StoredArtifact] = []
        known, next_ids = {kept.id}, [kept.id]
        while next_ids and len(found) < _LONGEST_HISTORY:
            id = next_ids.pop(0)
            for source, relation, target, _ in self._store.relations(id):
                if relation == Relation.SUPERSEDES and source == id and target not in known:
                    known.add(target)
                    older = self._store.find(target, kept.project_id)
                    if older is not None:
                        found.append(older)
                        next_ids.append(target)
        return found

    def _home(self, kept: StoredArtifact) -> Home:
        if not kept.project_id:
            return self._store.global_home()
        homes = self._store.homes(kept.project_id)
        return next(home for home in homes if home.focus == kept.focus)


def _checked(kept: StoredArtifact, content: Content) -> dict[str, object]:
    """Check corrected fields: each has the type it had."""
    checked: dict[str, object] = {}
    for field, value in content.items():
        before = kept.content.get(field)
        if isinstance(before, str):
            checked[field] = checked_text(value, field, MAX_TEXT)
        elif isinstance(before, list) and isinstance(value, list):
            items = cast("list[object]", value)
            if len(items) > MAX_ITEMS:
                raise ArtifactError(field, f"at most {MAX_ITEMS} lines", f"{len(items)}")
            checked[field] = [checked_text(item, field, MAX_LINE) for item in items]
        else:
            raise ArtifactError(field, "a text of this artifact", "another field")
    return checked
