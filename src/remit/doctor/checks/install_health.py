"""Remit's install in a client: whether the client loads Remit, and only Remit."""

from collections.abc import Iterator

from remit.decision.client_settings import ClientSettings
from remit.decision.context import shorten
from remit.decision.declarations import is_served
from remit.decision.kinds import RUNS
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel
from remit.decision.tool_names import SERVER
from remit.doctor.findings import ClientSetup, Finding, finding_about
from remit.sessions.install_notices import (
    NARROWED,
    InstalledClient,
    InstallNotice,
    directly_loaded,
    disabled_hooks,
    lost_programs,
    replaced_gateways,
    untrusted_servers,
)
from remit.sessions.protection_check import missing_gateway
from remit.upstream.launch.start_obstacles import start_obstacles


def missing_protection(setup: ClientSetup) -> Iterator[Finding]:
    """Find a missing gateway, one that cannot start, and hooks that are switched off."""
    client = _installed(setup)
    lost = lost_programs(setup.resolved, setup.facts.absent, client.option)
    replaced = replaced_gateways(setup.tools, setup.context) if setup.context.starts_servers else ()
    for notice in (*lost, *missing_gateway(client), *replaced, *disabled_hooks(client)):
        yield Finding(
            severity=Severity.ERROR,
            check="install",
            source=notice.source,
            place=notice.place,
            reason=notice.full_reason,
            fix=notice.fix,
        )


def _about_server(notice: InstallNotice, check: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        check=check,
        source=notice.source,
        subject=notice.place,
        scope=notice.scope,
        reason=notice.full_reason,
        fix=notice.fix,
    )


def unavailable_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that the client would start and Remit may not."""
    for notice in untrusted_servers(setup.tools) if setup.context.starts_servers else ():
        yield _about_server(notice, "trust")


def lost_installs(setup: ClientSetup) -> Iterator[Finding]:
    """Find a narrowed list without an install record."""
    entries = [item.declaration for item in setup.servers if item.declaration.server == SERVER]
    admitting = {f"name:{SERVER}", *(f"command:{entry.endpoint}" for entry in entries)}
    for rule in setup.rules:
        is_named = rule.effect is Effect.ALLOWS and rule.subject in admitting
        if is_named and rule.level is SettingsLevel.USER and not setup.own_rules:
            yield Finding(
                severity=Severity.WARNING,
                check="install",
                source=rule.source,
                place="allowedMcpServers",
                reason="names Remit, but no install is recorded: every server it does not name is denied",
                fix="run `remit install claude-code` again, or `remit uninstall claude-code`",
            )


def unloaded_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that neither Remit serves nor the client loads, because of its list."""
    is_narrowed = setup.own_rules and _installed(setup).name == NARROWED
    for declaration in setup.in_force if is_narrowed else ():
        if not is_served(declaration) and _as_client(setup).status(declaration) not in RUNS:
            reason, fix = _UNLOADED[_installed(setup).is_managed]
            yield finding_about(declaration, Severity.ERROR, "install", reason=reason, fix=fix)


_UNLOADED = {
    False: (
        "only the client can load it, and `allowedMcpServers` does not name it",
        "run `remit install claude-code` again; it needs a name of letters, digits, `-` and `_`",
    ),
    True: (
        "only the client can load it, and the administrator's `managed-mcp.json` leaves it out",
        "ask the administrator to add it there",
    ),
}


def loaded_twice(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that Remit serves and the client loads too."""
    for notice in directly_loaded(_installed(setup)):
        yield _about_server(notice, "install")
    if _installed(setup).name == NARROWED and setup.own_rules and _installed(setup).has_gateway:
        yield from _on_other_lists(setup)


def _on_other_lists(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that the client also loads because another list names them."""
    client = _as_client(setup)
    for declaration in setup.in_force:
        is_ours = is_served(declaration) and not declaration.is_remit
        if is_ours and client.status(declaration) in RUNS:
            is_managed = declaration.scope is Scope.MANAGED
            named = "`managed-mcp.json`" if is_managed else f"`allowedMcpServers`{_lists(setup)}"
            yield finding_about(
                declaration,
                Severity.WARNING,
                "install",
                reason=f"{named} adds to Remit's list, {_CONSEQUENCE[declaration.key in setup.untrusted]}",
                fix="remove it from that list",
            )


_CONSEQUENCE = {
    False: "so the client loads it too, and its tools are listed twice",
    True: "so the client starts it, although Remit does not trust it; Remit's hooks deny its calls",
}


def _installed(setup: ClientSetup) -> InstalledClient:
    unable = start_obstacles(setup.resolved, setup.facts, by_remit=True)
    return InstalledClient(setup.context, setup.resolved, setup.rules, setup.own_rules, setup.line_of, unable)


def _lists(setup: ClientSetup) -> str:
    """List the files with other lists."""
    sources = dict.fromkeys(rule.source for rule in setup.rules if rule.effect is Effect.ALLOWS)
    return f" in {', '.join(shorten(each, setup.context) for each in sources)}" if sources else ""


def _as_client(setup: ClientSetup) -> ClientSettings:
    """Return the settings as the client sees them, including Remit's own."""
    return ClientSettings([*setup.rules, *setup.own_rules], is_headless=setup.context.flags.is_headless)
