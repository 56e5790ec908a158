"""Checks of an install: what keeps its decisions from counting in the client, and what gets around them."""

from collections.abc import Iterator

from remit.cli.doctor.findings import ClientSetup, Finding, Severity
from remit.decision import Face, PermissionEffect, client_title
from remit.hooks import NoticeKind

_SHELLS = ("Bash", "Bash(*)")


def weakened_protection(setup: ClientSetup) -> Iterator[Finding]:
    """Find a missing gateway, hooks that are off, mods that override decisions, and changed copies."""
    for notice in setup.notices:
        is_added = notice.kind is NoticeKind.ADDED  # a server that Remit could serve, too
        yield Finding(
            severity=Severity.NOTE if is_added else Severity.ERROR,
            check="install",
            source=notice.source,
            reason=notice.full_reason,
            fix=notice.fix,
        )


def lost_programs(setup: ClientSetup) -> Iterator[Finding]:
    """Find what an install starts and what does not exist, such as a removed Python environment."""
    client = setup.reading.client
    for program, source in setup.lost:
        yield Finding(
            severity=Severity.ERROR,
            check="install",
            source=source,
            reason=f"Remit is installed here with {program}, which does not exist",
            fix=f"run `remit install {client}` with a Remit that stays, or `remit uninstall {client}`",
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
