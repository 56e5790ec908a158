"""Serves the client that started this process, on stdio.

While it serves, file descriptor 1 points to stderr, so nothing printed elsewhere in this process can corrupt
the protocol.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress

import anyio

from remit.approvals.answering_client import may_answer_for_person
from remit.gateway.ports import Endpoint, EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher, open_dispatcher
from remit.gateway.transports.json_rpc_connection import serve_client
from remit.gateway.transports.lifecycle import GatewayOpeners, Print, describe_endpoint, run_until_stopped
from remit.gateway.transports.line_streams import DRAIN_SECONDS, LineReader, LineWriter, is_pipe

OnOpen = Callable[[Dispatcher], Awaitable[None]]


def serve(spec: EndpointSpec, openers: GatewayOpeners, say: Print) -> int:
    """Serve one endpoint until the client disconnects, and return the exit code."""

    async def work() -> None:
        async with openers.upstream_pool() as upstreams, anyio.create_task_group() as tasks:

            async def on_open(dispatcher: Dispatcher) -> None:
                tasks.start_soon(openers.status_monitor(lambda: [(spec, dispatcher)], upstreams).run)
                say(f"serving {describe_endpoint(spec)} on stdio")

            await serve_stdio(openers.endpoint(spec, upstreams), spec, on_open)
            tasks.cancel_scope.cancel()

    return run_until_stopped(work)


async def serve_stdio(
    opened: AbstractAsyncContextManager[Endpoint], spec: EndpointSpec, on_open: OnOpen | None = None
) -> None:
    """Serve one endpoint on the standard streams, until the client disconnects."""
    may_approve = may_answer_for_person()  # first, while the streams are those of this process
    async with standard_streams() as (reader, writer), open_dispatcher(opened, spec) as dispatcher:
        if on_open is not None:
            await on_open(dispatcher)
        await serve_client(dispatcher, reader, writer, may_approve=may_approve)


@asynccontextmanager
async def standard_streams() -> AsyncGenerator[tuple[LineReader, LineWriter]]:
    """Take over stdin and stdout as streams of messages."""
    with (
        _take_over(0, os.open(os.devnull, os.O_RDONLY)) as source,
        _take_over(1, os.dup(2)) as target,
    ):
        writer = LineWriter(target)
        reader = LineReader(source, writer)
        try:
            yield reader, writer
        finally:
            reader.close()
            with anyio.move_on_after(DRAIN_SECONDS, shield=True):
                await writer.flush()
            writer.close()


@contextmanager
def _take_over(descriptor: int, stand_in: int) -> Generator[int]:
    """Duplicate a descriptor, and put another in its place while the block runs."""
    own = os.dup(descriptor)  # children do not inherit it
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
            # Do not close it: a thread may still read from it and must not hit a reused descriptor.
