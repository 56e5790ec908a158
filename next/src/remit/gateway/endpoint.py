"""What one client, project, agent and room is served: its lists, its calls, and what it says of itself."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from remit.catalog import Registry, instructions, make_plan
from remit.decision import MCP, MEMORY_SERVER, REMIT, Context, Face, Key, tool_prefix
from remit.errors import RemitError
from remit.gateway.call_records import Origin, Records
from remit.gateway.live_lists import LiveLists, Worker
from remit.gateway.refresher import STORED, Refresher, Servers
from remit.gateway.view import Change, ListKind, Published
from remit.protocol import RULES, Answer, Caller, Era, Params, Tasks
from remit.store import Store
from remit.text import Clock, as_object

if TYPE_CHECKING:  # loaded at the first call
    from remit.gateway.calls import Calls
    from remit.gateway.paused_calls import PausedCalls
    from remit.gateway.resources import ResourceRouter
    from remit.gateway.results import Results
    from remit.search import Embedder

SCOPES = "remit/scopes"  # the extension that lists scopes, if the strategy has them
_MEMORY = tool_prefix(MEMORY_SERVER).removeprefix(MCP)  # before the names of memory's tools
_UPDATED = "notifications/resources/updated"
_log = logging.getLogger("remit.gateway")


class EndpointSpec(NamedTuple):
    """Identifies an endpoint, as given by a command line or a URL."""

    directory: str
    client: str = "claude-code"
    agent: str | None = None
    parents: tuple[str, ...] = ()  # the agents above the agent, nearest first
    room: str | None = None
    strategy: str | None = None
    mode: str | None = None
    is_headless: bool = False  # the client that started it has no terminal for prompts

    @property
    def roots(self) -> Answer:
        """The directory in protocol terms, for servers."""
        path = Path(self.directory)
        return {"roots": [{"uri": path.as_uri(), "name": path.name}] if path.is_absolute() else []}

    @property
    def title(self) -> str:
        """What it serves, in a few words."""
        agent = "" if self.agent is None else f", agent {' below '.join((self.agent, *self.parents))}"
        return f"{self.directory} ({self.client}{agent}{'' if self.room is None else f', room {self.room}'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who calls, and what that permits."""

    name: str | None = None  # in the log and in approvals; None: this machine's user
    may_call: bool = True
    may_approve: bool = True
    may_push: bool = False  # states, which unlock tools: never an agent's
    count: Callable[[], AbstractContextManager[str | None]] = nullcontext  # around a call: why not now


class ClientCaller(Caller, Protocol):
    """A client's request, with what its identity permits."""

    @property
    def identity(self) -> Identity: ...


class Process(NamedTuple):
    """What all endpoints of a process share."""

    worker: Worker[Registry]
    servers: Servers
    records: Records
    memory: Worker[Store]
    tasks: Tasks
    clock: Clock


class Endpoint:
    """One endpoint, opened on first use."""

    def __init__(self, spec: EndpointSpec, process: Process) -> None:
        self.spec = spec
        self.process = process
        self.is_over = asyncio.Event()  # change streams end
        self.is_closed = asyncio.Event()
        self.sessions = 0
        self.calls_in_flight = 0
        self.followed: Counter[str] = Counter()  # addresses of resources, by how many sessions follow them
        self._instructions: tuple[Published, str | None] | None = None
        self._model: Embedder | None = None
        self._tasks = Tasks()
        self._unfollow: Callable[[], None] = lambda: None
        self.lists = LiveLists(process.worker, self._context, self._plan, self._note_change)
        self.refresher = Refresher(self.lists, process.servers, process.worker, self._tasks)

    async def open(self) -> None:
        """Read the lists, and follow what changes.

        Raises:
            RemitError: the directory, client, agent or room does not exist, or the store cannot be used.
            ValueError: the mode does not exist.
        """
        await self.lists.fresh()
        self._unfollow = self.process.servers.follow(self.take_notification)
        self._tasks.start(self._log_problems())
        self._tasks.start(self.lists.watch(lambda: self.refresher.is_settled))

    async def close(self) -> None:
        """End what the endpoint runs."""
        self.is_over.set()
        self.is_closed.set()
        self._unfollow()
        await self._tasks.__aexit__()
        if "results" in vars(self):  # any call was made
            self.results.close()

    async def leave(self, session: str) -> None:
        """Release what belongs to a caller's session: servers and kept results."""
        await self.process.servers.leave(session)
        if "results" in vars(self):  # any call was made
            self.results.leave(session)

    def end_streams(self) -> None:
        """End change streams in a way that clients can tell from a failure."""
        self.is_over.set()

    @cached_property
    def results(self) -> "Results":
        """The large results of its calls."""
        from remit.gateway.results import Results

        return Results(self.process.clock)

    @cached_property
    def calls(self) -> "Calls":
        """Handles its calls."""
        from remit.gateway.calls import Calls

        parts = [
            *(("a", name) for name in (*reversed(self.spec.parents), self.spec.agent) if name),
            *((("rooms", self.spec.room),) if self.spec.room else ()),
        ]
        place = "/".join(f"{kind}/{name}" for kind, name in parts)
        context = self.lists.last.served.catalog.context
        origin = Origin(context.workspace, place, self.spec.client, self.spec.agent)
        return Calls(self, origin)

    @cached_property
    def router(self) -> "ResourceRouter":
        """Knows who answers for resources and prompts."""
        from remit.gateway.resources import ResourceRouter

        return ResourceRouter()

    @cached_property
    def paused(self) -> "PausedCalls":
        """The calls that wait for a client without a session."""
        from remit.gateway.paused_calls import PausedCalls

        return PausedCalls(self._tasks)

    async def sent(self, kind: ListKind) -> Published:
        """Return the lists for a client; in the first seconds, wait for new servers first."""
        await self.refresher.settled()
        return await self.lists.to_send(kind)

    async def pass_on(self, method: str, params: Params, caller: Caller) -> Answer:
        """Forward a request for a resource, a prompt or a completion.

        Raises:
            JsonRpcError: the target does not exist, or the server answers with an error.
            RemitError: the server or the store cannot be used.
        """
        from remit.gateway.resources import Reach, UnknownTargetError

        for is_last in (False, True):
            published = await self.lists.fresh()
            reach = Reach(await self.process.servers.pool(), await self.refresher.upstreams(published))
            try:
                return await self.router.pass_on(method, params, caller, published, reach)
            except UnknownTargetError:
                if is_last or not await self.refresher.has_answers():
                    raise
        raise AssertionError("unreachable")

    async def call_memory(self, params: Params) -> Answer | None:
        """Call a tool of memory, which runs in this process; None if there is no such tool."""
        from remit.memory import answer, open_memory
        from remit.search import open_model

        catalog = self.lists.last.served.catalog

        def call(store: Store) -> Answer | None:
            model = self._model = self._model or open_model(*catalog.configuration.embeddings)
            return answer(
                lambda: open_memory(store, model, catalog.context.workspace), "tools/call", params, _MEMORY
            )

        return await self.process.memory.run(call)

    async def set_level(self, params: Params, caller: Caller) -> None:
        """Set the log level of running servers."""
        if not self.process.servers.is_open:
            return
        from remit.gateway.resources import Reach

        published = await self.lists.fresh(with_states=False)
        reach = Reach(await self.process.servers.pool(), await self.refresher.upstreams(published))
        await reach.set_level(params, caller, published)

    async def instructions(self) -> str | None:
        """Tell models how to reach what is not listed, and quote the accepted instructions of servers."""
        published = await self.lists.fresh()
        if self._instructions is None or self._instructions[0] is not published:
            text = await self.process.worker.run(partial(_instructions, published))
            self._instructions = published, text
        return self._instructions[1]

    @property
    def last_instructions(self) -> str | None:
        """The instructions as they were when a client connected last."""
        return None if self._instructions is None else self._instructions[1]

    def capabilities(self, era: Era) -> dict[str, Any]:
        """Return the capabilities: all of them, since a server that has not answered yet may have any."""
        capabilities: dict[str, Any] = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
        }
        scopes = self.lists.last.shown.scopes
        if scopes is not None:
            described = {group.name: group.description for group in scopes}
            manifest = {"scopes": list(described), "stateAware": True, "descriptions": described}
            capabilities[RULES[era].extensions] = {SCOPES: manifest}
        return capabilities

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool, as last published."""
        served = self.lists.last.served
        key = served.names.find(name)
        item = as_object(served.items.get(key) if key is not None else None)
        return item.get("inputSchema")

    def take_notification(self, key: Key, method: str, params: Params) -> None:
        """Take what a server announces."""
        uri = params.get("uri")
        if method == _UPDATED and isinstance(uri, str):
            published = self.lists.last
            if key in published.servers:
                self.lists.announce(Change(ListKind.RESOURCES, published.address(key, uri)))
        elif method == STORED:
            self.refresher.doubt(key)
            self.lists.look()
        elif method.endswith("/list_changed"):
            self.refresher.ask_again(key)

    def _context(self, registry: Registry) -> Context:
        spec = self.spec
        return registry.at(
            spec.directory,
            spec.client,
            agent=spec.agent,
            parents=spec.parents,
            mode=spec.mode,
            face=Face.GATEWAY,
            is_headless=spec.is_headless,
        )

    def _plan(self, configuration: Any) -> Any:
        return make_plan(configuration, strategy=self.spec.strategy, room=self.spec.room)

    def _note_change(self, published: Published) -> None:
        self.refresher.consider(published)

    async def _log_problems(self) -> None:
        """Log what is wrong with Remit's own files: an invalid one may hide every tool."""
        context = self.lists.last.served.catalog.context
        try:
            problems = await self.process.worker.run(lambda registry: registry.problems(context))
        except RemitError as error:
            _log.warning("%s", error)
            return
        for problem in problems:
            _log.warning("%s: %s", problem.source, problem.reason)


def _instructions(published: Published, registry: Registry) -> str | None:
    from remit.trust import Lock, held_instructions

    catalog = published.served.catalog
    context, configuration = catalog.context, catalog.configuration
    said = {
        key: offer.instructions
        for key, offer in catalog.offers.items()
        if key in published.servers and offer.instructions
    }
    texts: dict[str, str | None] = {}
    if said:
        names = {published.servers[key].name for key in said}
        lock = None if (own := configuration.lock) is None else Lock.read(own.content, own.root, own.problem)
        for row in registry.store.catalog.named(names, context):
            key = row.tool.key
            if key in said and held_instructions(row, lock, configuration.changes) is None:
                texts[row.tool.server or ""] = said[key]
    others: list[str] = []
    if any(tool.source == REMIT for tool in published.servers.values()):
        from remit.memory import instructions as about_memory

        others.append(f"# {MEMORY_SERVER}\n{about_memory(registry.store, context.workspace, _MEMORY)}")
    return instructions(published.shown.hints, texts, others)
