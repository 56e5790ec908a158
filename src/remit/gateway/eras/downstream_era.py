"""The part of serving clients that differs between protocol eras."""

from typing import NamedTuple, Protocol

from remit import __version__
from remit.gateway.requests.client_request import ClientRequest
from remit.gateway.requests.pending_elicitations import PendingElicitations, Work
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.ports import RequestContext

SERVER_INFO = {"name": "remit", "title": "Remit", "version": __version__}


class EndpointContext(NamedTuple):
    """The context that all requests to one endpoint share."""

    roots: Answer
    place: str
    pending: PendingElicitations


class DownstreamEra(Protocol):
    """Answers clients of one era."""

    @property
    def missing_methods(self) -> frozenset[str]:
        """The methods that only other eras have."""
        ...

    @property
    def extensions_key(self) -> str:
        """The capabilities member that holds extensions."""
        ...

    def answer(self, answer: Answer, method: str) -> Answer:
        """Convert an answer to the form of this era."""
        ...

    def error_code(self, code: int) -> int:
        """Translate an error code."""
        ...

    def context(self, request: ClientRequest, endpoint: EndpointContext) -> RequestContext:
        """Create the request context for upstreams."""
        ...

    async def run(
        self, request: ClientRequest, params: Params, endpoint: EndpointContext, work: Work
    ) -> Answer:
        """Run work that may send requests to the client."""
        ...
