"""A catalog: the tools in scope at one revision of files and store, and the decisions about them."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from remit.decision import (
    Context,
    Decision,
    DecisionIndex,
    Definition,
    Key,
    Resolved,
    Snapshot,
    Tool,
    ToolDecision,
    decide,
)


class Catalog:
    """The tools in scope of a context; it never changes."""

    def __init__(
        self,
        revision: int,
        context: Context,
        tools: Sequence[Tool],
        definitions: Mapping[str, Definition],
        resolved: Sequence[Resolved],
    ) -> None:
        self.revision = revision
        self.context = context  # rules and permissions, no snapshot
        self.tools = tools
        self.definitions = definitions  # of held ones, the name only
        self.resolved = resolved  # holds launches; never printed

    @cached_property
    def _index(self) -> DecisionIndex:
        return DecisionIndex(self.tools, self.context)

    def at(self, snapshot: Snapshot) -> Sequence[ToolDecision]:
        """Decide about every tool; the same object if nothing changed."""
        return self._index.at(snapshot)

    def decide(self, tool: Tool, snapshot: Snapshot, args: Mapping[str, object] | None = None) -> Decision:
        """Decide about a call."""
        return decide(tool, self.context._replace(snapshot=snapshot, args=args))

    @cached_property
    def declarations(self) -> Mapping[Key, Resolved]:
        """The declarations by key."""
        return {item.declaration.key: item for item in self.resolved}
