"""The interface of the store; other packages import this module for type checking only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from remit.approvals.approvals import Approval, PromptedCall
    from remit.approvals.call_binding import Binding
    from remit.audit.audit_log import AuditEntry, AuditLink, CallQuery, ChainAnchor, TimelineBar
    from remit.configuration.config_model import StoredConfiguration, StoredFile
    from remit.decision.client_reports import CallOutcome, ReportedTool
    from remit.decision.declarations import Changes, ClientReading, Declaration, Key, Resolved, StoredReading
    from remit.decision.permissions.client_permissions import ClientPermissions
    from remit.decision.problems import Problem
    from remit.decision.projects import LaunchFlags, Project, View, Workspace
    from remit.decision.scopes import Scope
    from remit.decision.tools import Definition, Tool
    from remit.memory.ports import MemoryStore
    from remit.memory.traces import StoredTrace
    from remit.search.documents import Document
    from remit.search.ports import Index, IndexEntry, Vector
    from remit.sessions.suggestions import Candidate, PastSuggestion, ToolCall
    from remit.states.observations import StoredObservation, StoredStates
    from remit.store.prepared_server_list import PreparedServerList
    from remit.trust.held_definitions import HeldDefinition
    from remit.upstream.upstream_model import Offer, ServerExtras
    from remit.usage.call_batch import CallBatch
    from remit.usage.familiarity import HourlyUse
    from remit.usage.reports import ProjectUse, SessionUse, Total


class DocumentStore(Protocol):
    """Stores the search documents of tools, and their vectors."""

    def read(self, workspace: Workspace) -> None: ...

    def add_words(self) -> None: ...  # to the word index, where the database does not do so by itself

    def without_vector(self, workspace: Workspace, model: str) -> Mapping[int, Document]: ...

    def claimed(
        self, model: str, documents: Mapping[int, Document]
    ) -> AbstractContextManager[Mapping[int, Document]]: ...  # those that no other node embeds

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None: ...

    def can_compare(self) -> bool: ...

    def index(self, workspace: Workspace, model: str | None) -> Index: ...

    def entries(self, workspace: Workspace, model: str | None) -> Iterable[IndexEntry]: ...


class PinStore(Protocol):
    """Stores which definitions were accepted."""

    def changed(self, workspace: Workspace) -> Sequence[HeldDefinition]: ...

    def accept(self, items: Iterable[HeldDefinition], workspace: Workspace, at: int) -> None: ...

    def reject(self, items: Iterable[HeldDefinition], workspace: Workspace, reason: str) -> None: ...

    def mark_reported(self, workspace: Workspace) -> None: ...


class ServerStore(Protocol):
    """Stores the listings of servers, and which servers the user trusts."""

    def keep(self, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None: ...

    def compare(self, listing: PreparedServerList, workspace: Workspace) -> None: ...

    def keep_judged(self, listing: PreparedServerList, workspace: Workspace, at: int) -> None: ...

    def extras(self, workspace: Workspace) -> Mapping[Key, ServerExtras]: ...

    @property
    def pins(self) -> PinStore: ...

    def trusts(self, workspace: Workspace) -> Mapping[Key, str]: ...

    def trust(
        self, declaration: Declaration, workspace: Workspace, at: int, *, sandbox: str | None
    ) -> None: ...

    def revoke(self, declaration: Declaration, workspace: Workspace) -> None: ...


class StateStore(Protocol):
    """Stores Remit's own configuration and the states, by project."""

    def files(self, sources: Iterable[str], workspace: Workspace) -> Mapping[str, StoredFile]: ...

    def configuration(self, workspace: Workspace) -> StoredConfiguration | None: ...

    def keep_configuration(
        self,
        files: Mapping[str, tuple[StoredFile, str | None]],
        came_to: StoredConfiguration,
        workspace: Workspace,
        at: int,
    ) -> None: ...

    def trusted_parts(self, workspace: Workspace) -> Mapping[tuple[str, str], str]: ...

    def trust_part(self, source: str, subject: str, digest: str, workspace: Workspace, at: int) -> None: ...

    def revoke_part(self, source: str, subject: str, workspace: Workspace) -> None: ...

    def known(self, workspace: Workspace) -> StoredStates: ...

    def set_state(self, name: str, workspace: Workspace, at: int) -> None: ...

    def clear_states(self, names: Iterable[str], workspace: Workspace) -> None: ...

    def advance(self, tool: str, workspace: Workspace, at: int) -> None: ...

    def push(
        self, values: Mapping[str, object], workspace: Workspace, at: int, until: Mapping[str, int]
    ) -> None: ...

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool: ...

    def keep_observation(self, name: str, kept: StoredObservation, workspace: Workspace) -> None: ...


class ApprovalStore(Protocol):
    """Stores approval requests and their answers, by project."""

    def request(
        self, wanted: Approval, workspace: Workspace, *, forget_before: int, most: int
    ) -> Approval | None: ...

    def waiting(self, workspace: Workspace, at: int) -> Sequence[Approval]: ...

    def approval(self, id: str, workspace: Workspace) -> Approval | None: ...

    def answer(
        self,
        id: str,
        workspace: Workspace,
        at: int,
        *,
        is_approved: bool,
        record: Callable[[Approval], AuditEntry] | None = None,
    ) -> Approval | None: ...

    def decline(self, id: str, workspace: Workspace, at: int) -> None: ...

    def use(self, binding: Binding, workspace: Workspace, at: int) -> Approval | None: ...

    def use_prompt(self, call: PromptedCall, workspace: Workspace, since: int) -> bool: ...


class AuditStore(Protocol):
    """Stores the audit log, by project."""

    def add(self, entries: Iterable[AuditEntry], workspace: Workspace, at: int) -> None: ...

    def find(self, query: CallQuery, workspace: Workspace) -> Sequence[AuditEntry]: ...

    def span(self, query: CallQuery, workspace: Workspace) -> tuple[int, int, int]: ...

    def agents(self, workspace: Workspace, principal: str | None) -> Sequence[str]: ...

    def bars(self, query: CallQuery, workspace: Workspace, step: int) -> Sequence[TimelineBar]: ...

    def links(
        self, workspace: Workspace, since: int | None = None, until: int | None = None
    ) -> Iterable[AuditLink]: ...

    def projects(self) -> Sequence[Project]: ...

    def anchor(self, workspace: Workspace) -> ChainAnchor: ...

    def prune(self, workspace: Workspace, at: int) -> None: ...


class SessionStore(Protocol):
    """Stores sessions, their calls and suggestions, by project."""

    def tallies(self, workspace: Workspace) -> Sequence[HourlyUse]: ...

    def totals(self, workspace: Workspace) -> Sequence[Total]: ...

    def projects(self) -> Sequence[ProjectUse]: ...

    def sessions(self, workspace: Workspace, client: str) -> Sequence[SessionUse]: ...

    def calls(self, workspace: Workspace, client: str) -> Sequence[ToolCall]: ...

    def calls_everywhere(
        self, workspace: Workspace, client: str
    ) -> Sequence[ToolCall]: ...  # only if the user opted in

    def calls_of(self, session_id: str, workspace: Workspace, client: str) -> Sequence[ToolCall]: ...

    def states_at_start(self, session_id: str, workspace: Workspace, client: str) -> str: ...

    def news(self, workspace: Workspace) -> Sequence[StoredTrace]: ...  # traces that are not in memory yet

    def suggested(self, workspace: Workspace, client: str) -> Sequence[PastSuggestion]: ...

    def keep_suggestions(
        self, said: Iterable[Candidate], session_id: str, workspace: Workspace, client: str, at: int
    ) -> None: ...


class Store(Protocol):
    """Stores everything Remit knows; each read is limited to the scope of one workspace."""

    @property
    def states(self) -> StateStore: ...

    @property
    def approvals(self) -> ApprovalStore: ...

    @property
    def audit(self) -> AuditStore: ...

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def memory(self) -> MemoryStore: ...

    @property
    def servers(self) -> ServerStore: ...

    @property
    def sessions(self) -> SessionStore: ...

    def close(self) -> None: ...

    def files(self) -> Sequence[str]: ...  # files that change whenever any process writes

    def follow(self, tell: Callable[[], object]) -> None: ...  # of changes that no file shows, until closed

    def listen(self) -> bool: ...  # know revisions without asking a server; False: there is none

    def is_reachable(self) -> bool: ...  # as far as is known without asking

    def revision(self) -> int: ...  # changes whenever another connection writes

    def catalog(self, workspace: Workspace, flags: LaunchFlags) -> Sequence[Tool]: ...

    def inputs(self, view: View) -> Mapping[str, str]: ...

    def problems(self, view: View) -> Sequence[Problem]: ...

    def permissions(self, view: View) -> ClientPermissions: ...  # that count there

    def last_known(self, view: View, sources: Iterable[str], scopes: Iterable[Scope]) -> StoredReading: ...

    def save(self, reading: ClientReading, resolved: Sequence[Resolved], view: View, at: int) -> Changes: ...

    def is_resolved(self, source: str, view: View) -> bool: ...

    def record(self, reported: ReportedTool, use: CallOutcome) -> bool: ...

    def record_all(self, used: Iterable[tuple[ReportedTool, CallOutcome]]) -> None: ...

    def record_calls(self, batch: CallBatch) -> None: ...  # once, however often it is called

    def report(self, definition: Definition, reported: ReportedTool) -> None: ...

    def trusted_sandboxes(self, workspace: Workspace) -> Mapping[Key, str]: ...

    def uses_here(self, workspace: Workspace) -> Mapping[Key, tuple[int, int]]: ...

    def catalog_revision(self) -> int: ...  # changes with the data of catalogs

    def known_catalog_revision(self) -> int | None: ...  # the same; None: a server has to be asked

    def find_project(self, name: str) -> Project | None: ...

    def projects(self) -> Sequence[Project]: ...

    def forget(self, project: Project) -> None: ...

    def prune_events(self, before: int) -> None: ...

    def definitions(self, tools: Iterable[Tool], workspace: Workspace) -> Mapping[Key, Definition]: ...


Clock = Callable[[], int]  # Unix milliseconds
