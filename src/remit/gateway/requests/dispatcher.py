"""The desk of one endpoint: answers its clients' requests, of either era and over any transport.

What the endpoint says is passed on as it is, neither validated again nor cut to what this version knows.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from remit import __version__
from remit.errors import RemitError
from remit.gateway.ports import Endpoint, EndpointChange, EndpointSpec, ListKind, PublishedList
from remit.gateway.requests.call_tally import Tally
from remit.gateway.requests.era_adapters import (
    as_object,
    code_for,
    for_2026,
    for_older,
    roots_of,
    without_envelope,
)
from remit.gateway.requests.pending_elicitations import PendingElicitations
from remit.gateway.requests.request import ClientRequest, ClientSession
from remit.gateway.requests.request_contexts import (
    ClosedRequestContext,
    Notify,
    SessionRequestContext,
    StatelessRequestContext,
)
from remit.gateway.requests.subscribers import Subscriber, Subscribers, notification
from remit.gateway.transports.list_encoding import EncodedLists
from remit.protocol.constants import CAPABILITIES_KEY, INTERNAL_ERROR, LOG_LEVEL_KEY, NEWER, SUBSCRIPTION_KEY
from remit.upstream.ports import Answer, JsonRpcError, Params, RequestContext

INFO = {"name": "remit", "title": "Remit", "version": __version__}

_logger = logging.getLogger(__name__)
_WANTED = {
    "toolsListChanged": ListKind.TOOLS,
    "promptsListChanged": ListKind.PROMPTS,
    "resourcesListChanged": ListKind.RESOURCES,
}


Handler = Callable[[ClientRequest, Params], Awaitable[Answer]]


class Dispatcher:
    """Answers for one endpoint."""

    def __init__(self, endpoint: Endpoint, opening: EndpointSpec, tasks: TaskGroup) -> None:
        self.audience = Subscribers()
        self.tally = Tally()
        self.sessions = 0
        self._endpoint = endpoint
        self._tasks = tasks
        self._roots = roots_of(opening.directory)
        # What a server remembers of one endpoint is not for another, whoever asks there.
        self._place = str((opening.directory, opening.agent, opening.room))
        self._held = PendingElicitations(tasks)
        self._lists = EncodedLists()
        self._over = anyio.Event()
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

    @property
    def instructions(self) -> str | None:
        """What a model is told about all of it."""
        return self._endpoint.instructions

    def capabilities(self, *, is_newer: bool) -> dict[str, Any]:
        """Say what there is; lists may change in both eras."""
        said = self._endpoint.capabilities
        shown: dict[str, Any] = {"tools": {"listChanged": True}}
        if "resources" in said:
            shown["resources"] = {"subscribe": True, "listChanged": True}
        if "prompts" in said:
            shown["prompts"] = {"listChanged": True}
        shown |= {name: {} for name in ("completions", "logging") if name in said}
        beyond = "extensions" if is_newer else "experimental"
        return {**shown, beyond: said[beyond]} if said.get(beyond) else shown

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Tell what a tool takes."""
        return self._endpoint.input_schema(name)

    def serves(self, method: str) -> bool:
        """Whether a method is answered here."""
        return method in self._handlers

    async def answer(self, request: ClientRequest) -> Answer:
        """Answer a request.

        Raises:
            JsonRpcError: the answer is an error.
        """
        is_newer = request.session is None
        try:
            answer = await self._handlers[request.method](request, without_envelope(request.params))
        except JsonRpcError as error:
            raise JsonRpcError(code_for(error.code, is_modern=is_newer), str(error), error.data) from None
        except RemitError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise JsonRpcError(INTERNAL_ERROR, f"{error}{hint}") from None
        except Exception:  # whatever one request does, the others go on
            _logger.exception("`%s` failed", request.method)
            raise JsonRpcError(INTERNAL_ERROR, "Internal error") from None
        return for_2026(answer, request.method, INFO) if is_newer else for_older(answer)

    def greet(self) -> None:
        """Take in a client that has a session."""
        self.sessions += 1

    def start_telling(self, session: ClientSession, notify: Notify) -> None:
        """Tell a session of changes, from now on."""
        session.notify = notify

        async def send(change: EndpointChange) -> None:
            await notify(*notification(change))

        if session.listener is None:
            session.listener = Subscriber(self._tasks, send)
            session.listener.is_ready()
            self.audience.join(session.listener)

    async def part(self, session: ClientSession) -> None:
        """Let go of what was kept for a session."""
        self.sessions -= 1
        if session.listener is not None:
            alone = self.audience.leave(session.listener)
            await self._let_go(alone, ClosedRequestContext(session.name, session.principal))
        await self._endpoint.leave(session.name)

    async def relay_changes(self) -> None:
        """Tell all who listen of each change, until cancelled."""
        async with self._endpoint.changes() as changes:
            async for change in changes:
                self.audience.tell(change)

    def end(self) -> None:
        """End the streams of those who listen, in the way they can tell from a failure."""
        self._over.set()

    def last_words(self, request: ClientRequest) -> Answer:
        """Say to a listener that it was not cut off."""
        return for_2026({"_meta": {SUBSCRIPTION_KEY: request.id}}, request.method, INFO)

    async def _discover(self, _: ClientRequest, __: Params) -> Answer:
        answer: Answer = {"supportedVersions": list(NEWER), "capabilities": self.capabilities(is_newer=True)}
        return {**answer, "instructions": self.instructions} if self.instructions else answer

    async def _list_tools(self, _: ClientRequest, asked: Params) -> Answer:
        return self._listed("tools", await self._endpoint.tools(asked))

    async def _list_resources(self, _: ClientRequest, __: Params) -> Answer:
        return self._listed("resources", await self._endpoint.resources())

    async def _list_templates(self, _: ClientRequest, __: Params) -> Answer:
        return self._listed("resourceTemplates", await self._endpoint.templates())

    async def _list_prompts(self, _: ClientRequest, __: Params) -> Answer:
        return self._listed("prompts", await self._endpoint.prompts())

    def _listed(self, name: str, listing: PublishedList) -> Answer:
        return {name: self._lists.prepared(name, listing)}

    async def _call(self, request: ClientRequest, asked: Params) -> Answer:
        return await self._asking(request, asked, lambda caller: self._counted(asked, caller))

    async def _counted(self, asked: Params, caller: RequestContext) -> Answer:
        started, failed = perf_counter(), True
        try:
            answer = await self._endpoint.call(asked, caller)
            failed = answer.get("isError") is True
            return answer
        finally:
            self.tally.count(perf_counter() - started, failed=failed)

    async def _pass_on_held(self, request: ClientRequest, asked: Params) -> Answer:
        method = request.method
        return await self._asking(
            request, asked, lambda caller: self._endpoint.pass_on(method, asked, caller)
        )

    async def _asking(
        self, request: ClientRequest, asked: Params, work: Callable[[RequestContext], Awaitable[Answer]]
    ) -> Answer:
        """Do what may ask the client back."""
        caller = self._caller(request)
        if isinstance(caller, SessionRequestContext):
            try:
                return await work(caller)
            finally:
                caller.is_answered = True
        return await self._held.run(request.method, asked, caller, work)

    async def _pass_on(self, request: ClientRequest, asked: Params) -> Answer:
        return await self._endpoint.pass_on(request.method, asked, self._caller(request))

    async def _subscribe(self, request: ClientRequest, asked: Params) -> Answer:
        answer = await self._pass_on(request, asked)
        if request.session is not None and request.session.listener is not None:
            request.session.listener.uris.add(asked["uri"])
        return answer

    async def _unsubscribe(self, request: ClientRequest, asked: Params) -> Answer:
        if request.session is not None and request.session.listener is not None:
            request.session.listener.uris.discard(asked["uri"])
        return {} if self.audience.holds(asked["uri"]) else await self._pass_on(request, asked)

    async def _set_level(self, request: ClientRequest, asked: Params) -> Answer:
        if request.session is not None:
            request.session.log_level = asked["level"]
        return await self._pass_on(request, asked)

    async def _listen(self, request: ClientRequest, asked: Params) -> Answer:
        """Serve one stream of changes: first what is honoured of the wish, then each change."""
        wish, caller = as_object(asked["notifications"]), self._caller(request)
        parts = {name: part for name, part in _WANTED.items() if wish.get(name) is True}
        meta: dict[str, Any] = {SUBSCRIPTION_KEY: request.id}

        async def send(change: EndpointChange) -> None:
            method, params = notification(change)
            await request.channel.notify(method, {**params, "_meta": meta})

        listener = Subscriber(self._tasks, send, parts=frozenset(parts.values()))
        self.audience.join(listener)
        try:
            listener.uris.update(await self._subscribed(wish.get("resourceSubscriptions"), caller))
            honoured: dict[str, Any] = dict.fromkeys(parts, True)
            if listener.uris:
                honoured["resourceSubscriptions"] = sorted(listener.uris)
            acknowledged = {"notifications": honoured, "_meta": meta}
            await request.channel.notify("notifications/subscriptions/acknowledged", acknowledged)
            listener.is_ready()
            await self._over.wait()
        finally:
            alone = self.audience.leave(listener)
            with anyio.move_on_after(2, shield=True):
                await self._let_go(alone, ClosedRequestContext(caller.session, caller.principal))
        return {"_meta": meta}

    async def _subscribed(self, uris: object, caller: RequestContext) -> set[str]:
        """Subscribe to resources; those that nobody has are left out."""
        found: set[str] = set()
        wanted = cast(list[object], uris) if isinstance(uris, list) else []
        for uri in (each for each in wanted if isinstance(each, str)):
            try:
                await self._endpoint.pass_on("resources/subscribe", {"uri": uri}, caller)
                found.add(uri)
            except (JsonRpcError, RemitError) as error:
                _logger.debug("`%s` could not be subscribed to: %s", uri, error)
        return found

    async def _let_go(self, uris: set[str], caller: RequestContext) -> None:
        for uri in sorted(uris):
            try:
                await self._endpoint.pass_on("resources/unsubscribe", {"uri": uri}, caller)
            except (JsonRpcError, RemitError) as error:
                _logger.debug("`%s` could not be unsubscribed: %s", uri, error)

    def _caller(self, request: ClientRequest) -> SessionRequestContext | StatelessRequestContext:
        session = request.session
        if session is not None:
            return SessionRequestContext(
                request.channel,
                session.tell_afterwards,
                session=session.name,
                principal=request.principal,
                capabilities=session.capabilities,
                log_level=session.log_level,
                bound_projects=request.bound_projects,
            )
        meta = as_object(request.params.get("_meta"))
        level = meta.get(LOG_LEVEL_KEY)
        return StatelessRequestContext(
            request.channel,
            session=f"{request.place} at {self._place}",
            principal=request.principal,
            capabilities=as_object(meta.get(CAPABILITIES_KEY)),
            log_level=level if isinstance(level, str) else None,
            bound_projects=request.bound_projects,
            roots=self._roots,
        )
