"""Routes requests for resources, prompts and completions to their servers, if those are visible."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import cast

import anyio

from remit.decision.declarations import Key
from remit.errors import OwnedElsewhereError, UpstreamError
from remit.gateway.attribution import request_attributed
from remit.gateway.published_lists import PublishedLists
from remit.presentation.app_metadata import SCHEME as UI
from remit.presentation.app_metadata import readdressed
from remit.presentation.listing_strategies import ROOM, ToolGroup, definitions_of
from remit.presentation.resource_addresses import fit
from remit.protocol.json_rpc import Answer, ElsewhereError, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_list, as_object
from remit.upstream.ports import Health, RequestContext
from remit.upstream.upstream_pool import UpstreamPool

_MOST_LINKED = 1_000


class UnknownTargetError(JsonRpcError):
    """No server that has answered so far has this prompt or resource."""


class ResourceRouter:
    """Forwards requests that are not about tools."""

    def __init__(self, pool: UpstreamPool) -> None:
        self._pool = pool
        self._linked: OrderedDict[str, Key] = OrderedDict()  # resources that tools linked to

    def learn(self, key: Key, answer: Answer, lists: PublishedLists) -> Answer:
        """Remember which server linked to a resource, since it may not list it.

        Returns the answer; rewrites links whose address another server also has.
        """
        answer = readdressed(answer, lambda page: self._written(key, page, lists))
        items = as_list(answer.get("content"))
        links = {uri: self._written(key, uri, lists) for item in items if (uri := _linked(item)) is not None}
        for uri, served in links.items():
            if served == uri:  # else the plain address keeps leading to another server
                self._linked[uri] = key
                self._linked.move_to_end(uri)
        while len(self._linked) > _MOST_LINKED:
            self._linked.popitem(last=False)
        if all(served == uri for uri, served in links.items()):
            return answer
        return {**answer, "content": [_linked_to(item, links) for item in items]}

    async def pass_on(
        self, method: str, asked: Params, caller: RequestContext, lists: PublishedLists
    ) -> Answer:
        """Forward a request.

        Raises:
            JsonRpcError: the target does not exist, or the server answers with an error.
        """
        if method.startswith("resources/"):
            return await self._resource(method, asked, caller, lists)
        if method == "prompts/get":
            key, name = _prompt(asked.get("name"), lists)
            return await self._ask(key, method, {**asked, "name": name}, caller, lists)
        if method == "completion/complete":
            return await self._complete(asked, caller, lists)
        if method == "logging/setLevel":
            return await self._set_level(asked, caller, lists)
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"Method not found: {method}")

    async def _resource(
        self, method: str, asked: Params, caller: RequestContext, lists: PublishedLists
    ) -> Answer:
        uri = asked.get("uri")
        if not isinstance(uri, str):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`uri` must be a string")
        room = lists.rooms.get(uri.removeprefix(ROOM)) if uri.startswith(ROOM) else None
        if room is not None:
            return _room(uri, room) if method == "resources/read" else {}
        key, own = self._owner(uri, lists)
        answer = await self._ask(key, method, {**asked, "uri": own}, caller, lists)
        return answer if own == uri else _readdressed(answer, key, lists)

    async def _complete(self, asked: Params, caller: RequestContext, lists: PublishedLists) -> Answer:
        said = as_object(asked.get("ref"))
        if said.get("type") == "ref/prompt":
            key, name = _prompt(said.get("name"), lists)
            return await self._ask(
                key, "completion/complete", {**asked, "ref": {**said, "name": name}}, caller, lists
            )
        if said.get("type") == "ref/resource" and isinstance(said.get("uri"), str):
            key, own = self._owner(said["uri"], lists)
            return await self._ask(
                key, "completion/complete", {**asked, "ref": {**said, "uri": own}}, caller, lists
            )
        raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`ref` is neither a prompt nor a resource")

    async def _set_level(self, asked: Params, caller: RequestContext, lists: PublishedLists) -> Answer:
        """Set the log level of running servers; a server that starts later gets its caller's level."""
        up = {each.key for each in self._pool.statuses() if each.health is Health.UP}
        extras = lists.catalog.extras
        told = [
            key
            for key in lists.servers()
            if key in up and key in extras and "logging" in extras[key].capabilities
        ]
        async with anyio.create_task_group() as group:
            for key in told:
                group.start_soon(self._try, key, "logging/setLevel", asked, caller, lists)
        return {}

    def _owner(self, uri: str, lists: PublishedLists) -> tuple[Key, str]:
        """Find the server that lists, linked to or has a template for a resource, and its address there."""
        if (found := lists.addresses.found(uri)) is not None:
            return found
        owner = self._unlisted(uri, lists)
        if owner is None and (page := lists.addresses.below_server(uri)) is not None:
            return page
        if owner is None:
            raise UnknownTargetError(ErrorCode.RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})
        return owner, uri

    def _unlisted(self, uri: str, lists: PublishedLists) -> Key | None:
        """Find the server of a resource that no server lists."""
        if lists.addresses.is_known(uri):  # of several servers: each is reached under its own address
            return None
        told_by = self._linked.get(uri)
        return told_by if told_by in set(lists.servers()) else _templated(uri, lists)

    def _written(self, key: Key, uri: str, lists: PublishedLists) -> str:
        """Return an address for a link that leads to its server and hides no resource of another."""
        written = lists.addresses.written(key, uri)
        is_taken = key in set(lists.servers()) and self._unlisted(uri, lists) not in (None, key)
        return lists.addresses.below(key, uri) if written == uri and is_taken else written

    async def _try(
        self, key: Key, method: str, asked: Params, caller: RequestContext, lists: PublishedLists
    ) -> None:
        try:
            await self._ask(key, method, asked, caller, lists)
        except JsonRpcError:
            return

    async def _ask(
        self, key: Key, method: str, asked: Params, caller: RequestContext, lists: PublishedLists
    ) -> Answer:
        try:
            return await request_attributed(self._pool, lists.catalog.upstreams[key], method, asked, caller)
        except UpstreamError as error:
            is_elsewhere = isinstance(error, OwnedElsewhereError) and caller.can_move
            raise (ElsewhereError if is_elsewhere else JsonRpcError).from_remit(error) from error


def _prompt(name: object, lists: PublishedLists) -> tuple[Key, str]:
    found = lists.catalog.prompt_names.find(name) if isinstance(name, str) else None
    if found is None or found[0] not in set(lists.servers()):
        raise UnknownTargetError(ErrorCode.INVALID_PARAMS, f"Unknown prompt: {name}")
    return found


def _linked(item: object) -> str | None:
    """Return the address that a content item links to, or of the page that it contains."""
    told = as_object(item)
    if told.get("type") == "resource_link":
        uri = told.get("uri")
        return uri if isinstance(uri, str) else None
    page = as_object(told.get("resource")).get("uri")
    return page if isinstance(page, str) and page.startswith(UI) else None


def _linked_to(item: object, links: Mapping[str, str]) -> object:
    """Return a content item with the address that is served."""
    uri, told = _linked(item), as_object(item)
    if uri is None:
        return item
    if told.get("type") == "resource_link":
        return {**told, "uri": links[uri]}
    return {**told, "resource": {**as_object(told["resource"]), "uri": links[uri]}}


def _readdressed(answer: Answer, key: Key, lists: PublishedLists) -> Answer:
    """Rewrite the addresses of contents under the server's name, as requested."""
    contents = answer.get("contents")
    if not isinstance(contents, list):
        return answer
    read = [as_object(each) for each in cast("list[object]", contents)]
    below = [
        {**each, "uri": lists.addresses.below(key, each["uri"])} if isinstance(each.get("uri"), str) else each
        for each in read
    ]
    return {**answer, "contents": below}


def _templated(uri: str, lists: PublishedLists) -> Key | None:
    """Find the server whose template matches most of an address literally; None if several match as well."""
    extras = lists.catalog.extras
    fitting = {
        key: max((_fit(each["uriTemplate"], uri) for each in extras[key].templates), default=0)
        for key in lists.servers()
        if key in extras
    }
    best = max(fitting.values(), default=0)
    found = [key for key, length in fitting.items() if length == best > 0]
    return found[0] if len(found) == 1 else None


def _fit(template: str, uri: str) -> int:
    return len(uri) + 1 if template == uri else fit(template, uri) or 0


def _room(uri: str, group: ToolGroup) -> Answer:
    text = json.dumps(
        {"room": group.name, "description": group.description, "tools": definitions_of(group.entries)}
    )
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}
