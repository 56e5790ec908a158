"""The one object of the faces: contexts, catalogs, lists and explanations."""

import os
from collections.abc import Sequence

from remit.catalog.catalog import Catalog
from remit.clients import Scanner
from remit.decision import (
    Context,
    Decision,
    Face,
    Snapshot,
    ToolDecision,
    Workspace,
    adopt,
    closest_to_being_visible,
    explain,
    find,
    identify,
)
from remit.store import Store


class Registry:
    """Finds what is available in a directory."""

    def __init__(self, store: Store, clients: Scanner, home: str) -> None:
        self.store = store
        self.clients = clients
        self._home = home

    def __enter__(self) -> "Registry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def at(self, directory: str = ".", client: str | None = None, *, face: Face = Face.CLIENT) -> Context:
        """Make the context of a directory."""
        dir = os.path.realpath(directory)
        workspace = Workspace(dir, dir, identify(dir))
        return Context(workspace, client or "claude-code", face=face, home=self._home)

    def catalog(self, context: Context, last: Catalog | None = None) -> Catalog:
        """Return the current catalog; `last` if nothing changed."""
        self.clients.refresh(context)
        revision = self.store.catalog.revision()
        if last is not None and last.revision == revision and last.context == context:
            return last
        rows = self.store.catalog.rows(context)
        tools = adopt([row.tool for row in rows], gateway=context.face is Face.GATEWAY)
        digests = [tool.definition for tool in tools if tool.definition is not None]
        definitions = self.store.catalog.definitions(digests, context.workspace)
        return Catalog(revision, context, tools, definitions, self.clients.last_resolved(context))

    def tools(self, context: Context) -> Sequence[ToolDecision]:
        """List every tool in scope with its decision."""
        return self.catalog(context).at(Snapshot())

    def explain(self, name: str, context: Context) -> list[tuple[ToolDecision, list[Decision]]]:
        """Explain each tool that a name refers to, the one closest to being visible first."""
        matching = sorted(find(name, self.tools(context)), key=closest_to_being_visible)
        context = context._replace(snapshot=Snapshot())
        return [(item, explain(item.tool, context)) for item in matching]
