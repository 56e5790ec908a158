"""Project memory for tools, the command line and hooks.

Every acknowledged write is on disk: in the store, or in a queue while the store cannot be written. Every
later call retries the queue. Methods that check arguments import the pydantic models themselves, because
hooks only observe and should not load them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.projects import Workspace
from remit.errors import StoreUnavailableError, UnknownArtifactError
from remit.files.write_queue import WriteQueue
from remit.memory.artifact_search import ArtifactSearch
from remit.memory.artifacts import (
    Artifact,
    ArtifactKind,
    ArtifactStatus,
    Home,
    ObservationType,
    StoredArtifact,
    artifact,
)
from remit.memory.corrections import Corrections
from remit.memory.global_writes import GlobalWrites, UnapprovedError
from remit.memory.hygiene import HygieneReport
from remit.memory.memory_scopes import MemoryScope, memory_id, team_memories
from remit.memory.pending_writes import Arguments, PendingWrites
from remit.memory.reader import MemoryReader
from remit.memory.results import (
    ContextBundle,
    DeleteResult,
    SaveResult,
    SaveStatus,
    ScopeStateResult,
    SurfaceResult,
    blocked,
)
from remit.memory.session_start import sections
from remit.memory.tool_permissions import SAVING_TOOLS, Permission, scope_refusal
from remit.memory.value_checks import MAX_TEXT, checked_text
from remit.memory.writer import (
    BoundProjects,
    MemoryWriter,
    WritePlan,
    WriteStamp,
    Written,
    combined,
    find_place,
)
from remit.text.redaction import redact
from remit.text.secrets import secrets_in
from remit.text.sections import Section

if TYPE_CHECKING:
    from remit.memory.transfer import ImportResult
    from remit.search.engine import SearchEngine
    from remit.store.approval_store import SqlApprovals
    from remit.store.memory_store import SqlMemory
    from remit.text.times import Clock


_IMPORT = "import"


class NewObservation(NamedTuple):
    """An observation to save."""

    observed: ObservationType
    text: str
    at: int | None = None  # in Unix milliseconds; None: now
    instead_of: str | None = None  # the earlier observation to remove


def _new_id() -> str:
    return os.urandom(8).hex()


class Memory:
    """Saves and recalls artifacts by project, behind the scope gate."""

    def __init__(
        self,
        store: SqlMemory,
        queue: WriteQueue,
        engine: SearchEngine,
        clock: Clock,
        *,
        approvals: SqlApprovals,
        workspace: Workspace,
        new_id: Callable[[], str] = _new_id,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self.workspace = workspace
        self._new_id = new_id
        self._on_close = on_close
        self._search = ArtifactSearch(store, engine)
        teams = {memory_id(workspace.project): team for team in team_memories(workspace)}
        self._reader = MemoryReader(store, self._search, clock, teams)
        self._writer = MemoryWriter(store)
        self._pending = PendingWrites(queue, store, self._writer, _plan)
        self.global_writes = GlobalWrites(store, approvals, workspace, clock)
        self.corrections = Corrections(store, clock, new_id)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._on_close()

    def get_scope_state(self, arguments: Arguments, bound: BoundProjects = None) -> ScopeStateResult:
        """Return whether a project and a focus area exist."""
        from remit.memory.tool_models import GetScopeState

        asked = GetScopeState.read(arguments)
        project_id, focus = asked.project_id, asked.focus
        self._pending.retry()
        where = find_place(self._store, project_id, focus, bound)
        is_blocked = where.permission("save_decision") is Permission.BLOCKED
        return ScopeStateResult(
            scope_state=where.standing.scope_state,
            project_exists=where.standing.project_exists,
            project_id=project_id,
            focus=focus,
            next_step=scope_refusal(where).next_step if is_blocked else None,
        )

    def save(self, tool: str, arguments: Arguments, bound: BoundProjects = None) -> Written:
        """Save artifacts with one of the tools that save; `save_session` creates a missing project.

        Raises:
            ArtifactError: the arguments break a rule.
            NotApprovedError: the write is visible in every project and not approved.
        """
        wanted = _plan(tool, arguments)
        turn = WriteStamp(self._new_id(), self._clock())
        try:
            if not self._pending.retry():
                raise StoreUnavailableError("earlier writes are pending")
            return self._write(wanted, arguments, turn, bound)
        except StoreUnavailableError as error:
            return self._postpone(wanted, arguments, turn, bound, error)

    def call(self, tool: str, arguments: Arguments, bound: BoundProjects = None) -> object:
        """Call a tool by name, and return its result, a dataclass.

        Raises:
            KeyError: there is no such tool.
            RemitError: the call failed.
        """
        if tool in SAVING_TOOLS:
            return self.save(tool, arguments, bound)
        answers: dict[str, Callable[[Arguments, BoundProjects], object]] = {
            "get_scope_state": self.get_scope_state,
            "retrieve_context": self.retrieve_context,
            "memory_surface": self.memory_surface,
            "run_hygiene": self.run_hygiene,
            "delete_project": self.delete_project,
        }
        return answers[tool](arguments, bound)

    def retrieve_context(self, arguments: Arguments, bound: BoundProjects = None) -> ContextBundle:
        """Return the artifacts of a project or focus area, the nearest scope first."""
        from remit.memory.tool_models import RetrieveContext

        self._pending.retry()
        return self._reader.retrieve(RetrieveContext.read(arguments), bound)

    def memory_surface(self, arguments: Arguments, bound: BoundProjects = None) -> SurfaceResult:
        """Search a project's memory and the global scope."""
        from remit.memory.tool_models import MemorySurface

        self._pending.retry()
        return self._reader.surface(MemorySurface.read(arguments), bound)

    def run_hygiene(self, arguments: Arguments, bound: BoundProjects = None) -> HygieneReport:
        """Check a project's memory."""
        from remit.memory.tool_models import RunHygiene

        self._pending.retry()
        asked = RunHygiene.read(arguments)
        is_hidden = bound is not None and asked.project_id not in bound
        waiting = [] if is_hidden else self._pending.waiting(asked.project_id)
        return self._reader.hygiene(asked, bound, waiting)

    def delete_project(self, arguments: Arguments, bound: BoundProjects = None) -> DeleteResult | SaveResult:
        """Delete a project and everything in it."""
        from remit.memory.tool_models import DeleteProject

        project_id = DeleteProject.read(arguments).project_id
        self._pending.retry()
        where = find_place(self._store, project_id, None, bound)
        if where.permission("delete_project") is Permission.BLOCKED or project_id is None:
            return replace(blocked(scope_refusal(where)), next_step="There is nothing to delete.")
        count = self._store.delete_project(project_id)
        return DeleteResult(
            status="deleted",
            project_id=project_id,
            deleted=count,
            message=f"erased the project with {count} artifacts",
            next_step="save_session creates it again.",
        )

    def observe(self, project_id: str, *seen: NewObservation) -> Sequence[str]:
        """Save observations without secrets, and return their ids; none if the project has no memory.

        Earlier observations with the same text, and those that `instead_of` names, are removed.
        """
        turn = WriteStamp(self._new_id(), self._clock())
        with self._store.transaction():
            homes = self._store.homes(project_id)
            ids = [turn.name(ArtifactKind.OBSERVATION, number) for number in range(len(seen) if homes else 0)]
            for id, each in zip(ids, seen, strict=False):
                observation = _observation(each)
                same = self._store.same(observation, homes[0])
                for earlier in {each.instead_of, same and same[0]} - {None}:
                    self._store.withdraw(str(earlier), project_id)
                self._store.add(
                    id, observation, homes[0], ArtifactStatus.LIVE, turn.at if each.at is None else each.at
                )
        return ids

    def sections(self, memory_id: str) -> list[Section]:
        """Write the memory sections for the start of a session."""
        return sections(self._store, memory_id, self._clock())

    def projects(self) -> Sequence[tuple[str, int, int, int]]:
        """List the projects with a memory."""
        return self._store.projects()

    def artifacts(
        self, project_id: str | None, limit: int, *, everything: bool = False
    ) -> Sequence[StoredArtifact]:
        """List the artifacts of a project, newest first; None stands for the global scope."""
        return self._store.artifacts(self._homes(project_id), limit, everything=everything)

    def find(self, id: str, project_id: str | None) -> StoredArtifact:
        """Find an artifact of a project; None stands for the global scope.

        Raises:
            UnknownArtifactError: there is no such artifact.
        """
        found = self._store.find(id, project_id or "")
        if found is None:
            where = f"`{project_id}`" if project_id else "what is global"
            raise UnknownArtifactError(
                "id", f"the id of an artifact of {where}", "unknown", hint="`remit memory list` lists them"
            )
        return found

    def relations(self, id: str) -> Sequence[tuple[str, str, str, Mapping[str, object]]]:
        """List the relations of an artifact."""
        return self._store.relations(id)

    def delete_artifact(self, kept: StoredArtifact) -> None:
        """Delete an artifact."""
        self._store.delete_artifact(kept.id, kept.project_id)

    def export(self, project_id: str | None) -> Iterator[str]:
        """Export a project, or all of memory, as lines of JSON."""
        from remit.memory.transfer import export

        return export(self._store, project_id)

    def restore(self, lines: Iterable[str]) -> ImportResult:
        """Import an export completely or not at all, and embed it for search.

        Raises:
            BadFileError: a line is invalid, or conflicts with a stored record.
            NotApprovedError: other projects would see some of it, and it is not approved.
        """
        from remit.memory.transfer import restore

        shown: dict[str, object] = {}

        def approve(elsewhere: Sequence[str]) -> None:
            shown["records"] = elsewhere
            self.global_writes.use(_IMPORT, shown, None)

        try:
            done = restore(self._store, lines, memory_id(self.workspace.project), approve)
        except UnapprovedError:
            raise self.global_writes.ask(_IMPORT, shown, why="would be seen in other projects") from None
        self._search.read(None)
        return done

    def _homes(self, project_id: str | None) -> Sequence[Home]:
        return [self._store.global_home()] if project_id is None else self._store.homes(project_id)

    def _write(
        self, wanted: WritePlan, arguments: Arguments, turn: WriteStamp, bound: BoundProjects
    ) -> Written:
        try:
            with self._store.transaction():
                written, is_seen_everywhere = self._writer.write(wanted, turn, bound)
                if is_seen_everywhere:
                    self.global_writes.use(wanted.tool, arguments, wanted.token)
                return written
        except UnapprovedError:
            raise self.global_writes.ask(wanted.tool, arguments) from None

    def _postpone(
        self,
        wanted: WritePlan,
        arguments: Arguments,
        turn: WriteStamp,
        bound: BoundProjects,
        error: StoreUnavailableError,
    ) -> Written:
        """Queue a write that the scope gate permits; refuse one that needs approval."""
        where = find_place(self._store, wanted.project_id, wanted.focus, bound)
        if where.permission(wanted.tool) is Permission.BLOCKED:
            return combined(wanted, [blocked(scope_refusal(where)) for _ in wanted.parts])
        if wanted.is_global:
            failed = SaveResult(
                status=SaveStatus.FAILED, message=str(error), next_step="Nothing was saved: call again later."
            )
            return combined(wanted, [failed for _ in wanted.parts])
        self._pending.add(wanted.tool, arguments, turn)
        waiting = [
            SaveResult(
                status=SaveStatus.PENDING_RETRY,
                artifact_id=turn.name(part.artifact.kind, number),
                message=f"kept on disk, and written as soon as possible: {error}",
                next_step="Nothing to do: every later call tries it again.",
            )
            for number, part in enumerate(wanted.parts)
        ]
        return combined(wanted, waiting)


def _observation(seen: NewObservation) -> Artifact:
    text = seen.text[:MAX_TEXT]
    plain = redact(text, secrets_in(text))[:MAX_TEXT].replace("\0", " ")
    content = {"type": seen.observed.value, "text": checked_text(plain, "observation.text", MAX_TEXT)}
    return artifact(ArtifactKind.OBSERVATION, MemoryScope.PROJECT, content)


def _plan(tool: str, arguments: Arguments) -> WritePlan:
    from remit.memory.tool_models import plan

    return plan(tool, arguments)
