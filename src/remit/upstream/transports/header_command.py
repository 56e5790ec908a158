"""Runs the `headersHelper` command of a trusted entry, which prints HTTP headers."""

import anyio

from remit.text.json_values import as_object
from remit.upstream.launch.ready_server import ReadyServer, helper_words
from remit.upstream.messaging.messages import ProtocolError, decode
from remit.upstream.transports.process import ServerProcess, start_process

TIME_LIMIT = 10.0  # seconds
MAX_OUTPUT = 65_536  # bytes


async def run_headers_helper(ready: ReadyServer) -> dict[str, str]:
    """Run the command and return its headers.

    Raises:
        ProtocolError: it fails, takes too long, or prints something other than headers.
    """
    launch = ready.launch
    words = helper_words(launch.headers_helper or "")
    about = {"CLAUDE_CODE_MCP_SERVER_NAME": ready.label, "CLAUDE_CODE_MCP_SERVER_URL": launch.url}
    about = about if ready.upstream.client == "claude-code" else {}
    given = {**ready.environment, **about}
    try:
        with anyio.fail_after(TIME_LIMIT):
            sandbox = ready.sandbox
            if sandbox is not None:
                sandbox = sandbox._replace(variables={**sandbox.variables, **about})
            async with start_process(words, env=given, cwd=ready.place, sandbox=sandbox) as process:
                output = await _output(process)
    except TimeoutError:
        raise ProtocolError(f"its `headersHelper` did not end within {TIME_LIMIT:g} s") from None
    except OSError:
        raise ProtocolError("its `headersHelper` cannot be run") from None
    if process.exit_code != 0:
        raise ProtocolError(f"its `headersHelper` failed (exit code {process.exit_code})")
    return _headers(output)


async def _output(process: ServerProcess) -> bytes:
    output = bytearray()

    def take(chunk: bytes) -> bool:
        output.extend(chunk)
        return len(output) <= MAX_OUTPUT

    await process.feed(take)
    return bytes(output)


def _headers(output: bytes) -> dict[str, str]:
    try:
        found = as_object(decode(output))
    except ValueError:
        found = {}
    if not found or not all(isinstance(value, str) for value in found.values()):
        raise ProtocolError("its `headersHelper` does not print headers")
    return found
