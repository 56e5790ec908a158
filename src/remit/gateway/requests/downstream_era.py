"""What differs between the protocol's eras when a client calls Remit."""

from typing import NamedTuple, Protocol

from remit import __version__
from remit.gateway.requests.client_request import ClientRequest
from remit.gateway.requests.pending_elicitations import PendingElicitations, Work
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.ports import RequestContext

SERVER_INFO = {"name": "remit", "title": "Remit", "version": __version__}


class EndpointContext(NamedTuple):
    """What all requests to one endpoint share."""

    roots: Answer
    place: str
    pending: PendingElicitations


class DownstreamEra(Protocol):
    """How to answer clients of one era."""

    @property
    def missing_methods(self) -> frozenset[str]:
        """Methods that only other eras have."""
        ...

    @property
    def extensions_key(self) -> str:
        """The member of the capabilities that holds extensions."""
        ...

    def answer(self, answer: Answer, method: str) -> Answer:
        """Give an answer the form of this era."""
        ...

    def error_code(self, code: int) -> int:
        """Translate an error code."""
        ...

    def context(self, request: ClientRequest, endpoint: EndpointContext) -> RequestContext:
        """Make the context in which upstreams work for a request."""
        ...

    async def run(
        self, request: ClientRequest, params: Params, endpoint: EndpointContext, work: Work
    ) -> Answer:
        """Do work that may ask the client something."""
        ...
