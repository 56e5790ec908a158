"""An identity provider of tests' own: it signs tokens, serves its metadata and keys, and signs people in."""

import json
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from hashlib import sha256
from typing import Any, cast
from urllib.parse import parse_qs, unquote_plus, urlencode

import anyio
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.configuration.config_model import IdentityProvider, SignInClient
from remit.errors import IdentityError
from remit.gateway.transports.socket_server import Address, bind_socket, serve_until_cancelled

AUDIENCE = "https://remit.example.com"
CLIENT_ID, CLIENT_SECRET = "remit-pages", "s3cret/of pages"


class LocalIssuer:
    """Signs with RSA or EC keys that can be rotated, and counts the requests for them."""

    def __init__(self, issuer: str = "https://login.example.com/acme") -> None:
        self.issuer = issuer
        self.kids = ["rsa-1", "ec-1"]
        self.is_down = False
        self.asked: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.client_secret: str | None = None  # None: the client is public
        self.person: tuple[str, ...] = ("ida", "payers")  # who signs in, with groups
        self.claims: dict[str, Any] = {}  # changed in access tokens
        self.id_claims: dict[str, Any] = {}  # changed in ID tokens
        self.codes: dict[str, dict[str, str]] = {}  # what was asked for, by code
        self.headers: list[Mapping[str, str]] = []  # of exchanges

    @property
    def identity(self) -> IdentityProvider:
        return IdentityProvider(self.issuer, (AUDIENCE,))

    def pages_at(self, public_url: str, **changed: Any) -> IdentityProvider:
        """Return the identity of a gateway whose pages sign people in here."""
        return self.identity._replace(sign_in=SignInClient(CLIENT_ID, public_url, **changed))

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
        described = {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/keys",
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            **self.metadata,
        }
        return {
            f"{self.issuer}/.well-known/openid-configuration": described,
            f"{self.issuer}/keys": self.keys(),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = request.url.path
        self.asked.append(path)
        if path == "/authorize":
            return await self._asking(dict(request.query_params))(scope, receive, send)
        if path == "/token" and not self.is_down:
            form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
            status, document = self._exchanged(form, request.headers)
            return await JSONResponse(document, status)(scope, receive, send)
        found = self._documents().get(f"{self.issuer}{path}")
        answer = Response(status_code=404) if found is None or self.is_down else JSONResponse(found)
        return await answer(scope, receive, send)

    def signed_in(self, asked: Mapping[str, str]) -> str:
        """Return where a person is sent who signs in."""
        code = secrets.token_hex(8)
        self.codes[code] = dict(asked)
        answer = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def denied(self, asked: Mapping[str, str]) -> str:
        answer = {"error": "access_denied", "state": asked["state"], "error_description": "<b>no</b>"}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def _asking(self, asked: dict[str, str]) -> Response:
        """Ask a person, on a page as issuers have."""
        if "answer" in asked:
            return RedirectResponse(self.signed_in(asked) if asked["answer"] == "yes" else self.denied(asked))
        links = (f'<a href="?{urlencode({**asked, "answer": each})}">{each}</a>' for each in ("yes", "no"))
        head = '<!doctype html><title>Issuer</title><link rel="icon" href="data:,">'
        return HTMLResponse(f"{head}<p>Sign in? {' '.join(links)}")

    async def post(
        self, address: str, fields: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """Answer an exchange as over HTTP, without a network."""
        assert address == f"{self.issuer}/token"
        if self.is_down:
            raise IdentityError("it does not answer")
        return self._exchanged(fields, headers)

    def _exchanged(self, form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        self.headers.append(headers)
        if self.client_secret is not None and self.client_secret not in (
            _basic(headers),
            form.get("client_secret"),
        ):
            return 401, {"error": "invalid_client"}
        asked = self.codes.pop(form["code"], None)  # once
        is_good = (
            asked is not None
            and all(asked[name] == form[name] for name in ("client_id", "redirect_uri"))
            and asked["code_challenge"] == _challenge(form["code_verifier"])
        )
        if asked is None or not is_good:
            return 400, {"error": "invalid_grant"}
        name, *groups = self.person
        about: dict[str, Any] = {
            "aud": form["client_id"],
            "nonce": asked["nonce"],
            "groups": None,
            **self.id_claims,
        }
        return 200, {
            "access_token": self.token(name, *groups, **self.claims),
            "id_token": self.token(name, **about),
            "token_type": "Bearer",
        }


def _challenge(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def _basic(headers: Mapping[str, str]) -> str | None:
    kind, _, both = {name.lower(): value for name, value in headers.items()}.get(
        "authorization", ""
    ).partition(" ")
    return unquote_plus(b64decode(both).decode().partition(":")[2]) if kind == "Basic" else None


@asynccontextmanager
async def served_issuer(
    front: Callable[[LocalIssuer], ASGIApp] = lambda issuer: issuer, host: str = "127.0.0.1"
) -> AsyncGenerator[LocalIssuer]:
    """Serve an issuer on loopback, perhaps behind an application of its own."""
    listener = bind_socket(Address("127.0.0.1", 0))
    made = LocalIssuer(f"http://{host}:{listener.getsockname()[1]}")

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
    return cast("dict[str, Any]", json.loads(kind.to_jwk(cast("Any", key))))


def _algorithm(kid: str) -> str:
    return "RS256" if kid.startswith("rsa") else "ES256"
