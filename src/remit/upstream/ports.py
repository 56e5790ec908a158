"""What passes between the three parts of the gateway: who asks, what an endpoint answers, who is asked.

All messages are raw: what the protocol's JSON says, with its own spelling of keys. Each part knows the two
eras of the protocol only at its own edge.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from remit.decision.declarations import Key
from remit.upstream.upstream_model import Failure, Upstream

Params = Mapping[str, Any]
Answer = dict[str, Any]


class JsonRpcError(Exception):
    """An error as JSON-RPC has it: an upstream's own, which passes unchanged, or ours."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class RequestContext(Protocol):
    """One request from downstream: on whose behalf an upstream is asked, and whom that may ask back."""

    @property
    def session(self) -> str: ...  # the same for requests that may share an upstream's own session

    @property
    def principal(self) -> str | None: ...  # whose approvals count; None: the endpoint's own

    @property
    def bound_projects(self) -> frozenset[str] | None: ...  # whose memory it may know of; None: any

    @property
    def capabilities(self) -> Mapping[str, Any]: ...  # its client's: sampling, elicitation, roots

    @property
    def takes_input_required(self) -> bool: ...  # 2026: what an upstream wants to know may be its answer

    @property
    def log_level(self) -> str | None: ...  # the least that it wants to hear of; None: it did not say

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask its client: `elicitation/create`, `sampling/createMessage` or `roots/list`.

        Raises:
            JsonRpcError: the client cannot, or says no with an error.
        """
        ...

    async def notify(self, method: str, params: Params) -> None:
        """Tell its client `notifications/progress` or `notifications/message`, about this request.

        And that something is done which it was asked to do at a URL, by `notifications/elicitation/complete`:
        that may be long after.
        """
        ...


class Health(StrEnum):
    """How an upstream is."""

    IDLE = "idle"  # not started; the first call does that
    STARTING = "starting"
    UP = "up"
    DOWN = "down"  # it failed, and is tried again at the next call or after a while
    BROKEN = "broken"  # it failed so often that calls fail at once until it has rested


class UpstreamStatus(NamedTuple):
    """How one upstream is, for `remit status`."""

    key: Key
    label: str
    health: Health
    sessions: int = 0
    calls: int = 0
    errors: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    failure: Failure | None = None
    protocol_version: str | None = None


class ServerLists(NamedTuple):
    """All that an upstream lists, as it came; what it does not have is empty."""

    tools: Sequence[Any] = ()
    resources: Sequence[Any] = ()
    templates: Sequence[Any] = ()
    prompts: Sequence[Any] = ()
    capabilities: Mapping[str, Any] = MappingProxyType({})
    instructions: str | None = None
    protocol_version: str | None = None
    server_version: str | None = None


class UpstreamNotification(NamedTuple):
    """What an upstream says by itself: a list that changed, or a resource that was updated."""

    key: Key
    method: str
    params: Params


class UpstreamPool(Protocol):
    """The upstreams, each started when it is first needed and kept; whatever one does, the others go on."""

    async def request(
        self, upstream: Upstream, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        """Pass a request on, and give the answer as it came.

        `_meta.progressToken` in the parameters is the caller's own. When the surrounding scope is cancelled,
        the upstream is told so.

        Raises:
            JsonRpcError: the upstream answers with an error.
            UpstreamError: it cannot be reached, or does not answer as the protocol asks.
        """
        ...

    async def list_all(
        self, upstream: Upstream, *, parts: frozenset[str] = frozenset({"tools"})
    ) -> ServerLists:
        """Ask for all pages of what it lists: of `tools`, `resources`, `templates`, `prompts`.

        Raises:
            UpstreamError: it cannot be reached, or does not answer as the protocol asks.
        """
        ...

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[UpstreamNotification]]: ...

    def statuses(self) -> list[UpstreamStatus]: ...

    async def drop(self, keys: frozenset[Key]) -> None:
        """End the sessions of upstreams that are no longer in force, or whose entry changed."""
        ...

    async def leave(self, session: str) -> None:
        """End what upstreams keep for a caller's session alone: it is over."""
        ...
