"""Reads tools that the caller passes in, instead of those found on this machine.

Accepts the formats of MCP, OpenAI and Anthropic, as mappings or objects, and Python functions.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tool_names import MCP, tool_name
from remit.decision.tools import Tool
from remit.search.documents import Document, build_document, params_from_schema

_VISIBLE = Decision(verdict=Verdict.VISIBLE, gate=None, reason="brought along", unlock=None)
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "params_json_schema")
_NAMES = ("name", "server_label", "type")  # a provider's hosted tool has only a type


class GivenTool(NamedTuple):
    """A tool under the caller's name, with its document."""

    name: str
    server: str | None
    document: Document


def as_listed(tools: Sequence[GivenTool]) -> list[ToolDecision]:
    """Convert tools to catalog entries; the `document_id` of each is its position."""
    return [ToolDecision(_tool(tool, at), _VISIBLE) for at, tool in enumerate(tools)]


def read_tool(tool: object) -> GivenTool:
    """Read a tool in any supported format.

    Raises:
        TypeError: the format is not supported.
    """
    if inspect.isroutine(tool):
        return _function(tool)
    inner = _field(tool, "function")
    given = inner if _is_mapping(inner) or isinstance(_field(inner, "name"), str) else tool
    name = next((found for field in _NAMES if isinstance(found := _field(given, field), str) and found), None)
    if name is not None:
        return given_tool(name, _text(given, "description"), _params(given), _text(given, "title"))
    if callable(tool):
        return _function(tool)
    raise TypeError(f"a tool is a mapping or an object with a name, or a function, not {type(tool).__name__}")


def given_tool(
    name: str, description: str | None, params: Mapping[str, str], title: str | None = None
) -> GivenTool:
    """Build a given tool; `mcp__git__commit` becomes the tool `commit` of the server `git`."""
    server, _, own = name.removeprefix(MCP).partition("__") if name.startswith(MCP) else ("", "", name)
    if not own:
        server, own = "", name
    return GivenTool(own, server or None, build_document(own, server, description, params, title))


def _function(tool: Callable[..., Any]) -> GivenTool:
    inner = getattr(tool, "func", tool)  # unwraps a partial
    name = getattr(inner, "__name__", None) or type(inner).__name__
    try:
        params = {name: "" for name in inspect.signature(tool).parameters if name not in ("self", "cls")}
    except (TypeError, ValueError):  # some C functions have no signature
        params = {}
    return given_tool(name, inspect.getdoc(inner), params)


def _params(given: object) -> dict[str, str]:
    """Return the parameters of a tool's first schema with their descriptions."""
    found = (params for field in _SCHEMAS if (params := params_from_schema(_field(given, field))))
    return next(found, dict[str, str]())


def _text(given: object, field: str) -> str | None:
    value = _field(given, field)
    return value if isinstance(value, str) else None


def _field(given: object, name: str) -> object:
    return given.get(name) if _is_mapping(given) else getattr(given, name, None)


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _tool(tool: GivenTool, at: int) -> Tool:
    return Tool(
        name=tool_name(tool.server, tool.name) if tool.server else tool.name,
        kind=Kind.MCP_TOOL,
        client=str(at),  # keeps tools with the same name apart
        scope=Scope.GLOBAL,
        source="",
        authority=Authority.REPORT,
        server=tool.server,
        document_id=at,
    )
