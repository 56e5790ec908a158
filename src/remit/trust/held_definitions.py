"""Definitions that `remit trust` shows because they differ from the accepted ones, and withheld items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.decision.definitions.definition_changes import (
    ChangePolicy,
    ChangeVerdict,
    DefinitionChange,
    is_held,
    settling_name,
)
from remit.decision.kinds import Kind
from remit.decision.tool_names import spellings

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.tools import Definition


Item = Mapping[str, Any]  # a resource, resource template or prompt

WITHHELD = "remit/withheld"  # the key under which a stored item has the reason
_BY_NAME_ONLY = (ChangeVerdict.REJECTED, ChangeVerdict.FLAGGED, ChangeVerdict.UNINSPECTED)


class AcceptedBy(StrEnum):
    """Who accepted a definition."""

    FIRST_SIGHT = "first sight"
    ENTRY = "entry"  # the user changed the server's entry
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDefinition:
    """A definition that is not the accepted one; without a change, it was accepted and not reported yet."""

    key: Key  # of the tool, or of the server whose instructions these are
    change: DefinitionChange | None
    changed_at: int | None = None
    accepted_by: AcceptedBy | None = None
    accepted_at: int | None = None
    is_news: bool = False
    changed_id: int | None = None
    accepted: Definition | None = None  # None: nothing was accepted before
    current: Definition | None = None

    @property
    def name(self) -> str:
        """The canonical name of the tool or server."""
        return self.key[-1] or ""

    @property
    def server(self) -> str:
        """The name of the server, as its file has it."""
        return self.key[-2] or ""

    @property
    def own_name(self) -> str:
        """The name of the tool without its server's, as a person may call it."""
        return self.name.rpartition("__")[2]

    @property
    def is_instructions(self) -> bool:
        """Whether it is the instructions of a server."""
        return self.key[1] == Kind.MCP_SERVER

    @property
    def title(self) -> str:
        """What changed, by name."""
        return f"instructions of {self.server}" if self.is_instructions else self.name

    @property
    def is_harmless(self) -> bool:
        """Whether the change cannot matter."""
        return self.change is not None and self.change.verdict is ChangeVerdict.HARMLESS

    @property
    def is_rejected(self) -> bool:
        """Whether a person rejected it."""
        return self.change is not None and self.change.verdict is ChangeVerdict.REJECTED

    @property
    def is_suspicious(self) -> bool:
        """Whether inspection flags it, so rejecting it comes first."""
        return self.change is not None and self.change.verdict is ChangeVerdict.FLAGGED

    @property
    def needs_its_name(self) -> bool:
        """Whether only its own name accepts it: it was rejected, flagged, or is too large to inspect."""
        return self.change is not None and self.change.verdict in _BY_NAME_ONLY

    def is_held(self, policy: ChangePolicy) -> bool:
        """Return whether it waits for a person."""
        return is_held(self.change, policy)

    def is_called(self, name: str) -> bool:
        """Return whether a name means this tool, or its server, which does not stand for a rejected one."""
        is_server = name in (self.server, f"mcp__{self.server}", f"mcp__{self.server}__*")
        return (is_server and not self.is_rejected) or self.is_named(name)

    def is_named(self, name: str) -> bool:
        """Return whether a name means this and nothing else; a server's name means more than instructions."""
        if self.is_instructions:
            return name in (settling_name(self.name), f"{self.server}:instructions", self.title)
        return self.name in spellings(name)


class WithheldItem(NamedTuple):
    """A resource, resource template or prompt that is not served: nobody can accept it."""

    kind: str
    name: str
    reason: str


def separated(items: Iterable[Item], kind: str, key: str) -> tuple[list[Item], list[WithheldItem]]:
    """Separate items that are served from those that are withheld; `key` is what names them."""
    served: list[Item] = []
    withheld: list[WithheldItem] = []
    for item in items:
        if WITHHELD in item:
            withheld.append(WithheldItem(kind, item[key], item[WITHHELD]))
        else:
            served.append(item)
    return served, withheld
