"""Expansion: variables in a server's entry, put in by the rules of the client that it was written for.

Done when a server is started, never before: what comes out of it holds the values of variables.
"""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from remit.decision.launch import Launch, VariableSyntax


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Expanded:
    """A launch that is ready to be started."""

    launch: Launch
    missing: tuple[str, ...]  # the variables that are not set and have no default, in the order of the entry
    values: frozenset[str]  # what was put in: never to be shown


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


def expand(launch: Launch, variables: Mapping[str, str], *, workspace: str, home: str) -> Expanded:
    """Put variables into a launch, as its client does when it is started in a workspace."""
    text = _text(launch, variables, workspace, home)
    done = replace(
        launch,
        command=text.fill(launch.command),
        args=tuple(map(text.fill, launch.args)),
        env={name: text.fill(value) for name, value in launch.env.items()},
        cwd=None if launch.cwd is None else text.fill(launch.cwd),
        url=text.fill(launch.url),
        headers={name: text.fill(value) for name, value in launch.headers.items()},
    )
    return Expanded(launch=done, missing=tuple(dict.fromkeys(text.missing)), values=frozenset(text.values))


def unset(written: str, launch: Launch, variables: Collection[str]) -> list[str]:
    """List the environment variables that a text of an entry needs, which are not set and have no default."""
    # Secrets of Continue have files of their own.
    syntaxes = tuple(syntax for syntax in launch.syntaxes if syntax is not VariableSyntax.SECRETS)
    text = _text(replace(launch, syntaxes=syntaxes), dict.fromkeys(variables, ""), "", "")
    text.fill(written)
    return [name for name in text.missing if re.fullmatch(_NAME, name)]  # and not `input:id`


def _text(launch: Launch, variables: Mapping[str, str], workspace: str, home: str) -> "_Text":
    places = {
        "workspaceFolder": workspace,
        "workspaceFolderBasename": os.path.basename(workspace),
        "userHome": home,
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    known = {**variables, **launch.variables}
    if launch.variables:  # a plugin's, which may also say where it is started
        known["CLAUDE_PROJECT_DIR"] = workspace
    return _Text(launch.syntaxes, known, places if VariableSyntax.WORKSPACE in launch.syntaxes else {})


class _Text:
    """Fills texts, and remembers what was missing and what was put in."""

    def __init__(
        self, syntaxes: tuple[VariableSyntax, ...], variables: Mapping[str, str], places: Mapping[str, str]
    ) -> None:
        self._variables = variables
        self._places = places
        # One pattern for all syntaxes: what was put in is not looked at again, so nothing nests.
        self._pattern = re.compile("|".join(f"(?:{_PATTERNS[syntax]})" for syntax in syntaxes) or r"(?!)")
        self.missing: list[str] = []
        self.values: set[str] = set()

    def fill(self, text: str) -> str:
        """Put variables into a text; what is not known stays as it is written."""
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
        if match[0].endswith("}") or match[0] == match.string:  # a `$word` inside a text may mean itself
            self.missing.append(name)
        return match[0]
