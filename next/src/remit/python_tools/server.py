"""Serves a registry to one MCP client on stdio."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Set
from contextlib import suppress
from typing import Any, cast

import anyio

from remit.config import state_rule
from remit.decision import Implications
from remit.decision.when import StateScope
from remit.errors import HiddenToolError, NotApprovedError
from remit.gateway import can_elicit, question, read_answer
from remit.protocol import (
    CLIENT_LIMITS,
    RULES,
    SUBSCRIPTION_KEY,
    Answer,
    ClientEra,
    Era,
    ErrorCode,
    Incoming,
    JsonRpcError,
    LineTransport,
    Params,
    Peer,
    Pending,
    Tasks,
)
from remit.python_tools.registry import Ask, Table, ToolRegistry
from remit.python_tools.tools import DefinedTool, error_text, result_text
from remit.store import Approval
from remit.text import as_object

_ASK_THE_USER = "Ask the user: only a person can change this."
_DECLARES_STATES = "remit/states"
_CHANGED = "notifications/tools/list_changed"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_ELICIT = "elicitation/create"
_QUESTION = "approval"
_PAUSE = 0.5  # seconds between two looks at the states
_Handle = Callable[[Params], Awaitable[Answer]]


def serve(registry: ToolRegistry, *, name: str = "tools", version: str = "") -> None:
    """Serve on stdin and stdout until the client disconnects; what tools print goes to stderr."""
    output = os.dup(1)
    os.dup2(2, 1)
    with registry:
        asyncio.run(_serve(ToolSession(registry, name, version), output))


async def _serve(session: "ToolSession", output: int) -> None:
    transport = LineTransport(0, output)
    async with Tasks() as tasks:
        peer = Peer(transport, tasks, session, CLIENT_LIMITS)
        tasks.start(session.watch(peer))
        await peer.run()
    await transport.close()


class _InputRequiredError(Exception):
    """A client without a session must ask its user: it repeats its call with the answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


class ToolSession:
    """The session of one client."""

    def __init__(self, registry: ToolRegistry, name: str, version: str = "") -> None:
        self._registry = registry
        self._server = {"name": name, "version": version}
        self._era = ClientEra()
        self._listed: list[str] | None = None  # the names in the client's last list
        self._streams: list[Incoming] = []  # on which a client without a session hears of changes
        self._capabilities_of_client: Params = {}
        self._peer: Peer | None = None

    def answer(self, request: Incoming) -> Any:
        """Answer a request."""
        method, params = request.method, request.params
        if method == "initialize":
            version = self._era.initialize(params)
            self._capabilities_of_client = as_object(params.get("capabilities"))
            offered = {"capabilities": self._capabilities(Era.SESSION), "serverInfo": self._server}
            return {"protocolVersion": version, **offered}
        era = self._era.of(method, params)
        if method == "ping":
            return {}
        if method == "subscriptions/listen":
            request.at_end = {}
            return self._listen(request)
        methods: Mapping[str, _Handle] = {
            "server/discover": self._discover,
            "tools/list": self._list,
            "tools/call": self._call,
        }
        if method not in methods:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"Method not found: {method}")
        return self._shaped(era, method, methods[method](params))

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        """Ignore notifications."""

    async def watch(self, peer: Peer) -> None:
        """Announce changes of the list, also those that come from files."""
        self._peer = peer
        while True:
            await anyio.sleep(_PAUSE)
            with suppress(Exception):  # the store may be busy; the next look tells
                await self._announce_changes()

    async def _shaped(self, era: Era, method: str, work: Awaitable[Answer]) -> Answer:
        return RULES[era].shape_answer(await work, method, self._server)

    async def _discover(self, _: Params) -> Answer:
        versions = list(RULES[Era.STATELESS].versions)
        return {"supportedVersions": versions, "capabilities": self._capabilities(Era.STATELESS)}

    async def _list(self, _: Params) -> Answer:
        tools = await asyncio.to_thread(self._registry.tools)
        self._listed = [tool.name for tool in tools]
        return {"tools": [_described(tool) for tool in tools]}

    async def _call(self, params: Params) -> Answer:
        name, arguments = str(params.get("name")), as_object(params.get("arguments"))
        try:
            ask = self._asking(name, params)
            result = await self._registry.call(name, arguments, ask=ask, caller=self._server["name"])
        except _InputRequiredError as waiting:
            return waiting.answer
        except HiddenToolError as error:
            if self._registry.definition(name) is None:
                raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"Unknown tool: {name}") from None
            return _result(f"{error}\n{_ASK_THE_USER}", is_error=True)  # its hint is for people
        except NotApprovedError as error:
            step = "Do not call it again unless the user asks for it."
            if error.approval_id is not None:
                command = f"remit approve {error.approval_id}"
                step = f"Ask the user to run `{command}`, then call it again with the same arguments."
            return _result(f"{error}\n{step}", is_error=True)
        except Exception as error:  # a failing tool must not stop the server
            return _result(error_text(error), is_error=True)
        await self._announce_changes()
        return _result(result_text(result))

    def _asking(self, name: str, params: Params) -> Ask | None:
        """Return how to ask the client's user about a call; None if the client cannot ask."""
        is_stateless, peer = self._era.settled is Era.STATELESS, self._peer
        meta = as_object(params.get("_meta"))
        capabilities = as_object(meta.get(_CAPABILITIES)) if is_stateless else self._capabilities_of_client
        if not can_elicit(capabilities) or (peer is None and not is_stateless):
            return None

        async def ask(approval: Approval) -> bool | None:
            try:
                answer = await cast("Peer", peer).request(_ELICIT, question(name, approval))
            except JsonRpcError:  # the client refuses
                return None
            return read_answer(answer, approval)

        async def ask_by_answer(approval: Approval) -> bool | None:
            answers = as_object(params.get("inputResponses"))
            if params.get("requestState") == approval.id and _QUESTION in answers:
                return read_answer(as_object(answers[_QUESTION]), approval)
            requests = {_QUESTION: {"method": _ELICIT, "params": question(name, approval)}}
            raise _InputRequiredError(
                {"resultType": "input_required", "inputRequests": requests, "requestState": approval.id}
            )

        return ask_by_answer if is_stateless else ask

    async def _listen(self, request: Incoming) -> Answer:
        """Keep a stream of changes open until the client cancels it or disconnects."""
        meta = {"_meta": {SUBSCRIPTION_KEY: request.id}}
        if self._peer is not None:
            wanted = {"notifications": {"toolsListChanged": True}}
            self._peer.notify("notifications/subscriptions/acknowledged", {**wanted, **meta})
        self._streams.append(request)
        try:
            await anyio.sleep_forever()
        finally:
            self._streams.remove(request)
        return {}

    async def _announce_changes(self) -> None:
        if self._listed is None or self._peer is None:
            return
        names = [tool.name for tool in await asyncio.to_thread(self._registry.tools)]
        if names == self._listed:
            return
        self._listed = names
        if self._era.settled is Era.SESSION:
            self._peer.notify(_CHANGED)
        for stream in self._streams:
            self._peer.notify(_CHANGED, {"_meta": {SUBSCRIPTION_KEY: stream.id}})

    def _capabilities(self, era: Era) -> Answer:
        """Return what the server can do, with all tools that it may list, so a gateway accepts them at once.

        States that functions or programs detect are not among it: the list itself shows whether they hold. A
        gateway applies the declared ones itself.
        """
        tables, names = _applicable(self._registry.declared)
        tools = [tool for tool in self._registry.definitions() if tool.ai_enabled is not False]
        declared = {"tools": [_declared(tool, names) for tool in tools], "states": tables}
        return {"tools": {"listChanged": True}, RULES[era].extensions: {_DECLARES_STATES: declared}}


def _applicable(declared: Mapping[str, Table]) -> tuple[dict[str, Table], frozenset[str]]:
    """Return the declared states that a gateway can apply, with the names of all that they set."""
    rules = {name: state_rule(name, table) for name, table in declared.items()}
    runs = {name for name, rule in rules.items() if rule.detector is not None and rule.detector.runs}
    others, running = (
        {name: rule.implies for name, rule in rules.items() if (name in runs) is is_run}
        for is_run in (False, True)
    )
    names = {*Implications(tuple(others), others).names} - {*Implications(tuple(running), running).names}
    return {name: table for name, table in declared.items() if name not in runs}, frozenset(names)


def _declared(tool: DefinedTool, states: Set[str]) -> Answer:
    """Declare a tool; with its states if these are all that it depends on."""
    facts = {"tool": _described(tool), "namespace": tool.namespace, "danger": tool.danger}
    declared = {key: value for key, value in facts.items() if value is not None}
    needed: list[str] = []
    for rule in tool.rules:
        condition = rule.condition
        if condition is None:
            continue
        scope = condition.states or StateScope()
        if rule.call or condition.when or condition.location or scope.any or scope.none:
            return declared
        needed += scope.all
    return {**declared, "states": needed} if needed and states >= {*needed} else declared


def _described(tool: DefinedTool) -> Answer:
    described: Answer = {"name": tool.name, "inputSchema": tool.input_schema}
    if tool.description:
        described["description"] = tool.description
    if tool.danger is not None:
        described["annotations"] = annotations(tool.danger)
    return described


def annotations(danger: str) -> dict[str, bool]:
    """Return a danger as the hints of the protocol."""
    if danger == "safe":
        return {"readOnlyHint": True}
    return {"readOnlyHint": False, "destructiveHint": danger in ("destructive", "critical")}


def _result(text: str, *, is_error: bool = False) -> Answer:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
