"""Opens connections: starts a process or reaches a URL, and ends all of it in the task that began it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import anyio
import httpx2

from remit.adapters.upstream.connection import Connection
from remit.adapters.upstream.events import Events, event_stream
from remit.adapters.upstream.hearing import Heard
from remit.adapters.upstream.http import open_client
from remit.adapters.upstream.messages import ProtocolError
from remit.adapters.upstream.pipes import Pipes
from remit.adapters.upstream.posts import Posts
from remit.adapters.upstream.processes import Server, started
from remit.adapters.upstream.watch import Watch
from remit.adapters.upstream.wires import Wire
from remit.core.launch import Launch, Transport
from remit.exchange import Params


@dataclass
class Traces:
    """What can be told of a connection after it is gone."""

    server: Server | None = None


class Way(NamedTuple):
    """How to reach a server: its launch with all variables put in, and what goes with it."""

    launch: Launch
    environment: Mapping[str, str]
    directory: str
    auth: httpx2.Auth | None = None


class Greeting(NamedTuple):
    """What is said to a server."""

    client: Params
    capabilities: Params
    is_modern: bool | None = None  # None: it is found out


@asynccontextmanager
async def connect(
    way: Way,
    greeting: Greeting,
    traces: Traces,
    *,
    heard: Heard = lambda _, __: None,
    watch: Watch | None = None,
) -> AsyncGenerator[Connection]:
    """Start or reach a server, and end all of it when the block is left.

    Raises:
        AnsweredError: the server answers with an error.
        LostError: it is gone.
        OSError: it cannot be started.
        ProtocolError: it does not answer as the protocol asks, or its transport is not supported.
        RefusedError: HTTP has it refused.
        httpx2.TransportError: it cannot be reached.
    """
    launch = way.launch
    async with AsyncExitStack() as stack:
        response = client = None
        if launch.transport is Transport.STDIO:
            words = (launch.command, *launch.args)
            process = started(words, env=way.environment, cwd=way.directory, watch=watch)
            traces.server = await stack.enter_async_context(process)
        elif launch.transport is Transport.WEBSOCKET:
            raise ProtocolError("WebSocket servers are not supported")
        else:
            client = await stack.enter_async_context(open_client(launch.headers, way.auth))
            if launch.transport is Transport.SSE:
                response = await stack.enter_async_context(event_stream(client, launch.url))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        connection = Connection(tasks, greeting.client, heard)
        wire: Wire
        if traces.server is not None:
            wire = Pipes(traces.server, connection.hearing)
            tasks.start_soon(wire.listen)
        elif response is not None and client is not None:
            wire = Events(client, launch.url, connection.hearing)
            tasks.start_soon(wire.hear, response)
            await wire.opened()
        else:
            assert client is not None  # noqa: S101 - it is of HTTP, then
            wire = Posts(client, launch.url, connection.hearing)
        is_modern = (
            False if response is not None else greeting.is_modern
        )  # that transport ended with the old era
        try:
            await connection.open(wire, greeting.capabilities, is_modern=is_modern)
            if isinstance(wire, Posts) and wire.session_id is not None:
                tasks.start_soon(wire.hear)
            yield connection
        finally:
            await wire.close()
            tasks.cancel_scope.cancel()
