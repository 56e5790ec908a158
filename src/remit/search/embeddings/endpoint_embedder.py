"""Embeds texts with an endpoint that implements OpenAI's embeddings API.

Error messages never contain the URL or parts of a reply, because either may contain a key.
"""

import json
import math
import struct
from collections.abc import Callable, Sequence
from http import HTTPStatus
from threading import Event
from typing import NamedTuple, TypeGuard, cast
from urllib.parse import SplitResult, urlsplit

from remit.errors import EmbeddingError
from remit.search.documents import Document
from remit.search.embeddings.endpoint_connection import (
    EndpointConnection,
    EndpointReply,
    NoReplyError,
    is_loopback,
)
from remit.search.ports import Vector
from remit.search.ranking import Fusion
from remit.text.json_values import as_list, as_object

_BATCH = 64  # texts per request
_MOST_TEXT = 8000  # characters
_FIRST_PAUSE = 0.5  # seconds before the second attempt; each later pause is twice as long


class RetryLimits(NamedTuple):
    """Limits for the time and attempts of a request."""

    timeout: float  # seconds
    attempts: int
    pause: float  # the longest wait between attempts, in seconds


TOOLS = RetryLimits(timeout=60, attempts=4, pause=30)
QUERY = RetryLimits(timeout=10, attempts=2, pause=2)


class EndpointEmbedder:
    """Embeds tools and queries with a remote service."""

    # Cosines of an unknown model are not calibrated, so no result counts as noise.
    fusion = Fusion(word_weight=0.02, confidence=0.0, noise=0.0, far_below=0.0)

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        query: RetryLimits = QUERY,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Set up the connection without sending anything.

        Raises:
            EmbeddingError: the key cannot be sent, or would be sent in clear text.
        """
        address = urlsplit(url)
        _require_safe(key, address)
        self._host, self._name = address.netloc, model
        self.model = f"{model}@{self._host}"
        self._is_closed = Event()
        self._query, self._sleep = query, sleep or self._is_closed.wait
        self._connection = EndpointConnection(
            address._replace(path=address.path.rstrip("/") + "/embeddings"), key
        )

    def embed_query(self, text: str) -> Vector:
        """Embed a query.

        Raises:
            EmbeddingError: the endpoint did not return a vector.
        """
        return self._embed([text], self._query)[0]

    def embed_tools(self, documents: Sequence[Document]) -> list[Vector]:
        """Embed tools.

        Raises:
            EmbeddingError: the endpoint did not return the vectors.
        """
        texts = [tool_text(document) for document in documents]
        batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
        return [vector for batch in batches for vector in self._embed(batch, TOOLS)]

    def close(self) -> None:
        """Interrupt the request under way; nothing can be embedded after that."""
        self._is_closed.set()
        self._connection.close()

    def _embed(self, texts: Sequence[str], limits: RetryLimits) -> list[Vector]:
        body = json.dumps({"model": self._name, "input": [_sendable(text) for text in texts]}).encode()
        answer = self._ask(body, limits)
        if not 200 <= answer.status < 300:
            raise self._error(f"answers {_phrase(answer.status)}", _advice(answer.status))
        try:
            return _parse_vectors(answer.body, len(texts))
        except ValueError as error:
            raise self._error(f"did not return the requested vectors: {error}") from None

    def _ask(self, body: bytes, limits: RetryLimits) -> EndpointReply:
        """Send a request, and retry within the limits while the endpoint is busy."""
        answer, pause = self._send(body, limits), _FIRST_PAUSE
        for _ in range(limits.attempts - 1):
            wanted = max(pause, answer.retry_after)
            if not _is_busy(answer.status) or wanted > limits.pause:
                break
            self._sleep(wanted)
            answer, pause = self._send(body, limits), 2 * pause
        return answer

    def _send(self, body: bytes, limits: RetryLimits) -> EndpointReply:
        try:
            return self._connection.send(body, limits.timeout)
        except NoReplyError as error:
            raise self._error(str(error)) from None

    def _error(self, cause: str, advice: str = "check `REMIT_EMBEDDINGS`") -> EmbeddingError:
        hint = f"{advice}, or set `REMIT_EMBEDDINGS=static` to use the bundled model"
        return EmbeddingError(f"the embeddings of `{self._host}`: it {cause}", hint=hint)


def _require_safe(key: str | None, address: SplitResult) -> None:
    if not key:
        return
    if not key.isascii() or not key.isprintable():
        raise EmbeddingError(
            f"the key for `{address.netloc}` holds characters that cannot be sent",
            hint="set `REMIT_EMBEDDINGS_KEY` to the key alone",
        )
    if address.scheme != "https" and not is_loopback(address.hostname):
        raise EmbeddingError(
            f"the key for `{address.netloc}` would be sent in clear text",
            hint="use an https URL, or a server on this machine, or no key",
        )


def tool_text(document: Document) -> str:
    """Format a tool as `name (server): description | parameters`."""
    server = f" ({document.server})" if document.server else ""
    about = document.description or document.title
    params = f" | {', '.join(document.params)}" if document.params else ""
    return f"{document.name}{server}: {about}{params}" if about else f"{document.name}{server}{params}"


def _sendable(text: str) -> str:
    """Make a text acceptable to endpoints, which reject lone surrogates and empty texts."""
    whole = text[:_MOST_TEXT].encode(errors="replace").decode()
    return whole if whole.strip() else "?"


def _is_busy(status: int) -> bool:
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500


def _phrase(status: int) -> str:
    known = {one.value: f" {one.phrase}" for one in HTTPStatus}
    return f"{status}{known.get(status, '')}"


def _advice(status: int) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "check `REMIT_EMBEDDINGS_KEY`"
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY):
        return "check `REMIT_EMBEDDINGS` and `REMIT_EMBEDDINGS_MODEL`"
    return "try again later" if _is_busy(status) else "check `REMIT_EMBEDDINGS`"


def _parse_vectors(body: bytes, count: int) -> list[Vector]:
    """Parse the vectors of a reply, normalized to length one, in the order of the texts.

    Raises:
        ValueError: the reply does not contain the requested vectors.
    """
    rows = _rows(_decoded(body), count)
    if len({len(row) for row in rows}) != 1:
        raise ValueError("they are not all of one length")
    return [_unit(row) for row in rows]


def _decoded(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # the parser's own message quotes the reply
        raise ValueError("it is not JSON") from None


def _rows(answer: object, count: int) -> list[list[object]]:
    entries = as_list(as_object(answer).get("data"))
    rows = dict(map(_row, entries))
    if len(entries) != count or rows.keys() != set(range(count)):
        raise ValueError(f"{count} were requested, {len(entries)} returned")
    return [rows[at] for at in range(count)]


def _row(entry: object) -> tuple[int, list[object]]:
    fields = as_object(entry)
    at, row = fields.get("index"), fields.get("embedding")
    if not isinstance(at, int) or not isinstance(row, list) or not row:
        raise ValueError("one of them has no index, or no numbers")
    return at, cast(list[object], row)


def _unit(row: list[object]) -> Vector:
    numbers = [float(value) for value in row if isinstance(value, float) or _is_small(value)]
    length = math.hypot(*numbers)
    if len(numbers) != len(row) or not math.isfinite(length) or not length:
        raise ValueError("one of them is not made of finite numbers, or only of zeros")
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def _is_small(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and abs(value) < 2**53
