"""Reads tools that the caller passes in, instead of those found on this machine.

Accepts what MCP, OpenAI, Anthropic and Google send, the tools of agent frameworks, and Python functions.
No framework is imported: a tool is recognized by its fields.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, cast

from remit.decision import MCP, Authority, Decision, Kind, Scope, Tool, ToolDecision, Verdict, tool_name
from remit.search.documents import Document, build_document, params_from_schema

_VISIBLE = Decision(Verdict.VISIBLE, None, "given by the caller")
_SCHEMAS = (
    "inputSchema",  # MCP
    "input_schema",  # Anthropic
    "params_json_schema",  # OpenAI Agents
    "parameters_json_schema",  # Pydantic AI, Google
    "parametersJsonSchema",
    "parameters",  # OpenAI, FastMCP, Google
    "args_schema",  # LangChain
    "json_schema",
)
_NAMES = ("name", "server_label", "type", "kind")  # a provider's hosted tool has only a type, or a kind
_NOT_NAMES = frozenset({"function", "custom", "object"})  # types of what must have a name of its own
_HOLDERS = ("function", "custom", "function_schema")  # OpenAI chat, Pydantic AI
_MOST_KEYS = 8  # in an error
_DECLARATIONS = ("function_declarations", "functionDeclarations")  # Google: several tools in one object


class GivenTool(NamedTuple):
    """A tool under the caller's name, with its document."""

    name: str
    server: str | None
    document: Document


def as_listed(tools: Sequence[GivenTool]) -> list[ToolDecision]:
    """Convert tools to catalog entries; the client of each is its position, which keeps equal names apart."""
    return [ToolDecision(_tool(tool, at), _VISIBLE) for at, tool in enumerate(tools)]


def declared_tools(tool: object) -> Sequence[object] | None:
    """Return the tools inside a Google tool, which holds several; None for every other tool."""
    for field in _DECLARATIONS:
        inner = field_of(tool, field)
        if isinstance(inner, Sequence) and not isinstance(inner, str):
            return cast("Sequence[object]", inner) if inner or _only_field(tool) is None else None
    return None


def with_declared(tool: Any, chosen: Sequence[object]) -> Any:
    """Return a copy of a Google tool that holds the chosen tools only."""
    if is_mapping(tool):
        return {field: [*chosen] if field in _DECLARATIONS else value for field, value in tool.items()}
    return tool.model_copy(update={"function_declarations": [*chosen]})


def read_tool(tool: object) -> GivenTool:
    """Read a tool in any supported format.

    Raises:
        TypeError: the format is not supported.
    """
    if inspect.isroutine(tool):
        return _function(tool)
    parts = [tool, *(part for holder in _HOLDERS if (part := field_of(tool, holder)) is not None)]
    name = _first(parts, "name") or _provided_name(parts)
    if name is None and callable(tool):
        return _function(tool)
    if name := name or _only_field(tool):
        params = next((params for part in parts if (params := _params(part))), dict[str, str]())
        return given_tool(name, _first(parts, "description"), params, _first(parts, "title"))
    raise TypeError(
        f"cannot read a tool of type `{type_name(tool)}`{_keys(tool)}; "
        "pass a function, or a mapping or object with a name, a description and a schema"
    )


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
    return given_tool(name, inspect.getdoc(inner), _signature(tool))


def _signature(function: Callable[..., Any]) -> dict[str, str]:
    try:
        return {name: "" for name in inspect.signature(function).parameters if name not in ("self", "cls")}
    except (TypeError, ValueError):  # some C functions have no signature
        return {}


def _params(part: object) -> dict[str, str]:
    """Return the parameters of a tool with their descriptions."""
    for field in _SCHEMAS:  # one by one: writing the schema of a model takes time
        if params := params_from_schema(_schema(field_of(part, field))):
            return params
    return {}


def _schema(schema: object) -> object:
    """Return a schema as a mapping; frameworks also give a pydantic model or an object with properties."""
    describe = getattr(schema, "model_json_schema", None)
    if isinstance(schema, type) and callable(describe):
        return describe()
    properties = None if is_mapping(schema) else getattr(schema, "properties", None)
    if not is_mapping(properties):
        return schema
    described = {name: {"description": text_of(value, "description")} for name, value in properties.items()}
    return {"properties": described}


def _first(parts: Sequence[object], *fields: str) -> str | None:
    return next((text for field in fields for part in parts if (text := text_of(part, field))), None)


def _provided_name(parts: Sequence[object]) -> str | None:
    """Return the name of a tool that its provider runs."""
    name = _first(parts, *_NAMES)
    return None if name in _NOT_NAMES else name


def _only_field(tool: object) -> str | None:
    """Return the name of a tool that Google runs: the only field that is set says which it is."""
    fields = tool if is_mapping(tool) else cast("Mapping[str, object]", getattr(tool, "__dict__", {}))
    given = [field for field, value in fields.items() if value is not None and field not in _DECLARATIONS]
    is_name = len(given) == 1 and given[0] not in (*_HOLDERS, *_SCHEMAS)
    return given[0] if is_name and not isinstance(fields[given[0]], str) else None


def _keys(tool: object) -> str:
    """Write the keys of a mapping without a name, for errors."""
    if not is_mapping(tool):
        return ""
    listed = ", ".join(f"`{key}`" for key in list(tool)[:_MOST_KEYS])
    return f" with the keys {listed}, but no name" if listed else ""


def _tool(tool: GivenTool, at: int) -> Tool:
    return Tool(
        client=str(at),
        kind=Kind.MCP_TOOL,
        scope=Scope.GLOBAL,
        project_hash=None,
        dir=None,
        agent=None,
        server=tool.server,
        name=tool_name(tool.server, tool.name) if tool.server else tool.name,
        authority=Authority.REPORT,
        description=tool.document.description,
        definition=str(at),
    )


def field_of(given: object, name: str) -> object:
    """Return a field of a mapping or an object, or None."""
    return given.get(name) if is_mapping(given) else getattr(given, name, None)


def text_of(given: object, name: str) -> str | None:
    """Return a field that holds text, or None."""
    value = field_of(given, name)
    return value if isinstance(value, str) else None


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Tell whether a value is a mapping."""
    return isinstance(value, Mapping)


def type_name(value: object) -> str:
    """Return the name of a value's type with its module, for errors."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
