"""The permit to start a server: only the trust check makes one, from the entry about to be started.

Whoever opens a process or a connection for a server takes a permit, and starts what it contains. So no list,
no name and no stored row leads to a program or an address that the trust check did not see.
"""

from collections.abc import Mapping

from remit.config import ServerOptions
from remit.decision import Declaration, Key, Kind, Launch, Scope, Status, Workspace, needs_trust
from remit.store import TrustedEntry

_SEAL = object()


_DEFAULTS = ServerOptions()


class StartPermit:
    """What may be started, where and how; only `permit_start` makes one."""

    def __init__(
        self, seal: object, launch: Launch, directory: str, options: ServerOptions, *, is_projects: bool
    ) -> None:
        if seal is not _SEAL:
            raise TypeError("only `permit_start` permits starts")
        self.launch = launch  # with unexpanded variables
        self.directory = directory
        self.options = options  # its sandbox too, so nobody starts it without
        self.is_projects = is_projects  # it comes from a project, with the user's trust


def permit_start(
    declaration: Declaration,
    workspace: Workspace,
    *,
    home: str,
    trusted: Mapping[Key, TrustedEntry],
    options: ServerOptions = _DEFAULTS,
) -> StartPermit | None:
    """Permit the start of a server with the entry that was just read; None if it may not start.

    A project's server needs the user's trust in exactly this entry. The user's own servers start at home:
    package runners look for programs in their working directory, and must not find those of a project.
    """
    launch = declaration.launch
    if launch is None or declaration.kind is not Kind.MCP_SERVER or declaration.status is not Status.ENABLED:
        return None
    source, project = declaration.source, declaration.project_hash
    is_projects = needs_trust(declaration.scope, project, source, workspace)
    entry = trusted.get(declaration.key)
    if is_projects and (entry is None or entry.digest != trusted_digest(declaration.digest, options)):
        return None
    is_everywhere = declaration.scope in (Scope.GLOBAL, Scope.MANAGED, Scope.GROUP)
    is_everywhere |= declaration.scope is Scope.PLUGIN and project is None
    directory = home if is_everywhere else workspace.dir
    return StartPermit(_SEAL, launch, directory, options, is_projects=is_projects)


def trusted_digest(digest: str | None, options: ServerOptions) -> str | None:
    """Return what trust in a server covers: its entry, and the sandbox that its own project gives it."""
    return f"{digest}|{options.projects_sandbox}" if digest and options.projects_sandbox else digest
