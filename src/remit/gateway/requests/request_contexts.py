"""Request contexts: which client an upstream answers, and how to reach that client in each era."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from remit.configuration.config_model import Role
from remit.protocol.constants import ELICITATION_COMPLETE, is_at_least
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.upstream.ports import RequestContext

if TYPE_CHECKING:
    from remit.gateway.requests.client_request import ClientRequest, ClientSession

Notify = Callable[[str, Params], Awaitable[None]]

NO_CAPABILITIES: Mapping[str, Any] = MappingProxyType({})
ROOTS = "roots/list"

_REQUIRED_CAPABILITY = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    ROOTS: "roots",
}


class Channel(Protocol):
    """Sends the client messages about one request, on that request's stream if the transport has one."""

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send the client a request, if its era allows that.

        Raises:
            JsonRpcError: the client refuses or has disconnected.
        """
        ...

    async def notify(self, method: str, params: Params) -> None: ...


class ForwardedContext:
    """What is known about the client of another context, for one that reaches the client in its own way."""

    def __init__(self, caller: RequestContext) -> None:
        self.session = caller.session
        self.principal = caller.principal
        self.capabilities = caller.capabilities
        self.log_level = caller.log_level
        self.bound_projects = caller.bound_projects
        self.may_call = caller.may_call
        self.may_approve = caller.may_approve
        self.can_move = caller.can_move
        self.takes_input_required = caller.takes_input_required


class _ClientContext:
    """What is known about a client from its request."""

    def __init__(
        self,
        request: "ClientRequest",
        *,
        session: str,
        capabilities: Mapping[str, Any],
        log_level: str | None,
    ) -> None:
        self._channel = request.channel
        self.session = session
        self.principal = request.principal
        self.capabilities = capabilities
        self.log_level = log_level
        self.bound_projects = request.bound_projects
        self.may_call = request.role.includes(Role.USER)
        self.may_approve = request.may_approve
        self.can_move = request.can_move


class SessionRequestContext(_ClientContext):
    """The context of a request from a client with a session, which can be asked on the request's stream."""

    takes_input_required = False

    def __init__(self, request: "ClientRequest", session: "ClientSession") -> None:
        super().__init__(
            request, session=session.name, capabilities=session.capabilities, log_level=session.log_level
        )
        self._notify_later = session.notify_later  # on the session's stream
        self.is_answered = False

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send the client a request.

        Raises:
            JsonRpcError: the client cannot answer or refuses.
        """
        require_capability(method, params, self.capabilities)
        return await self._channel.send_request(method, params)

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client about this request."""
        is_log = method == "notifications/message"
        if method == ELICITATION_COMPLETE and self.is_answered:
            await self._notify_later(method, params)
        elif not is_log or self.log_level is None or is_at_least(params.get("level"), self.log_level):
            await self._channel.notify(method, params)


class StatelessRequestContext(_ClientContext):
    """The context of a request from a client without a session, which cannot be asked directly.

    Its roots are the endpoint's directory, which saves a round trip. Clients without the roots capability get
    none, because servers prefer roots over their own arguments.
    """

    takes_input_required = True

    def __init__(
        self,
        request: "ClientRequest",
        *,
        session: str,
        capabilities: Mapping[str, Any],
        log_level: str | None,
        roots: Answer,
    ) -> None:
        super().__init__(request, session=session, capabilities=capabilities, log_level=log_level)
        self.can_answer = "elicitation" in capabilities or "sampling" in capabilities
        self.roots = roots

    async def send_request(self, method: str, params: Params) -> Answer:
        """Answer `roots/list` and refuse everything else: only a call that can pause can ask the client.

        Raises:
            JsonRpcError: the client cannot answer, or not during this request.
        """
        require_capability(method, params, self.capabilities)
        if method == ROOTS:
            return self.roots
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"`{method}` cannot be asked during this request")

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client about this request; filter log messages by the level it asked for.

        This era does not announce completed URL elicitations: the client retries on its own.
        """
        is_log = method == "notifications/message"
        if method != ELICITATION_COMPLETE and (
            not is_log or is_at_least(params.get("level"), self.log_level)
        ):
            await self._channel.notify(method, params)


class ClientlessRequestContext:
    """The context of a request that the endpoint sends by itself, when no client can answer."""

    takes_input_required = False
    bound_projects: frozenset[str] | None = frozenset()
    may_call = True
    may_approve = False
    can_move = False
    log_level = None

    def __init__(
        self,
        session: str,
        principal: str | None,  # whose credential the server is asked with, if it needs one
        capabilities: Mapping[str, Any] = NO_CAPABILITIES,
    ) -> None:
        self.session = session
        self.principal = principal
        self.capabilities = capabilities

    async def send_request(self, method: str, params: Params) -> Answer:  # noqa: ARG002 - part of the interface
        """Refuse: no client asked.

        Raises:
            JsonRpcError: always.
        """
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"`{method}` cannot be asked during this request")

    async def notify(self, method: str, params: Params) -> None:
        """Do nothing."""


def require_capability(method: str, params: Params, capabilities: Mapping[str, Any]) -> None:
    """Check that a client declared the capability for a request.

    Raises:
        JsonRpcError: the capability is missing.
    """
    required = _REQUIRED_CAPABILITY.get(method)
    if required is None or required not in capabilities:
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"the client does not answer `{method}`")
    if required == "elicitation" and params.get("mode") == "url" and "url" not in capabilities[required]:
        raise JsonRpcError(
            ErrorCode.METHOD_NOT_FOUND, "the client does not answer `elicitation/create` by URL"
        )
