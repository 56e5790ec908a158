"""Keeps everything in a database: one class for a few tables, queries by name, the scope in each of them."""

from functools import cached_property

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.store.approvals import Approval, ApprovalStore, Binding
    from remit.store.calls import Call, CallBar, CallQuery, CallSpan, CallStore, Outcome
    from remit.store.catalog import Accepted, CatalogRow, CatalogStore
    from remit.store.database import Database, NamedQueries, Row, Value, scope_parameters, storable
    from remit.store.documents import DocumentStore
    from remit.store.listings import KnownList, ListingStore, PreparedDefinition, make_definition
    from remit.store.memory import Artifact, ArtifactHit, ArtifactStore, MemoryProject, NewArtifact, Related
    from remit.store.scans import Changes, ClientFacts, Problem, Reading, ScanStore, StoredFile
    from remit.store.sqlite import SqliteDatabase
    from remit.store.states import (
        CompiledConfiguration,
        Observation,
        PushedState,
        StateStore,
        StoredStates,
        WorkflowState,
    )
    from remit.store.trust import TrustedEntry, TrustStore
    from remit.store.usage import HourlyUse, KeptKey, ProjectUse, SessionUse, Total, UsageStore

_MODULES = {
    "approvals": "Approval ApprovalStore Binding",
    "calls": "Call CallBar CallQuery CallSpan CallStore Outcome",
    "catalog": "Accepted CatalogRow CatalogStore",
    "database": "Database NamedQueries Row Value scope_parameters storable",
    "documents": "DocumentStore",
    "listings": "KnownList ListingStore PreparedDefinition make_definition",
    "memory": "Artifact ArtifactHit ArtifactStore MemoryProject NewArtifact Related",
    "scans": "Changes ClientFacts Problem Reading ScanStore StoredFile",
    "sqlite": "SqliteDatabase",
    "states": "CompiledConfiguration Observation PushedState StateStore StoredStates WorkflowState",
    "trust": "TrustStore TrustedEntry",
    "usage": "HourlyUse KeptKey ProjectUse SessionUse Total UsageStore",
}
_HOMES = {name: f"remit.store.{module}" for module, names in _MODULES.items() for name in names.split()}


class Store:
    """The groups of a database, each loaded on first use; it belongs to the thread that opened it."""

    def __init__(self, database: "Database") -> None:
        self.database = database

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @cached_property
    def catalog(self) -> "CatalogStore":
        """Tools in scope, and projects."""
        from remit.store.catalog import CatalogStore

        return CatalogStore(self.database)

    @cached_property
    def scans(self) -> "ScanStore":
        """What the files of clients say."""
        from remit.store.scans import ScanStore

        return ScanStore(self.database)

    @cached_property
    def listings(self) -> "ListingStore":
        """The lists of servers."""
        from remit.store.listings import ListingStore

        return ListingStore(self.database)

    @cached_property
    def trust(self) -> "TrustStore":
        """What the user trusts."""
        from remit.store.trust import TrustStore

        return TrustStore(self.database)

    @cached_property
    def approvals(self) -> "ApprovalStore":
        """Consents to calls."""
        from remit.store.approvals import ApprovalStore

        return ApprovalStore(self.database)

    @cached_property
    def states(self) -> "StateStore":
        """Compiled configuration, and values of states."""
        from remit.store.states import StateStore

        return StateStore(self.database)

    @cached_property
    def usage(self) -> "UsageStore":
        """Uses and reports of names, and the answers that hooks keep."""
        from remit.store.usage import UsageStore

        return UsageStore(self.database)

    @cached_property
    def calls(self) -> "CallStore":
        """The log of calls."""
        from remit.store.calls import CallStore

        return CallStore(self.database)

    @cached_property
    def artifacts(self) -> "ArtifactStore":
        """Memory."""
        from remit.store.memory import ArtifactStore

        return ArtifactStore(self.database)

    @cached_property
    def documents(self) -> "DocumentStore":
        """Vectors of tools."""
        from remit.store.documents import DocumentStore

        return DocumentStore(self.database)


def open_store(path: str, *, patience: float = 30.0, durable: bool = False) -> Store:
    """Open a store in an SQLite file.

    Raises:
        StoreError: the database cannot be used.
    """
    from remit.store.sqlite import SqliteDatabase

    return Store(SqliteDatabase(path, patience=patience, durable=durable))


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.store` has no attribute `{name}`")
