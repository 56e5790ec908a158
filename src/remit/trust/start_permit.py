"""The permit to start a server: only the trust check makes one, from the exact entry about to be started.

It contains the sandbox to start the server in, so nobody can start it without.

Whoever opens a process or a connection for a server takes a permit, and starts what it contains. So no list,
no name and no stored row leads to a program or an address that the trust check did not see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.trust.trust_rule import declaration_needs_trust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit.decision.declarations import Key, Resolved
    from remit.decision.declared_launch import Launch
    from remit.decision.definitions.project_lock import LockedPackage, ProjectLock
    from remit.decision.projects import Workspace
    from remit.trust.server_sandbox import Sandbox, ServerSandboxes

ForeignVariables = Callable[[str], frozenset[str]]  # that files of the repository set, by client

_SEAL = object()  # known in this module only


@dataclass(frozen=True, slots=True, repr=False)
class StartPermit:
    """Proof that a server may be started: its launch and its directory, which nobody can change."""

    launch: Launch  # the command or URL to start or connect to, with unexpanded variables
    directory: str  # the project of the server, and where it starts
    seal: InitVar[object]
    _: KW_ONLY
    sandbox: Sandbox | None  # that its processes start in; None: none is configured
    is_projects: bool = False  # it comes from a project, with the user's trust
    foreign: frozenset[str] = frozenset()  # variables of its repository, which the trust does not cover
    package: LockedPackage | None = None  # that the project's lock has, and that must run
    root: str = ""  # of the project with that lock

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("only `permit_start` makes permits")
        object.__setattr__(self, "launch", _frozen(self.launch))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a permit cannot be stored")

    def __hash__(self) -> int:
        return hash((self.launch.digest, self.directory))

    def __repr__(self) -> str:
        return "StartPermit()"  # the launch may contain secrets


def permit_start(
    item: Resolved,
    workspace: Workspace,
    *,
    home: str,
    trusts: Mapping[Key, str],
    sandboxes: ServerSandboxes,
    foreign: ForeignVariables,
    lock: ProjectLock | None = None,
) -> StartPermit | None:
    """Permit starting a declared server; None if it may not start, or its entry is unavailable.

    A project's server needs the user's trust in its entry as it is now. Servers that do not belong to the
    workspace start in the home directory: package runners look for programs in their working directory, and
    must not find those of a project.
    """
    declaration = item.declaration
    launch = declaration.launch
    if launch is None or declaration.kind is not Kind.MCP_SERVER or declaration.server is None:
        return None
    if item.config_status is not ConfigStatus.ENABLED or declaration.is_remit:  # Remit never starts Remit
        return None
    is_projects = declaration_needs_trust(declaration, workspace)
    if is_projects and trusts.get(declaration.key) != launch.digest:
        return None
    is_everywhere = declaration.scope is Scope.PLUGIN and declaration.project_hash is None
    is_everywhere |= declaration.scope in (Scope.GLOBAL, Scope.MANAGED, Scope.TEAM)
    return StartPermit(
        launch,
        home if is_everywhere else workspace.dir,
        _SEAL,
        sandbox=sandboxes.of(declaration),
        is_projects=is_projects,
        foreign=foreign(declaration.client) if is_projects else frozenset(),
        package=None if lock is None else lock.package_of(declaration),
        root="" if lock is None else lock.root,
    )


def _frozen(launch: Launch) -> Launch:
    """Copy a launch, so nothing that its file's reader keeps can change it later."""
    return replace(
        launch,
        args=tuple(launch.args),
        env=MappingProxyType(dict(launch.env)),
        headers=MappingProxyType(dict(launch.headers)),
        variables=MappingProxyType(dict(launch.variables)),
        runner_files=MappingProxyType(dict(launch.runner_files)),
    )
