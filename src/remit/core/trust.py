"""Trust: which servers Remit starts only with its user's word, because others can edit what they run."""

from dataclasses import dataclass

from remit.core.declarations import Declaration
from remit.core.kinds import ConfigStatus, Kind
from remit.core.scopes import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Trustable:
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


def needs_trust(kind: Kind, scope: Scope, project_hash: str | None) -> bool:
    """Tell whether a server or its tool comes with a project, and not from the user's own files."""
    if kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL):
        return False
    return scope is Scope.PROJECT or (scope is Scope.PLUGIN and project_hash is not None)
