"""Presents search results to an agent, two lines per tool, within a token budget."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.gates import Gate
from remit.decision.kinds import Kind
from remit.decision.tools import without_text
from remit.text.times import day
from remit.text.token_estimate import estimate
from remit.text.untrusted_text import clean, clean_schema, one_line

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.tools import Definition, Tool
    from remit.search.ranking import RankedTool, SearchResults

TOKEN_BUDGET = 2_000
MAX_DESCRIPTION = 160
MAX_QUERY = 80
MAX_REASON = 200
LOWEST_SHOWN = 0.1  # a lower score says nothing
_UNLISTED = "an MCP server; its tools are not known yet: run `remit scan --connect {}`"
_LISTED = "an MCP server; search for a task to find more of its tools"


class DiscoveryText(NamedTuple):
    """Search results as text and as data, with the same tools in both."""

    text: str
    content: dict[str, object]

    @property
    def cost(self) -> int:
        """The tokens that a model pays, for the text or the data, whichever is more."""
        return max(estimate(self.text), estimate(json.dumps(self.content, ensure_ascii=False)))


def present(
    found: SearchResults,
    definitions: Mapping[Key, Definition] | None = None,
    invoked: Mapping[Key, str] | None = None,
    *,
    budget: float = TOKEN_BUDGET,
) -> DiscoveryText:
    """Present search results; with definitions, include full descriptions and input schemas.

    `invoked` says how a model invokes each result. Results that exceed the budget, as text or as data, are
    dropped from the end, and both forms say so.
    """
    entries = [_entry(item, definitions, (invoked or {}).get(item.tool.key)) for item in found.results]
    count = len(entries)
    while (made := _discovery(found, entries, count)).cost > budget and count:
        count -= 1
    return made


def _discovery(found: SearchResults, entries: list[_Entry], count: int) -> DiscoveryText:
    content: dict[str, object] = {
        "query": found.query,
        "tools": [entry.data for entry in entries[:count]],
        "left_out": len(entries) - count,
        "nearest": list(found.nearest),
        "note": found.note,
    }
    return DiscoveryText(_text(found, entries[:count]), content)


class _Entry(NamedTuple):
    lines: tuple[str, ...]
    data: dict[str, object]


def _entry(item: RankedTool, definitions: Mapping[Key, Definition] | None, invoked: str | None) -> _Entry:
    tool, decision, score = item
    if tool.has_held_text or decision.gate is Gate.DEFINITION:  # the index may be older than the decision
        tool = without_text(tool)
        item = item._replace(tool=tool)
    description = _in_one_line(tool, is_for_model=invoked is not None)
    data: dict[str, object] = {
        "name": tool.name,
        "description": _full(tool) if definitions is not None else description,
        "scope": tool.scope,
        "usage_count": tool.usage_count,
        "last_used_at": None if tool.last_used_at is None else day(tool.last_used_at),
        "score": round(score, 3),
    }
    lines = [_headline(tool, description), *([] if invoked is None else [f"   {invoked}"]), _facts(item)]
    data |= {} if invoked is None else {"invocation": invoked}
    if not decision.is_available:
        data |= {"gate": decision.gate, "reason": one_line(decision.reason, MAX_REASON)}
    if definitions is not None:
        defined = None if tool.has_held_text else definitions.get(tool.key)
        schema = defined.input_schema if defined is not None else None
        data["input_schema"] = shown = None if schema is None else clean_schema(json.loads(schema))
        lines += [f"   input: {json.dumps(shown)}"] if schema is not None else []
    return _Entry(tuple(lines), data)


def _full(tool: Tool) -> str | None:
    return None if tool.description is None else clean(tool.description)


def _in_one_line(tool: Tool, *, is_for_model: bool) -> str | None:
    description = tool.description
    if description is None and tool.kind is Kind.MCP_SERVER:
        description = "an MCP server" if is_for_model else _of_server(tool)
    return None if description is None else one_line(description, MAX_DESCRIPTION)


def _of_server(server: Tool) -> str:
    """Describe a server: its best tools follow, if they are known."""
    is_known = server.listed_at is not None
    return _LISTED if is_known else _UNLISTED.format(shlex.quote(server.server or server.name))


def _headline(tool: Tool, description: str | None) -> str:
    name = one_line(tool.name, MAX_DESCRIPTION)
    return f"{name}: {description}" if description else name


def _facts(item: RankedTool) -> str:
    tool, decision, score = item
    count = tool.usage_count
    uses = f"{count:,} use{'' if count == 1 else 's'}" if count else "never used"
    last = [] if tool.last_used_at is None else [f"last {day(tool.last_used_at)}"]
    cause = "" if decision.gate is None else f" {decision.gate.cause}"
    why = f"hidden{cause}: {one_line(decision.reason, MAX_REASON)}"
    hidden = [] if decision.is_available else [why]
    matters = [f"score {score:.2f}"] if score >= LOWEST_SHOWN else []
    return "   " + " | ".join([f"[{tool.scope}]", uses, *last, *matters, *hidden])


def _text(found: SearchResults, shown: list[_Entry]) -> str:
    lines = [f"{at}. {entry.lines[0]}\n" + "\n".join(entry.lines[1:]) for at, entry in enumerate(shown, 1)]
    left_out = len(found.results) - len(shown)
    if left_out:
        lines.append(f"({left_out} more left out: make the query narrower)")
    if not found.results:
        names = ", ".join(one_line(name, MAX_DESCRIPTION) for name in found.nearest)
        nearest = f"; nearest are {names}" if names else ""
        lines.append(f'no good match for "{one_line(found.query, MAX_QUERY)}"{nearest}')
    if found.note:
        lines.append(f"({found.note})")
    return "\n".join(lines)
