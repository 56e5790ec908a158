"""Runs a generated server: builds its tools and serves them on stdio."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

from remit import __version__
from remit.configuration.config_model import ToolEntry
from remit.configuration.file_parser import read
from remit.errors import BadFileError, RemitError, ToolError
from remit.names.command_line import schema_of
from remit.names.command_runner import CommandRunner
from remit.names.generated_files import read_command
from remit.names.scopes_file import strictest
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.tool_registry import ToolRegistry
from remit.python_tools.tool_server import serve


def main(server: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> NoReturn:
    """Serve the commands that the states of the working directory allow, on stdio."""
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


def tools_of(server: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> Iterator[DefinedTool]:
    """Make the tools of a generated server.

    Raises:
        ToolError: the data of a tool is invalid.
    """
    for name, said in tools.items():
        try:
            command = read_command(name, {key: value for key, value in said.items() if key != "scopes"})
            entries = [*_entries(name, said["scopes"])]
            runner = CommandRunner(command, tuple(server["command"]), float(server["timeout"]))
        except (KeyError, TypeError, ValueError, AttributeError, BadFileError):
            raise ToolError(
                f"the server's definition of `{name}` is invalid",
                hint="generate it again with `remit names server`",
            ) from None
        strict = strictest(entries)
        spaces = [entry.namespace for entry in entries if entry.namespace]
        yield DefinedTool(
            name=name,
            description=command.description,
            input_schema=schema_of(command.parameters),
            run=runner.run,
            source=command.target,
            namespace=spaces[-1] if spaces else name.rpartition(".")[0] or None,
            needs=tuple(entry for entry in entries if entry.has_condition),
            danger=strict.danger,
            approval=strict.approval,
            ai_enabled=strict.ai_enabled is True,
            labelled_in="its scopes",
            is_async=True,
        )


def _entries(name: str, tables: object) -> Iterator[ToolEntry]:
    for table in cast("list[object]", tables):
        content, mistakes = read({"tools": {name: table}})
        if mistakes:
            raise BadFileError(mistakes[0].message)
        yield from content.tools
