"""A server made of functions, which asks its client in the manner of the client's era.

With a request of its own in the older eras, with a result that requires input in the new one. A list that
changes really changes, since a gateway has nothing to tell of one that stays the same.
"""

import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from serving import Announcing

Request = ServerRequestContext[Any, Any]
Params = types.CallToolRequestParams | types.GetPromptRequestParams
Result = dict[str, Any]

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
STRING: Result = {"type": "string"}
NOTHING: Result = {"type": "object", "properties": {}}
ANSWERS: Mapping[str, type[types.ElicitResult | types.CreateMessageResult | types.ListRootsResult]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
REQUESTS: Mapping[str, type[types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest]] = {
    "elicitation/create": types.ElicitRequest,
    "sampling/createMessage": types.CreateMessageRequest,
    "roots/list": types.ListRootsRequest,
}


class NeedsInputError(Exception):
    """A client of the new era has to answer before the request can go on."""

    def __init__(self, requests: Mapping[str, Result], state: str | None) -> None:
        super().__init__()
        self.result = {"resultType": "input_required", "inputRequests": dict(requests)}
        if state is not None:
            self.result["requestState"] = state


@dataclass
class Call:
    """One call of a tool or a prompt: what was asked, and a way to ask back."""

    request: Request
    params: Params

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.params.arguments or {}

    @property
    def capabilities(self) -> types.ClientCapabilities:
        return self.request.session.client_capabilities or types.ClientCapabilities()

    @property
    def state(self) -> str | None:
        return self.params.request_state

    async def ask(self, questions: Mapping[str, Result], state: str | None = None) -> dict[str, Any]:
        """Ask the client, all at once where its era can."""
        if self.request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            given = self.params.input_responses or {}
            missing = {
                key: question for key, question in questions.items() if not _fits(given, key, question)
            }
            if missing:
                raise NeedsInputError(questions, state)
            return dict(given)
        return {key: await self._asked(question) for key, question in questions.items()}

    async def ask_one(self, question: Result, key: str = "answer") -> Any:
        """Ask the client one thing."""
        return (await self.ask({key: question}))[key]

    async def _asked(self, question: Result) -> Any:
        method = question["method"]
        related = ServerMessageMetadata(related_request_id=self.request.request_id)
        asked = REQUESTS[method].model_validate(question, by_name=False)
        return await self.request.session.send_request(asked, ANSWERS[method], metadata=related)

    async def log(self, text: str) -> None:
        if LEVELS.index("info") >= LEVELS.index(world.level):
            with warnings.catch_warnings(action="ignore", category=MCPDeprecationWarning):
                await self.request.session.send_log_message(  # pyright: ignore[reportDeprecated] - the older eras log
                    "info", text, related_request_id=self.request.request_id
                )

    async def progress(self, done: float, total: float) -> None:
        token = (self.request.meta or {}).get("progress_token")
        if token is not None:
            told = types.ProgressNotificationParams(progress_token=token, progress=done, total=total)
            await self.request.session.send_notification(
                types.ProgressNotification(params=told), related_request_id=self.request.request_id
            )


def _fits(given: Mapping[str, Any], key: str, question: Result) -> bool:
    return isinstance(given.get(key), ANSWERS[question["method"]])


Handler = Callable[[Call], Awaitable[Result]]


@dataclass
class World:
    """What the server holds: its tools and prompts, and what was changed or asked for since it started."""

    tools: dict[str, tuple[Result, Handler]] = field(default_factory=dict[str, tuple[Result, Handler]])
    prompts: dict[str, tuple[Result, Handler]] = field(default_factory=dict[str, tuple[Result, Handler]])
    away: set[str] = field(default_factory=set[str])  # tools and prompts that are not there now
    level: str = "debug"
    watchers: dict[int, Request] = field(default_factory=dict[int, Request])
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)


world = World()


def tool(schema: Result = NOTHING, *, prefix: str = "test_") -> Callable[[Handler], Handler]:
    """Offer a function as a tool."""

    def offer(function: Handler) -> Handler:
        name = f"{prefix}{function.__name__}"
        world.tools[name] = ({"name": name, "description": function.__doc__, "inputSchema": schema}, function)
        return function

    return offer


def prompt(*arguments: str) -> Callable[[Handler], Handler]:
    """Offer a function as a prompt."""

    def offer(function: Handler) -> Handler:
        name = f"test_{function.__name__}"
        wanted = [{"name": word, "description": word, "required": True} for word in arguments]
        world.prompts[name] = (
            {"name": name, "description": function.__doc__, "arguments": wanted},
            function,
        )
        return function

    return offer


def takes(**properties: Any) -> Result:
    return {"type": "object", "properties": properties, "required": list(properties)}


def text(words: str) -> Result:
    return {"type": "text", "text": words}


def says(*content: Result) -> Result:
    return {"content": list(content)}


def user(*content: Result) -> Result:
    return {"messages": [{"role": "user", "content": one} for one in content]}


def resource(uri: str, words: str, kind: str = "text/plain") -> Result:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


def form(message: str, **properties: Any) -> Result:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(words: str, tokens: int = 100) -> Result:
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS: Result = {"method": "roots/list", "params": {}}


def build(name: str) -> Announcing:
    """The server that offers what was defined."""
    server = Announcing(
        name,
        version="1.0.0",
        on_list_tools=_list_tools,
        get_tool_input_schema=_schema,
        on_list_prompts=_list_prompts,
        on_subscriptions_listen=ListenHandler(world.bus),
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, _call_tool)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, _get_prompt)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name))
    return server


async def change(request: Request, *names: str) -> None:
    """Let tools or prompts come or go, and tell of it in both eras."""
    world.away.symmetric_difference_update(names)
    if any(name in world.tools for name in names):
        await world.bus.publish(ToolsListChanged())
        await request.session.send_tool_list_changed()
    if any(name in world.prompts for name in names):
        await world.bus.publish(PromptsListChanged())
        await request.session.send_prompt_list_changed()


async def _list_tools(_: Request, __: Any) -> types.ListToolsResult:
    shown = [definition for name, (definition, _) in world.tools.items() if name not in world.away]
    return types.ListToolsResult.model_validate({"tools": shown}, by_name=False)


async def _list_prompts(_: Request, __: Any) -> types.ListPromptsResult:
    shown = [definition for name, (definition, _) in world.prompts.items() if name not in world.away]
    return types.ListPromptsResult.model_validate({"prompts": shown}, by_name=False)


def _schema(name: str) -> Mapping[str, Any] | None:
    return world.tools[name][0]["inputSchema"] if name in world.tools else None


async def _call_tool(request: Request, params: types.CallToolRequestParams) -> Result:
    return await _answer(request, params, world.tools, "tool")


async def _get_prompt(request: Request, params: types.GetPromptRequestParams) -> Result:
    return await _answer(request, params, world.prompts, "prompt")


async def _answer(
    request: Request, params: Params, offered: Mapping[str, tuple[Result, Handler]], kind: str
) -> Result:
    if params.name not in offered or params.name in world.away:
        raise MCPError(types.INVALID_PARAMS, f"Unknown {kind}: {params.name}")
    try:
        return {"resultType": "complete", **await offered[params.name][1](Call(request, params))}
    except NeedsInputError as needs:
        return needs.result
