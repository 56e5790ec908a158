"""Spends the permit of a server: the one place where a launch becomes something that can be opened.

Processes, connections, header commands and sign-ins all take a `ReadyServer`, and nothing else makes one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from remit.decision.launch import Launch
from remit.upstream.failures import missing, secrets_of
from remit.upstream.launch.server_environment import environment, users_variables
from remit.upstream.launch.variable_expansion import Expanded, expand
from remit.upstream.upstream_model import Failure, Upstream


class NotReadyError(Exception):
    """A server cannot be started: it has no permit, or variables are missing."""

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


def make_ready(upstream: Upstream, variables: Mapping[str, str], home: str) -> ReadyServer:
    """Expand exactly what the permit of a server contains.

    Raises:
        NotReadyError: the server has no permit, or variables are missing.
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
    return ReadyServer(upstream=upstream, expanded=expanded, place=place, environment=given)
