"""Implements the tools that read: `retrieve_context`, `memory_surface` and `run_hygiene`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from remit.errors import ArtifactError, ScopeError, StoreError, StoreTimeoutError, StoreUnavailableError
from remit.memory.artifact_search import ArtifactSearch
from remit.memory.artifacts import ArtifactKind, Home, body_of, freshness, is_hygiene_due, name_of
from remit.memory.hygiene import HygieneReport, PendingWrite, hygiene
from remit.memory.memory_scopes import MemoryScope, PlaceStatus
from remit.memory.results import (
    LIMITS,
    TEAM,
    ContextBundle,
    FoundArtifact,
    Item,
    RetrievalStatus,
    SurfaceResult,
    conflicts_among,
    limited,
    shown,
)
from remit.memory.tool_permissions import MemoryPlace, Permission, scope_refusal
from remit.memory.value_checks import DEFAULT_SURFACED, MAX_SURFACED
from remit.memory.writer import BoundProjects, find_place

if TYPE_CHECKING:  # loads pydantic, which only tool calls need
    from remit.memory.tool_models import MemorySurface, RetrieveContext, RunHygiene
    from remit.store.memory_store import SqlMemory
    from remit.text.times import Clock

TIME_LIMIT = 5.0  # seconds
_EXCERPT = 300  # characters
_NO_TEAMS: Mapping[str, str] = MappingProxyType({})


class _ContextQuery(NamedTuple):
    """The checked arguments of `retrieve_context`."""

    where: MemoryPlace
    scope: MemoryScope
    kinds: Sequence[ArtifactKind]
    keyword: str | None


class MemoryReader:
    """Implements the tools that read, within a time limit."""

    def __init__(
        self,
        store: SqlMemory,
        search: ArtifactSearch,
        clock: Clock,
        teams: Mapping[str, str] = _NO_TEAMS,  # the memory that its team shares, by a project's
    ) -> None:
        self._store = store
        self._search = search
        self._clock = clock
        self._teams = teams

    def retrieve(self, arguments: RetrieveContext, bound: BoundProjects) -> ContextBundle:
        """Run `retrieve_context`: the focus area first, then the project, its team, and the global scope."""
        asked = self._asked(arguments, bound)
        state = asked.where.standing.scope_state
        try:
            if asked.keyword is not None:
                self._search.read()
            with self._store.within(TIME_LIMIT):
                return self._bundle(asked)
        except StoreTimeoutError:
            return ContextBundle(
                items=[],
                retrieval_status=RetrievalStatus.TIMED_OUT,
                scope_state=state,
                next_step="Ask again with fewer categories, or with a keyword that fewer artifacts have.",
            )
        except StoreError as error:
            return ContextBundle(
                items=[],
                retrieval_status=RetrievalStatus.FAILED,
                scope_state=state,
                next_step=f"{error}. {error.hint or ''}".strip(),
            )

    def surface(self, arguments: MemorySurface, bound: BoundProjects) -> SurfaceResult:
        """Run `memory_surface`: the best matches in a project, its team and the global scope."""
        query, limit = arguments.query, arguments.limit or DEFAULT_SURFACED
        where = self._place("memory_surface", arguments.project_id, None, bound)
        try:
            self._search.read()
            with self._store.within(TIME_LIMIT):
                homes = self._homes(where, MemoryScope.FOCUS, everywhere=True)
                found = [
                    item
                    for each in homes.values()
                    for item in self._search.search(query, each, tuple(ArtifactKind), MAX_SURFACED)
                ]
                if shared := self._team_homes(where):
                    hits = self._search.search(query, shared, tuple(ArtifactKind), MAX_SURFACED)
                    found += _of_team(hits)
        except StoreError as error:
            is_late = isinstance(error, StoreTimeoutError)
            status = RetrievalStatus.TIMED_OUT if is_late else RetrievalStatus.FAILED
            return SurfaceResult(
                matches=[], query_used=query, total_found=0, retrieval_status=status, next_step=str(error)
            )
        best = sorted(found, key=lambda item: -(item.score or 0.0))
        return SurfaceResult(
            matches=[self._match(item) for item in best[:limit]],
            query_used=query,
            total_found=len(best),
            retrieval_status=RetrievalStatus.SUCCEEDED if best else RetrievalStatus.EMPTY,
            next_step=None if best else "Nothing in memory answers this; try other words.",
        )

    def hygiene(
        self, arguments: RunHygiene, bound: BoundProjects, waiting: Sequence[PendingWrite]
    ) -> HygieneReport:
        """Run `run_hygiene`."""
        project_id, scope = arguments.project_id, arguments.scope
        pending_only = bool(arguments.check_pending_only)
        where = self._place("run_hygiene", project_id, None, bound)
        homes = [] if pending_only or not where.standing.project_exists else self._checked(where, scope)
        with self._store.within(TIME_LIMIT):
            nodes = self._store.checked(homes)
            dangling = self._store.dangling(homes[0].project_id) if homes else ()
        report = hygiene(
            nodes,
            dangling,
            waiting,
            project_id=project_id or "",
            scope=scope,
            now=self._clock(),
            pending_only=pending_only,
        )
        if homes and scope is not MemoryScope.GLOBAL:
            with suppress(StoreUnavailableError):  # then the check stays due
                self._store.mark_checked(project_id or "", report.checked_at)
        return report

    def _asked(self, arguments: RetrieveContext, bound: BoundProjects) -> _ContextQuery:
        scope, focus = arguments.scope, arguments.focus
        if scope is MemoryScope.FOCUS and focus is None:
            raise ArtifactError("focus", "given, because the scope is `focus`", "missing")
        return _ContextQuery(
            self._place("retrieve_context", arguments.project_id, focus, bound),
            scope,
            list(ArtifactKind) if arguments.categories is None else arguments.categories,
            arguments.keyword or arguments.topic,
        )

    def _place(
        self, tool: str, project_id: str | None, focus: str | None, bound: BoundProjects
    ) -> MemoryPlace:
        where = find_place(self._store, project_id, focus, bound)
        if where.permission(tool) is Permission.BLOCKED:
            objected = scope_refusal(where)
            raise ScopeError(objected.message, hint=objected.next_step)
        return where

    def _homes(
        self, where: MemoryPlace, scope: MemoryScope, *, everywhere: bool = False
    ) -> dict[MemoryScope, list[Home]]:
        """Return the homes that a place may read, by scope, starting at `scope` and going outward."""
        if not where.standing.project_exists:
            return {}
        known = self._store.homes(where.project_id or "")
        if where.standing is PlaceStatus.UNKNOWN_FOCUS:
            return {MemoryScope.PROJECT: [known[0]]} if scope is not MemoryScope.GLOBAL else {}
        areas = [
            home for home in known if home.focus is not None and (everywhere or home.focus == where.focus)
        ]
        homes = {
            MemoryScope.FOCUS: areas,
            MemoryScope.PROJECT: [known[0]],
            MemoryScope.GLOBAL: [self._store.global_home()],
        }
        return {
            each: homes[each] for each in tuple(MemoryScope)[tuple(MemoryScope).index(scope) :] if homes[each]
        }

    def _team_homes(self, where: MemoryPlace) -> Sequence[Home]:
        """Return the home of what a project's team shares, where the gate lets all of memory through."""
        team = self._teams.get(where.project_id or "")
        is_within = where.bound is None or team in where.bound
        if team is None or not is_within or where.standing is not PlaceStatus.KNOWN:
            return ()
        return self._store.homes(team)[:1]

    def _checked(self, where: MemoryPlace, scope: MemoryScope | None) -> list[Home]:
        if scope is MemoryScope.GLOBAL:
            return [self._store.global_home()]
        known = self._store.homes(where.project_id or "")
        if scope is None:
            return list(known)
        return [home for home in known if (home.focus is not None) == (scope is MemoryScope.FOCUS)]

    def _bundle(self, asked: _ContextQuery) -> ContextBundle:
        homes = self._homes(asked.where, asked.scope)
        found = [item for scope, each in homes.items() for item in self._found(asked, scope, each)]
        if asked.scope is not MemoryScope.GLOBAL and (shared := self._team_homes(asked.where)):
            found += _of_team(self._found(asked, TEAM, shared))
        kept, truncated = limited(found, LIMITS)
        now = self._clock()
        conflicts = self._conflicts(kept, asked.where)
        status = RetrievalStatus.SUCCEEDED if kept else RetrievalStatus.EMPTY
        exists = asked.where.standing.project_exists
        return ContextBundle(
            items=[shown(item, now) for item in kept],
            retrieval_status=RetrievalStatus.CONFLICTED if conflicts else status,
            scope_state=asked.where.standing.scope_state,
            conflicts_found=bool(conflicts),
            conflicts=conflicts,
            hygiene_due=exists and is_hygiene_due(self._store.checked_at(asked.where.project_id or ""), now),
            truncated_scopes=truncated,
            next_step=_next_step(asked, conflicts, truncated, is_empty=not kept),
        )

    def _found(self, asked: _ContextQuery, scope: str, homes: Sequence[Home]) -> list[FoundArtifact]:
        limit = LIMITS[scope] + 1  # one extra shows that there are more
        if asked.keyword is not None:
            return self._search.search(asked.keyword, homes, asked.kinds, limit)
        newest = [
            kept for home in homes for kind in asked.kinds for kept in self._store.newest(home, kind, limit)
        ]
        # Observations come last: a day's work would otherwise crowd out saved artifacts.
        newest.sort(key=lambda kept: (kept.kind is ArtifactKind.OBSERVATION, -kept.created_at, kept.id))
        return [FoundArtifact(kept=kept) for kept in newest[:limit]]

    def _conflicts(self, found: Sequence[FoundArtifact], where: MemoryPlace) -> list[tuple[str, str]]:
        ids = [item.kept.id for item in found if item.kept.kind is ArtifactKind.DECISION]
        known = self._store.conflicts(ids, where.project_id or "") if ids else ()
        pairs = {tuple(sorted(pair)) for pair in (*known, *conflicts_among(found))}
        return sorted((one, other) for one, other in pairs)

    def _match(self, item: FoundArtifact) -> Item:
        kept = item.kept
        return {
            "id": kept.id,
            "label": kept.label,
            "name": name_of(kept.kind, kept.content),
            "content": body_of(kept.kind, kept.content)[:_EXCERPT],
            "scope": item.scope,
            "focus": kept.focus,
            "freshness": freshness(kept.dated_at, self._clock()),
            "score": round(item.score or 0.0, 3),
            "project_id": kept.project_id or None,
        }


def _of_team(found: Sequence[FoundArtifact]) -> list[FoundArtifact]:
    return [replace(item, is_of_team=True) for item in found]


def _next_step(
    asked: _ContextQuery, conflicts: Sequence[object], truncated: Sequence[str], *, is_empty: bool
) -> str | None:
    where = asked.where
    if where.standing is PlaceStatus.UNKNOWN_PROJECT:
        return scope_refusal(where).next_step
    if where.standing is PlaceStatus.UNKNOWN_FOCUS:
        return "These results are the project's own: saving something with this focus creates it."
    if conflicts:
        return "Resolve contradictions: save the decision that holds, with the other's id in `supersedes`."
    if truncated:
        return "There is more: ask with a keyword, or for some categories."
    return "No memory here yet." if is_empty and asked.keyword is None else None
