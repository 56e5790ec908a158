"""Runs a server that `remit names server` wrote."""

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from remit import __version__
from remit.errors import RemitError
from remit.names.generated_server import tools_of
from remit.python_tools.tool_registry import ToolRegistry
from remit.python_tools.tool_server import serve


def main(server: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> NoReturn:
    """Serve commands on the standard streams, as the states of the directory it is started in allow."""
    try:
        registry = ToolRegistry(project=".")
        for tool in tools_of(server, tools):
            registry.add(tool)
        serve(registry, name=str(server["name"]), version=__version__)
    except RemitError as error:
        sys.exit(f"error: {error}\nhint: {error.hint}" if error.hint else f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)
