"""People sign in to the pages of gateways at their issuer, which any gateway may finish."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from remit.configuration.config_model import AccessRule, Role
from remit.gateway.access import access_tokens
from remit.gateway.access.access_settings import AccessSettings, with_projects
from support.local_issuer import AUDIENCE, CLIENT_ID, CLIENT_SECRET
from support.node_pages import HOST, ISSUER, Node, PeopleOfGateways, Person, warnings
from support.postgres import needs_postgres

pytestmark = [pytest.mark.anyio, needs_postgres]

BEGIN = "/web/sign-in/issuer"
RETURN = f"{HOST}/web/sign-in/return"
AGAIN = "Sign in again"


@dataclass
class Begun:
    """A browser that was sent to the issuer."""

    client: httpx2.AsyncClient
    address: str

    @property
    def asked(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.address).query))

    async def back(self, **changed: str) -> httpx2.Response:
        """Sign in at the issuer, and come back with its answer, perhaps changed."""
        target = urlsplit(ISSUER.signed_in(self.asked))
        answer = {**dict(parse_qsl(target.query)), **changed}
        return await self.client.get(target.path, params=answer)


async def begin(node: Node, back: str = "/web/p/api/waiting") -> Begun:
    client = node.browser()
    sent = await client.get(BEGIN, params={"next": back})
    assert sent.status_code == 303, sent.text
    return Begun(client, sent.headers["location"])


def use_issuer(people: PeopleOfGateways, public_url: str = HOST, **changed: Any) -> None:
    rules = (AccessRule(Role.APPROVER, ("api",), group="payers"),)
    people.settings = AccessSettings(
        identity=ISSUER.pages_at(public_url, **changed), memberships=with_projects(rules, people.projects)
    )


@pytest.fixture(autouse=True)
def signing_in(people: PeopleOfGateways, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("metadata", "claims", "id_claims", "codes"):
        monkeypatch.setattr(ISSUER, name, {})
    for name in ("is_down", "client_secret", "person"):
        monkeypatch.setattr(ISSUER, name, getattr(ISSUER, name))
    use_issuer(people)


async def refusal(answer: httpx2.Response, status: int) -> str:
    """Return the words of a page that offers to sign in again; no session was opened."""
    assert answer.status_code == status, answer.text
    assert f'href="{HOST}{BEGIN}' in answer.text
    assert "remit_web=" not in str(answer.headers.get_list("set-cookie"))
    [words] = warnings(answer)
    return words


async def test_a_person_signs_in_at_the_issuer_and_another_gateway_finishes_it(one: Node, two: Node) -> None:
    async with one.browser() as browser:
        page = await browser.get("/web/sign-in", params={"next": "/web/p/api/waiting"})
    assert f"Sign in with {ISSUER.issuer.removeprefix('https://')}" in page.text
    assert f'href="{HOST}{BEGIN}?next=%2Fweb%2Fp%2Fapi%2Fwaiting"' in page.text

    begun = await begin(one)
    asked = begun.asked
    assert begun.address.startswith(f"{ISSUER.issuer}/authorize?")
    assert (asked["client_id"], asked["redirect_uri"], asked["scope"]) == (CLIENT_ID, RETURN, "openid")
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["resource"] == AUDIENCE
    cookies = str(begun.client.cookies)
    assert asked["state"] not in cookies
    assert asked["nonce"] not in cookies

    there = Begun(two.browser(Person(begun.client)), begun.address)
    done = await there.back()
    assert (done.status_code, '0; url=/web/p/api/waiting"' in done.text) == (200, True)
    assert "remit_sign_in" not in there.client.cookies
    signed_in = Person(there.client)
    assert "oidc:ida, approver" in (await one.visited_by(signed_in).get("api/waiting")).text
    repeated = await refusal(await there.back(), 400)
    assert repeated.startswith("This browser has begun no sign-in in the last 10 minutes")


@pytest.mark.long
@pytest.mark.parametrize(("parameter", "sent"), [("audience", {"audience": AUDIENCE}), ("none", {})])
async def test_the_audience_is_sent_as_the_issuer_wants_it(
    people: PeopleOfGateways, one: Node, parameter: str, sent: dict[str, str]
) -> None:
    use_issuer(people, audience_parameter=parameter)
    begun = await begin(one)
    assert {name: begun.asked[name] for name in ("resource", "audience") if name in begun.asked} == sent
    assert (await begun.back()).status_code == 200


@pytest.mark.long
async def test_the_session_ends_with_the_access_token(one: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    ISSUER.claims["exp"] = int(time.time()) - 5
    begun = await begin(one)
    assert (await begun.back()).status_code == 200
    person = Person(begun.client)
    assert await person.status("api/here") == [200]
    monkeypatch.setattr(access_tokens, "LEEWAY", 0)
    assert await person.status("api/here") == [401]
    words = await refusal(await (await begin(one)).back(), 401)
    assert words == "The access token is not accepted: it has expired."


async def test_a_sign_in_belongs_to_one_browser_and_ten_minutes(one: Node, people: PeopleOfGateways) -> None:
    first, second = await begin(one), await begin(one)
    words = await refusal(await Begun(first.client, second.address).back(), 400)
    assert words.startswith("This answer belongs to another sign-in.")
    assert AGAIN in words

    begun = await begin(one)
    async with one.browser() as stranger:
        answer = await Begun(stranger, begun.address).back()
    assert "This browser has begun no sign-in" in await refusal(answer, 400)
    people.late = 600_001
    assert "in the last 10 minutes" in await refusal(await begun.back(), 400)


async def test_what_the_issuer_refuses_is_named_without_its_own_words(one: Node) -> None:
    begun = await begin(one)
    denied = urlsplit(ISSUER.denied(begun.asked))
    answer = await begun.client.get(f"{denied.path}?{denied.query}")
    words = await refusal(answer, 403)
    assert words.startswith(f"{ISSUER.issuer} denied the sign-in. Sign in again, or ask")
    assert "<b>no" not in answer.text

    for error, shown in {
        "login_required": "login_required",
        "<script>": "no code",
        "x" * 41: "no code",
    }.items():
        words = await refusal(await (await begin(one)).back(error=error), 400)
        assert f"(<code>{shown}</code>)" in words
    assert "(<code>no code</code>)" in await refusal(await (await begin(one)).back(code=""), 400)
    words = await refusal(await (await begin(one)).back(iss="https://evil.example"), 400)
    assert words.startswith(f"The answer is not from {ISSUER.issuer}.")


async def test_a_code_counts_once_and_with_the_verifier_of_its_browser_only(one: Node) -> None:
    stolen = ISSUER.signed_in({**(await begin(one)).asked})
    code = dict(parse_qsl(urlsplit(stolen).query))["code"]
    words = await refusal(await (await begin(one)).back(code=code), 400)
    assert "no longer accepts this sign-in" in words
    assert words.endswith("Sign in again.")


@pytest.mark.long
@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "another"}, "it is for another sign-in"),
        ({"nonce": None}, "it is for another sign-in"),
        ({"aud": "another"}, "it is for another audience"),
        ({"aud": [CLIENT_ID, "another"]}, "it is for another client"),
        ({"azp": "another"}, "it is for another client"),
        ({"exp": 1}, "it has expired"),
    ],
)
async def test_an_id_token_must_answer_this_sign_in(one: Node, claims: dict[str, Any], reason: str) -> None:
    ISSUER.id_claims |= claims
    words = await refusal(await (await begin(one)).back(), 502)
    assert f"its ID token is not accepted: {reason}. Ask an administrator" in words


async def test_people_without_a_role_and_tokens_for_others_are_refused_as_for_clients(one: Node) -> None:
    ISSUER.person = ("bob", "others")
    assert "you have no role in any project" in (await refusal(await (await begin(one)).back(), 403)).lower()
    ISSUER.claims["aud"] = "https://other.example"
    assert "it is for another audience" in await refusal(await (await begin(one)).back(), 401)


async def test_while_the_issuer_is_down_the_page_says_so(one: Node, people: PeopleOfGateways) -> None:
    begun = await begin(one)
    ISSUER.is_down = True
    words = await refusal(await begun.back(), 503)
    assert words == f"{ISSUER.issuer} cannot be used now (it does not answer). Try again in a minute."
    use_issuer(people, scopes=("openid", "groups"))  # whose metadata is not known yet
    async with one.browser() as browser:
        assert "cannot be used now" in await refusal(await browser.get(BEGIN), 503)
        assert "it did not answer just now" in await refusal(await browser.get(BEGIN), 503)


async def test_metadata_must_name_safe_addresses(one: Node, people: PeopleOfGateways) -> None:
    ISSUER.metadata["authorization_endpoint"] = "http://login.example.com/authorize"
    async with one.browser() as browser:
        words = await refusal(await browser.get(BEGIN), 503)
    assert "its metadata has no https address as <code>authorization_endpoint</code>" in words
    ISSUER.metadata["authorization_endpoint"] = f"{ISSUER.issuer}/authorize?p=policy"
    use_issuer(people, scopes=("openid", "groups"))
    begun = await begin(one)
    assert (begun.asked["p"], begun.asked["scope"]) == ("policy", "openid groups")


async def test_the_secret_of_the_client_comes_from_a_private_file_or_a_variable(
    one: Node, people: PeopleOfGateways, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    ISSUER.client_secret = CLIENT_SECRET
    words = await refusal(await (await begin(one)).back(), 502)
    assert "it refused the gateway (<code>invalid_client</code>)" in words
    monkeypatch.setenv("REMIT_CLIENT_SECRET", CLIENT_SECRET)
    assert (await (await begin(one)).back()).status_code == 200
    monkeypatch.delenv("REMIT_CLIENT_SECRET")

    file = tmp_path / "secret"
    file.write_text(f"{CLIENT_SECRET}\n", "utf-8")
    file.chmod(0o644)
    use_issuer(people, secret_file=str(file))
    answer = await (await begin(one)).back()
    assert "the gateway cannot read its client secret" in await refusal(answer, 502)
    assert str(file) not in answer.text
    assert f"{file} cannot be read: others can read it" in caplog.text
    file.chmod(0o600)
    assert (await (await begin(one)).back()).status_code == 200
    ISSUER.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    use_issuer(people, secret_file=str(file), scopes=("openid", "groups"))
    assert (await (await begin(one)).back()).status_code == 200
    assert "Authorization" not in ISSUER.headers[-1]
    assert CLIENT_SECRET not in caplog.text


async def test_people_come_back_to_the_public_address_only(one: Node, people: PeopleOfGateways) -> None:
    use_issuer(people, "https://tools.example.com")
    async with one.browser() as browser:
        page = await browser.get("/web/sign-in")
        assert f'href="https://tools.example.com{BEGIN}"' in page.text
        answer = await browser.get(BEGIN)
    assert (answer.status_code, "set-cookie" in answer.headers) == (400, False)
    assert "only from https://tools.example.com/web." in warnings(answer)[0]
    assert (await begin_secure(one, people)).startswith("__Host-remit_sign_in=")

    use_issuer(people)
    for back in ("https://evil.example/", "//evil.example", "/web/pages"):
        done = await (await begin(one, back)).back()
        assert '0; url=/web/"' in done.text


async def begin_secure(node: Node, people: PeopleOfGateways) -> str:
    use_issuer(people, HOST.replace("http://", "https://"))
    async with node.browser() as browser:
        header = (await browser.get(BEGIN)).headers["set-cookie"]
    assert header.endswith("; HttpOnly; SameSite=Lax; Path=/; Secure; Max-Age=600")
    return header


async def test_without_a_client_id_there_is_no_such_page(one: Node, people: PeopleOfGateways) -> None:
    people.settings = AccessSettings(identity=ISSUER.identity)
    async with one.browser() as browser:
        assert "Sign in with" not in (await browser.get("/web/sign-in")).text
        for path in (BEGIN, "/web/sign-in/return?code=x&state=y"):
            answer = await browser.get(path)
            assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
