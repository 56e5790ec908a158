"""The documents of an identity provider: its metadata, and what its endpoints answer, read with bounds."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import anyio
import httpx2

from remit.errors import IdentityError, UpstreamError
from remit.upstream.transports.http_client import open_http_client, send_within_origin

_TIMEOUT = 5.0  # seconds for one document
_MAX_BYTES = 2**20
_FORM = "application/x-www-form-urlencoded"

Document = Mapping[str, Any]
Headers = Mapping[str, str]
Fetch = Callable[[str], Awaitable[Document]]
Post = Callable[[str, Mapping[str, str], Headers], Awaitable[tuple[int, Document]]]


async def discover(issuer: str, fetch: Fetch) -> Document:
    """Fetch the metadata of an issuer.

    Raises:
        IdentityError: it has none, or they name another issuer.
    """
    problem = IdentityError("it has no metadata")
    for address in metadata_addresses(issuer):
        try:
            document = await fetch(address)
        except IdentityError as error:
            problem = error
            continue
        if document.get("issuer") != issuer:
            raise IdentityError("its metadata names another issuer")
        return document
    raise problem


def metadata_addresses(issuer: str) -> tuple[str, str]:
    """Return where an issuer has its metadata: by OpenID Connect, and by RFC 8414."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc}"
    return (
        f"{origin}{path}/.well-known/openid-configuration",
        f"{origin}/.well-known/oauth-authorization-server{path}",
    )


async def fetch_json(address: str) -> Document:
    """Fetch a JSON object.

    Raises:
        IdentityError: the address does not answer with one in time.
    """
    status, document = await _asked("GET", address, None, {})
    if status != 200 or document is None:
        raise IdentityError(_unusable(status))
    return document


async def post_form(address: str, fields: Mapping[str, str], headers: Headers) -> tuple[int, Document]:
    """Send a form; return the status and the JSON object of the answer, which may name an error.

    Raises:
        IdentityError: the address does not answer with one in time.
    """
    body = urlencode(fields).encode()
    status, document = await _asked("POST", address, body, {"Content-Type": _FORM, **headers})
    if document is None:
        raise IdentityError(_unusable(status))
    return status, document


def _unusable(status: int) -> str:
    return "its answer is not a JSON object" if status == 200 else f"it answers with the status {status}"


async def _asked(
    method: str, address: str, body: bytes | None, headers: Headers
) -> tuple[int, Document | None]:
    try:
        with anyio.fail_after(_TIMEOUT):
            async with (
                open_http_client({"Accept": "application/json"}) as client,
                send_within_origin(client, method, httpx2.URL(address), body, headers) as response,
            ):
                return response.status_code, _parsed(await _body(response))
    except TimeoutError:
        raise IdentityError("it takes too long") from None
    except UpstreamError as error:
        raise IdentityError(str(error)) from None


async def _body(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise IdentityError("its answer is too long")
    return bytes(body)


def _parsed(body: bytes) -> Document | None:
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast(Document, document) if isinstance(document, dict) else None
