"""Embeds texts with an endpoint that implements OpenAI's embeddings API.

Error messages never contain the URL or parts of a reply, because either may contain a key.
"""

import ipaddress
import json
import re
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple

import httpx2
import numpy as np

from remit.errors import EmbeddingError
from remit.search.documents import Document
from remit.search.models import Vector
from remit.search.ranking import Fusion
from remit.text import as_list, as_object

QUERY_TIMEOUT, TOOLS_TIMEOUT = 1.0, 60.0  # seconds; after the first, a search uses words alone
_BATCH = 64  # texts per request
_MOST_TEXT = 8000  # characters
_MOST_BYTES = 64 * 1024 * 1024
_ATTEMPTS = 4  # to embed tools while the endpoint is busy
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between attempts; each pause is twice as long
_SECONDS = re.compile(r"[0-9]{1,9}")  # dates are ignored


class _Reply(NamedTuple):
    status: int
    content: bytes
    retry_after: float  # seconds; 0 if the reply has no such header


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
        timeout: float = QUERY_TIMEOUT,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Set up the connection without sending anything.

        Raises:
            EmbeddingError: the URL or the key cannot be used, or the key would be sent in clear text.
        """
        self._url = _endpoint(url)
        self._host, self._name = self._url.netloc.decode(), model
        self.model = f"{model}@{self._host}"
        self._timeout, self._sleep = timeout, sleep
        is_local = is_loopback(self._url.host)
        if key and not (key.isascii() and key.isprintable()):
            raise EmbeddingError(
                f"the key for `{self._host}` holds characters that cannot be sent",
                hint="write the key alone into the file of `embeddings_key_file`",
            )
        if key and self._url.scheme != "https" and not is_local:
            raise EmbeddingError(
                f"the key for `{self._host}` would be sent in clear text",
                hint="use an https URL, or a server on this machine, or no key",
            )
        headers = {"User-Agent": "remit", **({"Authorization": f"Bearer {key}"} if key else {})}
        # A local server uses plain HTTP, so a proxy would see the key.
        self._client = httpx2.Client(headers=headers, trust_env=not is_local, follow_redirects=False)

    def embed_query(self, text: str) -> Vector:
        """Embed a query.

        Raises:
            EmbeddingError: the endpoint did not return a vector in time.
        """
        return self._vectors(self._post([text], self._timeout), 1)[0]

    def embed_tools(self, documents: Sequence[Document]) -> list[Vector]:
        """Embed tools.

        Raises:
            EmbeddingError: the endpoint did not return the vectors.
        """
        vectors: list[Vector] = []
        for start in range(0, len(documents), _BATCH):
            texts = [tool_text(document) for document in documents[start : start + _BATCH]]
            reply, pause = self._post(texts, TOOLS_TIMEOUT), _FIRST_PAUSE
            for _ in range(_ATTEMPTS - 1):
                if not _is_busy(reply.status) or max(pause, reply.retry_after) > _LONGEST_PAUSE:
                    break
                self._sleep(max(pause, reply.retry_after))
                reply, pause = self._post(texts, TOOLS_TIMEOUT), 2 * pause
            vectors += self._vectors(reply, len(texts))
        return vectors

    def _post(self, texts: Sequence[str], timeout: float) -> _Reply:
        body = {"model": self._name, "input": [_sendable(text) for text in texts]}
        deadline, content = time.monotonic() + timeout, bytearray()
        try:
            with self._client.stream("POST", self._url, json=body, timeout=timeout) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > _MOST_BYTES or time.monotonic() > deadline:
                        raise self._error("takes too long, or sends an endless answer")
        except httpx2.HTTPError as error:
            raise self._error(_cause(error)) from None
        wait = response.headers.get("Retry-After", "")
        return _Reply(response.status_code, bytes(content), float(wait) if _SECONDS.fullmatch(wait) else 0.0)

    def _vectors(self, reply: _Reply, count: int) -> list[Vector]:
        if not 200 <= reply.status < 300:
            phrase = next((f" {status.phrase}" for status in HTTPStatus if status == reply.status), "")
            raise self._error(f"answers {reply.status}{phrase}", _advice(reply.status))
        try:
            return _parse_vectors(reply.content, count)
        except ValueError as error:
            raise self._error(f"did not return the requested vectors: {error}") from None

    def _error(self, cause: str, advice: str = "check `embeddings`") -> EmbeddingError:
        hint = f'{advice}, or set `embeddings = "static"` to use the bundled model'
        return EmbeddingError(f"the embeddings of `{self._host}`: it {cause}", hint=hint)


def _endpoint(url: str) -> httpx2.URL:
    try:
        address = httpx2.URL(url)
        if address.scheme in ("http", "https") and address.host and not address.userinfo:
            return address.copy_with(path=address.path.rstrip("/") + "/embeddings")
    except httpx2.InvalidURL:
        pass
    # The message omits the value, which may contain a password.
    raise EmbeddingError(
        "`embeddings` is neither a model nor a usable URL",
        hint="set it to `static`, `onnx`, `none` or an http(s) URL without a user and password",
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
    return "breaks off the connection, or does not speak HTTP"


def _is_busy(status: int) -> bool:
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500


def _advice(status: int) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "check `embeddings_key_file`"
    return "try again later" if _is_busy(status) else "check `embeddings` and `embeddings_model`"


def _parse_vectors(content: bytes, count: int) -> list[Vector]:
    """Parse the vectors of a reply, normalized to length one, in the order of the texts.

    Raises:
        ValueError: the reply does not contain the requested vectors.
    """
    try:
        entries = [as_object(entry) for entry in as_list(as_object(json.loads(content)).get("data"))]
    except (ValueError, RecursionError):  # the parser's own message quotes the reply
        raise ValueError("it is not JSON") from None
    by_index = {str(entry.get("index")): entry.get("embedding") for entry in entries}
    if len(entries) != count or by_index.keys() != {str(at) for at in range(count)}:
        raise ValueError(f"{count} were requested, {len(entries)} returned")
    try:
        rows = np.array([by_index[str(at)] for at in range(count)], np.float64)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("they are not numbers, or not all of one length") from None
    lengths = np.sqrt((rows * rows).sum(axis=-1, keepdims=True)) if rows.ndim == 2 else np.zeros(1)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("one of them is not made of finite numbers, or only of zeros")
    return [unit.tobytes() for unit in (rows / lengths).astype("<f4")]
