"""Embeds texts with an endpoint that implements OpenAI's embeddings API.

Error messages never contain the URL or parts of a reply, because either may contain a key.
"""

import ipaddress
import json
import math
import struct
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple, TypeGuard, cast

import httpx2

from remit.errors import EmbeddingError
from remit.search.documents import Document
from remit.search.models import Vector
from remit.search.ranking import Fusion
from remit.text import as_list, as_object

_BATCH = 64  # texts per request
_MOST_TEXT = 8000  # characters
_MOST_BYTES = 64 * 1024 * 1024
_FIRST_PAUSE = 0.5  # seconds before the second attempt; each later pause is twice as long


class RetryLimits(NamedTuple):
    """Limits for the time and attempts of a request."""

    timeout: float  # seconds
    attempts: int
    pause: float  # the longest wait between attempts, in seconds


TOOLS = RetryLimits(timeout=60, attempts=4, pause=30)
QUERY = RetryLimits(timeout=1, attempts=1, pause=0)  # a search waits; then it uses words alone


class EndpointEmbedder:
    """Embeds tools and queries with a remote service."""

    # Cosines of an unknown model are not calibrated, so no result counts as noise.
    fusion = Fusion(word_weight=0.02, confidence=0.0, noise=0.0, far_below=0.0)
    is_slow = True

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        query: RetryLimits = QUERY,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Set up the connection without sending anything.

        Raises:
            EmbeddingError: the URL or the key cannot be used, or the key would be sent in clear text.
        """
        self._url = _endpoint(url)
        self._host, self._name = self._url.netloc.decode(), model
        _require_safe(key, self._url)
        self.model = f"{model}@{self._host}"
        self._query, self._sleep = query, sleep
        self._client = httpx2.Client(
            headers={"User-Agent": "remit"} | ({"Authorization": f"Bearer {key}"} if key else {}),
            # A local server uses plain HTTP, so a proxy would see the key.
            trust_env=not is_loopback(self._url.host),
        )

    def embed_query(self, text: str) -> Vector:
        """Embed a query.

        Raises:
            EmbeddingError: the endpoint did not return a vector in time.
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

    def _embed(self, texts: Sequence[str], limits: RetryLimits) -> list[Vector]:
        body = {"model": self._name, "input": [_sendable(text) for text in texts]}
        status, reply, wait = self._send(body, limits.timeout)
        pause = _FIRST_PAUSE
        for _ in range(limits.attempts - 1):  # while the endpoint is busy
            if not _is_busy(status) or max(pause, wait) > limits.pause:
                break
            self._sleep(max(pause, wait))
            status, reply, wait = self._send(body, limits.timeout)
            pause *= 2
        if not 200 <= status < 300:
            raise self._error(f"answers {_phrase(status)}", _advice(status))
        try:
            return _parse_vectors(reply, len(texts))
        except ValueError as error:
            raise self._error(f"did not return the requested vectors: {error}") from None

    def _send(self, body: object, timeout: float) -> tuple[int, bytes, float]:
        """Post JSON; return the status, the reply, and the seconds to wait that it asks for."""
        deadline = time.monotonic() + timeout
        reply = bytearray()
        try:
            with self._client.stream("POST", self._url, json=body, timeout=timeout) as response:
                for chunk in response.iter_bytes():
                    reply += chunk
                    if len(reply) > _MOST_BYTES:
                        raise self._error("sends an endless answer")
                    if time.monotonic() > deadline:
                        raise self._error("takes too long")
                retry_after = response.headers.get("Retry-After", "")  # dates are ignored
                wait = float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0
                return response.status_code, bytes(reply), wait
        except httpx2.HTTPError as error:
            raise self._error(_cause(error)) from None

    def _error(self, cause: str, advice: str = "check `embeddings`") -> EmbeddingError:
        hint = f'{advice}, or set `embeddings = "static"` to use the bundled model'
        return EmbeddingError(f"the embeddings of `{self._host}`: it {cause}", hint=hint)


def _endpoint(url: str) -> httpx2.URL:
    try:
        address = httpx2.URL(url)
        if address.scheme in ("http", "https") and address.host and not address.userinfo:
            return address.copy_with(path=address.path.rstrip("/") + "/embeddings", fragment=None)
    except httpx2.InvalidURL:
        pass
    # The message omits the value, which may contain a password.
    raise EmbeddingError(
        "`embeddings` is neither a model nor a usable URL",
        hint="set it to `static`, `onnx`, `none` or an http(s) URL without a user and password",
    )


def _require_safe(key: str | None, url: httpx2.URL) -> None:
    host = url.netloc.decode()
    if key and not (key.isascii() and key.isprintable()):
        raise EmbeddingError(
            f"the key for `{host}` holds characters that cannot be sent",
            hint="write the key alone into the file of `embeddings_key_file`",
        )
    if key and url.scheme != "https" and not is_loopback(url.host):
        raise EmbeddingError(
            f"the key for `{host}` would be sent in clear text",
            hint="use an https URL, or a server on this machine, or no key",
        )


def is_loopback(host: str) -> bool:
    """Return whether a host name refers to this machine, without resolving it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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


def _cause(error: httpx2.HTTPError) -> str:
    """Describe the cause without the library's message, which may contain the URL."""
    if isinstance(error, httpx2.TimeoutException):
        return "takes too long"
    if isinstance(error, httpx2.ConnectError):
        return "cannot be reached"
    return "does not speak HTTP" if isinstance(error, httpx2.ProtocolError) else "breaks off the connection"


def _is_busy(status: int) -> bool:
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500


def _phrase(status: int) -> str:
    known = {one.value: f" {one.phrase}" for one in HTTPStatus}
    return f"{status}{known.get(status, '')}"


def _advice(status: int) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "check `embeddings_key_file`"
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY):
        return "check `embeddings` and `embeddings_model`"
    return "try again later" if _is_busy(status) else "check `embeddings`"


def _parse_vectors(reply: bytes, count: int) -> list[Vector]:
    """Parse the vectors of a reply, normalized to length one, in the order of the texts.

    Raises:
        ValueError: the reply does not contain the requested vectors.
    """
    try:
        entries = as_list(as_object(json.loads(reply)).get("data"))
    except (ValueError, RecursionError):  # the parser's own message quotes the reply
        raise ValueError("it is not JSON") from None
    rows = dict(map(_row, entries))
    if len(entries) != count or rows.keys() != set(range(count)):
        raise ValueError(f"{count} were requested, {len(entries)} returned")
    if len({len(row) for row in rows.values()}) != 1:
        raise ValueError("they are not all of one length")
    return [_unit(rows[at]) for at in range(count)]


def _row(entry: object) -> tuple[int, list[object]]:
    fields = as_object(entry)
    at, row = fields.get("index"), fields.get("embedding")
    if not isinstance(at, int) or not isinstance(row, list) or not row:
        raise ValueError("one of them has no index, or no numbers")
    return at, cast("list[object]", row)


def _unit(row: list[object]) -> Vector:
    numbers = [float(value) for value in row if isinstance(value, float) or _is_small(value)]
    length = math.hypot(*numbers)
    if len(numbers) != len(row) or not math.isfinite(length) or not length:
        raise ValueError("one of them is not made of finite numbers, or only of zeros")
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def _is_small(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and abs(value) < 2**53
