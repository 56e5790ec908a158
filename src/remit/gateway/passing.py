"""Passing on: resources, prompts and completions go to the server they are of, if it is visible now."""

import json

import anyio

from remit.core.declarations import Key
from remit.core.serving.strategies import ROOM, Group, definitions_of
from remit.core.serving.templates import fit
from remit.errors import UpstreamError
from remit.exchange import Answer, AnsweredError, Caller, Health, Links, Params
from remit.gateway.board import Board
from remit.gateway.raw import members

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601
RESOURCE_NOT_FOUND = -32002


class Passing:
    """Passes requests on that are not about tools."""

    def __init__(self, links: Links) -> None:
        self._links = links

    async def pass_on(self, method: str, asked: Params, caller: Caller, board: Board) -> Answer:
        """Pass a request on.

        Raises:
            AnsweredError: what it asks for is not there, or the server answers with an error.
        """
        if method.startswith("resources/"):
            return await self._resource(method, asked, caller, board)
        if method == "prompts/get":
            key, name = _prompt(asked.get("name"), board)
            return await self._ask(key, method, {**asked, "name": name}, caller, board)
        if method == "completion/complete":
            return await self._complete(asked, caller, board)
        if method == "logging/setLevel":
            return await self._set_level(asked, caller, board)
        raise AnsweredError(METHOD_NOT_FOUND, f"Method not found: {method}")

    async def _resource(self, method: str, asked: Params, caller: Caller, board: Board) -> Answer:
        uri = asked.get("uri")
        if not isinstance(uri, str):
            raise AnsweredError(INVALID_PARAMS, "`uri` is not a text")
        room = board.rooms.get(uri.removeprefix(ROOM)) if uri.startswith(ROOM) else None
        if room is not None:
            return _room(uri, room) if method == "resources/read" else {}
        return await self._ask(_owner(uri, board, caller), method, asked, caller, board)

    async def _complete(self, asked: Params, caller: Caller, board: Board) -> Answer:
        said = members(asked.get("ref"))
        if said.get("type") == "ref/prompt":
            key, name = _prompt(said.get("name"), board)
            return await self._ask(
                key, "completion/complete", {**asked, "ref": {**said, "name": name}}, caller, board
            )
        if said.get("type") == "ref/resource" and isinstance(said.get("uri"), str):
            owner = _owner(said["uri"], board, caller)
            return await self._ask(owner, "completion/complete", asked, caller, board)
        raise AnsweredError(INVALID_PARAMS, "`ref` is neither a prompt nor a resource")

    async def _set_level(self, asked: Params, caller: Caller, board: Board) -> Answer:
        """Tell those servers that run; one that is started later is told by its own caller's level."""
        up = {each.key for each in self._links.conditions() if each.health is Health.UP}
        wares = board.catalog.wares
        told = [
            key
            for key in board.servers()
            if key in up and key in wares and "logging" in wares[key].capabilities
        ]
        async with anyio.create_task_group() as group:
            for key in told:
                group.start_soon(self._try, key, "logging/setLevel", asked, caller, board)
        return {}

    async def _try(self, key: Key, method: str, asked: Params, caller: Caller, board: Board) -> None:
        try:
            await self._ask(key, method, asked, caller, board)
        except AnsweredError:
            return

    async def _ask(self, key: Key, method: str, asked: Params, caller: Caller, board: Board) -> Answer:
        try:
            return await self._links.request(board.catalog.upstreams[key], method, asked, caller)
        except UpstreamError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise AnsweredError(INTERNAL_ERROR, f"{error}{hint}") from error


def _prompt(name: object, board: Board) -> tuple[Key, str]:
    found = board.catalog.prompt_names.find(name) if isinstance(name, str) else None
    if found is None or found[0] not in set(board.servers()):
        raise AnsweredError(INVALID_PARAMS, f"Unknown prompt: {name}")
    return found


def _owner(uri: str, board: Board, caller: Caller) -> Key:
    """Find the server of a resource: who lists it, or whose template says most of it."""
    if uri in board.resource_owners:
        return board.resource_owners[uri]
    best: tuple[int, Key] | None = None
    wares = board.catalog.wares
    for key in board.servers():
        for template in wares[key].templates if key in wares else ():
            found = len(uri) + 1 if template["uriTemplate"] == uri else fit(template["uriTemplate"], uri)
            if found is not None and (best is None or found > best[0]):
                best = found, key
    if best is None:
        code = INVALID_PARAMS if caller.takes_input_required else RESOURCE_NOT_FOUND  # each era has its own
        raise AnsweredError(code, f"Resource not found: {uri}", {"uri": uri})
    return best[1]


def _room(uri: str, group: Group) -> Answer:
    text = json.dumps(
        {"room": group.name, "description": group.description, "tools": definitions_of(group.entries)}
    )
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}
