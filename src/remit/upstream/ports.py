"""The interface between the gateway and its upstreams.

All messages are raw JSON with the protocol's own keys. Each side handles the eras of the protocol at its own
edge.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from remit.decision.declarations import Key
from remit.presentation.app_metadata import EXTENSION as APPS
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.upstream_model import Failure


class RequestContext(Protocol):
    """A downstream request: the client that an upstream works for, and how to reach it."""

    @property
    def session(self) -> str: ...  # requests with the same value may share an upstream session

    @property
    def principal(self) -> str | None: ...  # whose approvals count; None: the endpoint's own

    @property
    def bound_projects(self) -> frozenset[str] | None: ...  # projects whose memory it may read; None: any

    @property
    def may_call(self) -> bool: ...  # whether its role allows calls

    @property
    def may_approve(self) -> bool: ...  # whether its person may approve calls

    @property
    def can_move(self) -> bool: ...  # whether a load balancer repeats it at another gateway

    @property
    def capabilities(self) -> Mapping[str, Any]: ...  # of the client: sampling, elicitation, roots

    @property
    def takes_input_required(self) -> bool: ...  # whether `input_required` may be the answer

    @property
    def log_level(self) -> str | None: ...  # the minimum; None: not set

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send the client `elicitation/create`, `sampling/createMessage` or `roots/list`.

        Raises:
            JsonRpcError: the client cannot answer, or refuses.
        """
        ...

    async def notify(self, method: str, params: Params) -> None:
        """Send the client `notifications/progress` or `notifications/message` about this request.

        Also send `notifications/elicitation/complete`, possibly long after the request.
        """
        ...


class Health(StrEnum):
    """The health of an upstream."""

    IDLE = "idle"  # the first call starts it
    STARTING = "starting"
    UP = "up"
    DOWN = "down"  # it failed; the next call tries again, perhaps after a pause
    BROKEN = "broken"  # it failed so often that calls fail at once for a while


class UpstreamStatus(NamedTuple):
    """The status of one upstream, for `remit status`."""

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
    restarts: int = 0  # after a failure
    output: Sequence[str] = ()  # the last lines of stderr, without secrets


_HEALTHIEST = (Health.UP, Health.STARTING, Health.IDLE, Health.DOWN, Health.BROKEN)


def merged_statuses(statuses: Iterable[UpstreamStatus]) -> list[UpstreamStatus]:
    """Report each upstream once, though several principals have sessions of their own with it."""
    found: dict[Key, UpstreamStatus] = {}
    for status in statuses:
        before = found.get(status.key)
        found[status.key] = status if before is None else _merged(before, status)
    return list(found.values())


def _merged(one: UpstreamStatus, other: UpstreamStatus) -> UpstreamStatus:
    best = min(one, other, key=lambda each: _HEALTHIEST.index(each.health))
    return best._replace(
        sessions=one.sessions + other.sessions,
        calls=one.calls + other.calls,
        errors=one.errors + other.errors,
        p50_ms=max(filter(None, (one.p50_ms, other.p50_ms)), default=None),  # of the slowest principal
        p95_ms=max(filter(None, (one.p95_ms, other.p95_ms)), default=None),
        restarts=one.restarts + other.restarts,
    )


TOOLS = frozenset({"tools"})
PARTS = TOOLS | {"resources", "templates", "prompts"}


class ServerLists(NamedTuple):
    """Everything an upstream lists, as raw JSON."""

    tools: Sequence[Any] = ()
    resources: Sequence[Any] = ()
    templates: Sequence[Any] = ()
    prompts: Sequence[Any] = ()
    capabilities: Mapping[str, Any] = MappingProxyType({})
    instructions: str | None = None
    protocol_version: str | None = None
    server_version: str | None = None
    offered_to: str = "{}"  # the capabilities of the client in the session that was asked
    is_partial: bool = False  # clients with other capabilities may be offered more
    note_kept: Callable[[], None] = lambda: None  # call it once the tools are stored
    note_compared: Callable[[], None] = lambda: None  # call it if they need not be stored now
    secrets: Callable[[], frozenset[str]] = frozenset  # values that must never be shown


# What an endpoint can relay to its clients, and declares where it asks for no client in particular.
RELAYED: Mapping[str, Any] = MappingProxyType(
    {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {},
        "extensions": {APPS: {"mimeTypes": ["text/html;profile=mcp-app"]}},
    }
)


def canonical_capabilities(capabilities: Mapping[str, Any]) -> str:
    """Write capabilities so that equal ones are equal texts."""
    return json.dumps(dict(capabilities), sort_keys=True) if capabilities else "{}"


class UpstreamNotification(NamedTuple):
    """A notification that a list changed or a resource was updated."""

    key: Key
    method: str
    params: Params
