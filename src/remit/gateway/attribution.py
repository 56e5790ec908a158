"""Introducing: a person who is asked something through the gateway is told which server asks.

Their client knows the gateway alone, and shows its name: one server could ask for what another may know. So
nothing that a server writes stands before its name, or can have a terminal write over it.
"""

from collections.abc import Mapping
from typing import Any, cast
from unicodedata import bidirectional, category

from remit.decision.tool_names import full_label
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params, as_object
from remit.text.limits import one_line
from remit.upstream.ports import RequestContext, UpstreamPool
from remit.upstream.upstream_model import Upstream

_QUESTION = "elicitation/create"
_LONGEST_NAME = 100
# What turns the order of characters.
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


async def request_attributed(
    links: UpstreamPool, upstream: Upstream, method: str, params: Params, caller: RequestContext
) -> Answer:
    """Pass a request on; whatever its server asks back names it.

    Raises:
        JsonRpcError: the upstream answers with an error.
        UpstreamError: it cannot be reached, or does not answer as the protocol asks.
    """
    server = one_line(full_label(upstream.label, upstream.plugin), _LONGEST_NAME)
    try:
        answer = await links.request(upstream, method, params, AttributedCaller(caller, server))
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
    """A caller who is told which server asks."""

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
        """Ask its client; errors are as those of any caller."""
        named = _named({"method": method, "params": params}, self._server)
        return await self._caller.send_request(method, as_object(named["params"]))

    async def notify(self, method: str, params: Params) -> None:
        """Tell its client something."""
        await self._caller.notify(method, params)


def _named(question: Any, server: str) -> Any:
    """Give a question with the name of who asks before its message; what is no such question, as it came."""
    asked = as_object(question)
    params = as_object(asked.get("params"))
    if asked.get("method") != _QUESTION or not isinstance(params.get("message"), str):
        return question
    return {**asked, "params": _by(server, params)}


def _pages_named(data: object, server: str) -> object:
    """Name who wants somebody to go to pages first, before each of their messages."""
    told = as_object(data)
    pages = told.get("elicitations")
    if not isinstance(pages, list):
        return data
    named = [_by(server, as_object(each)) or each for each in cast("list[object]", pages)]
    return {**told, "elicitations": named}


def _by(server: str, question: Mapping[str, Any]) -> dict[str, Any]:
    message = question.get("message")
    said = {"message": f"{server} asks: {_still(message)}"} if isinstance(message, str) else {}
    return {**question, **said}


def _still(text: str) -> str:
    """Write a text without what moves about on a screen."""
    return "".join(" " if _moves(char) else char for char in text).lstrip()


def _moves(char: str) -> bool:
    return (category(char) == "Cc" and char not in "\n\t") or bidirectional(char) in _TURNING
