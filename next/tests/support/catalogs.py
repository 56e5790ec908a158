"""A registry over one user's files and one project, whose servers list what the test says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import Scanner
from remit.decision import Context, Declaration, Face, Kind, Offer, Snapshot, ToolDecision, tool_name
from remit.store import make_definition
from remit.trust import PreparedList
from support.configuration import Files


class World(Files):
    """The files of one user and one project, and the registry that reads them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.registry = self.registry_of_another_process()

    def registry_of_another_process(self) -> Registry:
        """Open a registry as another process would, over the same store."""
        clock = lambda: self.now  # noqa: E731 - the test moves it
        scanner = Scanner(self.store, self.machine, clock, now_ns=lambda: self.now * 1_000_000)
        configurations = JoinedConfigurations(self.store, self.machine, clock)
        return Registry(self.store, self.machine, clock, scanner, configurations)

    def here(self, *, gateway: bool = False, **options: Any) -> Context:
        """Make the context of the project."""
        return self.registry.at(str(self.shop), face=Face.GATEWAY if gateway else Face.CLIENT, **options)

    def servers(self, *labels: str, **entries: Mapping[str, Any]) -> None:
        """Declare servers of the user and nothing else."""
        declared = {label: {"command": label, "args": ["serve"]} for label in labels}
        self.write(self.home / ".claude.json", json.dumps({"mcpServers": {**declared, **entries}}))

    def lists(self, label: str, *tools: str | Mapping[str, Any], **offered: Any) -> None:
        """Store that a server answered with these tools and nothing else."""
        declaration = self.declaration(label)
        items = [_definition(tool) for tool in tools]
        definitions = [
            make_definition(
                tool_name(label, item["name"]), label, item["name"], item.get("description"), item
            )
            for item in items
        ]
        self.keep(declaration, Offer(definitions, **offered))

    def keep(self, declaration: Declaration, offer: Offer) -> None:
        """Store what a server answered."""
        workspace = self.workspace()
        prepared = PreparedList(declaration, offer)
        prepared.inspect(self.store.listings.known(declaration, prepared.digests, workspace))
        prepared.keep(self.store, workspace, self.now)

    def declaration(self, label: str) -> Declaration:
        """Find the declaration of a server."""
        resolved = self.registry.catalog(self.here()).resolved
        found = (item.declaration for item in resolved if item.declaration.server == label)
        return next(item for item in found if item.kind is Kind.MCP_SERVER)

    def listed(self, **options: Any) -> dict[str, ToolDecision]:
        """List the tools of the project by name."""
        return {item.tool.name: item for item in self.registry.tools(self.here(**options))}

    def visible(self, **options: Any) -> list[str]:
        """List the names of the visible tools of servers."""
        items = self.registry.tools(self.here(**options))
        return [tool.name for tool, decision in items if tool.kind is Kind.MCP_TOOL and decision.is_available]

    def snapshot(self) -> Snapshot:
        """Take a snapshot for the gateway."""
        return self.registry.snapshot(self.registry.catalog(self.here(gateway=True)))


def _definition(tool: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": tool, "inputSchema": {}} if isinstance(tool, str) else {**tool}


def big_tool(name: str, tokens: int) -> dict[str, Any]:
    """Return a definition of about so many tokens."""
    return {"name": name, "description": "does things " * (tokens // 2), "inputSchema": {"type": "object"}}
