"""Callers: on whose behalf an upstream is asked, and how that may ask back, in each era."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from remit.gateway.requests.era_adapters import is_heard
from remit.protocol.constants import ELICITED, METHOD_NOT_FOUND
from remit.upstream.ports import Answer, JsonRpcError, Params

Notify = Callable[[str, Params], Awaitable[None]]

NOTHING: Mapping[str, Any] = MappingProxyType({})
ROOTS = "roots/list"

_NEEDED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", ROOTS: "roots"}


class Channel(Protocol):
    """The way back to the client for one request: on its own stream, where the transport has several."""

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask the client, where its era has that.

        Raises:
            JsonRpcError: it says no, or is gone.
        """
        ...

    async def notify(self, method: str, params: Params) -> None: ...


class SessionRequestContext:
    """One request of a client with a session: it is asked back on the request's own stream."""

    takes_input_required = False

    def __init__(
        self,
        channel: Channel,
        afterwards: Notify,  # on the stream of its session
        *,
        session: str,
        principal: str | None,
        capabilities: Mapping[str, Any],
        log_level: str | None,
        bound_projects: frozenset[str] | None,
    ) -> None:
        self._channel = channel
        self._afterwards = afterwards
        self.bound_projects = bound_projects
        self.session = session
        self.principal = principal
        self.capabilities = capabilities
        self.log_level = log_level
        self.is_answered = False

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask its client.

        Raises:
            JsonRpcError: the client cannot, or says no with an error.
        """
        require(method, params, self.capabilities)
        return await self._channel.send_request(method, params)

    async def notify(self, method: str, params: Params) -> None:
        """Tell its client something about this request."""
        is_log = method == "notifications/message"
        if method == ELICITED and self.is_answered:
            await self._afterwards(method, params)
        elif not is_log or self.log_level is None or is_heard(params.get("level"), self.log_level):
            await self._channel.notify(method, params)


class StatelessRequestContext:
    """One request of a client of 2026, which is only ever answered.

    It is not troubled for its roots, which would take a request more: they are the endpoint's directory. A
    client that has none is not said to have some: a server goes by them instead of by its own arguments.
    """

    takes_input_required = True

    def __init__(
        self,
        channel: Channel,
        *,
        session: str,
        principal: str | None,
        capabilities: Mapping[str, Any],
        log_level: str | None,
        bound_projects: frozenset[str] | None,
        roots: Answer,
    ) -> None:
        self._channel = channel
        self.bound_projects = bound_projects
        self.may_be_asked = "elicitation" in capabilities or "sampling" in capabilities
        self.session = session
        self.principal = principal
        self.capabilities = capabilities
        self.log_level = log_level
        self.roots = roots

    async def send_request(self, method: str, params: Params) -> Answer:
        """Refuse all but roots: only a call that is held can ask, and this one is not.

        Raises:
            JsonRpcError: the client cannot answer, or not now.
        """
        require(method, params, self.capabilities)
        if method == ROOTS:
            return self.roots
        raise JsonRpcError(METHOD_NOT_FOUND, f"`{method}` cannot be asked during this request")

    async def notify(self, method: str, params: Params) -> None:
        """Tell its client something about this request, of log messages only those that it asked for.

        That something was done by a URL is not said in 2026: its client asks again when it likes.
        """
        is_log = method == "notifications/message"
        if method != ELICITED and (not is_log or is_heard(params.get("level"), self.log_level)):
            await self._channel.notify(method, params)


class ClosedRequestContext:
    """A caller for what the gateway does when a session is over: there is nobody to ask or to tell."""

    takes_input_required = False
    bound_projects: frozenset[str] | None = frozenset()
    capabilities = NOTHING
    log_level = None

    def __init__(self, session: str, principal: str | None) -> None:
        self.session = session
        self.principal = principal

    async def send_request(self, method: str, params: Params) -> Answer:  # noqa: ARG002 - a caller can be asked
        """Refuse.

        Raises:
            JsonRpcError: always.
        """
        raise JsonRpcError(METHOD_NOT_FOUND, "the client is gone")

    async def notify(self, method: str, params: Params) -> None:
        """Do nothing."""


def require(method: str, params: Params, capabilities: Mapping[str, Any]) -> None:
    """Ask nothing of a client that it did not say it can answer.

    Raises:
        JsonRpcError: it cannot.
    """
    needed = _NEEDED.get(method)
    if needed is None or needed not in capabilities:
        raise JsonRpcError(METHOD_NOT_FOUND, f"the client does not answer `{method}`")
    if needed == "elicitation" and params.get("mode") == "url" and "url" not in capabilities[needed]:
        raise JsonRpcError(METHOD_NOT_FOUND, "the client does not answer `elicitation/create` by URL")
