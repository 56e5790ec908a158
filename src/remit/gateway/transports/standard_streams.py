"""The standard streams of this process, taken for the protocol alone.

As long as they are, file descriptor 1 points to stderr: whatever else is printed in this process cannot end
up between two messages.
"""

import os
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio

from remit.gateway.transports.line_streams import LAST_WORDS, LineReader, LineWriter, is_pipe


@asynccontextmanager
async def standard_streams() -> AsyncGenerator[tuple[LineReader, LineWriter]]:
    """Give a stream to read messages from and one to write them to."""
    with _taken(0, os.open(os.devnull, os.O_RDONLY)) as source, _taken(1, os.dup(2)) as target:
        outlet = LineWriter(target)
        inlet = LineReader(source, outlet)
        try:
            yield inlet, outlet
        finally:
            inlet.close()
            with anyio.move_on_after(LAST_WORDS, shield=True):
                await outlet.flush()
            outlet.close()


@contextmanager
def _taken(descriptor: int, stand_in: int) -> Generator[int]:
    """Take a descriptor for ourselves, and put another in its place for as long."""
    own = os.dup(descriptor)  # which no child inherits
    os.dup2(stand_in, descriptor)
    os.close(stand_in)
    was_blocking = is_pipe(own) and os.get_blocking(own)
    if was_blocking:
        os.set_blocking(own, False)
    try:
        yield own
    finally:
        with suppress(OSError):
            if was_blocking:
                os.set_blocking(own, True)
            os.dup2(own, descriptor)
            # Not closed: a thread may still read from it, and must not find another file there.
