"""The servers of a team, which an administrator declares in the shared store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_entries import EntryRule
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.declared_launch import VariableSyntax
from remit.decision.kinds import Kind
from remit.decision.problems import Problem
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS
from remit.decision.tool_names import server_name

if TYPE_CHECKING:
    from remit.decision.declared_launch import Launch
    from remit.decision.projects import View


def read_team(view: View, entries: Mapping[str, str]) -> ClientReading:
    """Declare the servers of a team for a client; the files of a node declare nothing for its projects."""
    project = view.workspace.project
    team = view.workspace.team or project
    declarations: list[Declaration] = []
    problems: list[Problem] = []
    for name, entry in entries.items():
        try:
            launch = team_launch(name, entry)
        except EntryError as error:  # of another version of Remit
            problems.append(Problem(source=team.path, place=f"server `{name}`", reason=str(error)))
            continue
        declarations.append(
            Declaration(
                name=server_name(name, None),
                kind=Kind.MCP_SERVER,
                client=view.client,
                scope=Scope.TEAM,
                source=team.path,
                project_hash=team.hash,
                server=name,
                endpoint=launch.endpoint,
                digest=launch.digest,
                launch=launch,
            )
        )
    return ClientReading(
        client=view.client,
        declarations=declarations,
        inputs={project.path: servers_fingerprint(entries)},
        problems=problems,
        behavior=NEVER_ASKS,
    )


def servers_fingerprint(entries: Mapping[str, str]) -> str:
    """Return a fingerprint of a team's servers."""
    return sha256(json.dumps(sorted(entries.items())).encode()).hexdigest()


def team_launch(name: str, entry: str) -> Launch:
    """Read the entry of a team's server, in which `${VARIABLE}` means a variable of the node.

    Raises:
        EntryError: the entry is invalid.
    """
    read = EntryRule()(name, EntryFields(json.loads(entry)))
    return replace(read.launch, syntaxes=(VariableSyntax.DEFAULTS,))
