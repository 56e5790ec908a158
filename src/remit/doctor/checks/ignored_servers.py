"""Servers in files where the client reads none, such as Claude Code's settings."""

import json
import shlex
from collections.abc import Iterable, Iterator

from remit.catalog.explanation import Explanation, explain_unread
from remit.decision.context import Context, shorten
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.declared_launch import Launch
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.decision.tool_names import is_covered, spellings
from remit.doctor.checks.exposed_secrets import suggest_variable
from remit.doctor.findings import ClientSetup, Finding, finding_about
from remit.text.secrets import names_a_secret, secrets_in, words_of
from remit.upstream.launch.start_obstacles import LaunchValue, launch_values

_FLAGS = {Scope.GLOBAL: "user", Scope.PROJECT: "project", Scope.LOCAL: "local"}


def ignored_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that the client ignores, unless it has one of the same name."""
    declared = {item.declaration.server for item in setup.servers}
    for each in setup.ignored:
        if each.server not in declared:
            yield finding_about(
                each,
                Severity.WARNING,
                "ignored",
                place="mcpServers",
                reason=f"does nothing: {each.client} reads no servers from this file",
                fix=_fix(each, is_installed=bool(setup.own_rules)),
            )


def explain_ignored(name: str, readings: Iterable[ClientReading], context: Context) -> Explanation | None:
    """Explain the ignored server that a name refers to: the server's own, or that of one of its tools."""
    forms = spellings(name)
    for reading in readings:
        for each in reading.ignored:
            if each.is_called(name) or any(is_covered(form, each.name) for form in forms):
                place = f"`mcpServers` in {shorten(each.source, context)}"
                detail = f"declared in {place}, where {each.client} reads no servers"
                return explain_unread(each, context, detail, _fix(each, is_installed=bool(reading.own_rules)))
    return None


def _fix(declaration: Declaration, *, is_installed: bool) -> str:
    """Return the command that adds a server; variables stand for its secrets."""
    variables: dict[str, None] = {}
    entry = _entry(declaration, declaration.launch or Launch(), variables)
    program = ["remit", "add"] if is_installed else ["claude", "mcp", "add-json"]
    label, flag = declaration.server or "", _FLAGS[declaration.scope]
    command = shlex.join([*program, "--scope", flag, label, json.dumps(entry, ensure_ascii=False)])
    named = " and ".join(f"`{name}`" for name in variables)
    return f"{f'set {named} in your environment, then ' if named else ''}run `{command}`"


def _entry(declaration: Declaration, launch: Launch, variables: dict[str, None]) -> dict[str, object]:
    """Write an entry as the client takes it, and collect the variables for its secrets."""
    shown: dict[str, str] = {}
    for value in launch_values(launch):
        variable = suggest_variable(declaration, value)
        shown[value.place] = _without_secrets(value, f"${{{variable}}}")
        if shown[value.place] != value.text:
            variables[variable] = None
    prefixes = [word.prefix for word in words_of(launch.args)]
    parts: dict[str, object] = {
        "command": shown.get("command"),
        "args": [prefix + shown[f"args[{at}]"] for at, prefix in enumerate(prefixes)],
        "url": shown.get("url"),
        "env": {name: shown[f"env.{name}"] for name in launch.env},
        "headers": {name: shown[f"headers.{name}"] for name in launch.headers},
        "headersHelper": launch.headers_helper,
    }
    return {"type": str(launch.transport), **{name: part for name, part in parts.items() if part}}


def _without_secrets(value: LaunchValue, reference: str) -> str:
    """Replace the secrets in a value with a reference to a variable, which the client expands."""
    text = value.text
    if names_a_secret(value.name) and "$" not in text:
        scheme, space, _ = text.rpartition(" ")  # such as `Bearer`
        return scheme + space + reference
    for secret in sorted(secrets_in(text, value.name), key=len, reverse=True):
        text = text.replace(secret, reference)
    return text
