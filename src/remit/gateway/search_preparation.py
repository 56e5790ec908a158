"""Prepares searches in the background, so `discover_tools` waits neither for vectors nor for an index."""

import logging
import time
from collections.abc import Callable
from threading import Condition, Lock, Thread

from remit.decision.context import Context
from remit.registry import Registry
from remit.scanning.scanner import Progress
from remit.search.cancellation import Cancellation
from remit.search.search_service import Searcher

_RETRY = 60.0  # seconds after a failure
_REFRESH = 5.0  # seconds between searchers while vectors arrive
_LAST_WAIT = 1.0  # seconds to wait for an interrupted request

_log = logging.getLogger("remit.gateway")


class VectorBackfill:
    """Embeds the tools of one context at a time, in a thread with a registry of its own.

    Each batch is stored when it arrives. A searcher that uses the new vectors is prepared in the thread, too,
    because building an index of many tools takes long.
    """

    def __init__(self, open: Callable[[], Registry], now: Callable[[], float] = time.monotonic) -> None:
        self._open = open
        self._now = now
        self._lock = Lock()
        self._thread: Thread | None = None
        self._cancellation = Cancellation()
        self._context: Context | None = None
        self._searcher: Searcher | None = None
        self._failed_at: float | None = None
        self._next_at = 0.0  # when to look again for what another node embeds
        self.failure: Exception | None = None  # of the last run

    def start(self, context: Context) -> None:
        """Embed the tools of a context, unless that is under way or failed a moment ago."""
        with self._lock:
            if self._cancellation.is_set or (self._thread is not None and self._thread.is_alive()):
                return
            if self._failed_at is not None and self._now() < self._failed_at + _RETRY:
                return
            if self._now() < self._next_at:
                return
            self._context, self._searcher = context, None
            self._thread = Thread(target=self._run, args=(context,), name="remit-embeddings", daemon=True)
            self._thread.start()

    def take(self, context: Context) -> Searcher | None:
        """Return a searcher with new vectors, once, if one is ready for this context."""
        with self._lock:
            found, self._searcher = self._searcher, None
            return found if self._context is context else None

    def stop(self) -> None:
        """Interrupt the request under way, and end the thread."""
        self._cancellation.cancel()
        if self._thread is not None:
            self._thread.join(_LAST_WAIT)

    def _run(self, context: Context) -> None:
        try:
            with self._open() as registry:
                self._embed(registry, context)
        except Exception as failure:  # a failure here must not stop searches
            if str(failure) != str(self.failure):
                _log.warning("new tools are found by words alone: %s", failure)
            self.failure, self._failed_at = failure, self._now()
        else:
            self.failure, self._failed_at = None, None

    def _embed(self, registry: Registry, context: Context) -> None:
        refreshed = self._now()

        def refresh(step: Progress) -> None:
            nonlocal refreshed
            if step.done and self._now() >= refreshed + _REFRESH:
                self._publish(registry, context)
                refreshed = self._now()

        if not registry.index(context, refresh, cancellation=self._cancellation):
            self._next_at = self._now() + _REFRESH
        if not self._cancellation.is_set:
            self._publish(registry, context)

    def _publish(self, registry: Registry, context: Context) -> None:
        searcher = registry.searcher(context, in_memory=True)
        with self._lock:
            self._searcher = searcher


class SearcherBuilder:
    """Prepares the searcher of one context at a time, in a thread with a registry of its own."""

    def __init__(self, open: Callable[[], Registry]) -> None:
        self._open = open
        self._changed = Condition()
        self._thread: Thread | None = None
        self._context: Context | None = None
        self._searcher: Searcher | None = None

    def start(self, context: Context) -> None:
        """Prepare the searcher of a context, unless one is under way or ready to be taken."""
        with self._changed:
            is_ready = self._context is context and self._searcher is not None
            if is_ready or self._thread is not None:
                return
            self._context, self._searcher = context, None
            self._thread = Thread(target=self._run, args=(context,), name="remit-search-index", daemon=True)
            self._thread.start()

    def take(self, context: Context, wait: float) -> Searcher | None:
        """Return the searcher of this context, once, if it is ready within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None or self._context is not context, wait)
            if self._context is not context:
                return None
            found, self._searcher = self._searcher, None
            return found

    def stop(self) -> None:
        """Wait a moment for the thread."""
        thread = self._thread
        if thread is not None:
            thread.join(_LAST_WAIT)

    def _run(self, context: Context) -> None:
        searcher: Searcher | None = None
        try:
            with self._open() as registry:
                searcher = registry.searcher(context, in_memory=True)
        except Exception as failure:  # a failure here must not stop searches
            _log.warning("the tools could not be indexed: %s", failure)
        with self._changed:
            self._searcher, self._thread = searcher, None
            self._changed.notify_all()
