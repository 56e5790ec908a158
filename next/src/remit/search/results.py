"""Presents search results to an agent, two lines per tool, within a token budget."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision import Gate, Key, Kind, Tool, holds_text, without_text
from remit.search.ranking import RankedTool
from remit.search.searcher import SearchResults
from remit.text import clean, day, estimate, one_line

TOKEN_BUDGET = 2_000
MAX_DESCRIPTION = 160
MAX_QUERY = 80
MAX_REASON = 200
_UNLISTED = "an MCP server; its tools are not known yet: run `remit tools {} --refresh`"
_LISTED = "an MCP server; search for a task to find more of its tools"


class DiscoveryText(NamedTuple):
    """Search results as text and as data, with the same tools in both."""

    text: str
    content: dict[str, object]

    @property
    def cost(self) -> int:
        """The tokens that a model pays, for the text or the data, whichever is more."""
        return max(estimate(self.text), estimate(json.dumps(self.content, ensure_ascii=False)))


class _Entry(NamedTuple):
    lines: Sequence[str]
    data: dict[str, object]


def present(
    results: SearchResults,
    schemas: Mapping[Key, object] | None = None,
    invoked: Mapping[Key, str] | None = None,
    budget: float = TOKEN_BUDGET,
) -> DiscoveryText:
    """Present search results; with the input schemas to show, include full descriptions.

    `invoked` says how a model invokes each result. Results that exceed the budget, as text or as data, are
    dropped from the end, and both forms say so.
    """
    entries = [_entry(item, schemas, (invoked or {}).get(item.tool.key)) for item in results.results]
    count = len(entries)
    while (discovery := _discovery(results, entries, count)).cost > budget and count:
        count -= 1
    return discovery


def _discovery(results: SearchResults, entries: list[_Entry], count: int) -> DiscoveryText:
    content: dict[str, object] = {
        "query": results.query,
        "tools": [entry.data for entry in entries[:count]],
        "left_out": len(entries) - count,
        "nearest": list(results.nearest),
        "note": results.note,
    }
    return DiscoveryText(_text(results, entries[:count]), content)


def _entry(item: RankedTool, schemas: Mapping[Key, object] | None, invoked: str | None) -> _Entry:
    tool, decision = item.tool, item.decision
    if is_held := holds_text(tool) or decision.gate is Gate.DEFINITION:  # the index may be older
        tool = without_text(tool)
    description = _in_one_line(tool, is_for_model=invoked is not None)
    full = None if tool.description is None else clean(tool.description)
    data: dict[str, object] = {
        "name": tool.name,
        "description": description if schemas is None else full,
        "scope": tool.scope,
        "usage_count": tool.uses,
        "last_used_at": None if tool.last_used_at is None else day(tool.last_used_at),
        "score": round(item.score, 3),
    }
    name = one_line(tool.name, MAX_DESCRIPTION)
    lines = [f"{name}: {description}" if description else name]
    if invoked is not None:
        lines.append(f"   {invoked}")
        data["invocation"] = invoked
    lines.append(_facts(item))
    if not decision.is_available:
        data |= {"gate": decision.gate, "reason": one_line(decision.reason, MAX_REASON)}
    if schemas is not None:
        data["input_schema"] = schema = None if is_held else schemas.get(tool.key)
        lines += [] if schema is None else [f"   input: {json.dumps(schema)}"]
    return _Entry(lines, data)


def _in_one_line(tool: Tool, *, is_for_model: bool) -> str | None:
    description = tool.description
    if description is None and tool.kind is Kind.MCP_SERVER:
        known = (
            _LISTED if tool.listed_at is not None else _UNLISTED.format(shlex.quote(tool.server or tool.name))
        )
        description = "an MCP server" if is_for_model else known
    return None if description is None else one_line(description, MAX_DESCRIPTION)


def _facts(item: RankedTool) -> str:
    tool, decision = item.tool, item.decision
    facts = [
        f"[{tool.scope}]",
        f"{tool.uses:,} use{'' if tool.uses == 1 else 's'}" if tool.uses else "never used",
    ]
    if tool.last_used_at is not None:
        facts.append(f"last {day(tool.last_used_at)}")
    facts.append(f"score {item.score:.2f}")
    if not decision.is_available:
        facts.append(f"hidden by {decision.gate}: {one_line(decision.reason, MAX_REASON)}")
    return "   " + " | ".join(facts)


def _text(results: SearchResults, shown: Sequence[_Entry]) -> str:
    lines = [f"{at}. {entry.lines[0]}\n" + "\n".join(entry.lines[1:]) for at, entry in enumerate(shown, 1)]
    if left_out := len(results.results) - len(shown):
        lines.append(f"({left_out} more left out: make the query narrower)")
    if not results.results:
        names = ", ".join(one_line(name, MAX_DESCRIPTION) for name in results.nearest)
        nearest = f"; nearest are {names}" if names else ""
        lines.append(f'no good match for "{one_line(results.query, MAX_QUERY)}"{nearest}')
    if results.note:
        lines.append(f"({results.note})")
    return "\n".join(lines)
