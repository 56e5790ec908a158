"""Servers that cannot start here, or not in their sandbox, judged without starting them."""

import os
import re
from collections.abc import Iterator

from remit.decision.context import shorten
from remit.decision.declared_launch import Transport
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.doctor.findings import ClientSetup, Finding, finding_about
from remit.upstream.launch.start_obstacles import absence_fix, describe_absence, launch_values
from remit.upstream.launch.variable_expansion import unset

_SANDBOX_FIX = "make the sandbox possible, or change `sandbox` in Remit's configuration"
# Set by Claude Code itself.
_GIVEN = frozenset({"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR"})


def missing_programs(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose program or script does not exist."""
    for declaration, launch in setup.launches:
        for place in () if declaration.is_remit else setup.facts.absent.get(declaration.key, ()):
            yield finding_about(
                declaration,
                Severity.ERROR,
                "program",
                place=place,
                reason=describe_absence(launch, place),
                fix=absence_fix(launch, place),
            )


def relative_commands(setup: ClientSetup) -> Iterator[Finding]:
    """Find commands that only work from one directory."""
    for declaration, launch in setup.launches:
        if launch.transport is not Transport.STDIO or launch.cwd is not None:
            continue
        if launch.command.startswith("~"):
            reason = "`~` means the home directory to a shell, and clients start servers without one"
        elif _is_relative(launch.command):
            reason = "the command is relative: it is found only when the client is started in " + (
                shorten(declaration.dir, setup.context) if declaration.dir else "the right directory"
            )
        else:
            continue
        is_shared = declaration.scope is Scope.PROJECT and not launch.command.startswith("~")
        yield finding_about(
            declaration,
            Severity.NOTE if is_shared else Severity.WARNING,
            "relative-command",
            place="command",
            reason=reason,
            fix="put the program on PATH" if is_shared else "write the whole path",
        )


def _is_relative(command: str) -> bool:
    is_path = "/" in command or "\\" in command
    is_rooted = os.path.isabs(command) or re.match(r"[A-Za-z]:[\\/]|\\\\|[$%{]", command)
    return is_path and not is_rooted


def unset_variables(setup: ClientSetup) -> Iterator[Finding]:
    """Find references to unset environment variables without a default.

    An untrusted server is left out: setting a variable would hand it to that server.
    """
    untrusted = setup.untrusted
    for declaration, launch in setup.launches:
        if declaration.key in untrusted:
            continue
        known = {*setup.facts.variables, *_GIVEN}
        for value in launch_values(launch):
            for variable in unset(value.text, launch, known):
                is_own = variable in launch.env and not value.place.startswith("env.")
                if is_own or variable in known:  # a server may expand its own entry's variables
                    continue
                known.add(variable)  # report once per server
                yield finding_about(
                    declaration,
                    Severity.WARNING,
                    "variable",
                    place=value.place,
                    reason=f"`{variable}` is not set in this environment, and has no default",
                    fix=f"set `{variable}` before the client is started",
                )


def unavailable_sandboxes(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose sandbox is not possible here, or that their client starts itself."""
    is_started_by_client = not setup.context.starts_servers
    for declaration, launch in setup.launches:
        obstacle = setup.facts.sandbox_obstacles.get(declaration.key)
        if obstacle is not None:
            yield finding_about(
                declaration,
                Severity.ERROR,
                "sandbox",
                reason=f"{obstacle}, so Remit does not start it",
                fix=setup.facts.sandbox_fixes.get(declaration.key, _SANDBOX_FIX),
            )
        elif is_started_by_client and declaration.key in setup.facts.sandboxed and not launch.is_remote:
            yield finding_about(
                declaration,
                Severity.WARNING,
                "sandbox",
                reason="the client starts it without its sandbox, because Remit is not installed there",
                fix=f"run `remit install {declaration.client}`",
            )
