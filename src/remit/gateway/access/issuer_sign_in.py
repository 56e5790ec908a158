"""Signs people in at an identity provider: authorization code flow with PKCE.

A sign-in keeps nothing here, so any gateway can finish one that another began: the browser brings it back.
"""

import hmac
import logging
import os
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote_plus, urlencode

import anyio

from remit.configuration.access_tables import is_key_address
from remit.configuration.config_model import IdentityProvider, SignInClient
from remit.errors import IdentityError
from remit.files.private_files import read_secret
from remit.gateway.access.issuer_documents import Document, Fetch, Post, discover, fetch_json, post_form
from remit.gateway.access.issuer_keys import IssuerKeys
from remit.settings import CLIENT_SECRET

LIFETIME = 600.0  # seconds after which the metadata is fetched again
MOST = 32  # sign-ins that are finished at the same time
_RETRY = 5.0  # seconds after which an issuer that was down is asked again

_logger = logging.getLogger(__name__)


class PendingSignIn(NamedTuple):
    """A sign-in that a browser has begun; only that browser has it, encrypted."""

    state: str
    nonce: str
    verifier: str
    back: str  # the page to open afterwards
    at: int  # Unix milliseconds


class FailedSignIn(NamedTuple):
    """Why a person is not signed in, what to do, and the status of the answer."""

    status: int
    words: str


class IssuerSignIn:
    """Sends people to one issuer, and exchanges what they bring back for an access token."""

    def __init__(
        self,
        identity: IdentityProvider,
        client: SignInClient,
        keys: IssuerKeys,
        *,
        fetch: Fetch | None = None,
        post: Post | None = None,
    ) -> None:
        self.identity = identity
        self.client = client
        self._keys = keys
        self._fetch = fetch or fetch_json
        self._post = post or post_form
        self._metadata: Document | None = None
        self._fetched_at = self._failed_at = float("-inf")
        self._in_progress = 0

    async def address(self, pending: PendingSignIn, redirect: str) -> str | FailedSignIn:
        """Return the address at which the issuer asks a person to sign in."""
        try:
            endpoint, _, query = self._endpoint("authorization_endpoint", await self._discovered())
        except IdentityError as error:
            return self._is_down(error)
        asked = {
            "response_type": "code",
            "client_id": self.client.client_id,
            "redirect_uri": redirect,
            "scope": " ".join(self.client.scopes),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": challenge(pending.verifier),
            "code_challenge_method": "S256",
            **self._audience(),
        }
        return f"{endpoint}?{query}{'&' if query else ''}{urlencode(asked)}"

    async def token(
        self, pending: PendingSignIn, answer: Mapping[str, str], redirect: str
    ) -> str | FailedSignIn:
        """Exchange the issuer's answer, which the browser brings, for an access token."""
        problem = self._problem(pending, answer)
        if problem is not None:
            return problem
        if self._in_progress >= MOST:
            return FailedSignIn(503, "Too many people sign in now. Sign in again in a minute.")
        self._in_progress += 1
        try:
            return await self._exchanged(pending, answer["code"], redirect)
        except IdentityError as error:
            return self._is_down(error)
        finally:
            self._in_progress -= 1

    def _problem(self, pending: PendingSignIn, answer: Mapping[str, str]) -> FailedSignIn | None:
        issuer = self.identity.issuer
        if not hmac.compare_digest(answer.get("state", "").encode(), pending.state.encode()):
            words = "This answer belongs to another sign-in. If you began several, only the last one counts. "
            return FailedSignIn(400, f"{words}Sign in again.")
        if answer.get("iss", issuer) != issuer:  # RFC 9207
            return FailedSignIn(400, f"The answer is not from {issuer}. Sign in again.")
        error = answer.get("error")
        if error == "access_denied":
            words = f"{issuer} denied the sign-in. Sign in again, or ask an administrator of {issuer}."
            return FailedSignIn(403, words)
        if error is not None or not answer.get("code"):
            code = error if error is not None and _is_plain(error) else "no code"
            _logger.warning("%s answers a sign-in with `%s`", issuer, code)
            words = f"{issuer} did not sign you in (`{code}`). Sign in again; if that does not help, "
            return FailedSignIn(400, f"{words}ask an administrator of the gateway.")
        return None

    async def _exchanged(self, pending: PendingSignIn, code: str, redirect: str) -> str | FailedSignIn:
        metadata = await self._discovered()
        endpoint = self._endpoint("token_endpoint", metadata)[0]
        try:
            added, headers = self._proof(metadata)
        except OSError as error:
            _logger.error(
                "the client secret in %s cannot be read: %s", self.client.secret_file, error.strerror
            )
            return self._misconfigured("the gateway cannot read its client secret")
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": pending.verifier,
            "client_id": self.client.client_id,
            **self._audience(),
        }
        status, document = await self._post(endpoint, {**fields, **added}, headers)
        if status != 200:
            return self._refused(status, document)
        token = document.get("access_token")
        if not isinstance(token, str) or str(document.get("token_type", "")).lower() != "bearer":
            return self._misconfigured("it sent no access token")
        problem = await self._id_problem(document.get("id_token"), pending.nonce)
        return token if problem is None else self._misconfigured(f"its ID token is not accepted: {problem}")

    async def _id_problem(self, token: object, nonce: str) -> str | None:
        """Say why an ID token does not answer this sign-in; without `openid`, issuers send none."""
        from remit.gateway.access.access_tokens import check_id_token  # loads cryptography

        if token is None and "openid" not in self.client.scopes:
            return None
        if not isinstance(token, str):
            return "it is missing"
        found = await check_id_token(token, self._keys, self.client.client_id, nonce)
        return None if found is None else found.reason

    def _refused(self, status: int, document: Document) -> FailedSignIn:
        error = document.get("error")
        if error == "invalid_grant":
            words = (
                f"{self.identity.issuer} no longer accepts this sign-in: it may be too old, or used before. "
            )
            return FailedSignIn(400, f"{words}Sign in again.")
        if status >= 500:
            return self._is_down(IdentityError(f"it answers with the status {status}"))
        code = error if isinstance(error, str) and _is_plain(error) else str(status)
        return self._misconfigured(f"it refused the gateway (`{code}`)")

    def _misconfigured(self, reason: str) -> FailedSignIn:
        issuer = self.identity.issuer
        _logger.error("people cannot sign in at %s: %s", issuer, reason)
        words = (
            f"{issuer} and this gateway do not fit together: {reason}. Ask an administrator of the gateway "
        )
        return FailedSignIn(502, f"{words}to check `[identity]`.")

    def _is_down(self, error: IdentityError) -> FailedSignIn:
        issuer = self.identity.issuer
        _logger.error("people cannot sign in at %s: %s", issuer, error)
        return FailedSignIn(503, f"{issuer} cannot be used now ({error}). Try again in a minute.")

    async def _discovered(self) -> Document:
        """Return the metadata; while the issuer is down, the last one."""
        now = anyio.current_time()
        if now - self._fetched_at < LIFETIME and self._metadata is not None:
            return self._metadata
        if now - self._failed_at < _RETRY:
            if self._metadata is None:
                raise IdentityError("it did not answer just now")
            return self._metadata
        try:
            self._metadata = await discover(self.identity.issuer, self._fetch)
            self._fetched_at = now
        except IdentityError:
            self._failed_at = now
            if self._metadata is None:
                raise
        return self._metadata

    def _endpoint(self, name: str, metadata: Document) -> tuple[str, str, str]:
        """Return an address in the metadata, split before its query."""
        found = metadata.get(name)
        parts = found.partition("?") if isinstance(found, str) else ("", "", "")
        if not is_key_address(parts[0]) or "#" in parts[2]:
            raise IdentityError(f"its metadata has no https address as `{name}`")
        return parts

    def _audience(self) -> dict[str, str]:
        """Ask for a token for the gateway; as `resource`, the audience must be an address (RFC 8707)."""
        parameter, audience = self.client.audience_parameter, self.identity.audience
        if parameter == "resource":
            audience = [each for each in audience if each.startswith(("https://", "http://"))]
        return {parameter: audience[0]} if audience and parameter != "none" else {}

    def _proof(self, metadata: Document) -> tuple[dict[str, str], dict[str, str]]:
        """Return the fields and headers that prove who asks; none for a public client.

        Raises:
            OSError: the file of the secret cannot be read, or others can read it too.
        """
        secret = self._secret()
        if secret is None:
            return {}, {}
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if "client_secret_basic" not in methods:
            return {"client_secret": secret}, {}
        both = f"{quote_plus(self.client.client_id)}:{quote_plus(secret)}"
        return {}, {"Authorization": f"Basic {b64encode(both.encode()).decode()}"}

    def _secret(self) -> str | None:
        path = self.client.secret_file
        return (
            os.environ.get(CLIENT_SECRET) if path is None else read_secret(os.path.expanduser(path))
        ) or None


def begin_sign_in(back: str, at: int) -> PendingSignIn:
    """Begin a sign-in."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return PendingSignIn(state, nonce, verifier, back, at)


def challenge(verifier: str) -> str:
    """Return the PKCE challenge of a verifier (S256)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def _is_plain(code: str) -> bool:
    """Tell whether an error code can be shown: anyone can write another into a link."""
    return len(code) <= 40 and code.isascii() and code.replace("_", "").isalnum()
