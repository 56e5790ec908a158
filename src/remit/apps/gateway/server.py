"""The face of one endpoint: a server of the SDK for both eras, which answers raw from the endpoint.

Requests are answered in a middleware of the SDK: what an endpoint says is passed on as it is, neither
validated again nor cut to what this version of the SDK knows. Lists are encoded once per revision.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, cast

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit import __version__
from remit.apps.gateway.audience import Audience, Listener, notification
from remit.apps.gateway.callers import NOTHING, Nobody, RequestCaller, SessionCaller
from remit.apps.gateway.encoding import Lists
from remit.apps.gateway.eras import (
    as_object,
    code_for,
    for_2026,
    for_older,
    is_modern,
    roots_of,
    without_envelope,
)
from remit.apps.gateway.held import HeldCalls
from remit.apps.gateway.sdk import RequestContext, channel_of, connection_of
from remit.apps.gateway.tally import Tally
from remit.errors import RemitError
from remit.exchange import Answer, AnsweredError, Caller, Change, Endpoint, Listing, Opening, Params, Part

NAME = "remit"

_logger = logging.getLogger(__name__)
_STATE = "remit"  # our place in the SDK's connection
_WANTED = {
    "toolsListChanged": Part.TOOLS,
    "promptsListChanged": Part.PROMPTS,
    "resourcesListChanged": Part.RESOURCES,
}

Handler = Callable[[RequestContext, Params], Awaitable[Answer]]


class Session:
    """What is kept of a client with a session."""

    def __init__(self, name: str, capabilities: Mapping[str, Any]) -> None:
        self.name = name
        self.capabilities = capabilities
        self.log_level: str | None = None
        self.listener: Listener | None = None


class Face(Server[Any]):
    """One endpoint, as its clients see it."""

    def __init__(self, endpoint: Endpoint, opening: Opening, tasks: TaskGroup, *, is_stdio: bool) -> None:
        super().__init__(
            NAME,
            version=__version__,
            title="Remit",
            instructions=endpoint.instructions,
            get_tool_input_schema=endpoint.input_schema,
        )
        self.middleware = [self._answer]  # without the SDK's spans: nothing collects them here
        self.audience = Audience()
        self.tally = Tally()
        self.sessions = 0  # of clients that have one
        self._endpoint = endpoint
        self._tasks = tasks
        self._is_stdio = is_stdio
        self._roots = roots_of(opening.directory)
        self._held = HeldCalls(tasks)
        self._lists = Lists()
        self._over = anyio.Event()
        self._info = self.server_info_stamp
        self._handlers: dict[str, Handler] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "prompts/list": self._list_prompts,
            "resources/read": self._pass_on_held,
            "prompts/get": self._pass_on_held,
            "completion/complete": self._pass_on,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "subscriptions/listen": self._listen,
            "logging/setLevel": self._set_level,
        }

    async def relay_changes(self) -> None:
        """Tell all who listen of each change, until cancelled."""
        async with self._endpoint.changes() as changes:
            async for change in changes:
                self.audience.tell(change)

    def end(self) -> None:
        """End the streams of those who listen, in the way they can tell from a failure."""
        self._over.set()

    def create_initialization_options(self, *_: Any, **__: Any) -> Any:
        """Say what an older client is told at the start."""
        self.instructions = self._endpoint.instructions
        return super().create_initialization_options()

    def get_capabilities(self, *_: Any, **__: Any) -> types.ServerCapabilities:
        """Say what this endpoint has; lists may change in both eras."""
        return types.ServerCapabilities.model_validate(self._capabilities())

    def _capabilities(self) -> dict[str, Any]:
        said = self._endpoint.capabilities
        shown: dict[str, Any] = {"tools": {"listChanged": True}}
        if "resources" in said:
            shown["resources"] = {"subscribe": True, "listChanged": True}
        if "prompts" in said:
            shown["prompts"] = {"listChanged": True}
        for name in ("completions", "logging"):
            if name in said:
                shown[name] = {}
        for name in ("extensions", "experimental"):
            if said.get(name):
                shown[name] = said[name]
        return shown

    async def _answer(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Answer a request, as a middleware of the SDK does."""
        if ctx.request_id is None:
            return await self._hear(ctx, call_next)
        if ctx.method == "initialize":
            return await self._greet(ctx, call_next)
        handler = self._handlers.get(ctx.method)
        if handler is None:
            return await call_next(ctx)
        self._check(ctx)
        is_new = is_modern(ctx.protocol_version)
        try:
            answer = await handler(ctx, without_envelope(ctx.params))
        except AnsweredError as error:
            raise MCPError(code_for(error.code, is_modern=is_new), str(error), error.data) from None
        except RemitError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise MCPError(types.INTERNAL_ERROR, f"{error}{hint}") from None
        return for_2026(answer, ctx.method, self._info) if is_new else for_older(answer)

    def _check(self, context: RequestContext) -> None:
        """Refuse what this version of the protocol does not have, or not in this form, or not yet."""
        try:
            validate_client_request(context.method, context.protocol_version, context.params)
        except KeyError:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", context.method) from None
        if not connection_of(context).initialize_accepted:
            raise MCPError(types.INVALID_PARAMS, "Invalid request parameters", "")

    async def _greet(self, context: RequestContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(context)
        connection = connection_of(context)
        said = (context.params or {}).get("capabilities")
        name = "stdio" if connection.session_id is None else f"http:{connection.session_id}"
        is_new = _STATE not in connection.state
        connection.state[_STATE] = Session(name, as_object(said))
        if is_new:
            self.sessions += 1
            connection.exit_stack.push_async_callback(self._part, connection.state, _principal(context))
        return answer

    async def _hear(self, context: RequestContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(context)
        connection = connection_of(context)
        session = connection.state.get(_STATE)
        if context.method == "notifications/initialized" and isinstance(session, Session):
            self._start_telling(session, connection)
        return answer

    def _start_telling(self, session: Session, connection: Connection) -> None:
        async def send(change: Change) -> None:
            method, params = notification(change)
            await connection.notify(method, params or None)

        if session.listener is None:
            session.listener = Listener(self._tasks, send)
            session.listener.is_ready()
            self.audience.join(session.listener)

    async def _part(self, state: dict[str, Any], principal: str | None) -> None:
        """Let go of what was kept for a session."""
        self.sessions -= 1
        session = cast(Session, state[_STATE])
        if session.listener is not None:
            await self._let_go(self.audience.leave(session.listener), Nobody(session.name, principal))
        await self._endpoint.leave(session.name)

    async def _let_go(self, uris: set[str], caller: Caller) -> None:
        for uri in sorted(uris):
            try:
                await self._endpoint.pass_on("resources/unsubscribe", {"uri": uri}, caller)
            except (AnsweredError, RemitError) as error:
                _logger.debug("`%s` could not be unsubscribed: %s", uri, error)

    async def _discover(self, _: RequestContext, __: Params) -> Answer:
        answer: Answer = {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": self._capabilities(),
        }
        instructions = self._endpoint.instructions
        return {**answer, "instructions": instructions} if instructions else answer

    async def _list_tools(self, _: RequestContext, asked: Params) -> Answer:
        return self._listed("tools", await self._endpoint.tools(asked))

    async def _list_resources(self, _: RequestContext, __: Params) -> Answer:
        return self._listed("resources", await self._endpoint.resources())

    async def _list_templates(self, _: RequestContext, __: Params) -> Answer:
        return self._listed("resourceTemplates", await self._endpoint.templates())

    async def _list_prompts(self, _: RequestContext, __: Params) -> Answer:
        return self._listed("prompts", await self._endpoint.prompts())

    def _listed(self, name: str, listing: Listing) -> Answer:
        return {name: self._lists.prepared(name, listing)}

    async def _call(self, context: RequestContext, asked: Params) -> Answer:
        caller = self._caller(context)
        if isinstance(caller, SessionCaller):
            return await self._counted(asked, caller)
        return await self._held.run(
            context.method, asked, caller, lambda holder: self._counted(asked, holder)
        )

    async def _counted(self, asked: Params, caller: Caller) -> Answer:
        started, failed = perf_counter(), True
        try:
            answer = await self._endpoint.call(asked, caller)
            failed = answer.get("isError") is True
            return answer
        finally:
            self.tally.count(perf_counter() - started, failed=failed)

    async def _pass_on_held(self, context: RequestContext, asked: Params) -> Answer:
        caller, method = self._caller(context), context.method
        if isinstance(caller, SessionCaller):
            return await self._endpoint.pass_on(method, asked, caller)
        return await self._held.run(
            method, asked, caller, lambda holder: self._endpoint.pass_on(method, asked, holder)
        )

    async def _pass_on(self, context: RequestContext, asked: Params) -> Answer:
        return await self._endpoint.pass_on(context.method, asked, self._caller(context))

    async def _subscribe(self, context: RequestContext, asked: Params) -> Answer:
        answer = await self._pass_on(context, asked)
        listener = _session(context).listener
        if listener is not None:
            listener.uris.add(asked["uri"])
        return answer

    async def _unsubscribe(self, context: RequestContext, asked: Params) -> Answer:
        listener = _session(context).listener
        if listener is not None:
            listener.uris.discard(asked["uri"])
        return {} if self.audience.holds(asked["uri"]) else await self._pass_on(context, asked)

    async def _set_level(self, context: RequestContext, asked: Params) -> Answer:
        _session(context).log_level = asked["level"]
        return await self._pass_on(context, asked)

    async def _listen(self, context: RequestContext, asked: Params) -> Answer:
        """Serve one stream of changes: first what is honoured of the wish, then each change."""
        wish = cast(Mapping[str, Any], asked["notifications"])
        parts = {name: part for name, part in _WANTED.items() if wish.get(name) is True}
        channel, caller = channel_of(context), self._caller(context)
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}

        async def send(change: Change) -> None:
            method, params = notification(change)
            await channel.notify(method, {**params, "_meta": meta})

        listener = Listener(self._tasks, send, parts=frozenset(parts.values()))
        self.audience.join(listener)
        try:
            listener.uris.update(await self._subscribed(wish.get("resourceSubscriptions") or [], caller))
            honoured: dict[str, Any] = dict.fromkeys(parts, True)
            if listener.uris:
                honoured["resourceSubscriptions"] = sorted(listener.uris)
            await channel.notify(
                "notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": meta}
            )
            listener.is_ready()
            await self._over.wait()
        finally:
            alone = self.audience.leave(listener)
            with anyio.move_on_after(2, shield=True):
                await self._let_go(alone, Nobody(caller.session, caller.principal))
        return {"_meta": meta}

    async def _subscribed(self, uris: list[str], caller: Caller) -> set[str]:
        """Subscribe to resources; those that nobody has are left out."""
        found: set[str] = set()
        for uri in uris:
            try:
                await self._endpoint.pass_on("resources/subscribe", {"uri": uri}, caller)
                found.add(uri)
            except (AnsweredError, RemitError) as error:
                _logger.debug("`%s` could not be subscribed to: %s", uri, error)
        return found

    def _caller(self, context: RequestContext) -> SessionCaller | RequestCaller:
        principal = _principal(context)
        if not is_modern(context.protocol_version):
            session = _session(context)
            return SessionCaller(
                channel_of(context),
                session=session.name,
                principal=principal,
                capabilities=session.capabilities,
                log_level=session.log_level,
                roots=self._roots,
            )
        meta = cast(Mapping[str, Any], (context.params or {}).get("_meta") or {})
        said = meta.get(types.CLIENT_CAPABILITIES_META_KEY)
        level = meta.get(types.LOG_LEVEL_META_KEY)
        return RequestCaller(
            channel_of(context),
            session="stdio" if self._is_stdio else f"principal:{principal or ''}",
            principal=principal,
            capabilities=as_object(said),
            log_level=level if isinstance(level, str) else None,
            roots=self._roots,
        )


def _session(context: RequestContext) -> Session:
    state = connection_of(context).state
    return state.setdefault(_STATE, Session("stdio", NOTHING))


def _principal(context: RequestContext) -> str | None:
    """Name whose token a request came with."""
    request = context.request
    return None if request is None else request.scope.get("remit.principal")
