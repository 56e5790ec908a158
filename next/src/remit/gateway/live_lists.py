"""The one holder of an endpoint's lists: replaced whole when files, the store or states change.

The event loop only compares file stamps and the store's revision. Whatever reads more runs on the worker.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from time import monotonic
from typing import Generic, NamedTuple, Protocol, TypeVar

from remit.catalog import Catalog, Registry, ServingPlan, Target, serve
from remit.config import Configuration
from remit.decision import Context, Decision, Snapshot, Tool
from remit.errors import RemitError, StoreError
from remit.gateway.view import Change, ListKind, Published, publish
from remit.protocol import Broadcaster

PAUSE = 0.5  # seconds between two looks while somebody listens
_LONGEST_PAUSE = 1.0
_LOOKS_PER_PAUSE = 200  # a pause is at least this many looks long: 0.5 % of a processor
_MOST_SETTLED = 10_000  # names; a tool can be spelled in many ways
_log = logging.getLogger("remit.gateway")

T = TypeVar("T")
Thing = TypeVar("Thing", bound="Closable")


class Closable(Protocol):
    """What a worker opens and closes."""

    def close(self) -> None: ...


class Worker(Generic[Thing]):
    """Runs functions on an object in the one thread that opened it."""

    def __init__(self, open: Callable[[], Thing]) -> None:
        self._open = open
        self._executor = ThreadPoolExecutor(1)
        self._thing: Thing | None = None

    async def run(self, work: Callable[[Thing], T]) -> T:
        """Run a function on the object, after those that are queued."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._run, work)

    async def close(self) -> None:
        """Close the object, after what is queued."""
        if self._thing is not None:
            await self.run(lambda thing: thing.close())
        self._executor.shutdown(wait=False)

    def _run(self, work: Callable[[Thing], T]) -> T:
        if self._thing is None:
            self._thing = self._open()
        return work(self._thing)


class Resolved(NamedTuple):
    """What a name means now, None if it is unknown, and the lists that were used."""

    published: Published
    target: Target | None


class LiveLists:
    """The lists of one endpoint."""

    def __init__(
        self,
        worker: Worker[Registry],
        make_context: Callable[[Registry], Context],
        make_plan: Callable[[Configuration], ServingPlan],
        on_change: Callable[[Published], None],
    ) -> None:
        self._worker = worker
        self._make_context = make_context
        self._make_plan = make_plan
        self._on_change = on_change
        self._catalog: Catalog | None = None  # without the rules of the plan
        self._published: Published | None = None
        self._sent: Published | None = None  # the last lists that a client got, and relies on
        self._heard: dict[Change, str] = {}  # the revisions that listeners know
        self._announcer = Broadcaster[Change]()
        self._wakened = asyncio.Event()
        self._listeners = 0
        self._is_down = False  # the store could not be used

    @property
    def last(self) -> Published:
        """The lists as they were at the last look."""
        assert self._published is not None  # noqa: S101 - opened by `fresh`
        return self._published

    async def fresh(self, *, with_states: bool = True) -> Published:
        """Return the current lists; without states, those may be older.

        Raises:
            RemitError: nothing was read yet, and the store or the configuration cannot be used.
        """
        published = self._published
        if published is None or not self._is_current(published, with_states):
            before, published = published, await self._worker.run(self._rebuild)
            if published is not before:
                self._on_change(published)
        return published

    async def resolve(self, name: str, arguments: Mapping[str, object] | None = None) -> Resolved:
        """Find what a name means, decided for this moment; only conditions and filters take a thread.

        Raises:
            RemitError: nothing was read yet, and the store or the configuration cannot be used.
        """
        published = await self.fresh(with_states=False)
        if (known := published.settled.get(name)) is not None:
            return Resolved(published, known)
        try:
            target = published.served.target(name, _settled_decision(published))
        except _UnsettledError:
            return await self._worker.run(lambda registry: self._resolved(registry, name, arguments))
        if target is not None and target.is_listed and len(published.settled) < _MOST_SETTLED:
            published.settled[name] = target
        return Resolved(published, target)

    async def to_send(self, kind: ListKind) -> Published:
        """Return the lists for a client, whose names and addresses stay as they are from then on.

        Raises:
            RemitError: nothing was read yet, and the store or the configuration cannot be used.
        """
        self._sent = published = await self.fresh()
        change = Change(kind)
        self._heard.setdefault(change, published.revisions()[change])
        return published

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[AsyncIterator[Change]]:
        """Listen for changes while the block runs."""
        async with self._announcer.listen() as changes:
            self._listeners += 1
            self._wakened.set()
            try:
                yield changes
            finally:
                self._listeners -= 1

    def announce(self, change: Change) -> None:
        """Tell all listeners of a change."""
        self._announcer.publish(change)

    def look(self) -> None:
        """Have the lists compared soon, because something may have changed."""
        self._wakened.set()

    async def watch(self, is_settled: Callable[[], bool]) -> None:
        """Announce changes while somebody listens, until cancelled.

        Until the lists are settled, those that no client got are not: who waits would fetch them again.
        """
        next_look = 0.0
        while True:
            woken = await self._wait()
            published = self._published
            if published is None or not self._listeners:
                continue
            is_due = woken or monotonic() >= next_look
            try:
                if not self._is_current(published, with_states=is_due):
                    started = monotonic()
                    published = await self.fresh()
                    pause = min(_LOOKS_PER_PAUSE * (monotonic() - started), _LONGEST_PAUSE)
                    next_look = monotonic() + pause
            except RemitError as error:
                _log.warning("could not update the lists: %s", error)
            else:
                self._tell(published, is_settled=is_settled())

    async def _wait(self) -> bool:
        """Wait for a signal, or a pause; return whether there was a signal."""
        try:
            async with asyncio.timeout(PAUSE if self._listeners else None):
                await self._wakened.wait()
        except TimeoutError:
            return False
        self._wakened.clear()
        return True

    def _tell(self, published: Published, *, is_settled: bool) -> None:
        for change, revision in published.revisions().items():
            heard = self._heard.get(change)
            if heard is not None or is_settled:
                self._heard[change] = revision
            if heard not in (None, revision):
                self._announcer.publish(change)

    def _is_current(self, published: Published, with_states: bool) -> bool:
        """Return whether nothing has to be read: stamps and a revision, in less than a millisecond."""
        catalog = published.served.catalog
        if with_states and (catalog.needs_snapshot or catalog.filters is not None):
            return False
        try:
            return self._catalog is not None and self._catalog.is_current()
        except StoreError as error:
            if not self._is_down:
                _log.warning("the last lists stay, because the store cannot be used: %s", error)
            self._is_down = True
            return True

    def _rebuild(self, registry: Registry) -> Published:
        """Read what changed; the same object if that changes nothing."""
        known = self._published
        catalog = self._read(registry)
        if known is None or catalog is not self._catalog:
            sent = None if self._sent is None else self._sent.served
            served = serve(catalog, self._make_plan(catalog.configuration), sent)
        else:
            served = known.served
        listed = served.catalog.at(registry.snapshot(served.catalog))
        if known is None or served is not known.served or listed is not known.listed:
            known = publish(served, listed, self._sent)
        self._catalog, self._published, self._is_down = catalog, known, False
        return known

    def _read(self, registry: Registry) -> Catalog:
        """Read the catalog; an agent's definition may have changed with the files."""
        last = self._catalog
        context = self._make_context(registry) if last is None else last.asked
        catalog = registry.catalog(context, last)
        if last is not None and catalog is not last:
            context = self._make_context(registry)
            catalog = catalog if context == catalog.asked else registry.catalog(context)
        return catalog

    def _resolved(self, registry: Registry, name: str, arguments: Mapping[str, object] | None) -> Resolved:
        published = self._published or self._rebuild(registry)
        catalog = published.served.catalog
        snapshot = registry.snapshot(catalog)

        def decide(tool: Tool) -> Decision:
            return catalog.decide(tool, snapshot, arguments)

        return Resolved(published, published.served.target(name, decide))


class _UnsettledError(Exception):
    """A decision needs a snapshot or a filter, which take time."""


def _settled_decision(published: Published) -> Callable[[Tool], Decision]:
    catalog = published.served.catalog
    rules = catalog.context.rules

    def decide(tool: Tool) -> Decision:
        parts = (part for rule in rules.of(tool.name) for part in (rule.condition, rule.call, rule.approval))
        if catalog.filters is not None or not all(isinstance(part, bool | None) for part in parts):
            raise _UnsettledError
        return catalog.decide(tool, Snapshot())

    return decide
