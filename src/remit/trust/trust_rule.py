"""The trust rule: Remit starts a project's servers only with the user's trust, since others can edit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from remit.decision.definitions.entry_digests import entry_change
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope, is_at_or_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.decision.declarations import Declaration
    from remit.decision.projects import Workspace
    from remit.trust.server_sandbox import OpenedPaths, Sandbox


class ServerTrust(NamedTuple):
    """A server that needs trust, with its declaration."""

    declaration: Declaration  # includes the launch if its file is readable
    config_status: ConfigStatus
    trusted_digest: str | None  # of the last trusted entry
    inherits: bool | tuple[str, ...] = False  # the user's variables: all, the minimum, or also these
    sandbox: Sandbox | None = None  # that it starts in
    projects_sandbox: Sandbox | None = None  # that the project declares now
    trusted_sandbox: Sandbox | None = None  # that the project declared when the user trusted it
    opened: OpenedPaths | None = None  # what the sandbox opens for it to run; None: it has none
    trusted_entry: Sequence[str] | None = None  # the parts of the last trusted entry; None: not known

    @property
    def is_limited(self) -> bool:
        """Whether the sandbox that the user trusted keeps it from what its project declares now."""
        return self.is_trusted and self.trusted_sandbox not in (None, self.projects_sandbox)

    @property
    def is_trusted(self) -> bool:
        """Whether the current entry is trusted."""
        return self.trusted_digest is not None and self.trusted_digest == self.declaration.digest

    @property
    def is_changed(self) -> bool:
        """Whether the entry changed after it was trusted."""
        return self.trusted_digest is not None and not self.is_trusted

    @property
    def state(self) -> str:
        """Whether it is trusted, in words."""
        if self.is_trusted:
            return "trusted"
        if not self.is_changed:
            return "not trusted"
        files = entry_change(self.trusted_digest, self.declaration.digest)
        return "changed since it was trusted" + (f": {files}" if files else "")


def needs_trust(
    kind: Kind, scope: Scope, project_hash: str | None, source: str, workspace: Workspace
) -> bool:
    """Tell whether a server, or its tool, comes from a project instead of the user's own files.

    Others can edit any file in the repository, whatever scope the client gives it.
    """
    if kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL) or project_hash is None:
        return False
    if scope is Scope.LOCAL:
        return any(is_at_or_below(source, root) for root in (workspace.checkout, workspace.project.path))
    return scope in (Scope.PROJECT, Scope.PLUGIN)


def declaration_needs_trust(declaration: Declaration, workspace: Workspace) -> bool:
    """Tell whether a declared server comes from a project instead of the user's own files."""
    return needs_trust(
        declaration.kind, declaration.scope, declaration.project_hash, declaration.source, workspace
    )
