"""The pulse: has an endpoint look again as soon as something happened that its decisions may depend on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio.abc
from anyio import CapacityLimiter, from_thread, to_thread

from remit.decision.context import Context
from remit.errors import RemitError
from remit.registry import Registry

if TYPE_CHECKING:
    from remit.scanning.ports import Notifier

_log = logging.getLogger("remit.gateway")


class Pulse:
    """Follows the states in a thread of its own, with a registry of its own, once somebody wants to know."""

    def __init__(
        self, open_registry: Callable[[], Registry], open_notifier: Callable[[], Notifier], context: Context
    ) -> None:
        self._open_registry = open_registry
        self._open_notifier = open_notifier
        self._context = context
        self._notifier: Notifier | None = None

    def begin(self, group: anyio.abc.TaskGroup, beat: Callable[[], None]) -> None:
        """Have something done whenever things may have changed, from now on; it may be begun again."""
        if self._notifier is None:
            self._notifier = self._open_notifier()
            group.start_soon(self._follow, self._notifier, beat)

    def stop(self) -> None:
        """Follow no more."""
        if self._notifier is not None:
            self._notifier.stop()

    async def _follow(self, notifier: Notifier, beat: Callable[[], None]) -> None:
        await to_thread.run_sync(self._beat, notifier, beat, limiter=CapacityLimiter(1))

    def _beat(self, notifier: Notifier, beat: Callable[[], None]) -> None:
        try:
            with self._open_registry() as registry:
                for _ in registry.follow(self._context, notifier):
                    from_thread.run_sync(beat)
        except RemitError as error:
            _log.warning("changes of states are found out only when tools are listed: %s", error)
