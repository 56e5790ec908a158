"""Spends the permit of a server: the one place where a launch becomes something that can be opened.

Processes, connections, header commands and sign-ins all take a `ReadyServer`, and nothing else makes one.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remit.decision.launch import Launch
from remit.trust.server_sandbox import SandboxError
from remit.upstream.failures import missing, secrets_of
from remit.upstream.launch.bubblewrap import SandboxBuilder, SandboxedCommand
from remit.upstream.launch.server_environment import environment, users_variables
from remit.upstream.launch.variable_expansion import Expanded, expand
from remit.upstream.upstream_model import Failure, Upstream


class NotReadyError(Exception):
    """A server cannot be started: it has no permit, no sandbox is possible, or variables are missing."""

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
        return frozenset(secrets_of(self.expanded, self.upstream.launch, self.environment))


def make_ready(
    upstream: Upstream, variables: Mapping[str, str], home: str, own: Sequence[str] = ()
) -> ReadyServer:
    """Expand exactly what the permit of a server contains; no sandbox shows Remit's `own` directories.

    Raises:
        NotReadyError: the server has no permit, its sandbox is not possible, or variables are missing.
    """
    permit = upstream.permit
    if permit is None:
        raise NotReadyError(Failure(reason="may not be started", hint="`remit trust` shows why"))
    variables = variables if permit.is_projects else users_variables(variables)
    expanded = expand(permit.launch, variables, workspace=permit.directory, home=home)
    if expanded.missing:
        raise NotReadyError(missing(expanded.missing, upstream))
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
            reason = f"cannot be started in its sandbox: {error.reason}"
            raise NotReadyError(Failure(reason=reason, hint=error.hint)) from None
    return ReadyServer(upstream=upstream, expanded=expanded, place=place, environment=given, sandbox=sandbox)


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
