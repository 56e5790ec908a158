"""An endpoint whose tools do what their names say: `python stub_endpoint.py` serves it on stdio."""

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from remit.gateway.ports import EndpointChange, EndpointSpec, ListKind, PublishedList, SessionView, ToolCounts
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.upstream.ports import RequestContext

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
TOOLS = (
    "echo",
    "ask",
    "ask_twice",
    "sample",
    "roots",
    "progress",
    "log",
    "fail",
    "refuse",
    "wait",
    "grow",
    "who",
    "mumble",
    "find",
)


def text(words: object) -> Answer:
    return {"content": [{"type": "text", "text": str(words)}]}


class StubEndpoint:
    """A handful of tools, a resource, a template and a prompt."""

    def __init__(self, notes: Path | None = None, tools: int = 0) -> None:
        self.instructions: str | None = "Use the tools."
        self.capabilities: Mapping[str, Any] = {
            "tools": {},
            "resources": {},
            "prompts": {},
            "completions": {},
            "logging": {},
            "experimental": {"remit/scopes": {"names": ["git"]}},
            "extensions": {"remit/scopes": {"names": ["git"]}},
        }
        self._notes = notes
        self._tools = self._listing([*TOOLS, *(f"tool_{number}" for number in range(tools))])
        self._resources = PublishedList([{"uri": "note://one", "name": "one"}], "1")
        self._templates = PublishedList([{"uriTemplate": "note://{name}", "name": "note"}], "1")
        self._prompts = PublishedList([{"name": "greet", "arguments": [{"name": "who"}]}], "1")
        self._hearers: set[MemoryObjectSendStream[EndpointChange]] = set()
        self.subscribed: list[str] = []
        self.left: list[str] = []
        self.bound: set[str] = set()  # sessions with a server of their own

    @property
    def tool_counts(self) -> ToolCounts:
        return ToolCounts(len(self._tools.items), len(self._tools.items) + 40)

    async def tools(self, asked: Params, session: SessionView | None = None) -> PublishedList:
        promoted = () if session is None else session.promoted
        if asked.get("scope") == "nowhere":
            raise JsonRpcError(-32602, "no scope is called `nowhere`", {"scopes": ["git"]})
        if promoted:
            return self._listing([*(item["name"] for item in self._tools.items), *promoted])
        return self._tools

    def withheld(self, capabilities: Mapping[str, Any]) -> frozenset[str]:  # noqa: ARG002
        return frozenset()

    def meet(self, principal: str | None) -> None: ...

    def list_for_all(self) -> None:
        pass

    def promotes(self, asked: Params) -> str | None:
        return "found" if asked["name"] in ("find", "refuse") else None

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        return SCHEMA if name in TOOLS else None

    async def call(self, asked: Params, caller: RequestContext) -> Answer:
        does = getattr(self, f"_{asked['name']}", None)
        if does is None:
            raise JsonRpcError(-32602, f"Unknown tool: {asked['name']}")
        return await does(asked, caller)

    async def resources(self) -> PublishedList:
        return self._resources

    async def templates(self) -> PublishedList:
        return self._templates

    async def prompts(self) -> PublishedList:
        return self._prompts

    async def pass_on(self, method: str, asked: Params, caller: RequestContext) -> Answer:
        if method == "resources/read":
            if asked["uri"] == "note://asking":
                await caller.send_request(
                    "elicitation/create", {"message": "Which?", "requestedSchema": FORM}
                )
            return {"contents": [{"uri": asked["uri"], "text": "one"}]}
        if method == "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": asked["name"]}}]}
        if method == "completion/complete":
            return {"completion": {"values": ["Ada"], "hasMore": False}}
        self._note(f"{method} {asked.get('uri', asked.get('level'))} {caller.session}")
        if asked.get("uri") == "note://none":
            raise JsonRpcError(-32002, "Resource not found", {"uri": "note://none"})
        return {}

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[EndpointChange]]:
        return self._heard()

    def is_bound(self, session: str) -> bool:
        return session in self.bound

    async def leave(self, session: str) -> None:
        self._note(f"left {session}")

    async def publish(self, *changes: EndpointChange) -> None:
        for change in changes:
            for hearer in list(self._hearers):
                await hearer.send(change)

    @asynccontextmanager
    async def _heard(self) -> AsyncGenerator[AsyncIterator[EndpointChange]]:
        send, receive = anyio.create_memory_object_stream[EndpointChange](100)
        self._hearers.add(send)
        try:
            yield receive
        finally:
            self._hearers.discard(send)
            send.close()
            receive.close()

    def _listing(self, names: list[str]) -> PublishedList:
        items = [{"name": name, "description": f"does {name}", "inputSchema": SCHEMA} for name in names]
        return PublishedList(items, str(len(items)))

    def _note(self, words: str) -> None:
        if self._notes is not None:
            with self._notes.open("a", encoding="utf-8") as notes:
                notes.write(f"{words}\n")

    async def _echo(self, asked: Params, _: RequestContext) -> Answer:
        return text(asked.get("arguments", {}).get("text", ""))

    async def _ask(self, _: Params, caller: RequestContext) -> Answer:
        answer = await caller.send_request("elicitation/create", {"message": "Who?", "requestedSchema": FORM})
        return text(f"{answer['action']} {answer.get('content', {}).get('name')}")

    async def _ask_twice(self, asked: Params, caller: RequestContext) -> Answer:
        first = await self._ask(asked, caller)
        second = await self._ask(asked, caller)
        return text(f"{first['content'][0]['text']}, {second['content'][0]['text']}")

    async def _sample(self, _: Params, caller: RequestContext) -> Answer:
        said = {"role": "user", "content": {"type": "text", "text": "hello"}}
        answer = await caller.send_request("sampling/createMessage", {"messages": [said], "maxTokens": 5})
        return text(answer["content"]["text"])

    async def _roots(self, _: Params, caller: RequestContext) -> Answer:
        return text((await caller.send_request("roots/list", {}))["roots"][0]["uri"])

    async def _progress(self, asked: Params, caller: RequestContext) -> Answer:
        token = asked.get("_meta", {}).get("progressToken")
        for done in (1, 2):
            params = {"progressToken": token, "progress": done, "total": 2}
            await caller.notify("notifications/progress", params)
        return text(sorted(asked.get("_meta", {})))

    async def _log(self, _: Params, caller: RequestContext) -> Answer:
        for level in ("debug", "warning"):
            await caller.notify("notifications/message", {"level": level, "data": f"at {level}"})
        return text(caller.log_level)

    async def _fail(self, _: Params, __: RequestContext) -> Answer:
        raise JsonRpcError(-32042, "it failed", {"because": "it does"})

    async def _refuse(self, _: Params, __: RequestContext) -> Answer:
        return {**text("hidden by state"), "isError": True, "structuredContent": {"gate": "state"}}

    async def _wait(self, _: Params, __: RequestContext) -> Answer:
        self._note("waiting")
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self._note("cancelled")
            raise
        return {}

    async def _grow(self, asked: Params, _: RequestContext) -> Answer:
        names = [item["name"] for item in self._tools.items]
        self._tools = self._listing([*names, f"grown_{len(names)}"])
        uri = asked.get("arguments", {}).get("text")
        changed = EndpointChange(ListKind.TOOLS) if uri is None else EndpointChange(ListKind.RESOURCES, uri)
        await self.publish(changed, changed)
        return text(len(names) + 1)

    async def _mumble(self, asked: Params, _: RequestContext) -> Answer:
        odd = {"half": "\ud83d", "none": float("nan")}
        if asked.get("arguments", {}).get("text") == "fail":
            raise JsonRpcError(-32042, "half \ud83d", odd)
        return {**text("half \ud83d"), "structuredContent": odd}

    async def _find(self, _: Params, __: RequestContext) -> Answer:
        return text("done")

    async def _who(self, _: Params, caller: RequestContext) -> Answer:
        return text(f"{caller.session} {caller.principal} {sorted(caller.capabilities)}")


@asynccontextmanager
async def opened(endpoint: StubEndpoint) -> AsyncGenerator[StubEndpoint]:
    yield endpoint


if __name__ == "__main__":
    from remit.gateway.transports.stdio_server import serve_stdio

    notes = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    anyio.run(serve_stdio, opened(StubEndpoint(notes, count)), EndpointSpec("/code/shop"))
