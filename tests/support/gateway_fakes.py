"""What tests of endpoints are built from: upstreams that answer by hand, and a caller that is asked."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio

from remit.bootstrap import open_notifier
from remit.decision.declarations import Key
from remit.errors import OwnedElsewhereError
from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.open_endpoint import EndpointResources, serve_endpoint
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.call_metrics import CallMetrics
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.upstream.ports import Health, RequestContext, ServerLists, UpstreamNotification, UpstreamStatus
from remit.upstream.tool_reader import read_offer
from remit.upstream.upstream_model import Upstream
from remit.upstream.upstream_pool import UpstreamPool
from support.sandbox import Sandbox

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def offered(name: str, **more: object) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": f"does {name}", "inputSchema": SCHEMA, **more}


def accept_added_tools(sandbox: Sandbox) -> None:
    """Let known servers add tools without a person."""
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[trust]\nchanges = "note"\n')


@dataclass
class Asked:
    """A request that reached a server."""

    server: str
    method: str
    params: Params
    upstream: Upstream


class _Heard:
    def __init__(self) -> None:
        self.notices: list[UpstreamNotification] = []
        self.bell = anyio.Event()

    async def all(self) -> AsyncIterator[UpstreamNotification]:
        while True:
            await self.bell.wait()
            self.bell = anyio.Event()
            while self.notices:
                yield self.notices.pop(0)


@dataclass
class FakeLinks:
    """Servers that answer by hand, by their labels."""

    stocks: dict[str, ServerLists | Exception] = field(default_factory=dict[str, ServerLists | Exception])
    answers: dict[str, Callable[[Params], Answer]] = field(
        default_factory=dict[str, Callable[[Params], Answer]]
    )
    asked: list[Asked] = field(default_factory=list[Asked])
    stocked: list[str] = field(default_factory=list[str])
    dropped: list[frozenset[Key]] = field(default_factory=list[frozenset[Key]])
    left: list[str] = field(default_factory=list[str])
    elsewhere: set[str] = field(default_factory=set[str])  # what another gateway runs
    before_stock: Callable[[str], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self._listeners: list[_Heard] = []
        self._keys: dict[str, Key] = {}
        self._restarted: set[str] = set()

    async def request(
        self,
        upstream: Upstream,
        method: str,
        params: Params,
        caller: RequestContext,  # noqa: ARG002
    ) -> Answer:
        await self.claim(upstream)
        self._keys[upstream.label] = upstream.key
        self.asked.append(Asked(upstream.label, method, params, upstream))
        answer = self.answers.get(upstream.label)
        if answer is not None:
            return answer(params)
        return {"content": [{"type": "text", "text": f"{upstream.label} did {params.get('name')}"}]}

    async def claim(self, upstream: Upstream) -> None:
        if upstream.label in self.elsewhere:
            raise OwnedElsewhereError(f"`{upstream.label}` runs at another gateway", next_step="wait")

    async def list_all(
        self,
        upstream: Upstream,
        *,
        parts: frozenset[str] = frozenset(),  # noqa: ARG002
        caller: RequestContext | None = None,  # noqa: ARG002
    ) -> ServerLists:
        self._keys[upstream.label] = upstream.key
        self.stocked.append(upstream.label)
        await self.claim(upstream)
        if self.before_stock is not None:
            await self.before_stock(upstream.label)
        stock = self.stocks.get(upstream.label, ServerLists())
        if isinstance(stock, Exception):
            raise stock
        return stock

    async def list_first(
        self,
        upstream: Upstream,
        caller: RequestContext,  # noqa: ARG002
        *,
        parts: frozenset[str] = frozenset(),  # noqa: ARG002
    ) -> ServerLists | None:
        if upstream.label not in self._restarted:
            return None
        stock = self.stocks[upstream.label]
        assert isinstance(stock, ServerLists)
        return stock._replace(note_kept=lambda: self._restarted.discard(upstream.label))

    def restart(self, label: str, stock: ServerLists) -> None:
        """Replace the process of a server by one that lists something else, and announces nothing."""
        self.stocks[label] = stock
        self._restarted.add(label)

    def tell(self, label: str, method: str, **params: object) -> None:
        """Let a server say something by itself."""
        for each in self._listeners:
            each.notices.append(UpstreamNotification(self._keys[label], method, params))
            each.bell.set()

    @asynccontextmanager
    async def notifications(self) -> AsyncGenerator[AsyncIterator[UpstreamNotification]]:
        heard = _Heard()
        self._listeners.append(heard)
        yield heard.all()

    def statuses(self) -> list[UpstreamStatus]:
        return [UpstreamStatus(key, label, Health.UP) for label, key in self._keys.items()]

    async def drop(self, keys: frozenset[Key]) -> None:
        self.dropped.append(keys)

    def has_own(self, session: str) -> bool:  # noqa: ARG002
        return False

    async def leave(self, session: str) -> None:
        self.left.append(session)


YES: Answer = {"action": "accept", "content": {"approve": True}}  # of a person, to a question about a call


@dataclass
class FakeCaller:
    """A client that answers questions by hand."""

    session: str = "stdio"
    principal: str | None = None
    bound_projects: frozenset[str] | None = None
    may_call: bool = True
    may_approve: bool = True
    can_move: bool = False
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    takes_input_required: bool = False
    log_level: str | None = None
    answer: Answer | None = None
    questions: list[tuple[str, Params]] = field(default_factory=list[tuple[str, Params]])
    notified: list[tuple[str, Params]] = field(default_factory=list[tuple[str, Params]])

    async def send_request(self, method: str, params: Params) -> Answer:
        self.questions.append((method, params))
        if self.answer is None:
            raise JsonRpcError(-32601, "no")
        return self.answer

    async def notify(self, method: str, params: Params) -> None:
        self.notified.append((method, params))


@asynccontextmanager
async def endpoint(
    sandbox: Sandbox, links: FakeLinks, directory: Path, **opening: Any
) -> AsyncGenerator[LiveEndpoint]:
    """Serve an endpoint on a sandbox."""
    keeps_journal = bool(opening.pop("keeps_journal", False))
    wanted = EndpointSpec(str(directory), **opening)
    means = EndpointResources(
        sandbox.registry,
        open_notifier,
        read_offer,
        lambda: sandbox.time,
        sandbox.memory_of,
        str(sandbox.database.parent),
        CallMetrics(),
        keeps_journal=keeps_journal,
    )
    async with serve_endpoint(wanted, cast("UpstreamPool", links), means) as served:
        yield served


async def names(served: LiveEndpoint, asked: Params | None = None) -> list[str]:
    """The names that are listed, without Remit's own."""
    listing = await served.tools(asked or {})
    own = {"discover_tools", "call_tool", "why_tool", "report_available_tools", "read_result"}
    return [item["name"] for item in listing.items if item["name"] not in own]


async def call(
    served: LiveEndpoint,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    caller: RequestContext | None = None,
    **more: Any,
) -> Answer:
    """Call a tool."""
    return await served.call({"name": name, "arguments": arguments or {}, **more}, caller or FakeCaller())


def told(answer: Answer) -> str:
    """The words of an answer."""
    return "\n".join(item["text"] for item in answer["content"])
