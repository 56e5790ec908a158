"""The facts of the dashboard: clients, tools, costs, what waits, and the best next step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.contexts import ALL_CLIENTS, DEFAULT_CLIENT
from remit.catalog.summary import UNTRUSTED, summarize
from remit.cli.output.unenforced import Unenforced, unenforced
from remit.cli.render import three_digits
from remit.decision.context import Context
from remit.decision.definitions.definition_changes import ChangeVerdict
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.problems import Severity
from remit.decision.tool_names import REMIT

if TYPE_CHECKING:
    from remit.catalog.summary import Summary
    from remit.decision.tools import Tool
    from remit.install.installer import Installer
    from remit.presentation.request_cost import RequestCost
    from remit.registry import Registry


WORTH_SAVING = 300  # tokens per request; fewer are no reason to install anything


class FoundClient(NamedTuple):
    """A client on this machine."""

    name: str
    title: str
    servers: int  # that its files declare for this workspace
    is_installable: bool
    is_installed: bool  # Remit is installed in it


class Overview(NamedTuple):
    """What there is in a workspace, for the client that matters most there."""

    context: Context
    clients: Sequence[FoundClient]
    visible: Mapping[Kind, int]
    hidden: int
    cost: RequestCost
    unlisted: Sequence[str]  # available servers whose tools are unknown
    failed: Sequence[str]  # available servers that could not be listed
    pending: Sequence[str]  # servers that need approval in the client
    untrusted: Sequence[str]
    suspicious: Sequence[str]  # tools that are held because inspection flags their definition
    invalid: Sequence[str]  # Remit's own files that have errors
    offered: Sequence[Unenforced]  # what the client still offers, although Remit hides it
    approvals: int
    errors: int
    warnings: int

    @property
    def client(self) -> FoundClient | None:
        """The client that the figures are about; None if none was found."""
        return next((each for each in self.clients if each.name == self.context.client), None)

    @property
    def servers(self) -> int:
        """The number of available servers."""
        return self.visible.get(Kind.MCP_SERVER, 0)


class SuggestedCommand(NamedTuple):
    """The command to run next, and what it is for."""

    command: str
    purpose: str


def read_overview(registry: Registry, installer: Installer, directory: str = ".") -> Overview:
    """Collect the facts; start nothing."""
    everywhere = registry.at(directory, ALL_CLIENTS)
    installed = [name for name in installer.clients if installer.is_installed(name)]
    clients = [
        FoundClient(
            name=found.client,
            title=installer.title(found.client) if found.client in installer.clients else found.client,
            servers=found.servers - found.gateways,
            is_installable=found.client in installer.clients,
            is_installed=found.client in installed,
        )
        for found in registry.clients(everywhere)
        if found.is_found
    ]
    context = registry.at(directory, main_client(clients))
    listed = registry.tools(context)
    summary = summarize(listed, context)
    findings = registry.diagnose(context)
    servers = [tool for tool, decision in listed if decision.is_available and is_started(tool)]
    faulty = {each.subject for each in findings}  # a failure that no longer counts is in no finding
    return Overview(
        context=context,
        clients=clients,
        visible=summary.visible,
        hidden=summary.hidden_count,
        cost=registry.sessions.request_cost(context),
        unlisted=_labels(servers, lambda tool: tool.listed_at is None and not _has_failed(tool, faulty)),
        failed=_labels(servers, lambda tool: _has_failed(tool, faulty)),
        pending=_hidden_for(summary, ConfigStatus.PENDING),
        untrusted=_hidden_for(summary, UNTRUSTED),
        suspicious=[
            tool.name for tool, _ in listed if tool.client == context.client and _is_suspicious(tool)
        ],
        invalid=registry.invalid_files(context),
        offered=[*unenforced(listed, context, registry, installer)],
        approvals=len(registry.approvals.waiting(context)),
        errors=sum(each.severity is Severity.ERROR for each in findings),
        warnings=sum(each.severity is Severity.WARNING for each in findings),
    )


def main_client(clients: Sequence[FoundClient]) -> str:
    """Choose the client to show: one with Remit, else Claude Code, else the one with most servers."""
    order = sorted(
        clients, key=lambda each: (not each.is_installed, each.name != DEFAULT_CLIENT, -each.servers)
    )
    return order[0].name if order else DEFAULT_CLIENT


def next_step(overview: Overview) -> SuggestedCommand:
    """Choose the one best next step."""
    client = overview.client
    if overview.invalid:
        return SuggestedCommand("remit doctor", "see the mistakes in Remit's configuration, and the fixes")
    if client is None or not (overview.visible or overview.hidden):
        return SuggestedCommand("remit demo", "see Remit at work, in a temporary directory")
    if overview.approvals:
        return SuggestedCommand("remit approve", "approve or deny the pending calls")
    if overview.errors:
        return SuggestedCommand("remit doctor", "see what is wrong, and the fix")
    if overview.suspicious:
        return SuggestedCommand("remit trust", "read what inspection found in the held tools, and decide")
    if not client.is_installed and client.is_installable:
        return SuggestedCommand("remit init", _purpose(overview, client))
    if overview.untrusted:
        return SuggestedCommand("remit trust", "read what these servers run, and decide")
    if overview.unlisted:
        return SuggestedCommand("remit scan --connect", "start the servers and list their tools")
    return SuggestedCommand("remit tools", "see every tool that is available here")


def _purpose(overview: Overview, client: FoundClient) -> str:
    """Say what `remit init` is for: it offers to measure only what is unknown or saves something."""
    install = f"install it in {client.title}"
    if overview.offered:
        return f"{install}, which still offers what Remit hides"
    if overview.unlisted:
        return f"measure what the tools cost, and {install}"
    if (saving := _shown_saving(overview.cost)) >= WORTH_SAVING:
        return f"save about {saving:,} tokens per request: {install}"
    return f"set rules and approvals for your tools: {install}"


def _shown_saving(cost: RequestCost) -> int:
    """Return the difference of the two rounded costs, which people see beside it."""
    return three_digits(cost.direct) - three_digits(cost.served)


def _hidden_for(summary: Summary, cause: str) -> list[str]:
    groups = (group.items for group in summary.hidden if group.cause == cause)
    return [item.tool.server or item.tool.name for items in groups for item in items]


def _labels(servers: Sequence[Tool], applies: Callable[[Tool], bool]) -> list[str]:
    return [tool.server or tool.name for tool in servers if applies(tool)]


def _has_failed(tool: Tool, faulty: Collection[str | None]) -> bool:
    return tool.failure is not None and tool.server in faulty


def _is_suspicious(tool: Tool) -> bool:
    """Tell whether inspection holds a tool, or the instructions of a server."""
    return tool.change is not None and tool.change.verdict is ChangeVerdict.FLAGGED and not tool.is_unlisted


def is_started(tool: Tool) -> bool:
    """Tell whether a row is a server of the client, which Remit could start."""
    return tool.kind is Kind.MCP_SERVER and tool.source != REMIT and tool.agent is None
