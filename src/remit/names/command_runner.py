"""Runs a command in a separate process, to protect the server that starts it."""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, Process

from remit.errors import ToolError
from remit.names.command_line import check, words_of
from remit.names.name_tree import Command, Start

MOST_OUTPUT = 200_000  # bytes per stream
_CALL = "remit.names.call"
_FUNCTION = "remit.names.call_function"


class CommandResult(NamedTuple):
    """The exit status and output of a command."""

    exit_code: int
    output: str
    errors: str


class CommandRunner:
    """Runs one command, once per call.

    Each run is a separate process: it cannot print into the protocol stream or change the server's memory, it
    can be killed, and the server survives a crash. There is no shell, and Python imports nothing from the
    working directory.
    """

    def __init__(self, command: Command, program: Sequence[str], timeout: float) -> None:
        self._command = command
        self._program = program
        self._timeout = timeout

    async def run(self, given: Mapping[str, object]) -> str:
        """Run the command, and return its output.

        Raises:
            ArgumentsError: the command does not accept these arguments.
            ToolError: the command cannot be started, failed, or timed out.
        """
        is_function = self._command.start is Start.FUNCTION
        if is_function:
            check(given, self._command.parameters)
            words, stdin = self._start(), json.dumps(dict(given)).encode()
        else:
            words = [*self._start(), *self._command.words, *words_of(given, self._command.parameters)]
            stdin = b""
        ended = await self._ended(words, stdin)
        if ended.exit_code:
            told = "\n".join(filter(None, (ended.errors, ended.output)))
            raise ToolError(f"`{self._command.name}` exited with {ended.exit_code}\n{told}".rstrip())
        return ended.output

    def _start(self) -> list[str]:
        python = [sys.executable, "-P", "-m"]  # -P: import nothing from the working directory
        match self._command.start:
            case Start.FUNCTION:
                return [*python, _FUNCTION, self._command.target]
            case _ if self._program:
                return [*self._program]
            case Start.CALL:
                return [*python, _CALL, self._command.target]
            case Start.MODULE:
                return [*python, self._command.target]
            case _:
                raise ToolError(
                    f"cannot tell how `{self._command.name}` is started",
                    hint="set `command` in `[server]` of the scopes file, and generate the server again",
                )

    async def _ended(self, words: Sequence[str], stdin: bytes) -> CommandResult:
        try:
            process = await anyio.open_process(list(words), start_new_session=True)
        except (OSError, ValueError):
            raise ToolError(
                f"`{self._command.name}` cannot be started: there is no program `{words[0]}`"
            ) from None
        try:
            with anyio.fail_after(self._timeout):
                return await _communicate(process, stdin)
        except TimeoutError:
            raise ToolError(f"`{self._command.name}` did not end within {self._timeout:g} s") from None
        finally:
            _kill(process)
            with anyio.CancelScope(shield=True):
                await process.aclose()


async def _communicate(process: Process, stdin: bytes) -> CommandResult:
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
    return CommandResult(await process.wait(), outputs["output"], outputs["errors"])


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
