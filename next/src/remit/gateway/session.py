"""One client's connection: its handshake, the table of its methods, its subscriptions.

Answers are passed on as they are: they are neither validated again, nor do they lose unknown members.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple, Protocol

from remit import __version__
from remit.errors import RemitError, StoreTooNewError, StoreUnavailableError
from remit.gateway.endpoint import ClientCaller, Endpoint, Identity
from remit.gateway.refresher import Nobody
from remit.gateway.refusals import STORE_DOWN
from remit.gateway.view import Change, ListKind, ServedList
from remit.protocol import (
    ELICITATION_COMPLETE,
    LOG_LEVELS,
    RULES,
    SUBSCRIPTION_KEY,
    Answer,
    ClientEra,
    Era,
    ErrorCode,
    Id,
    Incoming,
    JsonRpcError,
    Params,
    Peer,
    Pending,
    RawJson,
    Tasks,
    is_at_least,
    require_capability,
    without_envelope,
)
from remit.text import as_list, as_object

SERVER_INFO: Mapping[str, str] = {"name": "remit", "title": "Remit", "version": __version__}
_SCOPE = "remit/scope"  # a key of `_meta`; `scope` among the parameters works too
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
_LAST_SECONDS = 2.0  # to end the subscriptions of a client that is gone
_PARTS = {
    "toolsListChanged": ListKind.TOOLS,
    "promptsListChanged": ListKind.PROMPTS,
    "resourcesListChanged": ListKind.RESOURCES,
}
_CURSOR: tuple[tuple[str, type, bool], ...] = (("cursor", str, False),)
_URI: tuple[tuple[str, type, bool], ...] = (("uri", str, True),)
_NAMED: tuple[tuple[str, type, bool], ...] = (("name", str, True), ("arguments", dict, False))
_MEMBERS: Mapping[str, tuple[tuple[str, type, bool], ...]] = {  # name, type, whether it is required
    "tools/list": _CURSOR,
    "resources/list": _CURSOR,
    "resources/templates/list": _CURSOR,
    "prompts/list": _CURSOR,
    "tools/call": _NAMED,
    "prompts/get": _NAMED,
    "resources/read": _URI,
    "resources/subscribe": _URI,
    "resources/unsubscribe": _URI,
    "completion/complete": (("ref", dict, True), ("argument", dict, True)),
    "logging/setLevel": (("level", str, True),),
    "subscriptions/listen": (("notifications", dict, True),),
}
_numbers = count(1)
_log = logging.getLogger(__name__)


class Channel(Protocol):
    """Reaches the client about one request, on that request's stream if the transport has one."""

    async def ask(self, method: str, params: Params) -> Answer:
        """Send the client a request.

        Raises:
            JsonRpcError: the client refuses or has disconnected.
        """
        ...

    async def notify(self, method: str, params: Params) -> None: ...


class Request(NamedTuple):
    """A client's request."""

    id: Id
    method: str
    params: Params
    era: Era
    channel: Channel


class Session:
    """A client's session, or what clients without one share."""

    def __init__(
        self,
        endpoint: Endpoint,
        tasks: Tasks,
        *,
        door: str,
        identity: Identity,
        environment: Mapping[str, str],
        channel: Channel | None = None,
    ) -> None:
        self.name = f"{door}-{next(_numbers)}"
        self.endpoint = endpoint
        self.identity = identity
        self.environment = environment
        self.capabilities: Mapping[str, Any] = {}
        self.log_level: str | None = None
        self.channel = channel  # sends outside the stream of any request
        self._tasks = tasks
        self._era = ClientEra()
        self._uris: set[str] = set()  # that this session follows
        self._announcing: asyncio.Task[None] | None = None
        self._is_open = False
        self._handlers: dict[str, Callable[[Request, Params], Awaitable[Answer]]] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call,
            "resources/list": self._list,
            "resources/templates/list": self._list,
            "prompts/list": self._list,
            "resources/read": self._read,
            "prompts/get": self._read,
            "completion/complete": self._complete,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "subscriptions/listen": self._listen,
            "logging/setLevel": self._set_level,
        }

    def attach(self, peer: Peer) -> None:
        """Set the peer that reaches the client."""
        self.channel = _PeerChannel(peer)

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer a peer's request."""
        method, params = request.method, request.params
        if method == "initialize":
            return self._initialize(self._era.initialize(params), as_object(params.get("capabilities")))
        era = self._era.of(method, params)
        if method == "ping":
            return {}
        channel = self.channel
        assert channel is not None  # noqa: S101 - a peer has one
        if method == "subscriptions/listen":
            end = {"_meta": {SUBSCRIPTION_KEY: request.id}}
            request.at_end = RULES[era].shape_answer(end, method, SERVER_INFO)
        return self.serve(Request(request.id, method, params, era, channel))

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        """Take a peer's notification."""
        del params, pending
        if method == "notifications/initialized" and self._is_open:
            self.start_announcing()

    def open(self, capabilities: Mapping[str, Any]) -> None:
        """Note what a client declares; a second time, its subscriptions stay."""
        self.endpoint.sessions += not self._is_open
        self.capabilities, self._is_open = capabilities, True

    def start_announcing(self) -> None:
        """Tell the client of changes from now on."""
        if self._announcing is None and self.channel is not None:
            self._announcing = self._tasks.start(self._announce(self.channel))

    def serves(self, method: str) -> bool:
        """Return whether a method exists."""
        return method in self._handlers

    def serve(self, request: Request) -> Coroutine[Any, Any, Answer]:
        """Answer a request of a client.

        Raises:
            JsonRpcError: the request is invalid.
        """
        handler = self._handlers.get(request.method)
        if handler is None:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", request.method)
        for name, kind, is_required in _MEMBERS.get(request.method, ()):
            value = request.params.get(name)
            if not isinstance(value, kind) and (value is not None or is_required):
                raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`{name}` is missing or invalid")
        if request.method == "logging/setLevel" and request.params["level"] not in LOG_LEVELS:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`level` must be one of {', '.join(LOG_LEVELS)}")
        return self._answer(request, handler)

    async def close(self) -> None:
        """Release the client's subscriptions, and what servers and results it has alone."""
        self.endpoint.sessions -= self._is_open
        if self._announcing is not None:
            self._announcing.cancel()
        await self._unfollow(self._uris)
        await self.endpoint.leave(self.name)

    def _initialize(self, version: str, capabilities: Mapping[str, Any]) -> Answer:
        self.open(capabilities)
        answer: Answer = {
            "protocolVersion": version,
            "capabilities": self.endpoint.capabilities(Era.SESSION),
            "serverInfo": SERVER_INFO,
        }
        instructions = self.endpoint.last_instructions
        return {**answer, "instructions": instructions} if instructions else answer

    async def _answer(
        self, request: Request, handler: Callable[[Request, Params], Awaitable[Answer]]
    ) -> Answer:
        rules, params = RULES[request.era], request.params
        try:
            answer = await handler(
                request, params if request.era is Era.SESSION else without_envelope(params)
            )
        except JsonRpcError as error:
            raise JsonRpcError(rules.error_code(error.code), str(error), error.data) from None
        except (StoreUnavailableError, StoreTooNewError) as error:  # its place is for people
            _log.warning("a request needs the store: %s", error)
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, STORE_DOWN) from None
        return rules.shape_answer(answer, request.method, SERVER_INFO)

    async def _discover(self, request: Request, params: Params) -> Answer:
        del params
        answer: Answer = {
            "supportedVersions": list(RULES[request.era].versions),
            "capabilities": self.endpoint.capabilities(request.era),
        }
        instructions = await self.endpoint.instructions()
        return {**answer, "instructions": instructions} if instructions else answer

    async def _list_tools(self, request: Request, params: Params) -> Answer:
        published = await self.endpoint.sent(ListKind.TOOLS)
        scope = params.get("scope", as_object(params.get("_meta")).get(_SCOPE))
        if scope is None or published.scopes is None:
            # Without a session, the list must not depend on the client.
            is_for_all = request.era is Era.STATELESS or _shows_pages(self.capabilities)
            return {"tools": (published.tools if is_for_all else published.tools_for_models).json}
        if scope not in published.scopes:
            known = ", ".join(f"`{name}`" for name in published.scopes) or "none"
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS,
                f"Unknown scope: {scope}; expected one of {known}",
                {"scopes": list(published.scopes)},
            )
        return {"tools": published.scopes[str(scope)].json}

    async def _list(self, request: Request, params: Params) -> Answer:
        del params
        kind = ListKind.PROMPTS if request.method == "prompts/list" else ListKind.RESOURCES
        published = await self.endpoint.sent(kind)
        lists: Mapping[str, tuple[str, ServedList]] = {
            "resources/list": ("resources", published.resources),
            "resources/templates/list": ("resourceTemplates", published.templates),
            "prompts/list": ("prompts", published.prompts),
        }
        name, served = lists[request.method]
        content: RawJson = served.json
        return {name: content}

    async def _call(self, request: Request, params: Params) -> Answer:
        self.endpoint.calls_in_flight += 1
        try:
            return await self._run(request, params, lambda caller: self.endpoint.calls.call(params, caller))
        finally:
            self.endpoint.calls_in_flight -= 1

    async def _read(self, request: Request, params: Params) -> Answer:
        return await self._run(request, params, lambda caller: self._pass_on(request.method, params, caller))

    async def _complete(self, request: Request, params: Params) -> Answer:
        return await self._pass_on(request.method, params, _RequestCaller(self, request))

    async def _pass_on(self, method: str, params: Params, caller: ClientCaller) -> Answer:
        if not self.identity.may_call:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, f"this caller can list, but not use `{method}`")
        with self.identity.count() as objection:
            if objection is not None:
                raise JsonRpcError(ErrorCode.INVALID_REQUEST, f"Too many calls: {objection}")
            return await self.endpoint.pass_on(method, params, caller)

    async def _run(
        self, request: Request, params: Params, work: Callable[[Any], Awaitable[Answer]]
    ) -> Answer:
        """Run work that may ask the client."""
        caller = _RequestCaller(self, request)
        try:
            if caller.can_pause:
                return await self.endpoint.paused.run(request.method, params, caller, work)
            return await work(caller)
        finally:
            caller.is_answered = True

    async def _subscribe(self, request: Request, params: Params) -> Answer:
        answer = await self._complete(request, params)
        self._follow(params["uri"], self._uris)
        return answer

    async def _unsubscribe(self, request: Request, params: Params) -> Answer:
        uri = params["uri"]
        if uri in self._uris:
            self._uris.discard(uri)
            self.endpoint.followed[uri] -= 1
        return {} if self.endpoint.followed[uri] > 0 else await self._complete(request, params)

    async def _set_level(self, request: Request, params: Params) -> Answer:
        self.log_level = params["level"]
        if self.identity.may_call:
            await self.endpoint.set_level(params, _RequestCaller(self, request))
        return {}

    async def _listen(self, request: Request, params: Params) -> Answer:
        """Serve a change stream: an acknowledgment, then each change, until the endpoint ends it."""
        wanted = as_object(params["notifications"])
        parts = {name: part for name, part in _PARTS.items() if wanted.get(name) is True}
        meta: Answer = {SUBSCRIPTION_KEY: request.id}
        uris: set[str] = set()
        announcing: asyncio.Task[None] | None = None
        try:
            async with self.endpoint.lists.listen() as changes:
                await self._subscribe_all(as_list(wanted.get("resourceSubscriptions")), request, uris)
                granted: Answer = dict.fromkeys(parts, True)
                if uris:
                    granted["resourceSubscriptions"] = sorted(uris)
                acknowledged = {"notifications": granted, "_meta": meta}
                await request.channel.notify("notifications/subscriptions/acknowledged", acknowledged)
                kinds = frozenset(parts.values())

                async def announce() -> None:
                    async for change in changes:
                        if change.part in kinds if change.uri is None else change.uri in uris:
                            method, told = _notification(change)
                            await request.channel.notify(method, {**told, "_meta": meta})

                announcing = self._tasks.start(announce())
                await self.endpoint.is_over.wait()
        finally:
            if announcing is not None:
                announcing.cancel()
            self._tasks.start(self._unfollow(uris))
        return {"_meta": meta}

    async def _subscribe_all(self, wanted: list[Any], request: Request, uris: set[str]) -> None:
        """Subscribe to the resources that exist."""
        for uri in wanted:
            if isinstance(uri, str):
                try:
                    await self._pass_on("resources/subscribe", {"uri": uri}, _RequestCaller(self, request))
                except (JsonRpcError, RemitError) as error:
                    _log.debug("`%s` could not be subscribed to: %s", uri, error)
                else:
                    self._follow(uri, uris)

    def _follow(self, uri: str, uris: set[str]) -> None:
        if uri not in uris:
            uris.add(uri)
            self.endpoint.followed[uri] += 1

    async def _unfollow(self, uris: set[str]) -> None:
        """End subscriptions that nobody else has."""
        caller = Nobody(self.name, self.identity.name, self.capabilities)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                for uri in sorted(uris):
                    self.endpoint.followed[uri] -= 1
                    if self.endpoint.followed[uri] <= 0:
                        del self.endpoint.followed[uri]
                        with suppress(JsonRpcError, RemitError):
                            await self.endpoint.pass_on("resources/unsubscribe", {"uri": uri}, caller)
        uris.clear()

    async def _announce(self, channel: Channel) -> None:
        async with self.endpoint.lists.listen() as changes:
            async for change in changes:
                if change.uri is None or change.uri in self._uris:
                    await channel.notify(*_notification(change))


class _RequestCaller:
    """The caller of one request: a client with a session can be asked meanwhile, another only by an answer.

    The roots of a client without a session are the endpoint's directory, which saves a round trip. One that
    does not declare roots has none, because servers prefer roots over their own arguments.
    """

    def __init__(self, session: Session, request: Request) -> None:
        is_stateless = request.era is Era.STATELESS
        meta = as_object(request.params.get("_meta")) if is_stateless else {}
        level = meta.get(_LOG_LEVEL) if is_stateless else session.log_level
        self.session = session.name
        self.name = session.identity.name
        self.environment = session.environment
        self.identity = session.identity
        self.capabilities: Mapping[str, Any] = (
            as_object(meta.get(_CAPABILITIES)) if is_stateless else session.capabilities
        )
        self.log_level: str | None = level if isinstance(level, str) else None
        self.takes_input_required = is_stateless
        self.is_answered = False
        self._session = session
        self._channel = request.channel

    @property
    def can_pause(self) -> bool:
        """Whether questions become answers."""
        return self.takes_input_required and not self.capabilities.keys().isdisjoint(
            {"elicitation", "sampling"}
        )

    async def ask(self, method: str, params: Params) -> Answer:
        """Ask the client.

        Raises:
            JsonRpcError: the client cannot answer, refuses, or cannot be asked during this request.
        """
        require_capability(method, params, self.capabilities)
        if not self.takes_input_required:
            return await self._channel.ask(method, params)
        if method == "roots/list":
            return self._session.endpoint.spec.roots
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"`{method}` cannot be asked during this request")

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client about this request, or of a page that was completed after it."""
        if method == "notifications/message":
            is_unset = self.log_level is None and not self.takes_input_required
            if not is_unset and not is_at_least(params.get("level"), self.log_level):
                return
        if method == ELICITATION_COMPLETE and self.takes_input_required:
            return  # the client retries on its own
        later = self._session.channel
        channel = later if self.is_answered and later is not None else self._channel
        await channel.notify(method, params)


class _PeerChannel:
    """Reaches the client through a peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def ask(self, method: str, params: Params) -> Answer:
        """Send the client a request."""
        return await self._peer.request(method, params)

    async def notify(self, method: str, params: Params) -> None:
        """Send the client a notification, and wait until it is read."""
        self._peer.notify(method, params)
        await self._peer.transport.flush()


def _notification(change: Change) -> tuple[str, Answer]:
    if change.uri is not None:
        return "notifications/resources/updated", {"uri": change.uri}
    return f"notifications/{change.part}/list_changed", {}


def _shows_pages(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a client shows the pages of tools."""
    return "io.modelcontextprotocol/ui" in as_object(capabilities.get("extensions"))
