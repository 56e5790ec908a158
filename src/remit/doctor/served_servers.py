"""Which of a client's servers Remit serves, so the client need not load them."""

from dataclasses import replace

from remit.decision.declarations import Declaration, Resolved, is_served
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.doctor.findings import ClientSetup
from remit.upstream.launch.start_obstacles import start_obstacles, started_servers


def served_servers(setup: ClientSetup) -> list[Declaration]:
    """List the servers that the client loads and Remit can serve: trusted, and able to start."""
    unable = {item.key for item, _ in kept_servers(setup)}
    untrusted = {tool.key for tool in setup.tools if tool.is_trusted is False}
    return [item for item in _loaded(setup) if item.key not in unable | untrusted]


def kept_servers(setup: ClientSetup) -> list[tuple[Declaration, str]]:
    """List the servers that only the client can load, with the reason.

    A server that failed when Remit last started it counts as one of them.
    """
    obstacles = start_obstacles(_trusting(setup), setup.facts, by_remit=True)
    failures = {tool.key: tool.failure for tool in setup.tools if tool.kind is Kind.MCP_SERVER}
    found: list[tuple[Declaration, str]] = []
    for item in _loaded(setup):
        reason = obstacles.get(item.key) or failures.get(item.key)
        if reason or not is_served(item):
            found.append((item, reason or "Remit does not serve such servers"))
    return found


def _loaded(setup: ClientSetup) -> list[Declaration]:
    """List the servers that the client loads, except our gateway and others that start Remit."""
    started = started_servers(_trusting(setup))
    return [item for item in started if not (item.is_remit or (item.launch and item.launch.starts_remit))]


def _trusting(setup: ClientSetup) -> list[Resolved]:
    """Return the servers as in a directory that the user trusts in the client; a project's may still wait."""
    return [
        replace(item, config_status=ConfigStatus.ENABLED)
        if item.config_status is ConfigStatus.PENDING and item.declaration.scope is not Scope.PROJECT
        else item
        for item in setup.resolved
    ]
