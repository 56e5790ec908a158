"""Checks of servers: those that cannot start, failed, or wait for approval."""

import shlex
from collections.abc import Iterator

from remit.cli.doctor.findings import ClientSetup, Finding, Severity, about
from remit.clients import ineffective_approval
from remit.decision import Declaration, Status, shorten, trust_command


def missing_programs(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose program or script does not exist; clients start no shell, so `~` is no home."""
    for item, launch in setup.launches:
        if launch.command.startswith("~"):
            reason = "`~` means the home directory to a shell, and clients start servers without one"
            yield about(
                item, Severity.ERROR, "program", place="command", reason=reason, fix="write the whole path"
            )
        elif item.key in setup.absent and item.status is not Status.ITSELF:
            obstacle = setup.absent[item.key]
            yield about(item, Severity.ERROR, "program", reason=obstacle.reason, fix=obstacle.fix or _CORRECT)


_CORRECT = "correct the entry"


def unset_variables(setup: ClientSetup) -> Iterator[Finding]:
    """Find references to unset variables; setting one would hand it to a server that is not trusted."""
    untrusted = setup.untrusted
    for item in setup.started:
        if item.key in setup.unready and item.key not in setup.absent and item.key not in untrusted:
            obstacle = setup.unready[item.key]
            fix = obstacle.fix or "set them before the client is started"
            yield about(item, Severity.WARNING, "variable", reason=obstacle.reason, fix=fix)


def failed_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose last connection failed; other checks report those that cannot start at all."""
    for item in setup.started:
        row = setup.row(item)
        if row is not None and row.failure is not None and item.key not in setup.unready:
            again = f"remit tools {shlex.quote(_label(item))} --refresh"
            reason = f"last connection failed: {row.failure}"
            fix = f"try again with `{again}`"
            if row.failure.startswith(("answers 401", "answers 403")):
                fix = f"sign in with `remit login {shlex.quote(_label(item))}`"
            yield about(item, Severity.ERROR, "start", reason=reason, fix=fix)


def waiting_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that wait for approval."""
    for item, _ in setup.servers:
        if item.status is not Status.PENDING:
            continue
        row = setup.row(item)
        rule = ineffective_approval(setup.reading.rules, item.server or "")
        steps = ["trust this folder in the client" if rule is not None else "approve it in the client"]
        reason = "waits for your approval in the client"
        if rule is not None:
            place = shorten(rule.source, setup.context)
            reason = f"{reason}: {place} approves it, which counts once you trust the folder"
        if row is not None and row.is_trusted is False:
            steps.append(f"run `{trust_command(_label(item))}`")
        yield about(item, Severity.NOTE, "pending", reason=reason, fix=", and ".join(steps))


def _label(item: Declaration) -> str:
    return item.server or item.name
