"""What the registry needs from the outside, in the words of the domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:  # a port is a shape: whoever runs needs nothing of what it is made of
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from remit.configuration.config_model import Content, Detector, File, FileText, Mistake, Said, ToolEntry
    from remit.configuration.layers import Configuration
    from remit.configuration.stored_configuration import KeptConfiguration, KeptFile
    from remit.decision.client_reading import Reading, Remembered
    from remit.decision.decide import Context
    from remit.decision.declarations import Changes, Declaration, Key, Resolved
    from remit.decision.problems import Problem, Severity
    from remit.decision.projects import Project, Workspace
    from remit.decision.requirements import Condition
    from remit.decision.scopes import Scope
    from remit.decision.sightings import Sighting, Use
    from remit.decision.tools import Definition, Tool
    from remit.decision.views import Flags, View
    from remit.install.record import Install, Target
    from remit.memory.ports import MemoryStore
    from remit.memory.traces import Left
    from remit.policy.approvals import Approval, Binding
    from remit.policy.audit import AuditEntry
    from remit.policy.callbacks import Filtering
    from remit.search.documents import Columns, Document, Sought
    from remit.search.ranking import Fusion, Hit, RankFusion
    from remit.sessions.suggestions import Call, Candidate, Made
    from remit.states.observations import Kept, Known, Observation
    from remit.upstream.launch.launch_facts import Facts
    from remit.upstream.upstream_model import Offer, Upstream, Wares
    from remit.usage.familiarity import Tally
    from remit.usage.reports import ProjectUse, SessionUse, Total

Vector = bytes  # numbers of 32 bits, little-endian, of length one: its cosine with another is their product


class Embedder(Protocol):
    """Turns tools and queries into vectors, so that those of like meaning are near each other."""

    model: str  # names the weights and how texts are read: vectors of two models are never compared
    fusion: Fusion  # how much its cosine says, beside the words

    def embed_tools(self, documents: Sequence[Document]) -> Sequence[Vector]: ...

    def embed_query(self, text: str) -> Vector: ...


Selection = Any  # documents to search among, in the form that an index wants them


class Entry(NamedTuple):
    """A document as an index takes it in."""

    document_id: int
    columns: Columns
    vector: Vector | None


class Index(Protocol):
    """Finds the tools that share words with a query, or are near it in meaning."""

    def select(self, documents: Iterable[int]) -> Selection: ...

    def drop(self, among: Selection) -> None: ...

    def hits(
        self, sought: Sought, vectors: Sequence[Vector], among: Selection, depth: int
    ) -> Sequence[Hit]: ...


class Engine(Protocol):
    """What search is made of; opened only by those who search."""

    @property
    def model(self) -> str | None: ...  # None: nothing is compared by meaning

    @property
    def fusion(self) -> RankFusion | None: ...  # None: the model's own

    def embedder(self) -> Embedder: ...

    def in_memory(self, entries: Iterable[Entry], fusion: Fusion) -> Index: ...


class DocumentStore(Protocol):
    """Keeps what search reads of tools, and its vectors."""

    def read(self, workspace: Workspace) -> None: ...

    def without_vector(self, workspace: Workspace, model: str) -> Mapping[int, Document]: ...

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None: ...

    def can_compare(self) -> bool: ...

    def index(self, workspace: Workspace, model: str | None) -> Index: ...

    def entries(self, model: str | None) -> Iterable[Entry]: ...


class ServerStore(Protocol):
    """Keeps what servers say of themselves, and which of them the user trusts."""

    def keep(self, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None: ...

    def wares(self, workspace: Workspace) -> Mapping[Key, Wares]: ...

    def trusts(self, workspace: Workspace) -> Mapping[Key, str]: ...

    def trust(self, declaration: Declaration, workspace: Workspace, at: int) -> None: ...

    def revoke(self, declaration: Declaration, workspace: Workspace) -> None: ...


class StateStore(Protocol):
    """Keeps Remit's own configuration, and what is known of states, for one project at a time."""

    def files(self, sources: Iterable[str], workspace: Workspace) -> Mapping[str, KeptFile]: ...

    def configuration(self, workspace: Workspace) -> KeptConfiguration | None: ...

    def keep_configuration(
        self,
        files: Mapping[str, tuple[KeptFile, bool]],
        came_to: KeptConfiguration,
        workspace: Workspace,
        at: int,
    ) -> None: ...

    def trusted_parts(self, workspace: Workspace) -> Mapping[tuple[str, str], str]: ...

    def trust_part(self, source: str, subject: str, digest: str, workspace: Workspace, at: int) -> None: ...

    def revoke_part(self, source: str, subject: str, workspace: Workspace) -> None: ...

    def known(self, workspace: Workspace) -> Known: ...

    def set_state(self, name: str, workspace: Workspace, at: int) -> None: ...

    def clear_states(self, names: Iterable[str], workspace: Workspace) -> None: ...

    def advance(self, tool: str, workspace: Workspace, at: int) -> None: ...

    def push(
        self, values: Mapping[str, object], workspace: Workspace, at: int, until: Mapping[str, int]
    ) -> None: ...

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool: ...

    def keep_observation(self, name: str, kept: Kept, workspace: Workspace) -> None: ...


class ApprovalStore(Protocol):
    """Keeps what persons are asked, and their answers, for one project at a time."""

    def request(
        self, wanted: Approval, workspace: Workspace, *, forget_before: int, most: int
    ) -> Approval | None: ...

    def waiting(self, workspace: Workspace, at: int) -> Sequence[Approval]: ...

    def approval(self, id: str, workspace: Workspace) -> Approval | None: ...

    def answer(self, id: str, workspace: Workspace, at: int, *, is_approved: bool) -> Approval | None: ...

    def use(self, binding: Binding, workspace: Workspace, at: int) -> Approval | None: ...


class SessionStore(Protocol):
    """Keeps what happened in sessions, and what was suggested in them, for one project at a time."""

    def tallies(self, workspace: Workspace) -> Sequence[Tally]: ...

    def totals(self, workspace: Workspace) -> Sequence[Total]: ...

    def projects(self) -> Sequence[ProjectUse]: ...

    def sessions(self, workspace: Workspace, client: str) -> Sequence[SessionUse]: ...

    def calls(self, workspace: Workspace, client: str) -> Sequence[Call]: ...

    def calls_everywhere(
        self, workspace: Workspace, client: str
    ) -> Sequence[Call]: ...  # only for who asked for it

    def calls_of(self, session_id: str, workspace: Workspace, client: str) -> Sequence[Call]: ...

    def states_at_start(self, session_id: str, workspace: Workspace, client: str) -> str: ...

    def news(self, workspace: Workspace) -> Sequence[Left]: ...  # traces that memory does not know of

    def suggested(self, workspace: Workspace, client: str) -> Sequence[Made]: ...

    def keep_suggestions(
        self, said: Iterable[Candidate], session_id: str, workspace: Workspace, client: str, at: int
    ) -> None: ...


class Judge(Protocol):
    """Asks the filters of an application about tools; opened only by those who have any."""

    def __call__(
        self, filterings: Sequence[Filtering], tools: Sequence[Tool], context: Context
    ) -> Mapping[Key, str]: ...


class Store(Protocol):
    """Keeps what was found; each reading method answers inside one workspace's scope."""

    @property
    def states(self) -> StateStore: ...

    @property
    def approvals(self) -> ApprovalStore: ...

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def memory(self) -> MemoryStore: ...

    @property
    def servers(self) -> ServerStore: ...

    @property
    def sessions(self) -> SessionStore: ...

    def close(self) -> None: ...

    def revision(self) -> int: ...  # another one whenever somebody else has written

    def catalog(self, workspace: Workspace, flags: Flags) -> Sequence[Tool]: ...

    def inputs(self, view: View) -> Mapping[str, str]: ...

    def problems(self, view: View) -> Sequence[Problem]: ...

    def last_known(self, view: View, sources: Iterable[str], scopes: Iterable[Scope]) -> Remembered: ...

    def save(self, reading: Reading, resolved: Sequence[Resolved], view: View, at: int) -> Changes: ...

    def is_resolved(self, source: str, view: View) -> bool: ...

    def record(self, sighting: Sighting, use: Use) -> bool: ...

    def record_all(self, used: Iterable[tuple[Sighting, Use]]) -> None: ...

    def report(self, definition: Definition, sighting: Sighting) -> None: ...

    def uses_here(self, workspace: Workspace) -> Mapping[Key, tuple[int, int]]: ...

    def catalog_revision(self) -> int: ...  # another one whenever what catalogs are made of has changed

    def add_audit(self, entries: Iterable[AuditEntry], workspace: Workspace, at: int) -> None: ...

    def audit(self, workspace: Workspace, limit: int) -> Sequence[AuditEntry]: ...

    def prune_audit(self, before: int, most: int) -> None: ...

    def find_project(self, name: str) -> Project | None: ...

    def projects(self) -> Sequence[Project]: ...

    def forget(self, project: Project) -> None: ...

    def prune_events(self, before: int) -> None: ...

    def definitions(self, tools: Iterable[Tool], workspace: Workspace) -> Mapping[Key, Definition]: ...


class ConfigurationFiles(Protocol):
    """The files of Remit's own configuration."""

    def files(self, workspace: Workspace) -> Sequence[File]: ...

    def fingerprint(self, file: File) -> str: ...

    def read(self, file: File, workspace: Workspace) -> FileText | None: ...


class Look(Protocol):
    """One look at a workspace, within bounds of time, size and place."""

    def detect(self, detector: Detector, bases: Sequence[str]) -> Observation: ...

    def basis(self, detector: Detector, bases: Sequence[str]) -> str | None: ...

    def places(self, detector: Detector, bases: Sequence[str]) -> Iterable[str]: ...

    def variables(self, env: Sequence[str]) -> Mapping[str, object]: ...


class Detectors(Protocol):
    """Finds out about workspaces."""

    def look(self, workspace: Workspace) -> Look: ...


class Language(Protocol):
    """The language of conditions; opened only by those who have one."""

    def condition(self, entry: ToolEntry, withheld: Collection[str]) -> Condition: ...

    def mistakes_in(self, content: Content) -> Sequence[Mistake]: ...

    def mistakes_of(self, configuration: Configuration) -> Iterable[tuple[File, Mistake]]: ...

    def remarks(
        self, said: Sequence[Said], tools: Iterable[Tool]
    ) -> Iterable[tuple[Severity, File, Mistake]]: ...


class Stamps(Protocol):
    """How files and variables were at one moment."""

    def are_same(self) -> bool: ...


class Sources(Protocol):
    """The clients' files on this machine."""

    home: str
    clients: Sequence[str]

    def locate(self, directory: str) -> Workspace: ...

    def canonical(self, path: str) -> str: ...

    def exists(self, path: str) -> bool: ...

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool: ...

    def stamps(self, inputs: Iterable[str]) -> Stamps: ...

    def read(self, view: View) -> Reading: ...

    def examine(self, declarations: Sequence[Declaration], workspace: Workspace) -> Facts: ...

    def leaves_servers(self, client: str) -> bool: ...  # to Remit, which starts them in its place


class Notifier(Protocol):
    """Tells at once that something happened at places, as far as it can; nobody may rely on it."""

    @property
    def is_stopped(self) -> bool: ...

    def watch(self, places: Collection[str]) -> None: ...

    def wait(self, seconds: float) -> bool: ...

    def stop(self) -> None: ...


class Upstreams(Protocol):
    """Servers that are started or reached for real."""

    def ask(
        self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]
    ) -> Sequence[Offer]: ...


class InstallStore(Protocol):
    """Keeps what Remit put into clients' files, and what stood there before."""

    def load(self, client: str) -> Install | None: ...

    def save(self, install: Install) -> None: ...

    def drop(self, client: str) -> None: ...


class Places(Protocol):
    """The clients that Remit can be put into, and their files."""

    clients: Sequence[str]

    def title(self, client: str) -> str: ...

    def targets(self, client: str, declared: Sequence[Declaration]) -> Sequence[Target]: ...

    def projects(self, client: str) -> Sequence[str]: ...

    def read(self, path: str) -> str | None: ...

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None: ...

    def missing_directories(self, path: str) -> Sequence[str]: ...  # above a file, the innermost first

    def remove_empty(self, directories: Sequence[str]) -> None: ...


Clock = Callable[[], int]  # Unix milliseconds
