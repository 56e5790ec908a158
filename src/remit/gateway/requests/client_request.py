"""Requests from clients, and the sessions that some of them belong to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from remit.configuration.config_model import Role
from remit.gateway.access.call_limits import CallLimiter
from remit.gateway.requests.request_contexts import NO_CAPABILITIES, Channel, Notify
from remit.gateway.requests.subscribers import Subscriber
from remit.protocol.constants import ENVELOPE_KEYS
from remit.protocol.era import Era
from remit.protocol.json_rpc import Params
from remit.text.json_values import as_object


class ClientSession:
    """The state of a client's session."""

    def __init__(
        self, name: str, principal: str | None = None, capabilities: Mapping[str, Any] = NO_CAPABILITIES
    ) -> None:
        self.name = name
        self.principal = principal
        self.capabilities = capabilities
        self.log_level: str | None = None
        self.promoted: dict[str, None] = {}  # names of tools that it lists since it called them, in order
        self.withheld: frozenset[str] | None = None  # as of its first list, so the list does not shrink
        self.subscriber: Subscriber | None = None
        self.notify: Notify | None = None  # sends outside the stream of any request

    async def notify_later(self, method: str, params: Params) -> None:
        """Notify the client after its request was answered, if the transport allows it."""
        if self.notify is not None:
            await self.notify(method, params)


class ClientRequest(NamedTuple):
    """A request that the transport has validated."""

    id: str | int
    method: str
    params: Params
    channel: Channel
    era: Era
    session: ClientSession | None = None  # None in an era without sessions
    principal: str | None = None
    place: str = "stdio"  # requests without a session share upstream sessions per place
    bound_projects: frozenset[str] | None = None  # projects whose memory it may read; None: any
    role: Role = Role.ADMIN  # in the endpoint's project
    limiter: CallLimiter | None = None  # of its principal
    may_approve: bool = True  # whether its person may approve calls
    trace_headers: Mapping[str, str] = {}  # the trace context in the headers of HTTP
    can_move: bool = False  # whether a load balancer repeats it at another gateway


def without_envelope(params: Params) -> Params:
    """Remove the `_meta` members that are meant for Remit."""
    meta = as_object(params.get("_meta"))
    if ENVELOPE_KEYS.isdisjoint(meta):
        return params
    kept = {name: value for name, value in meta.items() if name not in ENVELOPE_KEYS}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": kept} if kept else rest
