"""Creates the contexts in which tools are listed and decided about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.agents import check_servers, resolve_agent
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.permissions.client_facts import ALIASES, client_called
from remit.decision.policy_rules import Mode
from remit.decision.projects import LaunchFlags
from remit.decision.tool_names import full_label, storable
from remit.errors import NoSuchFileError, UnknownClientError
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.decision.tools import Tool
    from remit.scanning.ports import Sources

DEFAULT_CLIENT = "claude-code"
ALL_CLIENTS = "all"


def main_context(
    sources: Sources,
    directory: str,
    client: str,
    *,
    is_headless: bool,
    mcp_configs: Sequence[str],
    mode: str | None,
    run_context: object,
) -> Context:
    """Create the context of a client's main session.

    Raises:
        NoSuchDirectoryError: the directory does not exist.
        NoSuchFileError: a file of servers does not exist.
        UnknownClientError: the client is not supported.
        ValueError: the mode does not exist.
    """
    client = client_called(client)
    known = (*sources.clients, ALL_CLIENTS)
    if client not in known:
        near = did_you_mean(client, (*known, *ALIASES))
        hint = near or f"expected one of {', '.join(f'`{name}`' for name in known)}"
        raise UnknownClientError(f"no client is called `{client}`", hint=hint)
    files = tuple(_existing(file, sources) for file in mcp_configs)
    return Context(
        workspace=sources.locate(directory),
        client=None if client == ALL_CLIENTS else client,
        flags=LaunchFlags(is_headless=is_headless, mcp_configs=files),
        home=sources.home,
        starts_servers=client != ALL_CLIENTS and sources.leaves_servers(client),
        mode=None if mode is None else Mode(mode),
        run_context=run_context,
    )


def _existing(file: str, sources: Sources) -> str:
    path = sources.canonical(file)
    if not sources.exists(path):
        raise NoSuchFileError(f"there is no file `{storable(file)}`", hint="name a file of servers")
    return path


def for_agent(
    context: Context, agent: str, parents: Sequence[str], listed: Sequence[ToolDecision]
) -> Context:
    """Return the context of a listed agent, below its parents.

    Raises:
        AgentError: the agent does not exist, or cannot run as defined.
    """
    profiles = {
        tool.name: tool.profile
        for tool, decision in listed
        if tool.profile is not None and decision.is_available
    }
    employed = resolve_agent(agent, parents, profiles)
    known = [tool for tool, _ in listed if context.client in (None, tool.client)]
    check_servers(employed, sorted(_labels_of_servers(known)))
    return replace(context, agent=employed)


def _labels_of_servers(tools: Iterable[Tool]) -> Iterator[str]:
    for tool in tools:
        is_known = tool.kind is Kind.MCP_SERVER and tool.agent is None and tool.status is not ToolStatus.STALE
        if is_known and tool.server is not None:
            yield full_label(tool.server, tool.plugin)
