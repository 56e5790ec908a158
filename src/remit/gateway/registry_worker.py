"""The clerk: one thread at a time works with the registry, and never the one that answers clients."""

from collections.abc import Callable
from functools import partial
from typing import Concatenate, Generic, ParamSpec, TypeVar

import anyio
import anyio.to_thread

Given = ParamSpec("Given")
Made = TypeVar("Made")
Thing = TypeVar("Thing")


class RegistryWorker(Generic[Thing]):
    """Does in another thread what is to be done with something that only one may use at a time."""

    def __init__(self, thing: Thing) -> None:
        self._thing = thing
        self._desk = anyio.CapacityLimiter(1)

    async def do(
        self, work: Callable[Concatenate[Thing, Given], Made], *given: Given.args, **named: Given.kwargs
    ) -> Made:
        """Have a function work with the thing, and give what it makes of it."""
        return await anyio.to_thread.run_sync(partial(work, self._thing, *given, **named), limiter=self._desk)
