"""Attributes questions: a person who is asked something through the gateway sees which server asks.

Their client only knows the gateway and shows its name, so one server could pose as another. The server's name
comes first, and no control character in its message can hide that.
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
# Classes of characters that turn the direction of text.
_BIDIRECTIONAL = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


class CallableUpstream(Protocol):
    """Passes requests on to upstreams: the pool, or memory."""

    async def request(
        self, upstream: Upstream, method: str, params: Params, caller: RequestContext
    ) -> Answer: ...


async def request_attributed(
    requester: CallableUpstream, upstream: Upstream, method: str, params: Params, caller: RequestContext
) -> Answer:
    """Pass a request on; every question of the server names it.

    Raises:
        JsonRpcError: the upstream answers with an error.
        UpstreamError: it cannot be reached, or does not answer as the protocol asks.
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
    """A request context whose client sees which server asks."""

    __slots__ = ("_caller", "_server")

    def __init__(self, caller: RequestContext, server: str) -> None:
        self._caller = caller
        self._server = server

    @property
    def session(self) -> str:
        """The caller's."""
        return self._caller.session

    @property
    def principal(self) -> str | None:
        """The caller's."""
        return self._caller.principal

    @property
    def bound_projects(self) -> frozenset[str] | None:
        """The caller's."""
        return self._caller.bound_projects

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The caller's."""
        return self._caller.capabilities

    @property
    def takes_input_required(self) -> bool:
        """The caller's."""
        return self._caller.takes_input_required

    @property
    def log_level(self) -> str | None:
        """The caller's."""
        return self._caller.log_level

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask the client."""
        named = _named({"method": method, "params": params}, self._server)
        return await self._caller.send_request(method, as_object(named["params"]))

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client."""
        await self._caller.notify(method, params)


def _named(question: Any, server: str) -> Any:
    """Put the server's name before the message of a question; leave other requests as they are."""
    asked = as_object(question)
    params = as_object(asked.get("params"))
    if asked.get("method") != _QUESTION or not isinstance(params.get("message"), str):
        return question
    return {**asked, "params": _by(server, params)}


def _pages_named(data: object, server: str) -> object:
    """Put the server's name before each message that asks to open a page."""
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
    """Replace the characters that move the cursor or turn the direction of text."""
    return "".join(" " if _is_control(char) else char for char in text).lstrip()


def _is_control(char: str) -> bool:
    return (category(char) == "Cc" and char not in "\n\t") or bidirectional(char) in _BIDIRECTIONAL
