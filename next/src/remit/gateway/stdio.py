"""The door of the client that started this process: stdin and stdout.

While it serves, file descriptor 1 points to stderr, so nothing printed elsewhere in this process can corrupt
the protocol.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from remit.gateway.gateway import Gateway, Hello, run_until_stopped
from remit.gateway.session import SERVER_INFO
from remit.gateway.status import Status
from remit.protocol import (
    CLIENT_LIMITS,
    RULES,
    Answer,
    ClientEra,
    ErrorCode,
    Incoming,
    JsonRpcError,
    LineTransport,
    Peer,
    Pending,
    Tasks,
)

if TYPE_CHECKING:  # loaded at its first call
    from remit.memory import Memory

Say = Callable[[str], None]  # to the user, on stderr


def serve_stdio(gateway: Gateway, hello: Hello, say: Say = lambda _: None) -> int:
    """Serve one endpoint until the client disconnects, and return the exit code.

    Raises:
        RemitError: the endpoint does not exist, or the store cannot be used.
    """

    async def serve() -> None:
        with _taken_over(0, os.open(os.devnull, os.O_RDONLY)) as source, _taken_over(1, os.dup(2)) as target:
            transport = LineTransport(source, target)
            try:
                async with gateway:
                    await gateway.endpoint(hello.spec)
                    say(f"serving {hello.spec.title} on stdio")
                    status = Status(gateway)
                    gateway.process.tasks.start(status.run())
                    await gateway.attach(transport, hello, door="stdio")
            finally:
                await transport.close()

    return run_until_stopped(serve)


def serve_memory(memory: "Memory", instructions: str) -> int:
    """Serve project memory alone, under the plain names of its tools, until the client disconnects."""

    async def serve() -> None:
        with _taken_over(0, os.open(os.devnull, os.O_RDONLY)) as source, _taken_over(1, os.dup(2)) as target:
            transport = LineTransport(source, target)
            async with Tasks() as tasks:
                await Peer(transport, tasks, _MemorySession(memory, instructions), CLIENT_LIMITS).run()
            await transport.close()

    return run_until_stopped(serve)


class _MemorySession:
    """Answers the client of memory, one call after the other."""

    def __init__(self, memory: "Memory", instructions: str) -> None:
        self._memory = memory
        self._instructions = instructions
        self._era = ClientEra()

    def answer(self, request: Incoming) -> Answer:
        """Answer a request."""
        from remit.memory import answer

        method, params = request.method, request.params
        told: Answer = {"capabilities": {"tools": {}}, "instructions": self._instructions}
        if method == "initialize":
            version = self._era.initialize(params)
            return {**told, "protocolVersion": version, "serverInfo": SERVER_INFO}
        rules = RULES[self._era.of(method, params)]
        if method == "server/discover":
            found: Answer | None = {**told, "supportedVersions": list(rules.versions)}
        else:
            found = {} if method == "ping" else answer(lambda: self._memory, method, params)
        if found is None:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"no such method or tool: {method}")
        return rules.shape_answer(found, method, SERVER_INFO)

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        """Take a notification: nothing depends on one."""
        del method, params, pending


@contextmanager
def _taken_over(descriptor: int, stand_in: int) -> Generator[int]:
    """Duplicate a descriptor, and put another in its place while the block runs."""
    own = os.dup(descriptor)  # children do not inherit it
    os.dup2(stand_in, descriptor)
    os.close(stand_in)
    try:
        yield own
    finally:
        with suppress(OSError):
            os.dup2(own, descriptor)
            # Never closed: a thread may still read from it, and must not hit a reused descriptor.
