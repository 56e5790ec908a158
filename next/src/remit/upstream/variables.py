"""Expands variables in a server's entry by the rules of its client, and makes the environment of the server.

This happens only when a server starts, because the result contains the values of variables.
"""

import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import Launch, VariableSyntax

if (
    TYPE_CHECKING
):  # hooks explain servers that cannot start, and compile no pattern unless an entry has variables
    import re

    from remit.upstream.model import Upstream

DEPTH = "REMIT_DEPTH"  # a gateway refuses to start under it: it would serve the same servers again
# The location of Remit's data stays, for servers that use Remit themselves; its other settings include a key.
_PASSED_ON = frozenset({"REMIT_HOME", "REMIT_CONFIG"})
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
_INTERNAL = frozenset(
    f"CLAUDE_{name}" for name in ("PID", "EFFORT", "ENV_FILE", "PROJECT_DIR", "PLUGIN_ROOT", "PLUGIN_DATA")
)
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


class Expanded(NamedTuple):
    """A launch with expanded variables."""

    launch: Launch
    missing: tuple[str, ...]  # variables without value and default, in the order of the entry
    values: frozenset[str]  # the inserted values, which must never be shown


def expand(launch: Launch, variables: Mapping[str, str], *, workspace: str, home: str) -> Expanded:
    """Expand a launch as its client does in a workspace."""
    text = _text(launch, variables, workspace, home)
    expanded = launch._replace(
        command=text.fill(launch.command),
        args=tuple(map(text.fill, launch.args)),
        env={name: text.fill(value) for name, value in launch.env.items()},
        cwd=None if launch.cwd is None else text.fill(launch.cwd),
        url=text.fill(launch.url),
        headers={name: text.fill(value) for name, value in launch.headers.items()},
    )
    return Expanded(expanded, tuple(dict.fromkeys(text.missing)), frozenset(text.values))


def unset(written: str, launch: Launch, variables: Collection[str]) -> list[str]:
    """List the environment variables in a text that have neither value nor default."""
    if "$" not in written and "{" not in written:
        return []
    # Continue keeps its secrets in files.
    syntaxes = tuple(syntax for syntax in launch.syntaxes if syntax is not VariableSyntax.SECRETS)
    text = _text(launch._replace(syntaxes=syntaxes), dict.fromkeys(variables, ""), "", "")
    text.fill(written)
    return [name for name in text.missing if name.isidentifier() and name.isascii()]  # not `input:id`


def is_internal(name: str) -> bool:
    """Return whether Claude Code sets a variable for its own children."""
    return name == "CLAUDECODE" or name.startswith("CLAUDE_CODE_") or name in _INTERNAL


def environment(
    upstream: "Upstream",
    launch: Launch,
    cwd: str,
    variables: Mapping[str, str],
    is_hidden: Callable[[str], bool],
) -> dict[str, str]:
    """Return the environment of a server whose launch is expanded.

    `is_hidden` tells the variables that clients set for their own children.
    """
    own = {"CLAUDE_PROJECT_DIR": upstream.directory} if upstream.client == "claude-code" else {}
    given = {"PWD": cwd, **own, **launch.variables, **launch.env, DEPTH: variables.get(DEPTH) or "1"}
    return {**_inherited(upstream, variables, is_hidden), **given}


def _inherited(
    upstream: "Upstream", variables: Mapping[str, str], is_hidden: Callable[[str], bool]
) -> dict[str, str]:
    if upstream.inherits is True:
        return {
            name: value
            for name, value in variables.items()
            if name in _PASSED_ON or not (name.startswith("REMIT_") or is_hidden(name))
        }
    named = upstream.inherits or ()
    return {name: value for name, value in variables.items() if name in named or name.upper() in _NEEDED}


def _text(launch: Launch, variables: Mapping[str, str], workspace: str, home: str) -> "_Text":
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
        self, syntaxes: tuple[VariableSyntax, ...], variables: Mapping[str, str], places: Mapping[str, str]
    ) -> None:
        self._syntaxes = syntaxes
        self._variables = variables
        self._places = places
        self.missing: list[str] = []
        self.values: set[str] = set()

    def fill(self, text: str) -> str:
        """Insert variables; unknown ones stay as written."""
        if "$" not in text and "{" not in text:
            return text
        return _pattern(self._syntaxes).sub(self._value, text)

    def _value(self, match: "re.Match[str]") -> str:
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


@cache
def _pattern(syntaxes: tuple[VariableSyntax, ...]) -> "re.Pattern[str]":
    """Compile one pattern for all syntaxes, so inserted values are never expanded again."""
    import re

    return re.compile("|".join(f"(?:{_PATTERNS[syntax]})" for syntax in syntaxes) or r"(?!)")
