"""Trusting: the servers of a project that are only started with the user's trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from remit.decision.context import Context
from remit.decision.declarations import Declaration
from remit.decision.projects import Workspace
from remit.errors import UnknownServerError
from remit.scanning.scanner import Scanner
from remit.trust.trust_rule import ServerTrust, needs_trust

if TYPE_CHECKING:
    from remit.store.ports import Clock, Store


class TrustService:
    """Lists the servers that need the user's trust, and keeps what is trusted."""

    def __init__(self, store: Store, scanner: Scanner, clock: Clock) -> None:
        self._store = store
        self._scanner = scanner
        self._clock = clock

    def servers(self, context: Context, names: Sequence[str] = ()) -> list[ServerTrust]:
        """List the servers of this project, or those that are named, that are only started when trusted.

        Raises:
            UnknownServerError: no such server has a given name.
        """
        trusts = self._store.servers.trusts(context.workspace)
        found = [
            ServerTrust(
                declaration=item.declaration,
                config_status=item.config_status,
                trusted_digest=trusts.get(item.declaration.key),
            )
            for item in self._scanner.resolved(context)
            if item.declaration.agent is None and _needs_trust(item.declaration, context.workspace)
        ]
        for name in names:
            if not any(item.declaration.is_called(name) for item in found):
                raise UnknownServerError(
                    f"no server of this project is called `{name}`", hint="`remit trust` lists them"
                )
        return [item for item in found if not names or any(map(item.declaration.is_called, names))]

    def grant(self, servers: Iterable[ServerTrust], context: Context) -> None:
        """Let servers be started, as they were declared when they were listed."""
        for item in servers:
            if item.declaration.launch is not None:  # else nobody could see what it would run
                self._store.servers.trust(item.declaration, context.workspace, self._clock())

    def revoke(self, servers: Iterable[ServerTrust], context: Context) -> None:
        """Let servers be started no more."""
        for item in servers:
            self._store.servers.revoke(item.declaration, context.workspace)


def _needs_trust(declaration: Declaration, workspace: Workspace) -> bool:
    return needs_trust(
        declaration.kind, declaration.scope, declaration.project_hash, declaration.source, workspace
    )
