"""Names the asking server in each elicitation.

Clients know only the gateway and show its name, so one server could pose as another. The server's name comes
first, and control characters in the message cannot hide it.
"""

from collections.abc import Mapping
from typing import Any, Protocol, cast
from unicodedata import bidirectional, category

from remit.decision.tool_names import full_label
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params, as_object
from remit.text.limits import one_line
from remit.upstream.ports import RequestContext
from remit.upstream.upstream_model import Upstream

_QUESTION = "elicitation/create"
_LONGEST_NAME = 100
# Bidirectional classes of characters that change the direction of text.
_BIDIRECTIONAL = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


class CallableUpstream(Protocol):
    """Forwards requests to upstreams: the pool, or memory."""

    async def request(
        self, upstream: Upstream, method: str, params: Params, caller: RequestContext
    ) -> Answer: ...


async def request_attributed(
    requester: CallableUpstream, upstream: Upstream, method: str, params: Params, caller: RequestContext
) -> Answer:
    """Forward a request, and name the server in each of its questions.

    Raises:
        JsonRpcError: the upstream answers with an error.
        UpstreamError: it cannot be reached, or violates the protocol.
    """
    server = one_line(full_label(upstream.label, upstream.plugin), _LONGEST_NAME)
    try:
        answer = await requester.request(upstream, method, params, AttributedCaller(caller, server))
    except JsonRpcError as error:
        if error.code != ErrorCode.URL_ELICITATION_REQUIRED:
            raise
        raise JsonRpcError(error.code, str(error), _pages_named(error.data, server)) from error
    if answer.get("resultType") != "input_required":
        return answer
    asked = as_object(answer.get("inputRequests"))
    named = {name: _named(question, server) for name, question in asked.items()}
    return {**answer, "inputRequests": named} if named else answer


class AttributedCaller:
    """A request context that names the server in each question to the client."""

    __slots__ = ("_caller", "_server")

    def __init__(self, caller: RequestContext, server: str) -> None:
        self._caller = caller
        self._server = server

    @property
    def session(self) -> str:
        """The caller's session."""
        return self._caller.session

    @property
    def principal(self) -> str | None:
        """The caller's principal."""
        return self._caller.principal

    @property
    def bound_projects(self) -> frozenset[str] | None:
        """The caller's bound projects."""
        return self._caller.bound_projects

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The caller's capabilities."""
        return self._caller.capabilities

    @property
    def takes_input_required(self) -> bool:
        """Whether the caller takes `input_required` answers."""
        return self._caller.takes_input_required

    @property
    def log_level(self) -> str | None:
        """The caller's log level."""
        return self._caller.log_level

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send the client a request that names the server."""
        named = _named({"method": method, "params": params}, self._server)
        return await self._caller.send_request(method, as_object(named["params"]))

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client."""
        await self._caller.notify(method, params)


def _named(question: Any, server: str) -> Any:
    """Prefix the message of an elicitation with the server's name; return other requests unchanged."""
    asked = as_object(question)
    params = as_object(asked.get("params"))
    if asked.get("method") != _QUESTION or not isinstance(params.get("message"), str):
        return question
    return {**asked, "params": _by(server, params)}


def _pages_named(data: object, server: str) -> object:
    """Prefix the message of each URL elicitation with the server's name."""
    told = as_object(data)
    pages = told.get("elicitations")
    if not isinstance(pages, list):
        return data
    named = [_by(server, as_object(each)) or each for each in cast("list[object]", pages)]
    return {**told, "elicitations": named}


def _by(server: str, question: Mapping[str, Any]) -> dict[str, Any]:
    message = question.get("message")
    said = {"message": f"{server} asks: {_without_controls(message)}"} if isinstance(message, str) else {}
    return {**question, **said}


def _without_controls(text: str) -> str:
    """Replace characters that move the cursor or change the direction of text."""
    return "".join(" " if _is_control(char) else char for char in text).lstrip()


def _is_control(char: str) -> bool:
    return (category(char) == "Cc" and char not in "\n\t") or bidirectional(char) in _BIDIRECTIONAL
