"""Requests, and the sessions that some of them belong to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from remit.gateway.requests.request_contexts import NOTHING, Channel, Notify
from remit.gateway.requests.subscribers import Subscriber
from remit.upstream.ports import Params


class ClientSession:
    """What is kept of a client that has a session."""

    def __init__(
        self, name: str, principal: str | None = None, capabilities: Mapping[str, Any] = NOTHING
    ) -> None:
        self.name = name
        self.principal = principal
        self.capabilities = capabilities
        self.log_level: str | None = None
        self.listener: Subscriber | None = None
        self.notify: Notify | None = None  # on no request's stream

    async def tell_afterwards(self, method: str, params: Params) -> None:
        """Tell its client what belongs to a request that was answered, if it can be told anything."""
        if self.notify is not None:
            await self.notify(method, params)


class ClientRequest(NamedTuple):
    """One request, as it came; its transport has looked whether it is well-formed."""

    id: str | int
    method: str
    params: Params
    channel: Channel
    session: ClientSession | None  # None: it is one of 2026, and stands for itself
    principal: str | None = None
    place: str = "stdio"  # what callers without a session share upstreams by
    bound_projects: frozenset[str] | None = None  # whose memory its caller may know of; None: any
