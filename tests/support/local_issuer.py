"""An identity provider of tests' own: it signs access tokens, and serves its metadata and its keys."""

import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, cast

import anyio
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.configuration.access_model import IdentityProvider
from remit.errors import IdentityError
from remit.gateway.transports.socket_server import Address, bind_socket, serve_until_cancelled

AUDIENCE = "https://remit.example.com"


class LocalIssuer:
    """Signs with RSA or EC keys that can be rotated, and counts the requests for them."""

    def __init__(self, issuer: str = "https://login.example.com/acme") -> None:
        self.issuer = issuer
        self.kids = ["rsa-1", "ec-1"]
        self.is_down = False
        self.asked: list[str] = []
        self.metadata: dict[str, Any] = {}

    @property
    def identity(self) -> IdentityProvider:
        return IdentityProvider(self.issuer, (AUDIENCE,))

    def token(
        self,
        name: str = "ada",
        *groups: str,
        kid: str | None = "rsa-1",
        headers: dict[str, Any] | None = None,
        **changed: Any,
    ) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": name,
            "groups": groups,
            "iat": now,
            "exp": now + 300,
        }
        claims = {key: value for key, value in {**claims, **changed}.items() if value is not None}
        signer = kid or "rsa-1"
        head = {**({} if kid is None else {"kid": kid}), **(headers or {})}
        return jwt.encode(claims, private_key(signer), _algorithm(signer), head)

    def keys(self) -> dict[str, Any]:
        return {"keys": [{**public_key(kid), "kid": kid, "use": "sig"} for kid in self.kids]}

    async def fetch(self, address: str) -> dict[str, Any]:
        """Answer as over HTTP, without a network."""
        self.asked.append(address)
        if self.is_down:
            raise IdentityError("it does not answer")
        found = self._documents().get(address)
        if found is None:
            raise IdentityError("it answers with the status 404")
        return found

    def _documents(self) -> dict[str, dict[str, Any]]:
        described = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", **self.metadata}
        return {
            f"{self.issuer}/.well-known/openid-configuration": described,
            f"{self.issuer}/keys": self.keys(),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = Request(scope).url.path
        self.asked.append(path)
        found = self._documents().get(f"{self.issuer}{path}")
        answer = Response(status_code=404) if found is None or self.is_down else JSONResponse(found)
        await answer(scope, receive, send)


@asynccontextmanager
async def served_issuer(
    front: Callable[[LocalIssuer], ASGIApp] = lambda issuer: issuer,
) -> AsyncGenerator[LocalIssuer]:
    """Serve an issuer on loopback, perhaps behind an application of its own."""
    listener = bind_socket(Address("127.0.0.1", 0))
    made = LocalIssuer(f"http://127.0.0.1:{listener.getsockname()[1]}")

    async def nothing() -> None:
        pass

    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            await serve_until_cancelled(front(made), listener, on_stop=nothing, grace=1)

        tasks.start_soon(serve)
        try:
            yield made
        finally:
            tasks.cancel_scope.cancel()


@cache
def private_key(kid: str) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    if kid.startswith("rsa"):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def public_key(kid: str) -> dict[str, Any]:
    key = private_key(kid).public_key()
    kind = RSAAlgorithm if kid.startswith("rsa") else ECAlgorithm
    return cast(dict[str, Any], json.loads(kind.to_jwk(cast(Any, key))))


def _algorithm(kid: str) -> str:
    return "RS256" if kid.startswith("rsa") else "ES256"
