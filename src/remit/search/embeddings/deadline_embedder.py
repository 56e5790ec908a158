"""Embeds queries with a service that may be slow, without making a search wait for it."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Event, Lock, Thread

from remit.errors import EmbeddingError
from remit.search.documents import Document
from remit.search.ports import Embedder, Vector

_MOST_KEPT = 256  # vectors of queries
_LAST_WAIT = 1.0  # seconds to wait for an interrupted request


class _Request:
    """A query whose vector is under way."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_done = Event()
        self.vector: Vector | None = None
        self.failure: EmbeddingError | None = None


class DeadlineEmbedder:
    """Embeds queries within a deadline.

    A vector that arrives later is kept for the next time its query is searched for. Only one request is under
    way at a time, so a service that hangs is not sent ever more of them.
    """

    def __init__(self, embedder: Embedder, seconds: float) -> None:
        self.model, self.fusion = embedder.model, embedder.fusion
        self._embedder = embedder
        self._seconds = seconds
        self._lock = Lock()
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._request: _Request | None = None
        self._thread: Thread | None = None

    def embed_query(self, text: str) -> Vector:
        """Embed a query.

        Raises:
            EmbeddingError: the service failed, or did not answer in time.
        """
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
            request = self._request or self._send(text)
        if request.text == text and request.is_done.wait(self._seconds) and request.vector is not None:
            return request.vector
        raise request.failure or EmbeddingError(
            f"the query got no vector within {self._seconds:g} s",
            hint="set `REMIT_EMBEDDINGS_WAIT` to wait longer",
        )

    def embed_tools(self, documents: Sequence[Document]) -> Sequence[Vector]:
        """Embed tools, without a deadline.

        Raises:
            EmbeddingError: embedding failed.
        """
        return self._embedder.embed_tools(documents)

    def close(self) -> None:
        """Interrupt the request under way, and end its thread."""
        self._embedder.close()
        if self._thread is not None:
            self._thread.join(_LAST_WAIT)

    def _send(self, text: str) -> _Request:
        self._request = request = _Request(text)
        # A daemon: a short command does not wait for it at exit.
        self._thread = Thread(target=self._embed, args=(request,), name="remit-query", daemon=True)
        self._thread.start()
        return request

    def _embed(self, request: _Request) -> None:
        try:
            request.vector = self._embedder.embed_query(request.text)
        except EmbeddingError as failure:
            request.failure = failure
        with self._lock:
            if request.vector is not None:
                self._kept[request.text] = request.vector
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            self._request = None
        request.is_done.set()
