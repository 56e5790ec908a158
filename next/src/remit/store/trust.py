"""What the user trusts: entries of servers, parts of a project's configuration, and definitions."""

from collections.abc import Iterable
from typing import NamedTuple

from remit.decision import Key, Workspace
from remit.store.database import Database, key_parameters, scope_parameters, see_project


class TrustedEntry(NamedTuple):
    """A trusted entry of a server."""

    digest: str
    entry: str  # what people read of it, without secrets
    at: int


class TrustStore:
    """Stores trust; every change of it changes catalogs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, workspace: Workspace) -> dict[Key, TrustedEntry]:
        """Return the trusted entries of the servers in scope."""
        rows = self._database.rows("trusted_entries", **scope_parameters(workspace))
        return {tuple(row[:8]): TrustedEntry(*row[8:]) for row in rows}

    def grant(self, key: Key, digest: str, entry: str, workspace: Workspace, at: int) -> None:
        """Store that the user trusts a server with the entry that was just read and shown."""
        place = {**key_parameters(key), **scope_parameters(workspace)}
        with self._database.transaction(changes="catalog"):
            self._database.rows("trust_entry", **place, digest=digest, entry=entry, at=at)

    def revoke(self, key: Key, workspace: Workspace) -> None:
        """Revoke the trust in a server."""
        with self._database.transaction(changes="catalog"):
            self._database.rows("revoke_entry", **key_parameters(key), **scope_parameters(workspace))

    def parts(self, workspace: Workspace) -> dict[tuple[str, str], str]:
        """Return the digests of trusted parts of the project's configuration, by file and subject."""
        rows = self._database.rows("trusted_parts", project=workspace.project.hash)
        return {(source, subject): digest for source, subject, digest in rows}

    def trust_part(self, source: str, subject: str, digest: str, workspace: Workspace, at: int) -> None:
        """Store that the user trusts a part of the configuration."""
        part = {"project": workspace.project.hash, "source": source, "subject": subject}
        with self._database.transaction(changes="catalog"):
            see_project(self._database, workspace, at)
            self._database.rows("trust_part", **part, digest=digest, at=at)

    def revoke_part(self, source: str, subject: str, workspace: Workspace) -> None:
        """Revoke the trust in a part of the configuration."""
        part = {"project": workspace.project.hash, "source": source, "subject": subject}
        with self._database.transaction(changes="catalog"):
            self._database.rows("revoke_part", **part)

    def accept(self, items: Iterable[tuple[Key, str]], by: str, workspace: Workspace, at: int) -> None:
        """Accept definitions by key and digest, as they were shown; one that changed since stays held."""
        scope = scope_parameters(workspace)
        values = [
            {**key_parameters(key), **scope, "definition": digest, "by": by, "at": at}
            for key, digest in items
        ]
        with self._database.transaction(changes="catalog"):
            self._database.run_each("accept_definition", values)
