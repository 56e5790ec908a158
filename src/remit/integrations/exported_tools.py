"""The tools of a registry under names that every model provider accepts."""

from remit.presentation.served_names import hashed
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.tool_registry import ToolRegistry

LONGEST_NAME = 64  # OpenAI, Anthropic


def exported_tools(registry: ToolRegistry) -> dict[str, DefinedTool]:
    """Return every tool of a registry by its exported name, hidden ones too.

    Model providers allow neither dots nor long names: `requirement.list` becomes `requirement__list`.
    """
    found: dict[str, DefinedTool] = {}
    for item in registry.definitions():
        name = item.name.replace(".", "__")
        if len(name) > LONGEST_NAME or name in found:
            name = hashed(name, item.name, LONGEST_NAME)
        found[name] = item
    return found


def exported_names(registry: ToolRegistry) -> dict[str, str]:
    """Return the registry's name of each exported name."""
    return {name: tool.name for name, tool in exported_tools(registry).items()}
