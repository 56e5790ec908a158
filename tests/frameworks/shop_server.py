"""A server with the tools of a shop, on stdio."""

from remit import ToolRegistry
from remit.python_tools.tool_server import serve
from support.shop import TOOLS

if __name__ == "__main__":
    registry = ToolRegistry()
    for each in TOOLS:
        registry.register(each)
    serve(registry, name="shop")
