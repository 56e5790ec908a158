"""A gateway of tests' own on HTTP: real sockets, the endpoints of tests behind it."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

from remit.decision.projects import Project, identify
from remit.gateway.access.access_settings import AccessSettings
from remit.gateway.access.authenticator import Authenticator
from remit.gateway.access.token_grants import Grant
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.call_metrics import CallMetrics
from remit.gateway.transports.endpoint_pool import EndpointPool
from remit.gateway.transports.health_routes import GatewayState, HealthRoutes, StoreHealth
from remit.gateway.transports.host_check import HostCheck
from remit.gateway.transports.http_routes import GatewayApp, GatewaySite
from remit.gateway.transports.http_server import allow_origins, serve_http
from remit.gateway.transports.session_seal import SessionSeal
from remit.gateway.transports.socket_server import Address, bind_socket
from support.stub_endpoint import StubEndpoint, opened

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
SHOP = identify("/code/shop")
BLOG = identify("/code/blog")


@dataclass
class Gateway:
    """Where it listens, and what became of what it was asked."""

    url: str
    endpoints: EndpointPool
    opened: list[EndpointSpec] = field(default_factory=list[EndpointSpec])
    pushed: list[tuple[str, Mapping[str, object]]] = field(
        default_factory=list[tuple[str, Mapping[str, object]]]
    )

    async def post(self, path: str, body: object, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient() as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.post(f"{self.url}{path}", json=body, headers={**ACCEPT, **named})


ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def gateway(
    *,
    grants: Sequence[Grant] = (),
    access: Callable[[], AccessSettings] = AccessSettings,
    projects: Sequence[Project] = (SHOP, BLOG),
    endpoint: Callable[[], StubEndpoint] = StubEndpoint,
    hosts: HostCheck | None = None,
    origins: Sequence[str] = (),
    max_endpoints: int = 64,
    seal: SessionSeal | None = None,
    store: StoreHealth = StoreHealth(),  # noqa: B008 - a value
) -> AsyncGenerator[Gateway]:
    listener = bind_socket(Address("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def opening(asked: EndpointSpec) -> Any:
        made.opened.append(asked)
        return opened(endpoint())

    def push(directory: str, said: Mapping[str, object]) -> None:
        made.pushed.append((directory, said))

    async with anyio.create_task_group() as tasks:
        operations = HealthRoutes(
            GatewayState(
                CallMetrics(),
                lambda: store,
                lambda: 3,
                lambda: [each.dispatcher for each in made.endpoints],
                list,
            )
        )
        made = Gateway(url, EndpointPool(opening, tasks, max_endpoints=max_endpoints, seal=seal))
        site = GatewaySite(
            EndpointSpec("/code/shop/web"),
            SHOP,
            hosts or HostCheck("127.0.0.1", origins=origins),
            Authenticator(
                lambda: grants, access, tasks, is_private=(hosts or HostCheck("127.0.0.1")).is_private
            ),
            lambda: projects,
            push,
            operations,
        )
        front = allow_origins(GatewayApp(site, made.endpoints), origins)
        tasks.start_soon(serve_http, front, made.endpoints, listener, operations)
        try:
            yield made
        finally:
            tasks.cancel_scope.cancel()
