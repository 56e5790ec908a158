"""One thread that reads for all pages, and the events that tell pages of changes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from remit.cli import Here
from remit.errors import RemitError
from remit.web.listing import Source

LOOK_SECONDS = 0.5  # between two looks, while a page listens
KEEP_ALIVE_SECONDS = 15.0  # between two events; also how soon a closed page is noticed

Result = TypeVar("Result")


class Worker:
    """Runs functions with a source in the thread that opened it."""

    def __init__(self, open_source: Callable[[], Source]) -> None:
        self._open = open_source
        self._source: Source | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pages")

    async def run(self, function: Callable[[Source], Result]) -> Result:
        """Run a function; one after the other."""

        def work() -> Result:
            self._source = self._source or self._open()
            return function(self._source)

        return await asyncio.wrap_future(self._thread.submit(work))

    def close(self) -> None:
        """Close the source, after what runs."""
        self._thread.submit(lambda: self._source and self._source.registry.close())
        self._thread.shutdown(cancel_futures=False)


class LiveFeed:
    """Tells any number of pages that something they show may have changed."""

    def __init__(self, worker: Worker, here: Here) -> None:
        self._worker = worker
        self._here = here
        self._pages = 0
        self.revision = 0
        self._changed = asyncio.Event()
        self._is_ended = False

    async def events(self, seen: int) -> AsyncIterator[bytes]:
        """Yield an event after each change since the page was made, until it is closed."""
        self._pages += 1
        try:
            yield b"retry: 1000\n\n"
            while not self._is_ended:
                changed = self._changed
                if self.revision == seen:
                    try:
                        await asyncio.wait_for(changed.wait(), KEEP_ALIVE_SECONDS)
                    except TimeoutError:
                        yield b": no change\n\n"
                        continue
                seen = self.revision
                yield f"event: change\ndata: {seen}\n\n".encode()
        finally:
            self._pages -= 1

    def announce(self) -> None:
        """Tell all pages that something changed."""
        self.revision += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """End all streams."""
        self._is_ended = True
        self.announce()

    async def watch(self) -> None:
        """Announce changes while pages listen, until cancelled."""
        before = await self._look()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._pages and (now := await self._look()) != before:
                self.announce()
                before = now

    async def _look(self) -> tuple[object, ...] | None:
        try:
            return await self._worker.run(lambda source: source.seen(self._here))
        except RemitError:  # for example a locked database; the pages say it
            return None
