"""The environment variables that a repository sets for the servers of its client.

Claude Code and Gemini CLI pass them to every server, and so to our gateway and from there to the user's own
servers. One of them may choose the program that runs: `PATH`, or `NODE_OPTIONS` for a server on Node. Another
may name the host that a server sends the user's token to: `GITHUB_API_URL`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, MutableMapping
from typing import cast

from remit.decision.declared_launch import names_an_address, steers_code
from remit.decision.projects import Workspace
from remit.decision.scopes import ancestors
from remit.files.bounded_reader import FileError, read_text, real_path
from remit.files.checkout import link_roots
from remit.files.formats import parse_json
from remit.install.recorded_environment import is_fixed
from remit.settings import DEPTH
from remit.text.redaction import ANY_VARIABLE, FOREIGN

_LIMIT = 2**20  # bytes of a file
_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_DOTENV = (".gemini/.env", ".env")
_ASSIGNMENT = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*[=:]", re.MULTILINE)


def take_back(
    environment: MutableMapping[str, str], client: str, workspace: Workspace, path: str | None
) -> list[str]:
    """Remove the variables that a repository sets and that steer what runs; return their names.

    The names of its other variables are noted: their values are no secrets of the user, and only servers of
    the repository get them. `PATH` becomes that of the install. If a file cannot be read, or is a link out of
    the checkout, any variable may be the repository's, and those that name an address are removed as well.
    """
    try:
        named, noted = set(_set(client, workspace)), None
    except FileError:
        named, noted = set(environment), ANY_VARIABLE
    taken = sorted(
        name
        for name in environment
        if name in named
        and (steers_code(name) or (noted is not None and names_an_address(name)))
        and not is_fixed(name)
        and name != DEPTH
    )
    for name in taken:
        del environment[name]
    theirs = sorted(name for name in named.intersection(environment) if not is_fixed(name))
    environment[FOREIGN] = noted or ",".join(theirs)
    if "PATH" in taken:
        environment["PATH"] = path or os.defpath
    return taken


def foreign_variables(client: str, workspace: Workspace) -> frozenset[str]:
    """Return the names of the variables that a repository sets; if a file cannot be read, `ANY_VARIABLE`."""
    try:
        return frozenset(_set(client, workspace))
    except FileError:
        return frozenset({ANY_VARIABLE})


def _set(client: str, workspace: Workspace) -> Iterator[str]:
    """List the variables that files set."""
    for folder in ancestors(workspace.dir, up_to=workspace.checkout):
        if client == "claude-code":
            for name in _SETTINGS:
                yield from _in_settings(_read(os.path.join(folder, name), workspace))
        elif client == "gemini-cli":
            for name in _DOTENV:
                text = _read(os.path.join(folder, name), workspace) or ""
                yield from _ASSIGNMENT.findall(text)


def _read(path: str, workspace: Workspace) -> str | None:
    home = real_path(os.path.expanduser("~"))
    return read_text(path, limit=_LIMIT, within=link_roots(path, workspace, home))


def _in_settings(text: str | None) -> list[str]:
    content = None if text is None else parse_json(text)
    variables = cast("dict[str, object]", content).get("env") if isinstance(content, dict) else None
    return list(cast("dict[str, object]", variables)) if isinstance(variables, dict) else []
