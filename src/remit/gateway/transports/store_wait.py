"""Serves a gateway that starts while its database is down: it is alive, but not ready."""

import socket
from contextlib import closing
from functools import partial

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from remit import __version__
from remit.errors import StoreUnreachableError
from remit.gateway.transports.host_check import HostCheck
from remit.gateway.transports.http_refusal import refusal
from remit.gateway.transports.lifecycle import GatewayOpeners
from remit.gateway.transports.socket_server import serve_until_cancelled

_PAUSE = 0.5  # seconds between two attempts to open the store


async def wait_for_store(openers: GatewayOpeners, hosts: HostCheck, listener: socket.socket) -> None:
    """Answer that the gateway is not ready until its store can be opened.

    Raises:
        StoreError: the store can be reached, but not used.
    """
    app = _WaitingApp(hosts)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(serve_until_cancelled, app, listener.dup(), on_stop=_nothing, grace=1))
        while not await to_thread.run_sync(_is_there, openers, abandon_on_cancel=True):
            await anyio.sleep(_PAUSE)
        tasks.cancel_scope.cancel()


async def _nothing() -> None:
    pass


def _is_there(openers: GatewayOpeners) -> bool:
    try:
        with closing(openers.tokens()):
            return True
    except StoreUnreachableError:
        return False


class _WaitingApp:
    """The ASGI application of a gateway that waits for its store."""

    def __init__(self, hosts: HostCheck) -> None:
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] == "http":
            await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        if not self._hosts.is_ours(request.headers.get("host")):
            return refusal(421, "the request is for another host")
        if request.url.path == "/health":
            return JSONResponse({"status": "ok", "version": __version__})
        if request.url.path == "/ready":
            return JSONResponse({"status": "starting", "store": "unreachable"}, status_code=503)
        return refusal(503, "the gateway waits for its store; try again later", {"Retry-After": "1"})
