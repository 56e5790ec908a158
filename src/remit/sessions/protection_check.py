"""Checks in each client's files whether an installed Remit still protects a workspace."""

from collections.abc import Collection, Mapping, Sequence

from remit.catalog.explanation import Obstacle
from remit.catalog.listed_groups import is_unlisted
from remit.catalog.listing import Listings
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Key
from remit.scanning.scanner import Scanner
from remit.sessions.install_notices import (
    InstalledClient,
    InstallNotice,
    lost_programs,
    missing_servers,
    outdated_installs,
)
from remit.sessions.missing_gateway import lost_protection
from remit.upstream.launch.start_obstacles import failure_fix, failure_remedy


class ProtectionCheck:
    """Finds what keeps Remit from protecting a workspace, or a server from reaching an agent."""

    def __init__(self, scanner: Scanner, listings: Listings) -> None:
        self._scanner = scanner
        self._listings = listings

    def notices(self, context: Context) -> list[InstallNotice]:
        """List all that is missing: weakened protection, and servers that no agent gets."""
        found = self.weakened(context)
        if not context.starts_servers:
            return found
        listed = self._listings.list(context)[1]
        return [*found, *missing_servers(listed, self._scanner.obstacles(context), context)]

    def with_obstacles(self, listed: Sequence[ToolDecision], context: Context) -> Sequence[ToolDecision]:
        """Note a failure for the available servers that cannot start here, of those never listed."""
        servers = [item.tool.key for item in listed if is_unlisted(item)]
        found = self._scanner.obstacles(context, servers)
        return [
            ToolDecision(tool._replace(failure=f"cannot start: {found[tool.key]}"), decision)
            if tool.key in found
            else ToolDecision(tool, decision)
            for tool, decision in listed
        ]

    def obstacles(
        self, servers: Collection[Key], listed: Sequence[ToolDecision], context: Context
    ) -> Mapping[Key | None, Obstacle]:
        """Find why servers cannot be used here: they cannot start, or their last connection failed."""
        found: dict[Key | None, Obstacle] = {
            tool.key: _failed_connection(tool.server or tool.name, tool.failure)
            for tool, _ in listed
            if tool.key in servers and tool.failure is not None
        }
        if unable := self._scanner.obstacles(context, servers):
            fixes = self._scanner.start_fixes(context, unable)
            found |= {key: Obstacle(f"cannot start: {why}", fixes.get(key)) for key, why in unable.items()}
        return found

    def weakened(self, context: Context) -> list[InstallNotice]:
        """List what keeps an installed Remit from enforcing decisions."""
        found: list[InstallNotice] = []
        unable = self._scanner.obstacles(context) if context.starts_servers else ()
        for reading, resolved in self._scanner.readings(context).values():
            own = [item for item in resolved if item.declaration.is_remit]
            client = InstalledClient(
                context, resolved, reading.rules, reading.own_rules, self._scanner.line_of, unable
            )
            if own:
                found += lost_programs(own, self._scanner.facts(own, context).absent, client.option)
                found += outdated_installs(own, client.option)
            if context.starts_servers:
                found += lost_protection(client)
        return found


def _failed_connection(server: str, failure: str) -> Obstacle:
    fix = failure_fix(failure_remedy(failure, server), server)
    return Obstacle(f"the last connection failed: {failure}", fix)
