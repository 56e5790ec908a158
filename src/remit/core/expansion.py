"""Expansion: variables in a server's entry, put in by the rules of the client that it was written for.

Done when a server is started, never before: what comes out of it holds the values of variables.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from remit.core.launch import Launch


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Expanded:
    """A launch that is ready to be started."""

    launch: Launch
    missing: tuple[str, ...]  # the variables that are not set and have no default, in the order of the entry
    values: frozenset[str]  # what was put in: never to be shown


class Syntax(StrEnum):
    """A way of writing a variable."""

    BRACES = "${X}"
    DEFAULTS = "${X:-default}"  # or without a default
    BARE = "$X"
    DOLLAR_ENV = "${env:X}"
    BRACE_ENV = "{env:X}"
    BRACE_FILE = "{file:path}"
    SECRETS = "${{ secrets.X }}"
    INPUT = "${input:id}"
    WORKSPACE = "${workspaceFolder}"


_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATTERNS = {
    Syntax.BRACES: rf"\$\{{({_NAME})\}}",
    Syntax.DEFAULTS: r"\$\{([^}]+)\}",
    Syntax.BARE: rf"\$({_NAME})",
    Syntax.DOLLAR_ENV: r"\$\{env:([^}]+)\}",
    Syntax.BRACE_ENV: r"\{env:([^}]+)\}",
    Syntax.BRACE_FILE: r"\{(file:[^}]+)\}",
    Syntax.SECRETS: r"\$\{\{\s*secrets\.([^}\s]+)\s*\}\}",
    Syntax.INPUT: r"\$\{(input:[^}]+)\}",
    Syntax.WORKSPACE: r"\$\{(workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|/)\}",
}
_SHELL = (Syntax.DEFAULTS, Syntax.BARE)

# Where a client has no syntax of its own, the text is taken as it stands.
SYNTAXES: Mapping[str, tuple[Syntax, ...]] = {
    "claude-code": (Syntax.DEFAULTS,),
    "claude-desktop": (),
    "cline": (),
    "codex": (),
    "continue": (Syntax.SECRETS,),
    "copilot-cli": _SHELL,
    "cursor": (Syntax.DOLLAR_ENV, Syntax.WORKSPACE),
    "gemini-cli": _SHELL,
    "goose": (),
    "kiro": (Syntax.BRACES,),
    "opencode": (Syntax.BRACE_ENV, Syntax.BRACE_FILE),
    "roo": (Syntax.DOLLAR_ENV, Syntax.WORKSPACE),
    "vscode": (Syntax.DOLLAR_ENV, Syntax.INPUT, Syntax.WORKSPACE),
    "windsurf": (Syntax.DOLLAR_ENV,),
    "zed": (),
}


def expand(
    launch: Launch, variables: Mapping[str, str], *, client: str, workspace: str, home: str
) -> Expanded:
    """Put variables into a launch, as its client does when it is started in a workspace."""
    syntaxes = SYNTAXES.get(client, ())
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
    text = _Text(syntaxes, known, places if Syntax.WORKSPACE in syntaxes else {})
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


class _Text:
    """Fills texts, and remembers what was missing and what was put in."""

    def __init__(
        self, syntaxes: tuple[Syntax, ...], variables: Mapping[str, str], places: Mapping[str, str]
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
