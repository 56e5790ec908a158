"""Names the asking server in each elicitation and sampling request, bounds what it may ask, cleans its texts.

Clients know only the gateway and show its name, so one server could pose as another, or as Remit. The
server's name comes first, and nothing in the server's own words can hide it. The results of tools are data
and stay unchanged, except for the keys of `_meta` that are Remit's own.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit

from remit.decision import full_label
from remit.protocol import Answer, Caller, ErrorCode, JsonRpcError, Params
from remit.text import as_list, as_object, attribute, clean, one_line
from remit.upstream import Admit, Upstream, UpstreamPool

MAX_QUESTIONS = 3  # of one call
_QUESTION, _SAMPLING = "elicitation/create", "sampling/createMessage"
_LONGEST_NAME = 100
_LONGEST_ERROR = 4_000  # characters
_MOST_ROUNDS = 1_000  # answers of stateless servers that wait for input
_LABELS = ("title", "description", "enumNames")
_VALUES = ("const", "enum", "default")  # what an answer contains
_NOTED = ("message", "data", "logger")  # texts of progress and log notifications
_OWN_KEYS = "remit/"  # in `_meta`, such as `remit/refusal`
_OWN_LOGGER = re.compile(r"\W*remit\b", re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

_asked_before: "OrderedDict[str, int]" = OrderedDict()  # questions of a call, by `requestState`


async def request_attributed(
    pool: UpstreamPool,
    upstream: Upstream,
    method: str,
    params: Params,
    caller: Caller,
    *,
    admit: Admit | None = None,
) -> Answer:
    """Forward a request, and name the server in each of its questions.

    Raises:
        JsonRpcError: the server answers with an error, or asks what it may not ask.
        UpstreamError: it cannot be reached, or violates the protocol.
    """
    asking = _AskingServer(
        upstream.label, upstream.plugin, _asked_before.get(str(params.get("requestState")), 0)
    )
    try:
        answer = await pool.request(upstream, method, params, _AttributedCaller(caller, asking), admit=admit)
    except JsonRpcError as error:
        text = clean(str(error), _LONGEST_ERROR)
        if error.code != ErrorCode.URL_ELICITATION_REQUIRED:
            raise JsonRpcError(error.code, text, error.data) from error
        raise JsonRpcError(error.code, text, asking.named_pages(error.data)) from error
    answer = _without_own_keys(answer)
    return asking.named_requests(answer) if answer.get("resultType") == "input_required" else answer


class _AskingServer:
    """One server during one call: its name, and how much it has asked."""

    def __init__(self, label: str, plugin: str | None, asked: int) -> None:
        self.name = _server_name(label, plugin)
        self._asked = asked

    def named(self, method: str, params: Params) -> Params:
        """Name the server in a question, and clean its texts; leave other requests unchanged.

        Raises:
            JsonRpcError: the server may not ask this.
        """
        params = _without_own_keys(as_object(params))
        if method not in (_QUESTION, _SAMPLING):
            return params
        self._asked += 1
        if self._asked > MAX_QUESTIONS:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, f"a call may ask at most {MAX_QUESTIONS} questions")
        return self._named_form(params) if method == _QUESTION else self._named_prompt(params)

    def named_requests(self, answer: Answer) -> Answer:
        """Name the server in the questions of an answer that waits for input.

        Raises:
            JsonRpcError: the server may not ask them.
        """
        named: Answer = {}
        for key, request in as_object(answer.get("inputRequests")).items():
            asked = as_object(request)
            method = asked.get("method")
            if isinstance(method, str):
                named[key] = {**asked, "params": self.named(method, asked.get("params") or {})}
        if isinstance(state := answer.get("requestState"), str):
            _asked_before[state] = self._asked
            _asked_before.move_to_end(state)
            if len(_asked_before) > _MOST_ROUNDS:
                _asked_before.popitem(last=False)
        return {**answer, "inputRequests": named} if named else answer

    def named_pages(self, data: object) -> object:
        """Name the server in the message of each page that must be opened; leave out unsafe addresses."""
        told = as_object(data)
        pages = [as_object(page) for page in as_list(told.get("elicitations"))]
        if not pages:
            return data
        return {**told, "elicitations": [self._by(page) for page in pages if _is_safe(page.get("url"))]}

    def _named_form(self, params: Answer) -> Answer:
        if params.get("mode") == "url" and not _is_safe(params.get("url")):
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS, "Remit opens only `https` addresses, and `http` on this machine"
            )
        return self._by(params)

    def _by(self, question: Mapping[str, Any]) -> Answer:
        message, schema = question.get("message"), question.get("requestedSchema")
        said = {"message": attribute(f"{self.name} asks", message)} if isinstance(message, str) else {}
        form = {"requestedSchema": _clean_form(as_object(schema))} if as_object(schema) else {}
        return {**question, **said, **form}

    def _named_prompt(self, params: Answer) -> Answer:
        """Name the server where both a person and the model read it: at the start of the system prompt."""
        prompt, messages = params.get("systemPrompt"), params.get("messages")
        named = f"The MCP server `{self.name}` sends this request through Remit."
        more = f"\n\n{clean(prompt)}" if isinstance(prompt, str) and prompt else ""
        texts = {"messages": _clean_texts(messages)} if isinstance(messages, list) else {}
        # `allServers` would give it what other servers told the client.
        own = {"includeContext": "thisServer"} if params.get("includeContext", "none") != "none" else {}
        return {**params, **texts, **own, "systemPrompt": named + more}


class _AttributedCaller:
    """A caller whose client reads the name of the server in each question."""

    def __init__(self, caller: Caller, asking: _AskingServer) -> None:
        self.session = caller.session
        self.name = caller.name
        self.environment = caller.environment
        self.capabilities = caller.capabilities
        self.log_level = caller.log_level
        self.takes_input_required = caller.takes_input_required
        self._caller = caller
        self._asking = asking

    async def ask(self, method: str, params: Params) -> Answer:
        """Ask the client a question that names the server.

        Raises:
            JsonRpcError: the client cannot answer, or refuses, or the server may not ask this.
        """
        return await self._caller.ask(method, self._asking.named(method, params))

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client."""
        await self._caller.notify(method, _noted_by(self._asking.name, _without_own_keys(as_object(params))))


def _clean_form(value: Any, key: str = "") -> Any:
    """Clean the labels in the schema of a form, and put each on one line: a client shows them as its own."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value).items()
        return {name: part if name in _VALUES else _clean_form(part, name) for name, part in members}
    if isinstance(value, list):
        return [_clean_form(item, key) for item in cast("list[Any]", value)]
    return " ".join(clean(value).split()) if isinstance(value, str) and key in _LABELS else value


def _clean_texts(value: Any) -> Any:
    """Clean every text in a JSON value, except names of members."""
    if isinstance(value, Mapping):
        return {key: _clean_texts(member) for key, member in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_clean_texts(item) for item in cast("list[Any]", value)]
    return clean(value) if isinstance(value, str) else value


@lru_cache(maxsize=1_000)
def _server_name(label: str, plugin: str | None) -> str:
    return one_line(full_label(label, plugin), _LONGEST_NAME)


def _is_safe(url: object) -> bool:
    """Return whether a person may be sent to an address: `https`, or `http` on this machine."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    if parts is None or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def _without_own_keys(message: Answer) -> Answer:
    """Leave out the keys of `_meta` by which programs know what Remit itself says."""
    if "_meta" not in message:
        return message
    meta = as_object(message["_meta"])
    if not any(key.startswith(_OWN_KEYS) for key in meta):
        return message
    return {**message, "_meta": {key: meta[key] for key in meta if not key.startswith(_OWN_KEYS)}}


def _noted_by(server: str, params: Answer) -> Answer:
    """Clean the texts of a log or progress notification, and name the server of a logger called Remit."""
    texts = {key: clean(value) for key in _NOTED if isinstance(value := params.get(key), str)}
    if _OWN_LOGGER.match(logger := texts.get("logger", "")):
        texts["logger"] = f"{server}: {logger}"
    return {**params, **texts} if texts else params
