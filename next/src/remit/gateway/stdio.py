"""The door of the client that started this process: stdin and stdout.

While it serves, file descriptor 1 points to stderr, so nothing printed elsewhere in this process can corrupt
the protocol.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from remit.gateway.gateway import Gateway, Hello, run_until_stopped
from remit.gateway.status import Status
from remit.protocol import LineTransport

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
