"""Secrets in plain text."""

import re
from collections.abc import Iterator
from typing import cast

from remit.decision.declarations import Declaration
from remit.decision.declared_launch import VariableSyntax
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.decision.tool_names import normalise
from remit.doctor.findings import ClientSetup, Finding, finding_about, fix_for_owner
from remit.text.redaction import HIDDEN, redact_url
from remit.text.secrets import is_secret
from remit.upstream.launch.start_obstacles import LaunchValue, launch_values

_WRITTEN = {  # clearest first
    VariableSyntax.DEFAULTS: "${{{}}}",
    VariableSyntax.BRACES: "${{{}}}",
    VariableSyntax.DOLLAR_ENV: "${{env:{}}}",
    VariableSyntax.BRACE_ENV: "{{env:{}}}",
    VariableSyntax.SECRETS: "${{{{ secrets.{} }}}}",
}
_PREFIX = re.compile(
    r"(?:--?[a-z][a-z-]*=)?(?:(?:Authorization|X-[A-Za-z-]+)[:=]\s*)?(?:(?:Bearer|Basic|Token|Bot|ApiKey)\s+)?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def exposed_secrets(setup: ClientSetup) -> Iterator[Finding]:
    """Find secrets in entries, active or not."""
    for item in setup.servers:
        declaration = item.declaration
        for value in launch_values(declaration.launch) if declaration.launch is not None else ():
            if is_secret(value.text, value.name):
                yield _exposed(declaration, value, is_tracked=declaration.source in setup.facts.tracked)


def _exposed(declaration: Declaration, value: LaunchValue, *, is_tracked: bool) -> Finding:
    reference = _reference(declaration, suggest_variable(declaration, value), _redacted(value.text))
    if is_tracked:
        where = "a secret in plain text, in a file that git shares"
        fix = f"revoke it, because the history keeps it; then {reference}"
    elif declaration.scope is Scope.PROJECT:
        where, fix = "a secret in plain text, in a file that is meant to be shared", reference
    else:
        where, fix = "a secret in plain text", reference
    severity = Severity.ERROR if is_tracked else Severity.WARNING
    return finding_about(
        declaration, severity, "secret", place=value.place, reason=where, fix=fix_for_owner(declaration, fix)
    )


def _redacted(text: str) -> str:
    """Hide a secret, but keep what belongs in front of it: an option, a header's name, `Bearer`, a URL."""
    prefix = cast("re.Match[str]", _PREFIX.match(text))[0]  # may be empty
    shown = redact_url(text) if "://" in text else f"{prefix}{HIDDEN}"
    return shown if shown.count(HIDDEN) == 1 else HIDDEN


def _reference(declaration: Declaration, variable: str, redacted: str) -> str:
    """Suggest a reference in the client's variable syntax, if it has one."""
    syntaxes = declaration.launch.syntaxes if declaration.launch is not None else ()
    for syntax, written in _WRITTEN.items():
        if syntax in syntaxes:
            shown = redacted.replace(HIDDEN, written.format(variable))
            return f"write `{shown}` instead, and set the variable"
    return f"remove it, and set `{variable}` where the client is started: this file cannot use variables"


def suggest_variable(declaration: Declaration, value: LaunchValue) -> str:
    """Suggest a variable: the entry's own, else one named after the server."""
    if value.place.startswith("env.") and _IDENTIFIER.fullmatch(value.name):
        return value.name
    return f"{normalise(declaration.server or '').upper().replace('-', '_')}_TOKEN"
