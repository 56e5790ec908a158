"""Serves clients in each protocol era: the adapters, by era, for what the eras spell differently."""

from typing import NamedTuple

from remit import __version__
from remit.gateway.requests.client_request import ClientRequest
from remit.gateway.requests.pending_elicitations import PendingElicitations, Work
from remit.gateway.requests.request_contexts import SessionRequestContext, StatelessRequestContext
from remit.protocol.constants import CAPABILITIES_KEY, LIST_METHODS, LOG_LEVEL_KEY, SERVER_KEY
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, ErrorCode, Params
from remit.text.json_values import as_object

SERVER_INFO = {"name": "remit", "title": "Remit", "version": __version__}
_STATELESS_MEMBERS = ("resultType", "ttlMs", "cacheScope")
_CACHEABLE = frozenset({*LIST_METHODS, "resources/read", "server/discover"})
_NO_CACHE = {"ttlMs": 0, "cacheScope": "private"}  # states can change a list at any time, per client


class EndpointContext(NamedTuple):
    """The context that all requests to one endpoint share."""

    roots: Answer
    place: str
    pending: PendingElicitations


class SessionDownstream:
    """Answers clients up to 2025-11-25, which open a session with `initialize` and answer server requests."""

    missing_methods = frozenset({"subscriptions/listen", "server/discover"})
    extensions_key = "experimental"  # the capabilities member that holds extensions

    def answer(self, answer: Answer, method: str) -> Answer:  # noqa: ARG002 - the same for all methods
        """Remove members that this era does not know."""
        if not any(name in answer for name in _STATELESS_MEMBERS):
            return answer
        return {name: value for name, value in answer.items() if name not in _STATELESS_MEMBERS}

    def error_code(self, code: int) -> int:
        """Return the code unchanged."""
        return code

    def context(self, request: ClientRequest, endpoint: EndpointContext) -> SessionRequestContext:  # noqa: ARG002
        """Create the context for upstreams from the client's session."""
        session = request.session
        assert session is not None  # noqa: S101 - every request of this era has one
        return SessionRequestContext(request, session)

    async def run(
        self,
        request: ClientRequest,
        params: Params,  # noqa: ARG002 - only paused calls compare them
        endpoint: EndpointContext,
        work: Work,
    ) -> Answer:
        """Run the work directly; questions go to the client as requests."""
        caller = self.context(request, endpoint)
        try:
            return await work(caller)
        finally:
            caller.is_answered = True


class StatelessDownstream:
    """Answers clients of 2026-07-28: each request is self-contained, and answers may ask for input."""

    missing_methods = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping"})
    extensions_key = "extensions"

    def answer(self, answer: Answer, method: str) -> Answer:
        """Add the members that this era requires."""
        shaped = {"resultType": "complete", **answer}
        if method in _CACHEABLE and shaped["resultType"] == "complete":
            shaped = {**_NO_CACHE, **shaped}
        meta = shaped.get("_meta")
        shaped["_meta"] = {**(meta if isinstance(meta, dict) else {}), SERVER_KEY: SERVER_INFO}
        return shaped

    def error_code(self, code: int) -> int:
        """Replace the code for a missing resource, which this era does not have."""
        return ErrorCode.INVALID_PARAMS if code == ErrorCode.RESOURCE_NOT_FOUND else code

    def context(self, request: ClientRequest, endpoint: EndpointContext) -> StatelessRequestContext:
        """Create the context for upstreams from the request's envelope."""
        meta = as_object(request.params.get("_meta"))
        level = meta.get(LOG_LEVEL_KEY)
        return StatelessRequestContext(
            request,
            session=f"{request.place} at {endpoint.place}",
            capabilities=as_object(meta.get(CAPABILITIES_KEY)),
            log_level=level if isinstance(level, str) else None,
            roots=endpoint.roots,
        )

    async def run(
        self, request: ClientRequest, params: Params, endpoint: EndpointContext, work: Work
    ) -> Answer:
        """Run the work, or answer with its questions if it has any."""
        return await endpoint.pending.run(request.method, params, self.context(request, endpoint), work)


DOWNSTREAM_ERAS = {Era.SESSION: SessionDownstream(), Era.STATELESS: StatelessDownstream()}
