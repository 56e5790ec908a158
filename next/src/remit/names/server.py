"""Serves the commands of a program: each runs in a process of its own, while its scopes allow it."""

import json
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

import anyio
from anyio.abc import ByteReceiveStream, Process

import remit.python_tools as python_tools
from remit import __version__
from remit.errors import RemitError, ToolError
from remit.names.command_line import schema_of, words_of
from remit.names.names_file import Command, Names, Start, read_names
from remit.names.scopes_file import LabeledCommand, Scopes, labeled_commands, read_scopes
from remit.python_tools import Ask, DefinedTool, ListedTool, Location, ToolRegistry

MOST_OUTPUT = 200_000  # bytes per stream
_TRACEBACK = "Traceback (most recent call last):"
_log = logging.getLogger("remit.names")


def serve(names: str | os.PathLike[str], scopes: str | os.PathLike[str]) -> NoReturn:
    """Serve the commands that the states of the working directory allow, on stdio."""
    try:
        registry = ProgramRegistry(os.fspath(names), os.fspath(scopes))
        with registry:
            python_tools.serve(registry, name=registry.name, version=__version__)
    except RemitError as error:
        sys.exit(f"error: {error}\nhint: {error.hint}" if error.hint else f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


class ProgramRegistry(ToolRegistry):
    """The commands of a program, read again when its names or its scopes change.

    Raises:
        BadFileError: one of the files is invalid.
        NotFoundError: the names file does not exist.
    """

    def __init__(self, names: str, scopes: str) -> None:
        super().__init__(project=".")
        self._files = names, scopes
        self._stamps = self._stamp()
        self.name = self._load()

    def listed(
        self, tools: Iterable[DefinedTool] | None = None, location: Location | None = None
    ) -> list[ListedTool]:
        """Decide about the commands as the files are now."""
        self._refresh()
        return super().listed(tools, location)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        location: Location | None = None,
        *,
        ask: Ask | None = None,
        caller: str = python_tools.CLIENT,
    ) -> object:
        """Call a command as the files are now."""
        self._refresh()
        return await super().call(name, arguments, location, ask=ask, caller=caller)

    def _refresh(self) -> None:
        """Read changed files; while one is invalid, its last valid version counts."""
        stamps = self._stamp()
        if stamps != self._stamps:
            self._stamps = stamps
            try:
                self._load()
            except RemitError as error:
                _log.warning("%s; the last valid version stays in force", error)

    def _load(self) -> str:
        names, scopes = read_names(self._files[0]), read_scopes(self._files[1])
        self.replace([*_tools(names, scopes)], scopes.states)
        return scopes.server.name or names.program

    def _stamp(self) -> list[tuple[int, int] | None]:
        return [_stamp(path) for path in self._files]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _tools(names: Names, scopes: Scopes) -> Iterator[DefinedTool]:
    for labeled in labeled_commands(names, scopes):
        if not labeled.command.problem:
            yield _tool(labeled, names, scopes)


def _tool(labeled: LabeledCommand, names: Names, scopes: Scopes) -> DefinedTool:
    command = labeled.command
    schema = schema_of(command.parameters) if command.schema is None else dict(command.schema)
    return DefinedTool(
        name=command.name,
        description=command.description,
        input_schema=schema,
        run=CommandRunner(command, names.source, scopes.server.command, scopes.server.timeout).run,
        source=command.target,
        namespace=labeled.namespace,
        danger=labeled.danger,
        approval=labeled.approval,
        ai_enabled=labeled.ai_enabled,
        labels=labeled.rules,
        is_async=True,
    )


class CommandRunner:
    """Runs one command, once per call.

    Each run is a separate process: it cannot print into the protocol stream or change the server's memory, it
    can be killed, and the server survives a crash. There is no shell, and Python imports nothing from the
    working directory.
    """

    def __init__(self, command: Command, source: str, program: Sequence[str], timeout: float) -> None:
        self._command = command
        self._source = source
        self._program = program
        self._timeout = timeout

    async def run(self, given: Mapping[str, object]) -> str:
        """Run the command, and return its output.

        Raises:
            ArgumentsError: the command does not accept these arguments.
            ToolError: the command cannot be started, failed, or timed out.
        """
        command, stdin = self._command, b""
        python = [sys.executable, "-P", "-m", "remit.names.program", "run", self._source]
        words = [*python, command.start, command.target]
        if command.start is Start.FUNCTION:
            stdin = json.dumps(dict(given)).encode()
        else:
            words = [*(self._program or words), *command.words, *words_of(given, command.parameters)]
        return await self._output(words, stdin)

    async def _output(self, words: Sequence[str], stdin: bytes) -> str:
        name = self._command.name
        try:
            process = await anyio.open_process(list(words), start_new_session=True)
        except (OSError, ValueError):
            raise ToolError(f"`{name}` cannot be started: there is no program `{words[0]}`") from None
        try:
            with anyio.fail_after(self._timeout):
                output, errors = await _communicate(process, stdin)
        except TimeoutError:
            raise ToolError(f"`{name}` did not end within {self._timeout:g} s") from None
        finally:
            _kill(process)
            with anyio.CancelScope(shield=True):
                await process.aclose()
        if process.returncode:
            text = "\n".join(filter(None, (without_traceback(errors), output)))
            raise ToolError(f"`{name}` exited with {process.returncode}\n{text}".rstrip())
        return output


def without_traceback(text: str) -> str:
    """Leave out the traceback of a program, except the error's own message at its end."""
    before, traceback, after = text.partition(_TRACEBACK)
    if not traceback:
        return text
    message = after.rpartition(_TRACEBACK)[2].splitlines()
    return before + "\n".join(line for line in message if line and not line.startswith(" "))


async def _communicate(process: Process, stdin: bytes) -> tuple[str, str]:
    outputs: dict[str, str] = {}

    async def keep(name: str, stream: ByteReceiveStream | None) -> None:
        outputs[name] = await _beginning(stream)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep, "output", process.stdout)
        tasks.start_soon(keep, "errors", process.stderr)
        if process.stdin is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await process.stdin.send(stdin)
                await process.stdin.aclose()
    await process.wait()
    return outputs["output"], outputs["errors"]


async def _beginning(stream: ByteReceiveStream | None) -> str:
    """Read a stream to its end, so the process does not block, and return the beginning."""
    kept, size = bytearray(), 0
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while stream is not None:
            chunk = await stream.receive()
            size += len(chunk)
            kept += chunk[: MOST_OUTPUT - len(kept)]
    text = bytes(kept).decode("utf-8", "replace").rstrip("\n")
    return text if size <= MOST_OUTPUT else f"{text}\n… {size - MOST_OUTPUT:,} bytes more"


def _kill(process: Process) -> None:
    """Kill a command and its child processes."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)  # it leads its own process group
