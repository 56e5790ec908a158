"""Opens connections: what was begun for one is ended in the same task, whatever comes."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from remit.upstream.connection import Connection
from remit.upstream.messaging.demultiplexer import Heard
from remit.upstream.ports import Params
from remit.upstream.transports.message_transport import Plug, Receiver, Wire
from remit.upstream.transports.process import Server, started
from remit.upstream.transports.stdio_transport import Pipes
from remit.upstream.transports.watchdog import Watch
from remit.upstream.upstream_model import Upstream


@dataclass
class Traces:
    """What can be told of a connection after it is gone."""

    server: Server | None = None


class Greeting(NamedTuple):
    """What is said to a server."""

    client: Params
    capabilities: Params
    is_modern: bool | None = None  # None: it is found out


@asynccontextmanager
async def connect(
    reached: AbstractAsyncContextManager[Plug], greeting: Greeting, heard: Heard = lambda _, __: None
) -> AsyncGenerator[Connection]:
    """Greet a server that is being reached, and end all of it when the block is left.

    Raises:
        AnsweredError: the server answers with an error.
        LostError: it is gone.
        OSError: it cannot be started.
        ProtocolError: it does not answer as the protocol asks, or its transport is not supported.
        RefusedError: HTTP has it refused.
        UnreachableError: it cannot be reached.
    """
    async with reached as plug, anyio.create_task_group() as tasks:
        connection = Connection(tasks, greeting.client, heard)
        try:
            wire = await plug(connection.hearing, tasks)
            try:
                await connection.open(wire, greeting.capabilities, is_modern=greeting.is_modern)
                yield connection
            finally:
                await wire.close()
        finally:
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def process(
    ready: Upstream, environment: Mapping[str, str], traces: Traces, watch: Watch
) -> AsyncGenerator[Plug]:
    """Start a server whose launch is expanded.

    Raises:
        OSError: it cannot be started.
    """
    words = (ready.launch.command, *ready.launch.args)
    async with started(words, env=environment, cwd=ready.place, watch=watch) as server:
        traces.server = server

        async def plug(receiver: Receiver, tasks: TaskGroup) -> Wire:
            wire = Pipes(server, receiver)
            tasks.start_soon(wire.listen)
            return wire

        yield plug
