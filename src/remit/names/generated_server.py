"""Writes a server for the commands of a package, and makes its tools when it runs."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from remit.configuration.config_model import ToolEntry
from remit.configuration.file_parser import read
from remit.decision.globs import glob
from remit.errors import BadFileError, ToolError
from remit.names.command_line import schema_of
from remit.names.command_runner import CommandRunner
from remit.names.file_writer import describe_command, literal
from remit.names.generated_files import read_command
from remit.names.name_tree import Names
from remit.names.scopes_file import Scopes, strictest
from remit.python_tools.decorators import DefinedTool

_LINES = '''\
"""The MCP server of `{package}`; written by `remit names server` from its names and scopes."""

from remit.names.command_server import main

SERVER = {server}

TOOLS = {tools}

if __name__ == "__main__":
    main(SERVER, TOOLS)
'''


def server_as_python(names: Names, scopes: Scopes) -> str:
    """Write a server as a program; the same names and scopes give the same bytes."""
    said = scopes.server
    return _LINES.format(
        package=names.package,
        server=literal(
            {"name": said.name or names.package, "command": list(said.command), "timeout": said.timeout}
        ),
        tools=literal(
            {
                command.name: {**describe_command(command), "scopes": tables_of(command.name, scopes)}
                for command in names.commands
            }
        ),
    )


def tools_of(server: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> Iterator[DefinedTool]:
    """Make the tools of a server that was written.

    Raises:
        ToolError: what it says cannot be read.
    """
    for name, said in tools.items():
        try:
            command = read_command(name, {key: value for key, value in said.items() if key != "scopes"})
            entries = [*_entries(name, said["scopes"])]
            runner = CommandRunner(command, tuple(server["command"]), float(server["timeout"]))
        except (KeyError, TypeError, ValueError, AttributeError, BadFileError):
            raise ToolError(
                f"what the server says of `{name}` cannot be read",
                hint="write it anew with `remit names server`",
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


def tables_of(name: str, scopes: Scopes) -> list[Mapping[str, object]]:
    """List what a scopes file says of a command, by its name and by patterns."""
    return [table for pattern, table in scopes.tables.items() if glob(pattern).matches(name)]


def _entries(name: str, tables: object) -> Iterator[ToolEntry]:
    for table in cast("list[object]", tables):
        content, mistakes = read({"tools": {name: table}})
        if mistakes:
            raise BadFileError(mistakes[0].message)
        yield from content.tools
