"""Headers that a command makes, as an entry may say: it is part of the entry, and trusted with it."""

import sys
from collections.abc import Mapping

import anyio

from remit.upstream.messaging.messages import ProtocolError, decode, fields
from remit.upstream.transports.process import ServerProcess, start_process
from remit.upstream.upstream_model import Upstream

SECONDS = 10.0
MAX_OUTPUT = 65_536  # bytes


async def run_headers_helper(ready: Upstream, environment: Mapping[str, str]) -> dict[str, str]:
    """Run the command that makes a server's headers.

    Raises:
        ProtocolError: it fails, takes too long, or prints something else.
    """
    launch = ready.launch
    command = launch.headers_helper or ""
    words = ("cmd", "/c", command) if sys.platform == "win32" else ("/bin/sh", "-c", command)
    about = {"CLAUDE_CODE_MCP_SERVER_NAME": ready.label, "CLAUDE_CODE_MCP_SERVER_URL": launch.url}
    given = {**environment, **(about if ready.client == "claude-code" else {})}
    try:
        with anyio.fail_after(SECONDS):
            async with start_process(words, env=given, cwd=ready.place) as process:
                output = await _output(process)
    except TimeoutError:
        raise ProtocolError(f"its `headersHelper` did not end within {SECONDS:g} s") from None
    except OSError:
        raise ProtocolError("its `headersHelper` cannot be run") from None
    if process.exit_code != 0:
        raise ProtocolError(f"its `headersHelper` failed (exit code {process.exit_code})")
    return _headers(output)


async def _output(process: ServerProcess) -> bytes:
    output = b""
    try:
        while len(output) <= MAX_OUTPUT:
            output += await process.read()
    except anyio.EndOfStream:
        pass
    return output


def _headers(output: bytes) -> dict[str, str]:
    try:
        found = fields(decode(output))
    except ValueError:
        found = {}
    if not found or not all(isinstance(value, str) for value in found.values()):
        raise ProtocolError("its `headersHelper` prints something else than headers")
    return found
