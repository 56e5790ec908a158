"""The trust service: servers and definitions that are used only with the user's trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from remit.decision.context import Context
from remit.decision.definitions.definition_changes import REJECTED
from remit.decision.kinds import Kind
from remit.errors import UnknownServerError
from remit.trust.entry_text import entry_outline
from remit.trust.trust_rule import ServerTrust, declaration_needs_trust

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.tools import Tool
    from remit.scanning.scanner import Scanner
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.trust.held_definitions import HeldDefinition
    from remit.trust.server_sandbox import Sandbox


class TrustService:
    """Lists the servers that need the user's trust, and grants and revokes it."""

    def __init__(self, store: SqlStore, scanner: Scanner, clock: Clock) -> None:
        self._store = store
        self._scanner = scanner
        self._clock = clock
        self.pins = PinService(store, clock)

    def servers(self, context: Context, names: Sequence[str] = ()) -> list[ServerTrust]:
        """List the servers of this project that need trust, or the named ones among them.

        Raises:
            UnknownServerError: a name matches none of these servers.
        """
        self._scanner.refresh(context)
        trusts = self._store.servers.trusts(context.workspace)
        sandboxes = self._scanner.sandboxes(context)
        entries = self._store.servers.trusted_entries(context.workspace)
        found = [
            ServerTrust(
                declaration=item.declaration,
                config_status=item.config_status,
                trusted_digest=trusts.get(item.declaration.key),
                inherits=self._inherited(item.declaration, context),
                sandbox=sandboxes.of(item.declaration),
                projects_sandbox=sandboxes.of_project(item.declaration),
                trusted_sandbox=sandboxes.trusted(item.declaration),
                opened=self._scanner.opened_paths(item.declaration, sandboxes, context),
                trusted_entry=_parts(entries.get(item.declaration.key)),
            )
            for item in self._scanner.last_resolved(context)
            if declaration_needs_trust(item.declaration, context.workspace)
        ]
        for name in names:
            if not any(item.declaration.is_called(name) for item in found):
                raise UnknownServerError(
                    f"no server of this project is called `{name}`", hint="`remit trust` lists them"
                )
        return [item for item in found if not names or any(map(item.declaration.is_called, names))]

    def sandbox(self, tool: Tool | None, context: Context) -> Sandbox | None:
        """Return the sandbox that Remit starts a server in; None if it has none, or is remote."""
        if tool is None or tool.kind is not Kind.MCP_SERVER:
            return None
        found = (item.declaration for item in self._scanner.last_resolved(context))
        declaration = next((each for each in found if each.key == tool.key), None)
        if declaration is None or declaration.launch is None or declaration.launch.is_remote:
            return None
        return self._scanner.sandboxes(context).of(declaration)

    def grant(self, servers: Iterable[ServerTrust], context: Context) -> None:
        """Trust servers, as declared when they were listed."""
        for item in servers:
            if item.declaration.launch is not None:  # else the user could not see what it would run
                sandbox = None if item.projects_sandbox is None else item.projects_sandbox.text
                entry = "\n".join(entry_outline(item.declaration.launch))
                self._store.servers.trust(
                    item.declaration, context.workspace, self._clock(), sandbox=sandbox, entry=entry
                )

    def revoke(self, servers: Iterable[ServerTrust], context: Context) -> None:
        """Revoke the trust of servers."""
        for item in servers:
            self._store.servers.revoke(item.declaration, context.workspace)

    def _inherited(self, declaration: Declaration, context: Context) -> bool | tuple[str, ...]:
        """Return which of the user's variables a server gets: all, the minimum, or the minimum and these."""
        return self._scanner.server_options(declaration, context).inherit_env or False


def _parts(entry: str | None) -> list[str] | None:
    return None if entry is None else entry.splitlines()


class PinService:
    """Lists changed definitions, and accepts and rejects them."""

    def __init__(self, store: SqlStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def changed(self, context: Context) -> list[HeldDefinition]:
        """List the definitions of a client's tools that are not the accepted ones, held or not."""
        return [item for item in self._all(context) if item.change is not None]

    def news(self, context: Context) -> list[HeldDefinition]:
        """List what no session has reported yet, including definitions accepted with a changed entry."""
        return [item for item in self._all(context) if item.is_news]

    def accept(self, items: Iterable[HeldDefinition], context: Context) -> None:
        """Accept definitions, as shown when they were listed."""
        self._store.servers.pins.accept(items, context.workspace, self._clock())

    def reject(self, items: Iterable[HeldDefinition], context: Context) -> None:
        """Reject definitions: their tools stay hidden until they change again."""
        self._store.servers.pins.reject(items, context.workspace, REJECTED)

    def mark_reported(self, context: Context) -> None:
        """Record that a session reported the news."""
        self._store.servers.pins.mark_reported(context.workspace)

    def _all(self, context: Context) -> list[HeldDefinition]:
        found = self._store.servers.pins.changed(context.workspace)
        return [item for item in found if context.client in (None, item.key[0])]
