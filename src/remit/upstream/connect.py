"""Opens connections, and closes everything they started in the same task."""

import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from remit.protocol.era import Era
from remit.protocol.json_rpc import Params
from remit.upstream.connection import Connection
from remit.upstream.launch.ready_server import ReadyServer
from remit.upstream.messaging.demultiplexer import Demultiplexer, OnNotification
from remit.upstream.transports.message_transport import MessageTransport, TransportFactory
from remit.upstream.transports.process import ProcessRecord, start_process
from remit.upstream.transports.stdio_transport import StdioTransport
from remit.upstream.transports.watchdog import Watchdog

_HTTP_LOGGERS = ("httpx2", "httpcore2")


class HandshakeRequest(NamedTuple):
    """The client information and capabilities for a handshake."""

    client: Params
    capabilities: Params
    era: Era | None = None  # None: not known yet


@asynccontextmanager
async def connect(
    opened: AbstractAsyncContextManager[TransportFactory],
    request: HandshakeRequest,
    on_notification: OnNotification = lambda _, __: None,
) -> AsyncGenerator[Connection]:
    """Perform the handshake over an opened transport, and close everything when the block ends.

    Raises:
        JsonRpcError: the server answers with an error.
        LostError: the connection is lost.
        OSError: it cannot be started.
        ProtocolError: it violates the protocol, or its transport is not supported.
        RefusedError: it refuses with an HTTP status.
        UnreachableError: it cannot be reached.
    """
    async with opened as make_transport, anyio.create_task_group() as tasks:
        connection = Connection(tasks, request.client, on_notification)
        try:
            transport = await make_transport(connection.demultiplexer, tasks)
            try:
                await connection.open(transport, request.capabilities, era=request.era)
                yield connection
            finally:
                await transport.close()
        finally:
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def open_stdio_transport(
    ready: ReadyServer, record: ProcessRecord, watchdog: Watchdog
) -> AsyncGenerator[TransportFactory]:
    """Start a server that is ready.

    Raises:
        OSError: it cannot be started.
    """
    words = (ready.launch.command, *ready.launch.args)
    async with start_process(
        words, env=ready.environment, cwd=ready.place, sandbox=ready.sandbox, watchdog=watchdog
    ) as process:
        record.process = process

        async def make_transport(receiver: Demultiplexer, tasks: TaskGroup) -> MessageTransport:
            transport = StdioTransport(process, receiver)
            tasks.start_soon(transport.listen)
            return transport

        yield make_transport


def silence_http_loggers() -> None:
    """Keep the HTTP library's log off stderr: its messages contain URLs."""
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).addHandler(logging.NullHandler())
