"""Tools that Remit's own rules hide, and that a client without Remit still offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.bootstrap import open_installer
from remit.cli.render import counted
from remit.decision.kinds import Kind

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.decision.decide import ToolDecision
    from remit.decision.tools import Tool
    from remit.install.installer import Installer
    from remit.registry import Registry


class Unenforced(NamedTuple):
    """What one client still offers, although Remit hides it."""

    client: str
    title: str
    tools: Sequence[Tool]

    @property
    def tokens(self) -> int:
        """The cost of these tools; that of a server is the cost of its tools."""
        return sum(tool.tokens or 0 for tool in self.tools if tool.kind is not Kind.MCP_SERVER)

    def of(self, hidden: int) -> str:
        """Say that the client still offers these, of all hidden ones, and until when."""
        count = len(self.tools)
        named = f"{count:,} of them" if count < hidden else "it" if count == 1 else "them"
        return f"{self.title} still offers {named} until you run `remit install {self.client}`"

    def __str__(self) -> str:
        kinds, count = Counter(tool.kind for tool in self.tools), len(self.tools)
        return f"Hidden by Remit's rules: {counted(kinds)}; {self.of(count)}"


def unenforced(
    listed: Sequence[ToolDecision], context: Context, registry: Registry, installer: Installer | None = None
) -> Iterator[Unenforced]:
    """Find what clients without Remit still offer, by client."""
    if context.workspace.team is not None or context.starts_servers:  # a gateway decides
        return
    hidden = [item for item in listed if not item.decision.is_available and _is_ours(item)]
    tools: dict[str, list[Tool]] = {}
    for tool, _ in registry.protection.offered_alone(hidden, context) if hidden else ():
        tools.setdefault(tool.client, []).append(tool)
    if not tools:
        return
    installer = installer or open_installer()
    for client, offered in tools.items():
        if client in installer.clients and not installer.is_installed(client):
            yield Unenforced(client, installer.title(client), offered)


def _is_ours(item: ToolDecision) -> bool:
    return item.decision.gate is not None and item.decision.gate.is_ours
