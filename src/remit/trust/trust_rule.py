"""Trust: which servers Remit starts only with its user's word, because others can edit what they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope, is_at_or_below

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.projects import Workspace


class ServerTrust(NamedTuple):
    """A server that needs trust, with what it would run."""

    declaration: Declaration  # its launch is in memory, where its file could be read
    config_status: ConfigStatus
    trusted_digest: str | None  # of the entry that was trusted last

    @property
    def is_trusted(self) -> bool:
        """Whether the entry as it stands is the one that was trusted."""
        return self.trusted_digest is not None and self.trusted_digest == self.declaration.digest

    @property
    def is_changed(self) -> bool:
        """Whether another entry was trusted than the one that stands there now."""
        return self.trusted_digest is not None and not self.is_trusted


def needs_trust(
    kind: Kind, scope: Scope, project_hash: str | None, source: str, workspace: Workspace
) -> bool:
    """Tell whether a server or its tool comes with a project, and not from the user's own files.

    What lies in the repository is others' to edit, whatever its client calls it.
    """
    if kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL) or project_hash is None:
        return False
    if scope is Scope.LOCAL:
        return any(is_at_or_below(source, root) for root in (workspace.checkout, workspace.project.path))
    return scope in (Scope.PROJECT, Scope.PLUGIN)
