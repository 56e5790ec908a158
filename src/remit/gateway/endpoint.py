"""Serves one client in one project, optionally as one agent or in one room."""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from remit.decision.definitions.definition_changes import is_held
from remit.decision.definitions.project_lock import ProjectLock
from remit.decision.tool_names import MEMORY_SERVER, REMIT, served_spellings
from remit.decision.tools import Tool
from remit.errors import RemitError, StoreTooNewError, StoreUnavailableError
from remit.gateway.call_handler import CallHandler, UnservedToolError
from remit.gateway.change_feed import ChangeFeed
from remit.gateway.current_lists import CurrentLists
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.ports import EndpointChange, ListKind, PublishedList, SessionView, ToolCounts
from remit.gateway.published_lists import PublishedLists
from remit.gateway.remit_tool_calls import LONGEST_NAME, BadArgumentsError, arguments_of, open_group, text_of
from remit.gateway.resource_routing import ResourceRouter, UnknownTargetError
from remit.memory.memory_server import instructions as about_memory
from remit.presentation.instructions import instructions
from remit.presentation.refusals import STORE_DOWN, failure
from remit.presentation.remit_tools import DEFINITIONS, OwnTool
from remit.presentation.served_names import prefix
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.trust.definition_pin import instructions_pin
from remit.upstream.ports import RequestContext
from remit.upstream.upstream_pool import UpstreamPool

SCOPES = "remit/scopes"  # the extension that lists scopes, if the strategy has them
SCOPE = "remit/scope"  # a key of `_meta`; `scope` among the parameters works too
_LIST_CHANGED = "/list_changed"
_UPDATED = "notifications/resources/updated"
_log = logging.getLogger("remit.gateway")
_LONGEST_SCHEMA = 4_000  # characters of an input schema in an error


class LiveEndpoint:
    """Serves lists and calls based on the same decisions."""

    def __init__(
        self,
        *,
        pool: UpstreamPool,
        lists: CurrentLists,
        refresher: InventoryRefresher,
        calls: CallHandler,
        router: ResourceRouter,
        feed: ChangeFeed,
        warning: str = "",  # what keeps Remit from protecting the workspace
    ) -> None:
        self._pool = pool
        self._lists = lists
        self._refresher = refresher
        self._calls = calls
        self._router = router
        self._feed = feed
        self._warning = warning

    @property
    def instructions(self) -> str | None:
        """The instructions for models."""
        catalog = self._lists.last.catalog
        keys, policy = list(self._lists.last.servers()), catalog.context.policy
        changes, lock = policy.changes, policy.lock
        said = {
            catalog.servers[key].server or "": catalog.extras[key].instructions
            for key in keys
            if key in catalog.extras and not is_held(catalog.servers[key].change, changes)
            if not _differs_from_lock(catalog.servers[key], catalog.extras[key].instructions, lock)
        }
        has_memory = any(catalog.servers[key].source == REMIT for key in keys)
        memory = about_memory(catalog.context.workspace, prefix(MEMORY_SERVER)) if has_memory else None
        told = instructions(self._lists.last.presentation, said, memory)
        return "\n\n".join(filter(None, (self._warning, told))) or None

    @property
    def tool_counts(self) -> ToolCounts:
        """How many tools are listed, of those that can be called."""
        lists = self._lists.last
        return ToolCounts(len(lists.presentation.entries), len(lists.visible))

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities: all of them, since a server that has not answered yet may have any."""
        parts: dict[str, Any] = {
            "tools": {},
            "resources": {},
            "prompts": {},
            "completions": {},
            "logging": {},
        }
        if self._lists.last.scopes is None:
            return parts
        manifest: dict[str, Any] = {"scopes": list(self._lists.last.scopes), "stateAware": True}
        if descriptions := self._lists.last.scope_descriptions:
            manifest["descriptions"] = descriptions
        return {**parts, "extensions": {SCOPES: manifest}, "experimental": {SCOPES: manifest}}

    async def tools(self, asked: Params, session: SessionView | None = None) -> PublishedList:
        """List the tools of the endpoint, or of one session.

        Raises:
            JsonRpcError: the requested scope does not exist.
        """
        lists = await self._sent(ListKind.TOOLS)
        scope = _scope(asked)
        if scope is None or lists.scopes is None:
            return lists.tools if session is None else lists.tools_for(session)
        if scope not in lists.scopes:
            known = ", ".join(f"`{name}`" for name in lists.scopes) or "none"
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS,
                f"Unknown scope: {scope}; expected one of {known}",
                {"scopes": list(lists.scopes)},
            )
        return lists.scopes[scope]

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool, as last published."""
        for served in served_spellings(name):
            if served in list(OwnTool):
                return DEFINITIONS[OwnTool(served)]["inputSchema"]
        catalog = self._lists.last.catalog
        key = catalog.names.find(name)
        item = None if key is None else catalog.items.get(key)
        return None if item is None else item.get("inputSchema")

    async def call(self, asked: Params, caller: RequestContext, *, is_models: bool = False) -> Answer:
        """Call a tool; a call is surely the model's if it came through `call_tool`.

        Raises:
            JsonRpcError: there is no such tool, or the upstream answers with an error.
        """
        name = asked.get("name")
        if not isinstance(name, str):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`name` must be a string")
        if len(name) > LONGEST_NAME:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`name` is longer than {LONGEST_NAME:,} characters")
        own_tools = self._lists.last.catalog.plan.own_tools
        own = next((OwnTool(each) for each in served_spellings(name) if each in own_tools), None)
        with _TRANSLATED:
            if own is OwnTool.CALL:
                return await self._call_deferred(asked, caller)
            if own is not None:
                return await self._calls.call_own(own, asked, caller)
            if self._lists.last.groups:
                groups = (await self._lists.refresh()).groups
                if group := next((groups[each] for each in served_spellings(name) if each in groups), None):
                    return open_group(group)
            return await self._calls.call(name, asked, caller, is_models=is_models)

    def withheld(self, capabilities: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of tools that are not for sessions with these capabilities."""
        return self._lists.last.withheld(capabilities, self._refresher.offers)

    def meet(self, principal: str | None) -> None:
        """Note who asks for lists: some servers can only be listed with a caller's credential."""
        self._refresher.meet(principal, self._lists.last)

    def list_for_all(self) -> None:
        """List what servers offer to any client, because the list is for all."""
        self._refresher.list_for_all()

    def promotes(self, asked: Params) -> str | None:
        """Return the name of the deferred tool that `call_tool` is asked to call, if the plan promotes it."""
        lists, name = self._lists.last, asked.get("name")
        if not (
            lists.catalog.plan.promotes and isinstance(name, str) and OwnTool.CALL in served_spellings(name)
        ):
            return None
        inner = as_object(asked.get("arguments")).get("name")
        key = lists.catalog.names.find(inner) if isinstance(inner, str) else None
        return next((each.name for each in lists.presentation.deferred if each.tool.key == key), None)

    async def resources(self) -> PublishedList:
        """List the resources of visible servers, and the rooms."""
        return (await self._sent(ListKind.RESOURCES)).resources

    async def templates(self) -> PublishedList:
        """List the resource templates."""
        return (await self._sent(ListKind.RESOURCES)).templates

    async def prompts(self) -> PublishedList:
        """List the prompts of visible servers."""
        return (await self._sent(ListKind.PROMPTS)).prompts

    async def pass_on(self, method: str, asked: Params, caller: RequestContext) -> Answer:
        """Forward a request for a resource, a prompt, a completion or a log level.

        Raises:
            JsonRpcError: the target does not exist, or the upstream answers with an error.
        """
        with _TRANSLATED:
            waits = method != "logging/setLevel"  # which only goes to running servers
            lists = await (self._settled() if waits else self._lists.refresh())
            try:
                return await self._router.pass_on(method, asked, caller, lists)
            except UnknownTargetError:
                if not await self._refresher.has_answers():
                    raise
            return await self._router.pass_on(method, asked, caller, await self._lists.refresh())

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[EndpointChange]]:
        """Listen for changes from now on."""
        return self._feed.listen()

    def is_bound(self, session: str) -> bool:
        """Return whether a caller's session has upstream sessions of its own."""
        return self._pool.has_own(session)

    async def leave(self, session: str) -> None:
        """Release what belongs to a caller's session: upstream sessions and kept results."""
        await self._pool.leave(session)
        await self._calls.leave(session)

    async def follow_servers(self) -> None:
        """Process notifications from servers until cancelled."""
        async with self._pool.notifications() as notifications:
            async for key, method, params in notifications:
                lists = self._lists.last
                if key not in lists.catalog.upstreams:
                    continue
                uri = params.get("uri")
                if method.endswith(_LIST_CHANGED):
                    self._refresher.ask(key)
                elif method == _UPDATED and isinstance(uri, str) and key in set(lists.servers()):
                    served = lists.addresses.written(key, uri)
                    self._feed.announce(EndpointChange(ListKind.RESOURCES, served))

    async def _sent(self, kind: ListKind) -> PublishedLists:
        """Return the lists for a client, and announce changes of the requested one from now on."""
        lists = await self._settled()
        self._feed.note_sent(kind, lists)
        return lists

    async def _settled(self) -> PublishedLists:
        """Return the lists for a client; in the first seconds, wait for new servers first."""
        await self._refresher.settled()
        with _TRANSLATED:
            return await self._lists.send()

    async def _call_deferred(self, asked: Params, caller: RequestContext) -> Answer:
        """Call the tool named in the arguments as if it were called directly.

        `call_tool` itself exists, so a wrong name or wrong arguments are in its result, for the model.
        """
        try:
            inner = _inner_call(asked)
        except BadArgumentsError as error:
            return failure(f"`{OwnTool.CALL}`: {error}")
        try:
            return await self.call(inner, caller, is_models=True)
        except UnservedToolError as error:
            return error.answer
        except JsonRpcError as error:
            if error.code != ErrorCode.INVALID_PARAMS:
                raise
            return failure(str(error), self._how_to_call(inner["name"]))

    def _how_to_call(self, name: str) -> str | None:
        """Return the input schema of a tool that was called with wrong arguments."""
        schema = self.input_schema(name)
        text = "" if schema is None else json.dumps(schema, ensure_ascii=False)
        if len(text) > _LONGEST_SCHEMA:
            return f"`{OwnTool.DISCOVER}` with `detail` set to `full` returns its input schema"
        return f"its input schema is {text}" if text else None


def _inner_call(asked: Params) -> dict[str, Any]:
    """Return the call that `call_tool` is asked to make.

    Raises:
        BadArgumentsError: its arguments are invalid.
    """
    arguments = arguments_of(asked)
    name = text_of(arguments, "name")
    if OwnTool.CALL in served_spellings(name):
        raise BadArgumentsError("`call_tool` cannot call itself")
    if unknown := arguments.keys() - {"name", "arguments"}:
        raise BadArgumentsError(
            f"unknown argument `{min(unknown)}`: the arguments of the tool belong in `arguments`"
        )
    return {**asked, "name": name, "arguments": arguments_of(arguments)}


class _TranslatedErrors:
    """Converts Remit's own errors to JSON-RPC errors; a generator would take longer, on every call."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, (StoreUnavailableError, StoreTooNewError)):  # its place is for people
            _log.warning("a request needs the store: %s", error)
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, STORE_DOWN) from error
        if isinstance(error, RemitError):
            raise JsonRpcError.from_remit(error) from error


_TRANSLATED = _TranslatedErrors()


def _scope(asked: Params) -> str | None:
    found = asked.get("scope", as_object(asked.get("_meta")).get(SCOPE))
    return None if found is None else str(found)


def _differs_from_lock(server: Tool, said: str | None, lock: ProjectLock | None) -> bool:
    """Return whether a project's lock has other instructions for a server."""
    locked = None if lock is None else lock.instructions_of(server)
    return locked is not None and locked != instructions_pin(said)
