"""Indexes large catalogs in the background, so that `discover_tools` does not wait for an index."""

import logging
from collections.abc import Callable
from threading import Condition, Thread

from remit.decision.context import Context
from remit.registry import Registry
from remit.search.search_service import Searcher

_LAST_WAIT = 1.0  # seconds to wait for the thread at the end

_log = logging.getLogger("remit.gateway")


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
