"""Resources, prompts and completions: who answers for which address, and requests passed on to them.

Two servers may list the same address. Then each resource is served under an address that names its server, so
both can be read and neither takes the other's place. A client that knows an address keeps reaching the server
that had it, whoever lists it later. The pages of apps keep their scheme, by which clients know them.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import cast

from remit.catalog import ROOM, ToolGroup, group_name
from remit.decision import Glob, Key
from remit.gateway.apps import SCHEME as UI
from remit.gateway.apps import readdressed
from remit.gateway.attribution import request_attributed
from remit.gateway.view import Published
from remit.protocol import Answer, Caller, ErrorCode, JsonRpcError, Params
from remit.text import as_list, as_object
from remit.upstream import Health, Upstream, UpstreamPool

SCHEME = "remit://"  # `remit://SERVER/ADDRESS`, which no server can claim; a page becomes `ui://SERVER/…`
_MOST_LINKED = 1_000
_EXPRESSION = re.compile(r"\{[^{}]*\}")
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

Upstreams = Mapping[Key, Upstream]


class UnknownTargetError(JsonRpcError):
    """No server that has answered so far has this prompt or resource."""


class ResourceAddresses:
    """Maps addresses to servers, and returns each server's addresses as they are served."""

    def __init__(
        self,
        labels: Mapping[Key, str],
        claims: Iterable[tuple[Key, str]],
        taken: Iterable[str] = (),
        before: "ResourceAddresses | None" = None,
    ) -> None:
        self._servers: dict[str, Key] = {}
        for key, label in labels.items():
            self._servers[group_name(label, self._servers)] = key
        self._below = {key: name for name, key in self._servers.items()}
        rooms = frozenset(taken)
        self._owners: dict[str, Key | None] = dict.fromkeys(rooms)  # None: of no server, or of several
        self._pages: dict[str, tuple[Key, str]] = {}  # by address below its server
        claimed = list(claims)
        for key, address in claimed:
            owner = self._owners.setdefault(address, key)
            if owner != key and address not in rooms:
                self._owners[address] = None if before is None else before.kept_by(address, (owner, key))
        for key, address in claimed:
            if address.startswith(UI):
                self._pages[self.below(key, address)] = key, address

    def kept_by(self, address: str, rivals: Iterable[Key | None]) -> Key | None:
        """Return which of several servers already had an address."""
        owner = self._owners.get(address)
        return owner if owner in rivals else None

    def below(self, key: Key, address: str) -> str:
        """Return an address under its server's name, whether needed or not."""
        name = self._below[key]
        if not address.startswith(UI):
            return f"{SCHEME}{name}/{address}"
        rest = address.removeprefix(UI)
        while f"{UI}{name}/{rest}" in self._owners:  # a server may have a page of this address
            name += "_"
        return f"{UI}{name}/{rest}"

    def written(self, key: Key, address: str) -> str:
        """Return an address as it is served: unchanged, unless another server has the same one."""
        is_own = self._owners.get(address, key) == key and not address.startswith(SCHEME)
        is_own = is_own and _WITH_SCHEME.match(address) is not None  # else it may lead anywhere
        return address if is_own or key not in self._below else self.below(key, address)

    def is_known(self, address: str) -> bool:
        """Return whether any server lists an address, or several do."""
        return address in self._owners

    def find(self, address: str) -> tuple[Key, str] | None:
        """Find the server of an address, and the address there; None if no server lists it."""
        if address.startswith(SCHEME):
            name, _, own = address.removeprefix(SCHEME).partition("/")
            server = self._servers.get(name)
            return None if server is None or not own else (server, own)
        owner = self._owners.get(address)
        return self._pages.get(address) if owner is None else (owner, address)

    def below_server(self, address: str) -> tuple[Key, str] | None:
        """Find the server that the address of an unlisted page names."""
        name, _, rest = address.removeprefix(UI).partition("/")
        server = self._servers.get(name) if address.startswith(UI) and rest else None
        return None if server is None else (server, f"{UI}{rest}")


_NO_ADDRESSES = ResourceAddresses({}, ())


class ResourceRouter:
    """Forwards requests that are not about tools to their servers, if those are visible."""

    def __init__(self) -> None:
        self._linked: OrderedDict[str, Key] = OrderedDict()  # resources that tools linked to

    def learn(self, key: Key, answer: Answer, published: Published) -> Answer:
        """Remember which server linked to a resource, since it may not list it.

        Returns the answer; rewrites links whose address another server also has.
        """
        answer = readdressed(answer, lambda page: self._written(key, page, published))
        blocks = as_list(answer.get("content"))
        links = {
            uri: self._written(key, uri, published) for block in blocks if (uri := _linked(block)) is not None
        }
        for uri, served in links.items():
            if served == uri:  # else the plain address keeps leading to another server
                self._linked[uri] = key
                self._linked.move_to_end(uri)
        while len(self._linked) > _MOST_LINKED:
            self._linked.popitem(last=False)
        if all(served == uri for uri, served in links.items()):
            return answer
        return {**answer, "content": [_linked_to(block, links) for block in blocks]}

    async def pass_on(
        self, method: str, params: Params, caller: Caller, published: Published, reach: "Reach"
    ) -> Answer:
        """Forward a request.

        Raises:
            JsonRpcError: the target does not exist, or the server answers with an error.
            UpstreamError: the server cannot be reached.
        """
        ask = partial(reach.ask, caller=caller)
        if method.startswith("resources/"):
            uri = _text(params, "uri")
            room = published.rooms.get(uri.removeprefix(ROOM)) if uri.startswith(ROOM) else None
            if room is not None:
                return _room(uri, room, published) if method == "resources/read" else {}
            key, own = self._owner(uri, published)
            answer = await ask(key, method, {**params, "uri": own})
            return answer if own == uri else _below(answer, key, published)
        if method == "prompts/get":
            key, name = _prompt(params.get("name"), published)
            return await ask(key, method, {**params, "name": name})
        ref = as_object(params.get("ref"))
        if ref.get("type") == "ref/prompt":
            key, name = _prompt(ref.get("name"), published)
            return await ask(key, method, {**params, "ref": {**ref, "name": name}})
        if ref.get("type") == "ref/resource":
            key, own = self._owner(_text(ref, "uri"), published)
            return await ask(key, method, {**params, "ref": {**ref, "uri": own}})
        raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`ref` is neither a prompt nor a resource")

    def _owner(self, uri: str, published: Published) -> tuple[Key, str]:
        """Find the server that lists, linked to or has a template for a resource, and its address there."""
        addresses = published.addresses or _NO_ADDRESSES
        if (found := addresses.find(uri)) is not None:
            return found
        owner = self._unlisted(uri, published)
        if owner is not None:
            return owner, uri
        if (page := addresses.below_server(uri)) is not None:
            return page
        raise UnknownTargetError(ErrorCode.RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})

    def _unlisted(self, uri: str, published: Published) -> Key | None:
        """Find the server of a resource that no server lists."""
        if (published.addresses or _NO_ADDRESSES).is_known(uri):  # of several servers, each below its own
            return None
        told_by = self._linked.get(uri)
        return told_by if told_by in published.servers else _templated(uri, published)

    def _written(self, key: Key, uri: str, published: Published) -> str:
        """Return an address for a link that leads to its server and hides no resource of another."""
        written = published.address(key, uri)
        is_taken = key in published.servers and self._unlisted(uri, published) not in (None, key)
        addresses = published.addresses
        return addresses.below(key, uri) if addresses and written == uri and is_taken else written


class Reach:
    """The servers that a request can be passed on to."""

    def __init__(self, pool: UpstreamPool, upstreams: Upstreams) -> None:
        self.pool = pool
        self._upstreams = upstreams

    async def ask(self, key: Key, method: str, params: Params, *, caller: Caller) -> Answer:
        """Ask a server.

        Raises:
            JsonRpcError: the server answers with an error, or its entry cannot be read now.
            UpstreamError: the server cannot be reached.
        """
        upstream = self._upstreams.get(key)
        if upstream is None:
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, "the entry of its server cannot be read now")
        return await request_attributed(self.pool, upstream, method, params, caller)

    async def set_level(self, params: Params, caller: Caller, published: Published) -> None:
        """Set the log level of running servers; a server that starts later gets its caller's level."""
        running = {status.key for status in self.pool.statuses() if status.health is Health.UP}
        for key in published.servers:
            offer = published.served.catalog.offers.get(key)
            if key in running and offer is not None and "logging" in offer.capabilities:
                with suppress(JsonRpcError):
                    await self.ask(key, "logging/setLevel", params, caller=caller)


def _prompt(name: object, published: Published) -> tuple[Key, str]:
    found = published.served.prompt_names.find(name) if isinstance(name, str) else None
    if found is None or found[0] not in published.servers:
        raise UnknownTargetError(ErrorCode.INVALID_PARAMS, f"Unknown prompt: {name}")
    return found


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`{name}` must be a string")
    return value


def _linked(block: object) -> str | None:
    """Return the address that a content block links to, or of the page that it contains."""
    fields = as_object(block)
    if fields.get("type") == "resource_link":
        uri = fields.get("uri")
        return uri if isinstance(uri, str) else None
    page = as_object(fields.get("resource")).get("uri")
    return page if isinstance(page, str) and page.startswith(UI) else None


def _linked_to(block: object, links: Mapping[str, str]) -> object:
    """Return a content block with the address that is served."""
    uri, fields = _linked(block), as_object(block)
    if uri is None:
        return block
    if fields.get("type") == "resource_link":
        return {**fields, "uri": links[uri]}
    return {**fields, "resource": {**as_object(fields["resource"]), "uri": links[uri]}}


def _below(answer: Answer, key: Key, published: Published) -> Answer:
    """Rewrite the addresses of contents under the server's name, as requested."""
    contents, addresses = answer.get("contents"), published.addresses
    if not isinstance(contents, list) or addresses is None:
        return answer
    read = [as_object(content) for content in cast("list[object]", contents)]
    below = [
        {**content, "uri": addresses.below(key, content["uri"])}
        if isinstance(content.get("uri"), str)
        else content
        for content in read
    ]
    return {**answer, "contents": below}


def _templated(uri: str, published: Published) -> Key | None:
    """Find the server whose template matches most of an address literally; None if several match as well."""
    fitting = {
        key: max((_fit(item["uriTemplate"], uri) for item in published.offered(key, "templates")), default=0)
        for key in published.servers
    }
    best = max(fitting.values(), default=0)
    found = [key for key, length in fitting.items() if length == best > 0]
    return found[0] if len(found) == 1 else None


def _fit(template: str, uri: str) -> int:
    """Count the literal characters of a template that matches an address; 0 if it does not match.

    Any text matches an expression, so no template can make matching slow. A template that does not begin with
    a scheme, such as `{+any}`, would catch the addresses of all servers, and matches none.
    """
    if template == uri:
        return len(uri) + 1
    pattern = _pattern(template)
    if _WITH_SCHEME.match(pattern.parts[0]) is None or not pattern.matches(uri):
        return 0
    return sum(map(len, pattern.parts))


@lru_cache(maxsize=1_000)
def _pattern(template: str) -> Glob:
    return Glob(tuple(_EXPRESSION.split(template)))


def _room(uri: str, group: ToolGroup, published: Published) -> Answer:
    tools = [published.item_of(entry) for entry in group.entries]
    text = json.dumps({"room": group.name, "description": group.description, "tools": tools})
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}
