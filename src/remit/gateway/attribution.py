"""Names the asking server in each elicitation and sampling request, and cleans its texts.

Clients know only the gateway and show its name, so one server could pose as another, or as Remit. The
server's name comes first, and nothing in the server's own words can hide it. The results of tools are data
and stay unchanged, except for the keys of `_meta` that are Remit's own.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, cast

from remit.decision.tool_names import full_label
from remit.gateway.requests.request_contexts import ForwardedContext
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.text.untrusted_text import attribute, clean, clean_form, clean_values, one_line
from remit.upstream.ports import RequestContext
from remit.upstream.upstream_model import Upstream

_QUESTION = "elicitation/create"
_SAMPLING = "sampling/createMessage"
_LONGEST_NAME = 100
_LONGEST_ERROR = 4_000  # characters
_NOTED = ("message", "data", "logger")  # texts of progress and log notifications
_OWN_KEYS = "remit/"  # in `_meta`, such as `remit/refusal`
_OWN_LOGGER = re.compile(r"\W*remit\b", re.IGNORECASE)


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
    server = _server_name(upstream.label, upstream.plugin)
    try:
        answer = await requester.request(upstream, method, params, AttributedCaller(caller, server))
    except JsonRpcError as error:
        text = clean(str(error), _LONGEST_ERROR)
        if error.code != ErrorCode.URL_ELICITATION_REQUIRED:
            raise JsonRpcError(error.code, text, error.data) from error
        raise JsonRpcError(error.code, text, _pages_named(error.data, server)) from error
    answer = _without_own_keys(answer)
    if answer.get("resultType") != "input_required":
        return answer
    asked = as_object(answer.get("inputRequests"))
    named = {name: _named(question, server) for name, question in asked.items()}
    return {**answer, "inputRequests": named} if named else answer


@lru_cache(maxsize=1_000)
def _server_name(label: str, plugin: str | None) -> str:
    return one_line(full_label(label, plugin), _LONGEST_NAME)


class AttributedCaller(ForwardedContext):
    """A request context that names the server in each question to the client."""

    def __init__(self, caller: RequestContext, server: str) -> None:
        super().__init__(caller)
        self._caller = caller
        self._server = server

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send the client a request that names the server."""
        named = _named({"method": method, "params": params}, self._server)
        return await self._caller.send_request(method, as_object(named["params"]))

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client."""
        await self._caller.notify(method, _noted_by(self._server, _without_own_keys(as_object(params))))


def _named(question: Any, server: str) -> Any:
    """Name the server in a question to the client, and clean its texts; return other requests unchanged."""
    asked = as_object(question)
    given = as_object(asked.get("params"))
    params = _without_own_keys(given)
    if asked.get("method") == _QUESTION and isinstance(params.get("message"), str):
        return {**asked, "params": _by(server, params)}
    if asked.get("method") == _SAMPLING:
        return {**asked, "params": _sampled_by(server, params)}
    return question if params is given else {**asked, "params": params}


def _pages_named(data: object, server: str) -> object:
    """Name the server in the message of each URL elicitation."""
    told = as_object(data)
    pages = told.get("elicitations")
    if not isinstance(pages, list):
        return data
    named = [_by(server, as_object(each)) or each for each in cast("list[object]", pages)]
    return {**told, "elicitations": named}


def _by(server: str, question: Mapping[str, Any]) -> dict[str, Any]:
    message, schema = question.get("message"), question.get("requestedSchema")
    said = {"message": attribute(f"{server} asks", message)} if isinstance(message, str) else {}
    form = {"requestedSchema": clean_form(as_object(schema))} if as_object(schema) else {}
    return {**question, **said, **form}


def _sampled_by(server: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Name the server where both a person and the model read it: at the start of the system prompt."""
    prompt, messages = params.get("systemPrompt"), params.get("messages")
    named = f"The MCP server `{server}` sends this request through Remit."
    more = f"\n\n{clean(prompt)}" if isinstance(prompt, str) and prompt else ""
    texts = {"messages": clean_values(messages)} if isinstance(messages, list) else {}
    return {**params, **texts, "systemPrompt": named + more}


def _without_own_keys(message: dict[str, Any]) -> dict[str, Any]:
    """Leave out the keys of `_meta` by which programs know what Remit itself says."""
    meta = as_object(message.get("_meta"))
    if not any(key.startswith(_OWN_KEYS) for key in meta):
        return message
    return {**message, "_meta": {key: meta[key] for key in meta if not key.startswith(_OWN_KEYS)}}


def _noted_by(server: str, params: Params) -> Params:
    """Clean the texts of a log or progress notification, and name the server of a logger called Remit."""
    texts = {key: clean(value) for key in _NOTED if isinstance(value := params.get(key), str)}
    if _OWN_LOGGER.match(logger := texts.get("logger", "")):
        texts["logger"] = f"{server}: {logger}"
    return {**params, **texts} if texts else params
