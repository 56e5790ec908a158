"""Opens connections: what was begun for one is ended in the same task, whatever comes."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from remit.upstream.connection import Connection
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.ports import Params
from remit.upstream.transports.message_transport import MessageReceiver, MessageTransport, TransportFactory
from remit.upstream.transports.process import ServerProcess, start_process
from remit.upstream.transports.stdio_transport import StdioTransport
from remit.upstream.transports.watchdog import Watchdog
from remit.upstream.upstream_model import Upstream


@dataclass
class ProcessRecord:
    """What can be told of a connection after it is gone."""

    server: ServerProcess | None = None


class HandshakeRequest(NamedTuple):
    """What is said to a server."""

    client: Params
    capabilities: Params
    is_modern: bool | None = None  # None: it is found out


@asynccontextmanager
async def connect(
    reached: AbstractAsyncContextManager[TransportFactory],
    greeting: HandshakeRequest,
    heard: OnNotification = lambda _, __: None,
) -> AsyncGenerator[Connection]:
    """Greet a server that is being reached, and end all of it when the block is left.

    Raises:
        JsonRpcError: the server answers with an error.
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
async def open_stdio_transport(
    ready: Upstream, environment: Mapping[str, str], traces: ProcessRecord, watch: Watchdog
) -> AsyncGenerator[TransportFactory]:
    """Start a server whose launch is expanded.

    Raises:
        OSError: it cannot be started.
    """
    words = (ready.launch.command, *ready.launch.args)
    async with start_process(words, env=environment, cwd=ready.place, watch=watch) as server:
        traces.server = server

        async def plug(receiver: MessageReceiver, tasks: TaskGroup) -> MessageTransport:
            wire = StdioTransport(server, receiver)
            tasks.start_soon(wire.listen)
            return wire

        yield plug
