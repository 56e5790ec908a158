"""Serves clients of 2026-07-28: each request is self-contained, and answers may ask for input."""

from remit.gateway.eras.downstream_era import SERVER_INFO, EndpointContext
from remit.gateway.requests.client_request import ClientRequest
from remit.gateway.requests.pending_elicitations import Work
from remit.gateway.requests.request_contexts import StatelessRequestContext
from remit.protocol.constants import CAPABILITIES_KEY, LIST_METHODS, LOG_LEVEL_KEY, SERVER_KEY
from remit.protocol.json_rpc import Answer, ErrorCode, Params
from remit.text.json_values import as_object

_CACHEABLE = frozenset({*LIST_METHODS, "resources/read", "server/discover"})
_NO_CACHE = {"ttlMs": 0, "cacheScope": "private"}  # states can change a list at any time, per client


class StatelessDownstream:
    """Answers clients without a session."""

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
        """Create the context from the request's envelope."""
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
