"""Keeps everything in a database: one class for a few tables, queries by name, the scope in each of them."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.store.approvals import Approval, ApprovalStore, Binding
    from remit.store.calls import Call, CallBar, CallQuery, CallSpan, CallStore, Outcome
    from remit.store.catalog import Accepted, CatalogRow, CatalogStore
    from remit.store.database import Database, NamedQueries, Row, Value, scope_parameters, storable
    from remit.store.documents import DocumentStore
    from remit.store.listings import (
        KnownDefinition,
        KnownList,
        ListingStore,
        PreparedDefinition,
        make_definition,
    )
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
    from remit.store.usage import HourlyUse, KeptKey, SessionUse, Total, UsageStore

_MODULES = {
    "approvals": "Approval ApprovalStore Binding",
    "calls": "Call CallBar CallQuery CallSpan CallStore Outcome",
    "catalog": "Accepted CatalogRow CatalogStore",
    "database": "Database NamedQueries Row Value scope_parameters storable",
    "documents": "DocumentStore",
    "listings": "KnownDefinition KnownList ListingStore PreparedDefinition make_definition",
    "memory": "Artifact ArtifactHit ArtifactStore MemoryProject NewArtifact Related",
    "scans": "Changes ClientFacts Problem Reading ScanStore StoredFile",
    "sqlite": "SqliteDatabase",
    "states": "CompiledConfiguration Observation PushedState StateStore StoredStates WorkflowState",
    "trust": "TrustStore TrustedEntry",
    "usage": "HourlyUse KeptKey SessionUse Total UsageStore",
}
_HOMES = {name: f"remit.store.{module}" for module, names in _MODULES.items() for name in names.split()}


class Store:
    """The groups of a database, each loaded on first use; it belongs to the thread that opened it."""

    approvals: "ApprovalStore"
    artifacts: "ArtifactStore"
    calls: "CallStore"
    catalog: "CatalogStore"
    documents: "DocumentStore"
    listings: "ListingStore"
    scans: "ScanStore"
    states: "StateStore"
    trust: "TrustStore"
    usage: "UsageStore"

    def __init__(self, database: "Database") -> None:
        self.database = database

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> object:
        if name not in Store.__annotations__:
            raise AttributeError(f"a store has no `{name}`")
        group = _load(Store.__annotations__[name])(self.database)
        setattr(self, name, group)
        return group

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def open_store(path: str, *, patience: float = 30.0, durable: bool = False) -> Store:
    """Open a store in an SQLite file.

    Raises:
        StoreError: the database cannot be used.
    """
    from remit.store.sqlite import SqliteDatabase

    return Store(SqliteDatabase(path, patience=patience, durable=durable))


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return _load(name)
    raise AttributeError(f"module `remit.store` has no attribute `{name}`")


def _load(name: str) -> "Any":
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
