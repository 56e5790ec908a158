"""The caller: the client that a request to a server is for, and how to ask it back."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from remit.protocol.messages import Answer, ErrorCode, JsonRpcError, Params

# What callers may declare, and what is declared where a server is asked for no caller in particular.
RELAYED: Mapping[str, Any] = MappingProxyType(
    {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {},
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
    }
)
_REQUIRED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


class Caller(Protocol):
    """A client's request, for whose client a server works."""

    @property
    def session(self) -> str: ...  # requests with the same value may share a server's session
    @property
    def name(self) -> str | None: ...  # whose approvals and credentials count; None: the endpoint's own
    @property
    def environment(self) -> Mapping[str, str]: ...  # the client's variables, for servers started for it
    @property
    def capabilities(self) -> Mapping[str, Any]: ...  # of the client: sampling, elicitation, roots
    @property
    def log_level(self) -> str | None: ...  # the minimum; None: not set
    @property
    def takes_input_required(self) -> bool: ...  # whether `input_required` may be the answer

    async def ask(self, method: str, params: Params) -> Answer:
        """Ask the client `elicitation/create`, `sampling/createMessage` or `roots/list`.

        Raises:
            JsonRpcError: the client cannot answer, or refuses.
        """
        ...

    async def notify(self, method: str, params: Params) -> None:
        """Send the client `notifications/progress` or `notifications/message` about this request.

        Also send `notifications/elicitation/complete`, possibly long after the request.
        """
        ...


def require_capability(method: str, params: Params, capabilities: Mapping[str, Any]) -> None:
    """Check that a client declared the capability for a request.

    Raises:
        JsonRpcError: the capability is missing.
    """
    required = _REQUIRED.get(method)
    if required is None or required not in capabilities:
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"the client does not answer `{method}`")
    if required == "elicitation" and params.get("mode") == "url" and "url" not in capabilities[required]:
        raise JsonRpcError(
            ErrorCode.METHOD_NOT_FOUND, "the client does not answer `elicitation/create` by URL"
        )
