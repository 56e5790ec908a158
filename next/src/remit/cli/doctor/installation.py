"""Checks of the client itself: what may override Remit's decisions, and what gets around them."""

from collections.abc import Iterator

from remit.cli.doctor.findings import ClientSetup, Finding, Severity
from remit.decision import Face, PermissionEffect, client_title

_SHELLS = ("Bash", "Bash(*)")


def overriding_mods(setup: ClientSetup) -> Iterator[Finding]:
    """Find modules of plugins that run in the client and may override what hooks decide."""
    facts = setup.reading.facts
    if setup.context.face is Face.CLIENT or facts.only_managed_mods:
        return
    for mod in facts.mods:
        owner = "of this repository" if mod.is_repositorys else "of a plugin"
        safe = "; what an administrator's file denies stays denied" if facts.has_managed_settings else ""
        yield Finding(
            severity=Severity.WARNING if facts.has_managed_settings else Severity.ERROR,
            check="mod",
            source=mod.source,
            subject=mod.plugin,
            reason=f"the mod {mod.file} {owner} runs inside the client and can override decisions{safe}",
            fix="disable the plugin, or run `remit install claude-code --managed` as an administrator",
        )


def allowed_shell(setup: ClientSetup) -> Iterator[Finding]:
    """Find a shell that runs without asking, which no hidden tool can keep out."""
    if setup.context.face is Face.CLIENT:
        return
    for rule in setup.reading.permissions:
        if rule.effect is PermissionEffect.ALLOW and rule.text in _SHELLS:
            title = client_title(setup.reading.client)
            yield Finding(
                severity=Severity.NOTE,
                check="shell",
                source=rule.origin.path,
                place=rule.origin.key,
                reason=f"{title} runs any shell command without asking, so an agent can reach by the shell "
                "what a rule hides as a tool",
                fix="remove `Bash` from the list, or name the commands: `Bash(git status)`",
            )
            return
