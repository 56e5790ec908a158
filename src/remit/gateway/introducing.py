"""Introducing: a person who is asked something through the gateway is told which server asks.

Their client knows the gateway alone, and shows its name: one server could ask for what another may know.
"""

from collections.abc import Mapping
from typing import Any

from remit.core.upstreams import Upstream
from remit.exchange import Answer, Caller, Links, Params
from remit.gateway.raw import members

_QUESTION = "elicitation/create"


async def introduced(links: Links, upstream: Upstream, method: str, params: Params, caller: Caller) -> Answer:
    """Pass a request on; whatever its server asks back names it.

    Raises:
        AnsweredError: the upstream answers with an error.
        UpstreamError: it cannot be reached, or does not answer as the protocol asks.
    """
    answer = await links.request(upstream, method, params, Introduced(caller, upstream.label))
    if answer.get("resultType") != "input_required":
        return answer
    asked = members(answer.get("inputRequests"))
    named = {name: _named(question, upstream.label) for name, question in asked.items()}
    return {**answer, "inputRequests": named} if named else answer


class Introduced:
    """A caller who is told which server asks."""

    __slots__ = ("_caller", "_server")

    def __init__(self, caller: Caller, server: str) -> None:
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

    async def ask(self, method: str, params: Params) -> Answer:
        """Ask its client; errors are as those of any caller."""
        named = _named({"method": method, "params": params}, self._server)
        return await self._caller.ask(method, members(named["params"]))

    async def tell(self, method: str, params: Params) -> None:
        """Tell its client something."""
        await self._caller.tell(method, params)


def _named(question: Any, server: str) -> Any:
    """Give a question with the name of who asks before its message; what is no such question, as it came."""
    asked = members(question)
    params = members(asked.get("params"))
    if asked.get("method") != _QUESTION or not isinstance(params.get("message"), str):
        return question
    return {**asked, "params": {**params, "message": f"{server} asks: {params['message']}"}}
