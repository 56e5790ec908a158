"""Checks whether an installed Remit still protects a workspace, or why a client does not load it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from remit.catalog.explanation import Explanation, Obstacle, explain_ineffective_approval
from remit.catalog.listed_groups import is_unlisted
from remit.catalog.listing import Listings
from remit.decision.client_settings import ClientSettings, matches
from remit.decision.context import Context, shorten
from remit.decision.decide import ToolDecision, offered_alone
from remit.decision.declarations import Declaration, Key
from remit.decision.gate_rules import status_reason
from remit.decision.kinds import RUNS, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect
from remit.decision.tool_names import SERVER
from remit.decision.tools import Tool
from remit.scanning.scanner import Scanner
from remit.sessions.install_notices import (
    NARROWED,
    InstalledClient,
    InstallNotice,
    NoticeKind,
    directly_loaded,
    disabled_hooks,
    lost_programs,
    missing_servers,
)
from remit.upstream.launch.start_obstacles import failure_fix, failure_remedy

_OWN_SCOPES = (Scope.GLOBAL, Scope.MANAGED)  # of our entry
_MISSING = {
    True: "Claude Code loads only Remit here, and Remit is not loaded",
    False: "the client leaves its servers to Remit, and Remit is not loaded",
}
_DENYING = {"gemini-cli": ("mcp", "excluded")}  # the list of names that a client does not start
# How to use each client meanwhile without the file of a repository that replaces Remit's entry.
_MEANWHILE = {
    "codex": 'set `trust_level = "untrusted"` for this project in ~/.codex/config.toml, so that Codex '
    "ignores the file",
    "gemini-cli": "do not trust this folder in Gemini CLI (`/permissions`), so that it starts no server here",
    "opencode": "start it as `OPENCODE_DISABLE_PROJECT_CONFIG=1 opencode`, which ignores the file",
}


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
        listed = self.listed(context)[1]
        return [*found, *missing_servers(listed, self._scanner.obstacles(context), context)]

    def listed(self, context: Context) -> tuple[Context, Sequence[ToolDecision]]:
        """Refresh and list every tool, with failures that still count, and the context of the decisions."""
        self._scanner.refresh(context)
        context, listed = self._listings.list(context)
        return context, self._with_current_failures(listed, context)

    def _with_current_failures(
        self, listed: Sequence[ToolDecision], context: Context
    ) -> Sequence[ToolDecision]:
        """Drop failures in a sandbox of servers that no longer have one."""
        failed = {item.tool.key for item in listed if _is_of_sandbox(item.tool)}
        if not failed:
            return listed
        sandboxes = self._scanner.sandboxes(context)
        found = (item.declaration for item in self._scanner.last_resolved(context))
        boxed = {each.key for each in found if each.key in failed and sandboxes.of(each) is not None}
        return [
            ToolDecision(tool._replace(failure=None), decision)
            if tool.key in failed - boxed
            else ToolDecision(tool, decision)
            for tool, decision in listed
        ]

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

    def offered_alone(self, listed: Iterable[ToolDecision], context: Context) -> list[ToolDecision]:
        """Select what the client offers without Remit and its rules."""
        return offered_alone(listed, self._listings.with_permissions(context))

    def with_approval(self, explained: Explanation, context: Context) -> Explanation:
        """Say of a server that waits for its client's approval that a file approves it in vain, if so."""
        tool = explained.tool
        if tool is None or tool.config_status is not ConfigStatus.PENDING:
            return explained
        reading = self._scanner.readings(context).get(tool.client)
        settings = ClientSettings(() if reading is None else reading[0].rules)
        rule = settings.ineffective_approval(tool.server or "")
        if rule is None:
            return explained
        return explain_ineffective_approval(explained, tool, rule.source, context)

    def obstacles(
        self, servers: Collection[Key], listed: Sequence[ToolDecision], context: Context
    ) -> Mapping[Key | None, Obstacle]:
        """Find why servers cannot be used here: they cannot start, or their last connection failed."""
        if not servers:
            return {}
        listed = self._with_current_failures(listed, context)
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
            if context.starts_servers:
                found += lost_protection(client)
        return found


class _Cause(NamedTuple):
    """Why Remit is not loaded, and the fix; the file, if another one than Remit's is the cause."""

    reason: str
    fix: str
    source: str | None = None


def lost_protection(client: InstalledClient) -> Iterator[InstallNotice]:
    """Find what keeps Remit's decisions from a client that it is installed in."""
    yield from missing_gateway(client)
    yield from disabled_hooks(client)
    yield from directly_loaded(client)


def missing_gateway(client: InstalledClient) -> Iterator[InstallNotice]:
    """Find the reason why a client that should load only Remit does not load it."""
    if not client.own_rules or client.has_gateway or client.waits:
        return
    is_narrowed = client.name == NARROWED
    place = "allowedMcpServers" if is_narrowed else SERVER
    place = "mcpServers" if client.is_managed else place
    why, missing = _why_missing(client), _MISSING[is_narrowed]
    yield InstallNotice(
        NoticeKind.GATEWAY,
        why.source or client.own_rules[0].source,
        place if why.source is None else SERVER,
        missing,
        why.fix,
        detail=f"{missing}: {why.reason}",
    )


def _why_missing(client: InstalledClient) -> _Cause:
    servers = [item for item in client.resolved if item.declaration.kind is Kind.MCP_SERVER]
    own = next((item for item in servers if item.declaration.is_remit), None)
    if own is None:
        again = f"run `remit install {client.name}{client.option}`"
        named = [item.declaration for item in servers if item.declaration.server == SERVER]
        changed = next((item for item in named if item.scope in _OWN_SCOPES), None)
        if changed is None:
            uninstall = f"`remit uninstall {client.name}{client.option}`"
            return _Cause("its entry is gone", f"{again}, or {uninstall}")
        return _Cause(f"its entry in {client.declared_at(changed)} was changed", again)
    if own.shadowed_by is not None:
        return _replaced(own.shadowed_by, client)
    return _denied(own.declaration, own.config_status, client)


def _replaced(winner: Declaration, client: InstalledClient) -> _Cause:
    """Name the entry that a client uses in the place of Remit's."""
    place = client.declared_at(winner)
    runs = any(item.declaration is winner and item.config_status in RUNS for item in client.resolved)
    effect = "the client starts that one instead, and none of Remit's decisions apply to it"
    reason = f"the server `{SERVER}` in {place} takes its place; {effect if runs else 'it is switched off'}"
    fix = f"remove or rename the server `{SERVER}` in {place}"
    meanwhile = _MEANWHILE.get(client.name) if winner.scope is Scope.PROJECT else None
    return _Cause(reason, f"{fix}; until then, {meanwhile}" if meanwhile else fix, winner.source)


def _denied(declaration: Declaration, status: ConfigStatus, client: InstalledClient) -> _Cause:
    denying = [
        rule for rule in client.rules if rule.effect is Effect.DENIES and matches(rule.subject, declaration)
    ]
    if denying:
        keys = _DENYING.get(client.name, ("deniedMcpServers",))
        place, named = client.place(denying[0].source, *keys), f"`{'.'.join(keys)}`"
        return _Cause(f"{named} in {place} denies it", f"remove Remit from {named} in {place}")
    lists = dict.fromkeys(rule.source for rule in client.rules if rule.effect is Effect.ALLOWS)
    files = ", ".join(shorten(path, client.context) for path in lists)
    where = f" in {files}" if files else ""
    again = f"remit uninstall {client.name}{client.option}"
    fix = f"change that, or run `{again}` to have the client load its servers itself"
    return _Cause(status_reason(status, client.name) + where, fix)


def _is_of_sandbox(tool: Tool) -> bool:
    if tool.failure is None:
        return False
    from remit.upstream.upstream_model import IN_ITS_SANDBOX  # imported late: few servers have failed

    return tool.failure.startswith(IN_ITS_SANDBOX)


def _failed_connection(server: str, failure: str) -> Obstacle:
    fix = failure_fix(failure_remedy(failure, server), server)
    return Obstacle(f"the last connection failed: {failure}", fix)
