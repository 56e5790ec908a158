"""Spends the permit of a server: the one place where a launch becomes something that can be opened.

Processes, connections, header commands and sign-ins all take a `ReadyServer`, and nothing else makes one.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from remit.configuration.file_paths import machine_path
from remit.decision.declared_launch import Launch
from remit.decision.definitions.project_lock import LOCK, package_differences
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.settings import data_directory
from remit.trust.server_sandbox import OpenedPaths, Sandbox, SandboxError
from remit.trust.start_permit import StartPermit
from remit.upstream.failures import missing, not_signed_in, secrets_of
from remit.upstream.launch.bubblewrap import SandboxBuilder, SandboxedCommand
from remit.upstream.launch.installed_packages import launched_package
from remit.upstream.launch.variable_expansion import (
    CREDENTIAL,
    Expanded,
    environment,
    expand,
    foreign_at_start,
    users_variables,
)
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.upstream_model import IN_ITS_SANDBOX, Failure, Upstream


class NotReadyError(Exception):
    """A server cannot be started: a permit, a credential, a sandbox or variables are missing."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadyServer:
    """A permitted server whose variables are expanded, ready to be started or reached."""

    upstream: Upstream
    expanded: Expanded
    place: str  # the working directory
    environment: Mapping[str, str]
    sandbox: SandboxedCommand | None = None  # the command to run instead of the launch's own
    home: str = ""  # the user's, which is no secret

    @property
    def launch(self) -> Launch:
        """The launch with expanded variables."""
        return self.expanded.launch

    @property
    def label(self) -> str:
        """The server's name."""
        return self.upstream.label

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        found = frozenset(secrets_of(self.expanded, self.upstream.launch, self.environment))
        return found - {self.home}  # an entry may name it as `${HOME}`


def make_ready(
    upstream: Upstream,
    variables: Mapping[str, str],
    home: str,
    own: Sequence[str] = (),
    credential: Credential | None = None,
) -> ReadyServer:
    """Expand exactly what the permit of a server contains; no sandbox shows Remit's `own` directories.

    A server that is used with the credential of its caller is never ready without one.

    Raises:
        NotReadyError: a permit, a credential or variables are missing, or its sandbox is not possible.
    """
    permit = upstream.permit
    if permit is None:
        raise NotReadyError(Failure(reason="may not be started", hint="`remit trust` shows why"))
    _require_locked_package(permit, variables, home)
    foreign: frozenset[str] = frozenset()
    if permit.is_projects:
        foreign = permit.foreign | foreign_at_start(variables)
    else:
        variables = users_variables(variables)
    if not upstream.is_per_principal:
        expanded = expand(permit.launch, variables, workspace=permit.directory, home=home, foreign=foreign)
    elif credential is None:
        raise NotReadyError(not_signed_in(upstream, None))
    else:
        expanded = _with_credential(permit, variables, home, credential.value, foreign)
    if expanded.missing:
        raise NotReadyError(missing(expanded.missing, upstream, known=variables))
    within = expanded.launch.cwd
    place = os.path.normpath(os.path.join(permit.directory, within)) if within else permit.directory
    given = environment(
        upstream, expanded.launch, directory=permit.directory, place=place, variables=variables
    )
    sandbox = None
    if permit.sandbox is not None:
        builder = SandboxBuilder(permit.sandbox, home, own, permit.is_projects)
        try:
            sandbox = _sandboxed(builder, expanded.launch, place, given, users_variables(variables))
        except SandboxError as error:
            reason = f"{IN_ITS_SANDBOX}{error.reason}"
            raise NotReadyError(Failure(reason=reason, hint=error.hint)) from None
    return ReadyServer(
        upstream=upstream, expanded=expanded, place=place, environment=given, sandbox=sandbox, home=home
    )


def _require_locked_package(permit: StartPermit, variables: Mapping[str, str], home: str) -> None:
    """Compare what would run with the package in the project's lock, as far as that is known offline.

    Raises:
        NotReadyError: another version, or other files, would run.
    """
    if permit.package is None:
        return
    now = launched_package(permit.launch, permit.root, variables, home)
    if difference := next(package_differences(permit.package, now), None):
        hint = "install the locked version; or review the new one, then run `remit lock`"
        raise NotReadyError(Failure(reason=f"differs from `{LOCK}`: {difference}", hint=hint))


def _with_credential(
    permit: StartPermit, variables: Mapping[str, str], home: str, credential: str, foreign: frozenset[str]
) -> Expanded:
    """Expand a launch with the caller's credential, and with nothing that could stand for the machine's.

    Raises:
        NotReadyError: the entry does not say where the credential belongs, or exposes it.
    """
    launch = permit.launch
    if launch.headers_helper is not None:
        reason = "has a `headersHelper`, which would send the same credential for everyone"
        raise NotReadyError(Failure(reason=reason, hint="remove it from the entry"))
    expanded = expand(
        launch, variables, workspace=permit.directory, home=home, credential=credential, foreign=foreign
    )
    if CREDENTIAL in expanded.missing:
        reason = "has `${credential}` in its command or URL, which others can read"
        raise NotReadyError(Failure(reason=reason, hint="move it to `env` or `headers` of the entry"))
    if credential in expanded.values:
        return expanded
    if not launch.is_remote:
        reason = "does not say where the credential of its caller belongs"
        raise NotReadyError(Failure(reason=reason, hint="write `${credential}` into `env` of its entry"))
    headers = {
        name: value for name, value in expanded.launch.headers.items() if name.lower() != "authorization"
    }
    return replace(
        expanded,
        launch=replace(expanded.launch, headers={**headers, "Authorization": f"Bearer {credential}"}),
        values=expanded.values | {credential},
    )


def _sandboxed(
    builder: SandboxBuilder,
    launch: Launch,
    place: str,
    variables: Mapping[str, str],
    users: Mapping[str, str],
) -> SandboxedCommand | None:
    """Return the process of a server in its sandbox; None for a remote server that needs none."""
    if not launch.is_remote:
        return builder.command((launch.command, *launch.args), place, variables, users)
    if launch.headers_helper is None:
        return None
    return builder.command(helper_words(launch.headers_helper), place, variables, users)


def helper_words(command: str) -> tuple[str, ...]:
    """Return the words that run a command which prints headers."""
    return ("cmd", "/c", command) if sys.platform == "win32" else ("/bin/sh", "-c", command)


def opened_paths(
    launch: Launch, sandbox: Sandbox, workspace: Workspace, machine: Machine, *, is_projects: bool
) -> OpenedPaths:
    """List what the sandbox opens besides the system and its own paths; nothing is started."""
    expanded = expand(launch, machine.variables, workspace=workspace.dir, home=machine.home)
    if expanded.missing:
        return OpenedPaths(problem=f"the variable {expanded.missing[0]} is not set")
    ready = expanded.launch
    if ready.is_remote and ready.headers_helper is None:
        return OpenedPaths()
    words = helper_words(ready.headers_helper or "") if ready.is_remote else (ready.command, *ready.args)
    place = os.path.normpath(os.path.join(workspace.dir, ready.cwd or ""))
    users = users_variables(machine.variables)
    own = (data_directory(machine), machine_path(machine))
    builder = SandboxBuilder(sandbox, machine.home, own, is_projects)
    try:
        found = builder.opened(words, place, {**users, **ready.variables, **ready.env}, users)
    except SandboxError as error:
        return OpenedPaths(problem=error.reason, hint=error.hint)
    return OpenedPaths(tuple(sandbox.short(path, machine.home) for path in found))
