"""Remit's own server: the memory tools, which the gateway serves itself and no file declares.

It is stored like any other server, so rules, agents, rooms, search and usage counts apply to its tools. Every
scan checks for a gateway, so the definitions are loaded only if there is one.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from remit.decision.declarations import Declaration, Resolved
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.problems import Problem
from remit.decision.scopes import Scope
from remit.decision.tool_names import MEMORY_SERVER, REMIT, server_name, tool_name
from remit.memory.memory_scopes import memory_id, team_memories

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit.decision.projects import Project, View, Workspace
    from remit.decision.tools import Definition
    from remit.upstream.upstream_model import Offer, Upstream


def is_own(declaration: Declaration) -> bool:
    """Return whether a declaration is Remit's own server."""
    return declaration.source == REMIT


def resolve_own_server(view: View, resolved: Iterable[Resolved], *, is_served: bool) -> Resolved | None:
    """Return the own server for a client that starts a gateway or that a gateway serves.

    An entry of the user's own that starts memory alone takes its place.
    """
    declared = [item for item in resolved if item.declaration.kind is Kind.MCP_SERVER]
    has_gateway = any(map(_starts_gateway, declared))
    if not (has_gateway or is_served) or any(map(_starts_memory, declared)):
        return None
    status = ConfigStatus.ENABLED if has_gateway else ConfigStatus.UNSERVED
    return Resolved(declaration=own_server(view.client, view.workspace.team), config_status=status)


def with_own_server(
    resolved: Sequence[Resolved], own: Resolved | None
) -> tuple[list[Resolved], list[Problem]]:
    """Add the own server; no other server gets its name, or it would receive memory's calls."""
    if own is None:
        return list(resolved), []
    kept: list[Resolved] = []
    problems: list[Problem] = []
    for item in resolved:
        declaration = item.declaration
        if declaration.name != own.declaration.name or declaration.agent is not None:
            kept.append(item)
            continue
        reason = f"`{MEMORY_SERVER}` is the name of Remit's own server, so this one is not used: rename it"
        problems.append(Problem(declaration.source, f"mcpServers.{declaration.server}", reason))
        if declaration.key != own.declaration.key:  # both would have one row
            kept.append(replace(item, shadowed_by=own.declaration))
    return [*kept, own], problems


def own_server(client: str, team: Project | None = None) -> Declaration:
    """Declare the own server for a client, everywhere or for the projects of a team."""
    return Declaration(
        name=server_name(MEMORY_SERVER),
        kind=Kind.MCP_SERVER,
        client=client,
        scope=Scope.GLOBAL if team is None else Scope.TEAM,
        source=REMIT,
        project_hash=None if team is None else team.hash,
        server=MEMORY_SERVER,
        digest=_digest(),
    )


def own_upstream(declaration: Declaration) -> Upstream:
    """Make the own server's upstream, so its calls are routed like all others; it starts no process."""
    from remit.upstream.upstream_model import Upstream

    return Upstream(
        key=declaration.key,
        label=MEMORY_SERVER,
        client=declaration.client,
        permit=None,
        source=REMIT,
    )


@cache
def tool_definitions() -> Mapping[str, dict[str, Any]]:
    """Read the definitions of the memory tools; `tool_schema` writes them."""
    with open(os.path.join(os.path.dirname(__file__), "tool_definitions.json"), encoding="utf-8") as file:
        return json.load(file)


def instructions(workspace: Workspace, prefix: str = "") -> str:
    """Tell a model which tools to call first and last; `prefix` comes before each tool name."""
    team = "".join(f"The memory of its team has the project_id `{id}`. " for id in team_memories(workspace))
    return (
        f"The memory of the project here has the project_id `{memory_id(workspace.project)}`. {team}"
        f"Start with {prefix}retrieve_context; end with {prefix}save_session."
    )


@cache
def own_offer() -> Offer:
    """Return the tools that the own server lists."""
    from remit.upstream.upstream_model import Offer, ServerExtras

    tools = [_definition(definition) for definition in tool_definitions().values()]
    return Offer(tools=tools, extras=ServerExtras(capabilities={"tools": {}}))


@cache
def _digest() -> str:
    """Hash the definitions, so a new version is listed again."""
    return sha256(json.dumps(tool_definitions(), sort_keys=True).encode()).hexdigest()


def _definition(said: Mapping[str, Any]) -> Definition:
    from remit.decision.tools import Definition

    return Definition(
        name=tool_name(MEMORY_SERVER, said["name"]),
        server=MEMORY_SERVER,
        tool=said["name"],
        description=said["description"],
        input_schema=json.dumps(said["inputSchema"], sort_keys=True),
        annotations=json.dumps(said["annotations"], sort_keys=True),
        raw=json.dumps({key: value for key, value in said.items() if key != "name"}),
    )


def _starts_memory(item: Resolved) -> bool:
    """Return whether the user's own entry starts memory alone under the own server's name."""
    declaration, launch = item.declaration, item.declaration.launch
    is_remit = item.config_status in (ConfigStatus.ITSELF, ConfigStatus.NESTED)
    is_users = declaration.project_hash is None and declaration.server == MEMORY_SERVER
    return is_users and is_remit and launch is not None and "--memory" in launch.args


def _starts_gateway(item: Resolved) -> bool:
    launch = item.declaration.launch
    words: Sequence[str] = () if launch is None else launch.args
    gateways = (ConfigStatus.ITSELF, ConfigStatus.NESTED)
    is_in_force = item.config_status in gateways and item.shadowed_by is None
    return is_in_force and "--memory" not in words
