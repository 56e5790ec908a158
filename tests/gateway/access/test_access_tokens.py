"""Which access tokens are accepted."""

import hmac
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import jwt
import jwt.utils
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from remit.errors import IdentityError
from remit.gateway.access.access_tokens import Claims, InvalidToken, check_token
from remit.gateway.access.issuer_keys import LIFETIME, IssuerKeys
from support.local_issuer import AUDIENCE, LocalIssuer, private_key


def with_keys(issuer: LocalIssuer, work: Callable[[IssuerKeys], Awaitable[None]], **given: Any) -> None:
    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            identity = issuer.identity._replace(**given)
            await work(IssuerKeys(identity, tasks, fetch=issuer.fetch))

    anyio.run(run)


def checked(token: str, issuer: LocalIssuer | None = None, **given: Any) -> Claims | InvalidToken:
    found: list[Claims | InvalidToken] = []

    async def work(keys: IssuerKeys) -> None:
        found.append(await check_token(token, keys))

    with_keys(issuer or LocalIssuer(), work, **given)
    return found[0]


@pytest.mark.parametrize("kid", ["rsa-1", "ec-1"])
def test_a_token_of_the_issuer_names_a_person_and_their_groups(kid: str) -> None:
    token = LocalIssuer().token("ada", "shop-devs", "ops", kid=kid)
    assert checked(token) == Claims("ada", ("shop-devs", "ops"))


def test_a_token_may_be_for_several_audiences_of_which_one_is_ours() -> None:
    assert checked(LocalIssuer().token(aud=["https://other.example.com", AUDIENCE])) == Claims("ada", ())


def test_a_slash_at_the_end_of_an_address_makes_no_other_audience() -> None:
    assert checked(LocalIssuer().token(aud=f"{AUDIENCE}/")) == Claims("ada", ())
    assert checked(LocalIssuer().token(), audience=(f"{AUDIENCE}/",)) == Claims("ada", ())
    found = checked(LocalIssuer().token(aud="remit/"), audience=("remit",))
    assert found == InvalidToken("it is for another audience")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"aud": "https://other.example.com"}, "another audience"),
        ({"aud": None}, "missing"),
        ({"iss": "https://login.example.com"}, "another issuer"),
        ({"iss": None}, "missing"),
        ({"exp": int(time.time()) - 31}, "expired"),
        ({"exp": None}, "missing"),
        ({"nbf": int(time.time()) + 86_400}, "not valid yet"),
        ({"sub": None}, "no usable `sub`"),
        ({"sub": "ada\n"}, "no usable `sub`"),
        ({"sub": "a" * 201}, "no usable `sub`"),
        ({"sub": "mallory`, by `ada"}, "no usable `sub`"),
        ({"kid": "rsa-9"}, "key is not known"),
        ({"headers": {"typ": "logout+jwt"}}, "not an access token"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused_with_the_reason(changed: dict[str, Any], reason: str) -> None:
    found = checked(LocalIssuer().token(**changed))
    assert isinstance(found, InvalidToken)
    assert reason in found.reason


def test_clocks_may_differ_by_a_few_seconds() -> None:
    now = int(time.time())
    assert checked(LocalIssuer().token(exp=now - 10, nbf=now + 10)) == Claims("ada", ())


def test_a_token_without_a_signature_is_refused() -> None:
    claims = jwt.decode(LocalIssuer().token(), options={"verify_signature": False})
    unsigned = jwt.encode(claims, "", "none", {"kid": "rsa-1"})
    assert checked(unsigned) == InvalidToken("its algorithm is not accepted")


def test_a_public_key_is_never_used_as_a_shared_secret() -> None:
    claims = jwt.decode(LocalIssuer().token(), options={"verify_signature": False})
    public = private_key("rsa-1").public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    head = jwt.utils.base64url_encode(b'{"alg":"HS256","kid":"rsa-1"}')
    signed = head + b"." + jwt.utils.base64url_encode(json.dumps(claims).encode())
    forged = signed + b"." + jwt.utils.base64url_encode(hmac.digest(public, signed, "sha256"))
    assert checked(forged.decode()) == InvalidToken("its algorithm is not accepted")


def test_a_key_counts_only_for_its_own_kind_of_algorithm() -> None:
    claims = jwt.decode(LocalIssuer().token(), options={"verify_signature": False})
    forged = jwt.encode(claims, private_key("rsa-1"), "RS256", {"kid": "ec-1"})
    assert checked(forged) == InvalidToken("its key is not known")


def test_a_token_signed_by_another_key_under_a_known_id_is_refused() -> None:
    claims = jwt.decode(LocalIssuer().token(), options={"verify_signature": False})
    forged = jwt.encode(claims, private_key("rsa-evil"), "RS256", {"kid": "rsa-1"})
    assert checked(forged) == InvalidToken("its signature is wrong")


def test_a_token_without_a_key_id_is_accepted_if_only_one_key_fits() -> None:
    issuer = LocalIssuer()
    assert checked(issuer.token(kid=None), issuer) == Claims("ada", ())
    issuer.kids.append("rsa-2")
    assert checked(issuer.token(kid=None), issuer) == InvalidToken("its key is not known")


@pytest.mark.parametrize("token", ["a.b.c", "..", "e30.e30.e30", "é.b.c"])
def test_other_text_is_not_a_token(token: str) -> None:
    assert isinstance(checked(token), InvalidToken)


def test_other_claims_can_hold_the_name_and_the_groups() -> None:
    token = LocalIssuer().token(email="ada@example.com", realm_access={"roles": ["devs", 5]})
    found = checked(token, name_claim="email", groups_claim="realm_access.roles")
    assert found == Claims("ada@example.com", ("devs",))
    address = "https://example.com/groups"
    named: dict[str, Any] = {address: "devs"}
    assert checked(LocalIssuer().token(**named), groups_claim=address) == Claims("ada", ("devs",))
    assert checked(LocalIssuer().token(sub="ada"), groups_claim="sub.x") == Claims("ada", ())


def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    issuer = LocalIssuer()

    async def work(keys: IssuerKeys) -> None:
        assert await check_token(issuer.token(), keys) == Claims("ada", ())
        assert await check_token(issuer.token(), keys) == Claims("ada", ())
        assert len(issuer.asked) == 2  # the metadata and the keys, once
        issuer.kids = ["rsa-2"]
        assert await check_token(issuer.token(kid="rsa-2"), keys) == Claims("ada", ())
        assert await check_token(issuer.token(kid="rsa-1"), keys) == InvalidToken("its key is not known")

    with_keys(issuer, work)


def test_unknown_keys_do_not_make_the_gateway_flood_the_issuer() -> None:
    issuer = LocalIssuer()

    async def work(keys: IssuerKeys) -> None:
        for number in range(20):
            found = await check_token(issuer.token(headers={"kid": f"made-up-{number}"}), keys)
            assert found == InvalidToken("its key is not known")
        assert issuer.asked.count(f"{issuer.issuer}/keys") == 3
        assert await check_token(issuer.token(), keys) == Claims("ada", ())

    with_keys(issuer, work)


def test_known_keys_count_while_the_issuer_is_down_and_unknown_ones_cannot_be_checked() -> None:
    issuer = LocalIssuer()

    async def work(keys: IssuerKeys) -> None:
        await check_token(issuer.token(), keys)
        issuer.is_down = True
        assert await check_token(issuer.token(), keys) == Claims("ada", ())
        with pytest.raises(IdentityError, match="cannot be fetched"):
            await check_token(issuer.token(kid="rsa-2"), keys)
        issuer.is_down, issuer.kids = False, ["rsa-2"]
        assert await check_token(issuer.token(kid="rsa-2"), keys) == Claims("ada", ())

    with_keys(issuer, work)


def test_a_withdrawn_key_ends_once_the_keys_are_old() -> None:
    issuer, now = LocalIssuer(), [0.0]

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            keys = IssuerKeys(issuer.identity, tasks, fetch=issuer.fetch, clock=lambda: now[0])
            assert await check_token(issuer.token(), keys) == Claims("ada", ())
            issuer.kids, now[0] = ["ec-1"], LIFETIME + 1
            assert await check_token(issuer.token(), keys) == Claims("ada", ())  # and fetches them beside
            while issuer.asked.count(f"{issuer.issuer}/keys") < 2:
                await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            assert await check_token(issuer.token(), keys) == InvalidToken("its key is not known")

    anyio.run(run)


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://login.example.com"},
        {"jwks_uri": "http://login.example.com/keys"},
        {"jwks_uri": None},
    ],
)
def test_metadata_of_another_issuer_and_keys_without_encryption_are_refused(metadata: dict[str, Any]) -> None:
    issuer = LocalIssuer()
    issuer.metadata = metadata

    async def work(keys: IssuerKeys) -> None:
        with pytest.raises(IdentityError, match="cannot be fetched"):
            await check_token(issuer.token(), keys)

    with_keys(issuer, work)


def test_the_address_of_keys_can_be_set() -> None:
    issuer = LocalIssuer()
    assert checked(issuer.token(), issuer, jwks=f"{issuer.issuer}/keys") == Claims("ada", ())
    assert issuer.asked == [f"{issuer.issuer}/keys"]


@pytest.mark.parametrize("header", [b"[" * 40_000, b'{"alg":' + b"9" * 6_000 + b"}"], ids=["depth", "number"])
def test_a_header_that_is_hard_to_parse_is_no_token(header: bytes) -> None:
    async def work(keys: IssuerKeys) -> None:
        token = f"{jwt.utils.base64url_encode(header).decode()}.e30.e30"
        assert await check_token(token, keys) == InvalidToken("it is not a JSON Web Token")

    with_keys(LocalIssuer(), work)
