"""The tools of a registry under names that every model provider accepts, and the texts of their answers."""

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from inspect import isawaitable

from remit.errors import RemitError
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.tool_registry import ToolRegistry

LONGEST_NAME = 64  # OpenAI, Anthropic
_DIGITS = 8  # of the hash in a shortened name


def exported_tools(registry: ToolRegistry) -> dict[str, DefinedTool]:
    """Return every tool of a registry by its exported name, hidden ones too.

    Model providers allow neither dots nor long names: `requirement.list` becomes `requirement__list`.
    """
    found: dict[str, DefinedTool] = {}
    for item in registry.definitions():
        name = item.name.replace(".", "__")
        found[_hashed(name, item.name) if len(name) > LONGEST_NAME or name in found else name] = item
    return found


def exported_names(registry: ToolRegistry) -> dict[str, str]:
    """Return the registry's name of each exported name."""
    return {name: tool.name for name, tool in exported_tools(registry).items()}


async def run_defined(tool: DefinedTool, arguments: Mapping[str, object]) -> object:
    """Run a tool that may be called; a sync function runs in a worker thread."""
    made = tool.run(arguments) if tool.is_async else await asyncio.to_thread(tool.run, arguments)
    return await made if isawaitable(made) else made


def result_text(result: object) -> str:
    """Return a tool's result as text for a model."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def error_text(error: Exception) -> str:
    """Return a tool's failure as text for a model."""
    if not isinstance(error, RemitError):
        return f"{type(error).__name__}: {error}"
    return f"{error}\nhint: {error.hint}" if error.hint else str(error)


def _hashed(name: str, identity: str) -> str:
    mark = sha256(identity.encode()).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST_NAME - _DIGITS - 1]}_{mark}"
