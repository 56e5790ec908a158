"""Why a client that leaves its servers to Remit does not load Remit, and what the user can do about it."""

from collections.abc import Iterator
from typing import NamedTuple

from remit.decision.client_settings import matches
from remit.decision.context import shorten
from remit.decision.declarations import Declaration
from remit.decision.gate_rules import status_reason
from remit.decision.kinds import RUNS, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect
from remit.decision.tool_names import SERVER
from remit.sessions.install_notices import (
    NARROWED,
    InstalledClient,
    InstallNotice,
    NoticeKind,
    directly_loaded,
    disabled_hooks,
)

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
