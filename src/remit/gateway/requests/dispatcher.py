"""Answers the requests of an endpoint's clients, in any era and over any transport.

It passes the endpoint's answers on unchanged: it neither validates them again nor drops unknown members.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from hashlib import sha256
from time import perf_counter
from typing import Any

import anyio
from anyio.abc import TaskGroup

from remit.configuration.config_model import Role
from remit.errors import RemitError
from remit.gateway.ports import (
    Endpoint,
    EndpointChange,
    EndpointSpec,
    ListKind,
    PublishedList,
    SessionView,
)
from remit.gateway.requests.client_request import ClientRequest, ClientSession, without_envelope
from remit.gateway.requests.downstream_eras import DOWNSTREAM_ERAS, EndpointContext
from remit.gateway.requests.pending_elicitations import PendingElicitations
from remit.gateway.requests.request_contexts import ClientlessRequestContext, Notify
from remit.gateway.requests.subscribers import Subscriber, Subscribers, notification
from remit.gateway.transports.list_encoding import EncodedLists
from remit.presentation.refusals import failure
from remit.protocol.call_statistics import CallStatistics
from remit.protocol.constants import SUBSCRIPTION_KEY
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, ElsewhereError, ErrorCode, JsonRpcError, Params
from remit.protocol.tracing import Switch, TracedRequest
from remit.text.json_values import as_list, as_object
from remit.upstream.ports import RequestContext

_logger = logging.getLogger(__name__)
_PARTS = {
    "toolsListChanged": ListKind.TOOLS,
    "promptsListChanged": ListKind.PROMPTS,
    "resourcesListChanged": ListKind.RESOURCES,
}

Handler = Callable[[ClientRequest, Params], Awaitable[Answer]]


class Dispatcher:
    """Answers the requests for one endpoint."""

    def __init__(self, endpoint: Endpoint, opening: EndpointSpec, tasks: TaskGroup) -> None:
        self.subscribers = Subscribers()
        self.statistics = CallStatistics()
        self.sessions = 0
        self.calls_in_flight = 0
        self.endpoint = endpoint
        self._tasks = tasks
        self._endpoint_context = EndpointContext(
            roots=opening.roots,
            # Endpoints never share upstream sessions, even for the same client.
            place=str((opening.directory, opening.agent, opening.room)),
            pending=PendingElicitations(tasks),
        )
        self._lists = EncodedLists()
        self._is_over = anyio.Event()
        self._handlers: dict[str, Handler] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "prompts/list": self._list_prompts,
            "resources/read": self._forward_interactive,
            "prompts/get": self._forward_interactive,
            "completion/complete": self._forward,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "subscriptions/listen": self._listen,
            "logging/setLevel": self._set_level,
        }

    def capabilities(self, era: Era) -> dict[str, Any]:
        """Return the endpoint's capabilities in the form of an era."""
        declared = self.endpoint.capabilities
        shown: dict[str, Any] = {"tools": {"listChanged": True}}
        if "resources" in declared:
            shown["resources"] = {"subscribe": True, "listChanged": True}
        if "prompts" in declared:
            shown["prompts"] = {"listChanged": True}
        shown |= {name: {} for name in ("completions", "logging") if name in declared}
        extensions = DOWNSTREAM_ERAS[era].extensions_key
        return {**shown, extensions: declared[extensions]} if declared.get(extensions) else shown

    def serves(self, method: str) -> bool:
        """Check whether a method exists."""
        return method in self._handlers

    async def answer(self, request: ClientRequest) -> Answer:
        """Answer a request.

        Raises:
            JsonRpcError: the answer is an error.
        """
        if Switch.active is None:
            return await self._answer(request)
        session = request.session and sha256(request.session.name.encode("utf-8", "replace")).hexdigest()[:16]
        traced = TracedRequest(
            request.method, request.params, request.id, session, carrier=request.trace_headers
        )
        with Switch.active.serving(traced) as span:
            answer = await self._answer(request)
            span.answered(answer)
        return answer

    async def _answer(self, request: ClientRequest) -> Answer:
        era = DOWNSTREAM_ERAS[request.era]
        try:
            answer = await self._handlers[request.method](request, without_envelope(request.params))
        except ElsewhereError:
            raise
        except JsonRpcError as error:
            raise JsonRpcError(era.error_code(error.code), str(error), error.data) from None
        except RemitError as error:
            raise JsonRpcError.from_remit(error) from None
        except Exception:  # a failed request must not take down the others
            _logger.exception("`%s` failed", request.method)
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, "Internal error") from None
        return era.answer(answer, request.method)

    def open_session(self) -> None:
        """Count a new session."""
        self.sessions += 1

    def is_bound(self, session: ClientSession) -> bool:
        """Return whether a session has more here than its state: subscriptions, or a server of its own."""
        has_uris = session.subscriber is not None and bool(session.subscriber.uris)
        return has_uris or self.endpoint.is_bound(session.name)

    def start_notifying(self, session: ClientSession, notify: Notify) -> None:
        """Start notifying a session of changes."""
        session.notify = notify

        async def send(change: EndpointChange) -> None:
            await notify(*notification(change))

        if session.subscriber is None:
            session.subscriber = Subscriber(self._tasks, send)
            session.subscriber.start()
            self.subscribers.add(session.subscriber)

    async def close_session(self, session: ClientSession) -> None:
        """Release a session's subscriptions and upstream sessions."""
        self.sessions -= 1
        if session.subscriber is not None:
            orphaned = self.subscribers.remove(session.subscriber)
            await self._unsubscribe_all(orphaned, ClientlessRequestContext(session.name, session.principal))
        await self.endpoint.leave(session.name)

    async def relay_changes(self) -> None:
        """Forward the endpoint's changes to subscribers until cancelled."""
        async with self.endpoint.changes() as changes:
            async for change in changes:
                self.subscribers.notify(change)

    def end_streams(self) -> None:
        """End change streams in a way that clients can tell from a failure."""
        self._is_over.set()

    def end_of_stream(self, request: ClientRequest) -> Answer:
        """Return the answer that ends a change stream."""
        era = DOWNSTREAM_ERAS[request.era]
        return era.answer({"_meta": {SUBSCRIPTION_KEY: request.id}}, request.method)

    async def _discover(self, request: ClientRequest, _: Params) -> Answer:
        self.endpoint.list_for_all()  # a list follows
        answer: Answer = {
            "supportedVersions": list(request.era.versions),
            "capabilities": self.capabilities(request.era),
        }
        instructions = self.endpoint.instructions
        return {**answer, "instructions": instructions} if instructions else answer

    async def _list_tools(self, request: ClientRequest, params: Params) -> Answer:
        session = request.session
        self.endpoint.meet(request.principal)
        if session is None:  # the list must not depend on the client
            self.endpoint.list_for_all()
            return self._list("tools", await self.endpoint.tools(params))
        if session.withheld is None:
            await self.endpoint.tools(params)  # waits for servers that are being asked
            session.withheld = self.endpoint.withheld(session.capabilities)
        view = SessionView(session.promoted, session.withheld)
        return self._list("tools", await self.endpoint.tools(params, view))

    async def _list_resources(self, _: ClientRequest, __: Params) -> Answer:
        return self._list("resources", await self.endpoint.resources())

    async def _list_templates(self, _: ClientRequest, __: Params) -> Answer:
        return self._list("resourceTemplates", await self.endpoint.templates())

    async def _list_prompts(self, _: ClientRequest, __: Params) -> Answer:
        return self._list("prompts", await self.endpoint.prompts())

    def _list(self, name: str, listing: PublishedList) -> Answer:
        return {name: self._lists.encode(name, listing)}

    async def _call(self, request: ClientRequest, params: Params) -> Answer:
        answer = await self._run(request, params, lambda caller: self._limit_call(request, params, caller))
        if request.session is not None and not answer.get("isError"):
            self._promote(params, request.session)
        return answer

    def _promote(self, params: Params, session: ClientSession) -> None:
        """List a deferred tool that a session has called, so its next call needs no search.

        Only sessions do this: without one, the list must not depend on earlier calls.
        """
        name = self.endpoint.promotes(params)
        if name is not None and name not in session.promoted:
            session.promoted[name] = None
            if session.subscriber is not None:
                session.subscriber.notify(EndpointChange(ListKind.TOOLS))

    async def _limit_call(self, request: ClientRequest, params: Params, caller: RequestContext) -> Answer:
        if request.limiter is None:
            return await self._count_call(params, caller)
        with request.limiter.call() as over:
            if over is not None:  # for the model: clients end a session on other errors
                return failure(f"Too many calls: {over.reason}.\nNext step: {over.next_step}.")
            return await self._count_call(params, caller)

    async def _count_call(self, params: Params, caller: RequestContext) -> Answer:
        started, failed = perf_counter(), True
        self.calls_in_flight += 1
        try:
            answer = await self.endpoint.call(params, caller)
            failed = answer.get("isError") is True
            return answer
        finally:
            self.calls_in_flight -= 1
            self.statistics.count(perf_counter() - started, failed=failed)

    async def _run(
        self, request: ClientRequest, params: Params, work: Callable[[RequestContext], Awaitable[Answer]]
    ) -> Answer:
        """Run work that may send requests to the client."""
        return await DOWNSTREAM_ERAS[request.era].run(request, params, self._endpoint_context, work)

    async def _forward_interactive(self, request: ClientRequest, params: Params) -> Answer:
        method = request.method
        _require_user(request)
        with _limited(request):
            return await self._run(
                request, params, lambda caller: self.endpoint.pass_on(method, params, caller)
            )

    async def _forward(self, request: ClientRequest, params: Params) -> Answer:
        _require_user(request)
        with _limited(request):
            return await self.endpoint.pass_on(request.method, params, self._context(request))

    async def _subscribe(self, request: ClientRequest, params: Params) -> Answer:
        answer = await self._forward(request, params)
        if request.session is not None and request.session.subscriber is not None:
            request.session.subscriber.uris.add(params["uri"])
        return answer

    async def _unsubscribe(self, request: ClientRequest, params: Params) -> Answer:
        if request.session is not None and request.session.subscriber is not None:
            request.session.subscriber.uris.discard(params["uri"])
        return {} if self.subscribers.include(params["uri"]) else await self._forward(request, params)

    async def _set_level(self, request: ClientRequest, params: Params) -> Answer:
        if request.session is not None:
            request.session.log_level = params["level"]
        return await self._forward(request, params) if request.role.includes(Role.USER) else {}

    async def _listen(self, request: ClientRequest, params: Params) -> Answer:
        """Serve a change stream: send an acknowledgment, then each change."""
        wanted, caller = as_object(params["notifications"]), self._context(request)
        parts = {name: part for name, part in _PARTS.items() if wanted.get(name) is True}
        meta: dict[str, Any] = {SUBSCRIPTION_KEY: request.id}

        async def send(change: EndpointChange) -> None:
            method, changed = notification(change)
            await request.channel.notify(method, {**changed, "_meta": meta})

        subscriber = Subscriber(self._tasks, send, parts=frozenset(parts.values()))
        self.subscribers.add(subscriber)
        try:
            subscriber.uris.update(
                await self._subscribe_all(wanted.get("resourceSubscriptions"), request, caller)
            )
            granted: dict[str, Any] = dict.fromkeys(parts, True)
            if subscriber.uris:
                granted["resourceSubscriptions"] = sorted(subscriber.uris)
            acknowledged = {"notifications": granted, "_meta": meta}
            await request.channel.notify("notifications/subscriptions/acknowledged", acknowledged)
            subscriber.start()
            await self._is_over.wait()
        finally:
            orphaned = self.subscribers.remove(subscriber)
            with anyio.move_on_after(2, shield=True):
                await self._unsubscribe_all(
                    orphaned, ClientlessRequestContext(caller.session, caller.principal)
                )
        return {"_meta": meta}

    async def _subscribe_all(self, uris: object, request: ClientRequest, caller: RequestContext) -> set[str]:
        """Subscribe to resources and return those that exist, up to the limits of the principal."""
        found: set[str] = set()
        for uri in (each for each in as_list(uris) if isinstance(each, str) and caller.may_call):
            try:
                with _limited(request):
                    await self.endpoint.pass_on("resources/subscribe", {"uri": uri}, caller)
                found.add(uri)
            except (JsonRpcError, RemitError) as error:
                _logger.debug("`%s` could not be subscribed to: %s", uri, error)
        return found

    async def _unsubscribe_all(self, uris: set[str], caller: RequestContext) -> None:
        for uri in sorted(uris):
            try:
                await self.endpoint.pass_on("resources/unsubscribe", {"uri": uri}, caller)
            except (JsonRpcError, RemitError) as error:
                _logger.debug("`%s` could not be unsubscribed: %s", uri, error)

    def _context(self, request: ClientRequest) -> RequestContext:
        return DOWNSTREAM_ERAS[request.era].context(request, self._endpoint_context)


@asynccontextmanager
async def open_dispatcher(
    opened: AbstractAsyncContextManager[Endpoint], opening: EndpointSpec
) -> AsyncGenerator[Dispatcher]:
    """Open an endpoint and dispatch requests to it until the context exits."""
    async with opened as endpoint, anyio.create_task_group() as tasks:
        dispatcher = Dispatcher(endpoint, opening, tasks)
        tasks.start_soon(dispatcher.relay_changes)
        try:
            yield dispatcher
        finally:
            tasks.cancel_scope.cancel()


def _require_user(request: ClientRequest) -> None:
    """Refuse to ask servers for readers.

    Raises:
        JsonRpcError: the caller is a reader.
    """
    if not request.role.includes(Role.USER):
        raise JsonRpcError(
            ErrorCode.INVALID_REQUEST, f"the role `{request.role}` can list, but not use `{request.method}`"
        )


@contextmanager
def _limited(request: ClientRequest) -> Generator[None]:
    """Count a request to a server as a call.

    Raises:
        JsonRpcError: the principal makes too many.
    """
    if request.limiter is None:
        yield
        return
    with request.limiter.call() as over:
        if over is not None:
            told = f"Too many calls: {over.reason}; {over.next_step}"
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, told)
        yield
