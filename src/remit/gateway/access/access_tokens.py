"""Checks tokens of an identity provider: signature, issuer, audience and time."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import jwt

from remit.configuration.config_model import IdentityProvider
from remit.gateway.access.issuer_keys import IssuerKeys, Key

LEEWAY = 30  # seconds by which clocks may differ
_MAX_GROUPS = 1000
_LONGEST_NAME = 200
_ALGORITHMS: Mapping[object, Sequence[str]] = {  # asymmetric alone: a public key is no shared secret
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
_TYPES = ("jwt", "at+jwt", "application/at+jwt")
_REQUIRED = ("exp", "iss", "aud")


@dataclass(frozen=True, slots=True)
class Claims:
    """What a checked access token says."""

    name: str
    groups: tuple[str, ...]
    valid_until: float = field(default=0.0, compare=False)  # Unix seconds


class InvalidToken(NamedTuple):
    """Why an access token is not accepted."""

    reason: str


async def check_token(token: str, keys: IssuerKeys) -> Claims | InvalidToken:
    """Check an access token.

    Raises:
        IdentityError: its key is not known, and the issuer does not answer.
    """
    identity = keys.identity
    found = await _verified(token, keys, _audiences(identity))
    return found if isinstance(found, InvalidToken) else _claims(found, identity)


async def check_id_token(token: str, keys: IssuerKeys, client_id: str, nonce: str) -> InvalidToken | None:
    """Check that an ID token answers a sign-in of this gateway; None if it does.

    Raises:
        IdentityError: its key is not known, and the issuer does not answer.
    """
    found = await _verified(token, keys, [client_id])
    if isinstance(found, InvalidToken):
        return found
    is_alone = found["aud"] in (client_id, [client_id])
    if found.get("azp", client_id if is_alone else None) != client_id:
        return InvalidToken("it is for another client")
    is_answer = hmac.compare_digest(str(found.get("nonce", "")).encode(), nonce.encode())
    return None if is_answer else InvalidToken("it is for another sign-in")


async def _verified(token: str, keys: IssuerKeys, audiences: list[str]) -> dict[str, Any] | InvalidToken:
    """Check the signature, the issuer, the audience and the time of a token."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, RecursionError):  # older versions of the library parse any depth
        return InvalidToken("it is not a JSON Web Token")
    algorithm, kid = header.get("alg"), header.get("kid")
    if str(header.get("typ", "jwt")).lower() not in _TYPES:
        return InvalidToken("it is not an access token")
    if not any(algorithm in each for each in _ALGORITHMS.values()):
        return InvalidToken("its algorithm is not accepted")
    if kid is not None and not isinstance(kid, str):
        return InvalidToken("its key id is not text")
    known = [key for key in await keys.find(kid) if _is_for(key, str(algorithm))]
    if len(known) != 1:
        return InvalidToken("its key is not known")
    return _decoded(token, known[0], str(algorithm), audiences, keys.identity.issuer)


def _is_for(key: Key, algorithm: str) -> bool:
    """Check that a key is made for an algorithm, so nobody can choose another for it."""
    is_suited = algorithm in _ALGORITHMS.get(key.get("kty"), ())
    return is_suited and key.get("alg", algorithm) == algorithm and key.get("use", "sig") == "sig"


def _decoded(
    token: str, key: Key, algorithm: str, audiences: list[str], issuer: str
) -> dict[str, Any] | InvalidToken:
    try:
        return jwt.decode(
            token,
            jwt.PyJWK(dict(key), algorithm),
            algorithms=[algorithm],
            audience=audiences,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": [*_REQUIRED], "enforce_minimum_key_length": True},
        )
    except jwt.PyJWTError as error:
        return InvalidToken(_reason(error))


def _claims(found: Mapping[str, Any], identity: IdentityProvider) -> Claims | InvalidToken:
    name = found.get(identity.name_claim)
    if not isinstance(name, str) or not _is_usable(name):
        return InvalidToken(f"it has no usable `{identity.name_claim}`")
    return Claims(name, _groups(found, identity.groups_claim), int(found["exp"]) + LEEWAY)


def _is_usable(name: str) -> bool:
    """Tell whether a name can stand between backticks, as it does in approvals and in the audit log."""
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable() and "`" not in name


def _audiences(identity: IdentityProvider) -> list[str]:
    """List the audiences; clients write an address with and without a slash at its end."""
    return [form for each in identity.audience for form in (each, *_other_form(each))]


def _other_form(audience: str) -> Sequence[str]:
    if not audience.startswith(("https://", "http://")):
        return ()
    return (audience.removesuffix("/") if audience.endswith("/") else f"{audience}/",)


_REASONS: Mapping[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "it is not valid yet",
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.InvalidIssuerError: "it is from another issuer",
    jwt.MissingRequiredClaimError: "a required claim is missing",
    jwt.InvalidSignatureError: "its signature is wrong",
}


def _reason(error: jwt.PyJWTError) -> str:
    """Say why a token is not accepted, without the library's words, which may repeat the token."""
    return next((words for kind, words in _REASONS.items() if isinstance(error, kind)), "it is invalid")


def _groups(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    """Read the groups; a claim with dots may be a path, as in `realm_access.roles`."""
    found: object = claims.get(claim)
    if claim not in claims:
        found = claims
        for part in claim.split("."):
            found = cast("Mapping[str, object]", found).get(part) if isinstance(found, dict) else None
    if isinstance(found, str):
        return (found,)
    listed = cast("list[object]", found)[:_MAX_GROUPS] if isinstance(found, list) else []
    return tuple(each for each in listed if isinstance(each, str))
