"""Serves clients up to 2025-11-25, which open a session with `initialize` and answer server requests."""

from remit.gateway.eras.downstream_era import EndpointContext
from remit.gateway.requests.client_request import ClientRequest
from remit.gateway.requests.pending_elicitations import Work
from remit.gateway.requests.request_contexts import SessionRequestContext
from remit.protocol.json_rpc import Answer, Params

_STATELESS_MEMBERS = ("resultType", "ttlMs", "cacheScope")


class SessionDownstream:
    """Answers clients that have a session."""

    missing_methods = frozenset({"subscriptions/listen", "server/discover"})
    extensions_key = "experimental"

    def answer(self, answer: Answer, method: str) -> Answer:  # noqa: ARG002 - the same for all methods
        """Remove members that this era does not know."""
        if not any(name in answer for name in _STATELESS_MEMBERS):
            return answer
        return {name: value for name, value in answer.items() if name not in _STATELESS_MEMBERS}

    def error_code(self, code: int) -> int:
        """Return the code unchanged."""
        return code

    def context(self, request: ClientRequest, endpoint: EndpointContext) -> SessionRequestContext:  # noqa: ARG002
        """Create the context from the client's session."""
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
