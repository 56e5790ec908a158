"""The status of gateways and servers, as `remit status --json` prints it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.bootstrap import installed_clients
from remit.catalog.contexts import ALL_CLIENTS, DEFAULT_CLIENT
from remit.catalog.listed_groups import ListedGroup, SortKey, group_tools
from remit.cli.output.json_output import Shape
from remit.decision.kinds import ConfigStatus, Kind, ToolStatus
from remit.sessions.install_notices import held_notices
from remit.text.times import moment

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.decision.decide import ToolDecision
    from remit.decision.declarations import Key
    from remit.decision.tools import Tool
    from remit.registry import Registry
    from remit.sessions.install_notices import InstallNotice
    from remit.upstream.oauth.server_login import ServerLogin, SignInState


class ServerStatus(NamedTuple):
    """A declared server, whether a gateway runs it or not."""

    group: ListedGroup
    sign_in: SignInState | None  # None: it is not remote, or may not be started


def server_statuses(
    known: Sequence[ToolDecision], context: Context, sign_ins: Mapping[Key, SignInState | None]
) -> list[ServerStatus]:
    """List the servers that are declared here for the context's client, by name."""
    mine = [item for item in known if context.client in (None, item.tool.client) and _is_declared(item.tool)]
    groups = [each for each in group_tools(mine, SortKey.NAME).servers if each.server is not None]
    return [ServerStatus(group, sign_ins.get(group.first.key)) for group in groups]


def _is_declared(tool: Tool) -> bool:
    """Tell whether files still declare a server, or have Remit serve it."""
    is_server = tool.kind is Kind.MCP_SERVER
    return not is_server or (
        tool.status is not ToolStatus.STALE and tool.config_status is not ConfigStatus.UNSERVED
    )


def sign_in_states(
    registry: Registry, context: Context, login: ServerLogin
) -> Mapping[Key, SignInState | None]:
    """Tell of the servers that may be started here whether there is a token for them."""
    now = time.time()
    return {upstream.key: login.state(upstream, now) for upstream in registry.servers.upstreams(context)}


def status_notices(registry: Registry, project: str) -> list[InstallNotice]:
    """List what keeps Remit from protecting a project, or a server or a tool from reaching an agent."""
    everywhere = registry.at(project, ALL_CLIENTS)  # only lost programs count
    clients = dict.fromkeys((DEFAULT_CLIENT, *installed_clients()))
    contexts = (*(registry.at(project, client) for client in clients), everywhere)
    missing = [notice for here in contexts for notice in registry.protection.notices(here)]
    changes = registry.states.with_rules(everywhere).policy.changes
    held = held_notices(registry.trust.pins.changed(everywhere), changes)
    return list(dict.fromkeys([*missing, *held]))


def status_shape(
    running: Sequence[Mapping[str, Any]], servers: Sequence[ServerStatus], notices: Sequence[InstallNotice]
) -> Shape:
    """Return the JSON of `remit status`."""
    return {
        "gateways": [*running],
        "servers": [_server(each) for each in servers],
        "notices": [_notice(each) for each in notices],
    }


def _server(status: ServerStatus) -> Shape:
    group, (tool, decision) = status.group, status.group.items[0]
    return {
        "server": group.label,
        "client": group.client,
        "scope": tool.scope,
        "source": tool.source,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.full_reason,
        "tools": len(group.tools) if group.is_known else None,
        "tokens": group.tokens,
        "uses": group.uses,
        "listed_at": None if tool.listed_at is None else moment(tool.listed_at),
        "failure": tool.failure,
        "sign_in": status.sign_in,
    }


def _notice(notice: InstallNotice) -> Shape:
    named = ("source", "place", "fix", "scope")
    told = {name: getattr(notice, name) for name in named}
    return {"kind": notice.kind.value, "reason": notice.full_reason, **told}
