"""The permit to start a server: only the trust check makes one, from the exact entry about to be started.

It contains the sandbox to start the server in, so nobody can start it without.

Whoever opens a process or a connection for a server takes a permit, and starts what it contains. So no list,
no name and no stored row leads to a program or an address that the trust check did not see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.trust.trust_rule import declaration_needs_trust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit.decision.declarations import Key, Resolved
    from remit.decision.declared_launch import Launch
    from remit.decision.projects import Workspace
    from remit.trust.server_sandbox import Sandbox, ServerSandboxes

ForeignVariables = Callable[[str], frozenset[str]]  # that files of the repository set, by client

_SEAL = object()  # known in this module only


class StartPermit:
    """Proof that a server may be started: its launch and its directory, which nobody can change."""

    __slots__ = ("_directory", "_foreign", "_is_projects", "_launch", "_sandbox")

    _launch: Launch
    _directory: str
    _is_projects: bool
    _foreign: frozenset[str]
    _sandbox: Sandbox | None

    def __init__(
        self,
        launch: Launch,
        directory: str,
        seal: object,
        *,
        sandbox: Sandbox | None,
        is_projects: bool = False,
        foreign: frozenset[str] = frozenset(),
    ) -> None:
        if seal is not _SEAL:
            raise TypeError("only `permit_start` makes permits")
        object.__setattr__(self, "_launch", _frozen(launch))
        object.__setattr__(self, "_directory", directory)
        object.__setattr__(self, "_is_projects", is_projects)
        object.__setattr__(self, "_foreign", foreign)
        object.__setattr__(self, "_sandbox", sandbox)

    @property
    def launch(self) -> Launch:
        """The command or URL to start or connect to, with unexpanded variables."""
        return self._launch

    @property
    def directory(self) -> str:
        """The project of the server, and where it starts."""
        return self._directory

    @property
    def is_projects(self) -> bool:
        """Whether the server comes from a project, with the user's trust."""
        return self._is_projects

    @property
    def foreign(self) -> frozenset[str]:
        """The variables that its repository sets, which the user's trust in its entry does not cover."""
        return self._foreign

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox that its processes start in; None: none is configured."""
        return self._sandbox

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a permit cannot be changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a permit cannot be stored")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StartPermit) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash((self._launch.digest, self._directory))

    @property
    def _parts(self) -> tuple[object, ...]:
        return self._launch, self._directory, self._is_projects, self._foreign, self._sandbox

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
