"""Expands variables in a server's entry by the rules of its client, and makes the environment of the server.

This happens only when a server starts, because the result contains the values of variables.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from remit.decision.declared_launch import (
    Launch,
    VariableSyntax,
    is_renewable,
    names_an_address,
    steers_code,
)
from remit.settings import DEPTH, NESTED
from remit.text.redaction import ANY_VARIABLE, FOREIGN

if TYPE_CHECKING:  # to explain a server, nothing else of upstreams is loaded
    from collections.abc import Collection, Mapping

    from remit.upstream.upstream_model import Upstream

# Variables that clients set for their own children, and Remit's settings, which include a key. The location
# of Remit's data stays, for servers that use Remit themselves.
_INTERNAL = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_.*|CLAUDE_(PID|EFFORT|ENV_FILE|PROJECT_DIR|PLUGIN_ROOT|PLUGIN_DATA)"
    r"|REMIT_(?!HOME$|CONFIG$).*"
)
# Hardly any program runs without these.
_NEEDED = frozenset(
    (
        *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES"),
        *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
        # certificates of the user's network
        *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Expanded:
    """A launch that is ready to start."""

    launch: Launch
    missing: tuple[str, ...]  # variables without value and default, in the order of the entry
    values: frozenset[str]  # the inserted values, which must never be shown


CREDENTIAL = "credential"  # `${credential}` stands for the caller's own
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATTERNS = {
    VariableSyntax.BRACES: rf"\$\{{({_NAME})\}}",
    VariableSyntax.DEFAULTS: r"\$\{([^}]+)\}",
    VariableSyntax.BARE: rf"\$({_NAME})",
    VariableSyntax.DOLLAR_ENV: r"\$\{env:([^}]+)\}",
    VariableSyntax.BRACE_ENV: r"\{env:([^}]+)\}",
    VariableSyntax.BRACE_FILE: r"\{(file:[^}]+)\}",
    VariableSyntax.SECRETS: r"\$\{\{\s*secrets\.([^}\s]+)\s*\}\}",
    VariableSyntax.INPUT: r"\$\{(input:[^}]+)\}",
    VariableSyntax.NAMED: r"\$\{named:([^}]+)\}",
    VariableSyntax.WORKSPACE: r"\$\{(workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|/)\}",
}


def expand(
    launch: Launch,
    variables: Mapping[str, str],
    *,
    workspace: str,
    home: str,
    credential: str | None = None,
    foreign: frozenset[str] = frozenset(),
) -> Expanded:
    """Expand a launch as its client does in a workspace.

    With a credential, `${credential}` stands for it in `env` and `headers`. Elsewhere, others could read it:
    command lines and URLs are shown and logged.

    A repository's own variables, the `foreign` ones, count only for its credentials, and in `env` and
    `headers` that do not decide what runs: trust in an entry is trust in the program and the address that a
    person saw, and the file that sets a variable can change later.
    """
    text = _text(launch, _without_foreign(variables, foreign), workspace, home)
    whole = _text(launch, variables, workspace, home)
    private = whole if credential is None else whole.knowing(CREDENTIAL, credential)
    guarded = text if credential is None else text.knowing(CREDENTIAL, credential)
    done = replace(
        launch,
        command=text.fill(launch.command),
        args=tuple(map(text.fill, launch.args)),
        env={
            name: (guarded if steers_code(name) or names_an_address(name) else private).fill(value)
            for name, value in launch.env.items()
        },
        cwd=None if launch.cwd is None else text.fill(launch.cwd),
        url=text.fill(launch.url),
        headers={name: private.fill(value) for name, value in launch.headers.items()},
    )
    missing = tuple(dict.fromkeys((*text.missing, *guarded.missing, *private.missing)))
    values = frozenset(text.values | guarded.values | private.values)
    return Expanded(launch=done, missing=missing, values=values)


def _without_foreign(variables: Mapping[str, str], foreign: frozenset[str]) -> Mapping[str, str]:
    if not foreign:
        return variables
    return {
        name: value
        for name, value in variables.items()
        if is_renewable(name, value) or not _is_foreign(name, foreign)
    }


def _is_foreign(name: str, foreign: frozenset[str]) -> bool:
    return name in foreign or (ANY_VARIABLE in foreign and name.upper() not in _NEEDED)


def unset(written: str, launch: Launch, variables: Collection[str]) -> list[str]:
    """List the environment variables in a text that have neither value nor default."""
    # Continue keeps its secrets in files.
    syntaxes = tuple(syntax for syntax in launch.syntaxes if syntax is not VariableSyntax.SECRETS)
    text = _text(replace(launch, syntaxes=syntaxes), dict.fromkeys(variables, ""), "", "")
    text.fill(written)
    return [name for name in text.missing if re.fullmatch(_NAME, name)]  # leaves out `input:id`


def _text(launch: Launch, variables: Mapping[str, str], workspace: str, home: str) -> _Text:
    places = {
        "workspaceFolder": workspace,
        "workspaceFolderBasename": os.path.basename(workspace),
        "userHome": home,
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    known = {**variables, **launch.variables}
    if launch.variables:  # a plugin's entry may also refer to the workspace
        known["CLAUDE_PROJECT_DIR"] = workspace
    return _Text(launch.syntaxes, known, places if VariableSyntax.WORKSPACE in launch.syntaxes else {})


class _Text:
    """Fills texts, and records missing variables and inserted values."""

    def __init__(
        self,
        syntaxes: tuple[VariableSyntax, ...],
        variables: Mapping[str, str],
        places: Mapping[str, str],
        always: str = r"(?!)",  # a pattern besides those of the client
    ) -> None:
        self._syntaxes = syntaxes
        self._variables = variables
        self._places = places
        # One pattern for all syntaxes, so inserted values are never expanded again.
        patterns = (always, *(_PATTERNS[syntax] for syntax in syntaxes))
        self._pattern = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
        self.missing: list[str] = []
        self.values: set[str] = set()

    def knowing(self, name: str, value: str) -> _Text:
        """Return one that also knows `${name}`, whatever the syntax of the client."""
        known = {**self._variables, name: value}
        return _Text(self._syntaxes, known, self._places, always=rf"\$\{{({name})\}}")

    def fill(self, text: str) -> str:
        """Insert variables; unknown ones stay as written."""
        return self._pattern.sub(self._found, text)

    def _found(self, match: re.Match[str]) -> str:
        written = next(group for group in match.groups() if group is not None)
        name, has_default, default = written.partition(":-")
        place = self._places.get(name) if match[0] == f"${{{name}}}" else None
        value = self._variables.get(name) if place is None else place
        if value is not None:
            self.values.add(value)
            return value
        if has_default:
            return default
        if match[0].endswith("}") or match[0] == match.string:  # a `$word` inside a text may be literal
            self.missing.append(name)
        return match[0]


def users_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Leave out the variables that a repository set, for servers of the user's own.

    One of them may name a host, such as `GITHUB_API_URL`, to which a server would send the user's token.
    """
    foreign = foreign_at_start(variables)
    return {name: value for name, value in variables.items() if name not in foreign}


def foreign_at_start(variables: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the variables that a repository set when the gateway started."""
    return frozenset(filter(None, variables.get(FOREIGN, "").split(",")))


def environment(
    upstream: Upstream, launch: Launch, *, directory: str, place: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a server whose launch is expanded, in a project and a working directory."""
    own = {"CLAUDE_PROJECT_DIR": directory} if upstream.client == "claude-code" else {}
    given = {"PWD": place, **own, **launch.variables, **launch.env, DEPTH: variables.get(DEPTH) or NESTED}
    return {**inherited(upstream, variables), **given}


def inherited(upstream: Upstream, variables: Mapping[str, str]) -> dict[str, str]:
    """Choose the user's variables that a server inherits."""
    if upstream.inherits is True:
        return {name: value for name, value in variables.items() if not _INTERNAL.fullmatch(name)}
    named = upstream.inherits or ()
    return {name: value for name, value in variables.items() if name in named or name.upper() in _NEEDED}
