"""An endpoint: what one client is served, in one project and perhaps as one agent or in one room."""

import logging
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

import anyio

from remit.decision.declarations import Key
from remit.decision.tool_names import MEMORY_SERVER, REMIT
from remit.errors import RemitError
from remit.gateway.call_handler import CallHandler
from remit.gateway.change_tracker import ChangeTracker
from remit.gateway.discover_tools import ToolDiscovery
from remit.gateway.inventory import Inventory
from remit.gateway.inventory_refresh import FIRST_LIST, InventoryRefresher
from remit.gateway.own_tool_calls import BadArgumentsError, arguments_of, open_group, report, text_of, why
from remit.gateway.ports import EndpointChange, ListKind, PublishedList
from remit.gateway.published_lists import PublishedLists
from remit.gateway.quick_reads import QuickReads
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.resource_routing import ResourceRouter
from remit.memory.own_server import instructions as about_memory
from remit.presentation.instructions import instructions
from remit.presentation.own_tools import DEFINITIONS, OwnTool
from remit.presentation.refusals import failure
from remit.presentation.served_names import prefix, served_spellings
from remit.protocol.broadcast import Broadcaster
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params, as_object
from remit.upstream.ports import RequestContext, UpstreamPool

SCOPES = "remit/scopes"  # under which scopes are told of, where the strategy has them
SCOPE = "remit/scope"  # in `_meta`, or `scope` among the parameters
_POLL = 0.05  # seconds
_LIST_CHANGED = "/list_changed"
_UPDATED = "notifications/resources/updated"
_log = logging.getLogger("remit.gateway")


class LiveEndpoint:
    """Serves lists and calls by the same decisions."""

    def __init__(
        self,
        clerk: RegistryWorker[Inventory],
        links: UpstreamPool,
        calls: CallHandler,
        passing: ResourceRouter,
        discovery: ToolDiscovery,
        stocker: InventoryRefresher,
        board: PublishedLists,
        glances: QuickReads,
        follow_states: Callable[[], None],
    ) -> None:
        self._glance = glances.at_board
        self._is_catalog_right = glances.is_catalog_right
        self._follow_states = follow_states
        self._clerk = clerk
        self._links = links
        self._calls = calls
        self._discovery = discovery
        self._stocker = stocker
        self._passing = passing
        self._announcer = Broadcaster[EndpointChange]()
        self._differences = ChangeTracker(board.revisions())
        self._board = board
        self._bell = anyio.Event()
        self._patient_until = anyio.current_time() + FIRST_LIST

    @property
    def instructions(self) -> str | None:
        """What a model is told about all of it."""
        catalog = self._board.catalog
        said = {
            catalog.servers[key].server or "": catalog.extras[key].instructions
            for key in self._board.servers()
            if key in catalog.extras
        }
        for key in self._board.servers():
            if catalog.servers[key].source == REMIT:
                said[MEMORY_SERVER] = about_memory(catalog.context.workspace.project, prefix(MEMORY_SERVER))
        return instructions(self._board.presentation, said)

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What may be asked for; a server that is not known yet may have all of it."""
        parts: dict[str, Any] = {
            "tools": {},
            "resources": {},
            "prompts": {},
            "completions": {},
            "logging": {},
        }
        if self._board.scopes is None:
            return parts
        told = {SCOPES: {"scopes": list(self._board.scopes)}}
        return {**parts, "extensions": told, "experimental": told}

    async def tools(self, asked: Params) -> PublishedList:
        """List the tools.

        Raises:
            JsonRpcError: a scope is asked for that does not exist.
        """
        board = await self._given(ListKind.TOOLS)
        scope = _scope(asked)
        if scope is None or board.scopes is None:
            return board.tools
        if scope not in board.scopes:
            known = ", ".join(f"`{name}`" for name in board.scopes) or "none"
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS,
                f"Unknown scope: {scope}; there are {known}",
                {"scopes": list(board.scopes)},
            )
        return board.scopes[scope]

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Tell what a tool takes, as it was when the lists were last made."""
        for served in served_spellings(name):
            if served in list(OwnTool):
                return DEFINITIONS[OwnTool(served)]["inputSchema"]
        catalog = self._board.catalog
        key = catalog.names.find(name)
        item = None if key is None else catalog.items.get(key)
        return None if item is None else item.get("inputSchema")

    async def call(self, asked: Params, caller: RequestContext) -> Answer:
        """Call a tool.

        Raises:
            JsonRpcError: there is no such tool, or the upstream answers with an error.
        """
        name = asked.get("name")
        if not isinstance(name, str):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`name` is not a text")
        own = next(
            (OwnTool(each) for each in served_spellings(name) if each in self._board.catalog.plan.own_tools),
            None,
        )
        with _told():
            if own is OwnTool.CALL:
                return await self._call_deferred(asked, caller)
            if own is not None:
                return await self._calls.call_own(own, asked, caller, self._answer(own, asked))
            if self._board.groups:
                groups = (await self.fresh()).groups
                if group := next((groups[each] for each in served_spellings(name) if each in groups), None):
                    return open_group(group)
            return await self._calls.call(name, asked, caller)

    async def resources(self) -> PublishedList:
        """List the resources of visible servers, and the rooms."""
        return (await self._given(ListKind.RESOURCES)).resources

    async def templates(self) -> PublishedList:
        """List the templates of resources."""
        return (await self._given(ListKind.RESOURCES)).templates

    async def prompts(self) -> PublishedList:
        """List the prompts of visible servers."""
        return (await self._given(ListKind.PROMPTS)).prompts

    async def pass_on(self, method: str, asked: Params, caller: RequestContext) -> Answer:
        """Read or subscribe to a resource, get a prompt, complete an argument, set a log level.

        Raises:
            JsonRpcError: what it asks for is not there, or the upstream answers with an error.
        """
        with _told():
            waits = method != "logging/setLevel"  # which goes to those servers that run
            board = await (self._listed() if waits else self.fresh())
            return await self._passing.pass_on(method, asked, caller, board)

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[EndpointChange]]:
        """Listen to what changes from now on."""
        if not self._announcer.has_listeners:  # what was listed last is what those know who listen now
            self._differences.since(self._board.revisions())
        return self._announcer.listen()

    async def leave(self, session: str) -> None:
        """End what is kept for a caller's session alone."""
        await self._links.leave(session)

    async def fresh(self) -> PublishedLists:
        """Give what is listed as things are now."""
        board = self._glance() or await self._clerk.do(Inventory.board)
        if board is not self._board:
            before, now = self._board.catalog.upstreams, board.catalog.upstreams
            gone = frozenset(key for key, upstream in before.items() if now.get(key) != upstream)
            self._board = board
            self._stocker.consider(board)
            if gone:
                await self._links.drop(gone)
        return board

    def learn(self, key: Key, answer: Answer) -> Answer:
        """Take note of what a server answered to a call; gives what its caller is answered."""
        self._stocker.follow_up(key)
        return self._passing.learn(key, answer, self._board)

    def wait_no_more(self) -> None:
        """Have lists wait for no server any more."""
        self._patient_until = anyio.current_time()

    def stir(self) -> None:
        """Have those who listen told soon of what has just changed."""
        self._bell.set()

    async def watch(self) -> None:
        """Tell those who listen what changes, until cancelled."""
        is_ready = False
        while True:
            with anyio.move_on_after(_POLL):
                await self._bell.wait()
            is_rung, self._bell = self._bell.is_set(), anyio.Event()
            # What the last of those who were asked at first has to say is found out only after it is idle.
            was_ready, is_ready = is_ready, is_ready or self._stocker.is_idle or not self._is_patient
            if not self._announcer.has_listeners:
                continue
            if self._board.depends_on_states:
                self._follow_states()
            if not is_rung and self._is_catalog_right():
                continue
            try:
                board = await self.fresh()
            except RemitError as error:
                _log.warning("the lists cannot be made anew: %s", error)
                continue
            for change in self._differences.since(board.revisions(), is_ready=was_ready):
                self._announcer.publish(change)

    async def heed(self) -> None:
        """Follow what servers say by themselves, until cancelled."""
        async with self._links.notifications() as notices:
            async for key, method, params in notices:
                if key not in self._board.catalog.upstreams:
                    continue
                if method.endswith(_LIST_CHANGED):
                    self._stocker.ask(key)
                elif (
                    method == _UPDATED
                    and key in set(self._board.servers())
                    and isinstance(params.get("uri"), str)
                ):
                    served = self._board.addresses.written(key, params["uri"])
                    self._announcer.publish(EndpointChange(ListKind.RESOURCES, served))

    @property
    def _is_patient(self) -> bool:
        return anyio.current_time() < self._patient_until

    async def _given(self, part: ListKind) -> PublishedLists:
        """Give what is listed to one who is told from now on when this part of it changes."""
        board, change = await self._listed(), EndpointChange(part)
        self._differences.give(change, board.revisions()[change])
        return board

    async def _listed(self) -> PublishedLists:
        """Give what is listed; in the first seconds, with servers that are asked for the first time."""
        if self._is_patient:
            with anyio.move_on_after(self._patient_until - anyio.current_time()):
                await self._stocker.settled()
        with _told():
            return await self.fresh()

    async def _call_deferred(self, asked: Params, caller: RequestContext) -> Answer:
        """Call a tool that need not be listed: the same as if it were called directly."""
        try:
            arguments = arguments_of(asked)
            name = text_of(arguments, "name")
            if OwnTool.CALL in served_spellings(name):
                raise BadArgumentsError("it does not call itself")
            inner = {**asked, "name": name, "arguments": arguments_of(arguments)}
        except BadArgumentsError as error:
            return failure(f"`{OwnTool.CALL}`: {error}")
        return await self.call(inner, caller)

    async def _answer(self, own: OwnTool, asked: Params) -> Answer:
        try:
            arguments = arguments_of(asked)
            if own is OwnTool.DISCOVER:
                return await self._discovery.find(await self.fresh(), arguments)
            if own is OwnTool.WHY:
                return await self._clerk.do(why, text_of(arguments, "name"))
            return await self._clerk.do(report, arguments.get("tools"))
        except BadArgumentsError as error:
            return failure(f"`{own}`: {error}")


@contextmanager
def _told() -> Generator[None]:
    """Answer with an error where Remit itself cannot go on."""
    try:
        yield
    except RemitError as error:
        raise JsonRpcError.from_remit(error) from error


def _scope(asked: Params) -> str | None:
    found = asked.get("scope", as_object(asked.get("_meta")).get(SCOPE))
    return None if found is None else str(found)
