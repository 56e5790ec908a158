"""Runs registry work off the event loop, one thread at a time."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Concatenate, Generic, ParamSpec, TypeVar

import anyio
import anyio.to_thread

Given = ParamSpec("Given")
Made = TypeVar("Made")
Thing = TypeVar("Thing")


class RegistryWorker(Generic[Thing]):
    """Runs functions on an object that only one thread may use at a time."""

    def __init__(self, thing: Thing) -> None:
        self._thing = thing
        self._limiter = anyio.CapacityLimiter(1)
        self._lock = threading.Lock()

    async def run(
        self, work: Callable[Concatenate[Thing, Given], Made], *given: Given.args, **named: Given.kwargs
    ) -> Made:
        """Run a function on the object in a worker thread, after those that are queued."""
        return await anyio.to_thread.run_sync(
            self._locked, partial(work, self._thing, *given, **named), limiter=self._limiter
        )

    def run_now(
        self, work: Callable[Concatenate[Thing, Given], Made], *given: Given.args, **named: Given.kwargs
    ) -> Made | None:
        """Run a function that takes microseconds in this thread; return None if another thread is busy."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return work(self._thing, *given, **named)
        finally:
            self._lock.release()

    def _locked(self, work: Callable[[], Made]) -> Made:
        with self._lock:
            return work()
