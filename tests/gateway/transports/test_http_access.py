"""The gateway on HTTP for people of an issuer: who is known, in which role, and within which limits."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from remit.configuration.config_model import AccessRule, CallLimits, Role
from remit.gateway.access.access_settings import AccessSettings, with_projects
from remit.gateway.access.token_grants import Grant, digest
from remit.gateway.ports import EndpointSpec
from support.http_gateway import BLOG, HELLO, SHOP, Gateway, gateway
from support.local_issuer import AUDIENCE, LocalIssuer, served_issuer
from support.stub_endpoint import StubEndpoint

RULES = (
    AccessRule(Role.USER, (SHOP.path,), group="shop-devs"),
    AccessRule(Role.READER, (BLOG.short_name,), group="shop-devs"),
    AccessRule(Role.ADMIN, ("*",), principal="grace"),
)


def at(
    work: Callable[[Gateway, LocalIssuer], Awaitable[None]],
    *,
    grants: tuple[Grant, ...] = (),
    limits: CallLimits = CallLimits(),  # noqa: B008 - a value
    rules: tuple[AccessRule, ...] = RULES,
    **given: Any,
) -> None:
    async def run() -> None:
        async with served_issuer() as issuer:
            settings = AccessSettings(
                identity=issuer.identity, memberships=with_projects(rules, (SHOP, BLOG)), limits=limits
            )
            async with gateway(access=lambda: settings, grants=grants, **given) as served:
                await work(served, issuer)

    anyio.run(run)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def holder(name: str, role: Role = Role.USER) -> Grant:
    return Grant(name=name, digest=digest(f"token_of_{name}"), role=role)


@asynccontextmanager
async def client(
    served: Gateway, token: str, path: str = "/mcp", mode: str = "2026-07-28"
) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers=bearer(token)) as http,
        Client(streamable_http_client(f"{served.url}{path}", http_client=http), mode=mode) as made,
    ):
        yield made


def test_people_of_a_group_reach_its_projects_and_no_others() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        ada = bearer(issuer.token("ada", "shop-devs"))
        assert (await served.post(f"/p/{SHOP.hash}/mcp", HELLO, **ada)).status_code == 200
        bob = bearer(issuer.token("bob", "shop-devs-of-old"))
        assert (await served.post(f"/p/{SHOP.hash}/mcp", HELLO, **bob)).status_code == 403
        assert served.opened == [EndpointSpec("/code/shop/web")]

    at(work)


def test_a_project_without_a_role_is_answered_like_one_that_does_not_exist() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        ada = bearer(issuer.token("ada", "shop-devs"))
        forbidden = await served.post(f"/p/{BLOG.hash}/mcp", HELLO, **ada)
        unknown = await served.post("/p/0123456789abcdef/mcp", HELLO, **ada)
        assert forbidden.status_code == unknown.status_code == 404
        assert forbidden.content == unknown.content

    at(work, rules=RULES[:1])


def test_people_and_tokens_are_known_side_by_side() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        for token in (issuer.token("grace"), "token_of_ci"):
            assert (await served.post("/mcp", HELLO, **bearer(token))).status_code == 200
        assert (await served.post("/mcp", HELLO)).status_code == 401

    at(work, grants=(holder("ci"),))


def test_a_caller_is_known_by_the_name_that_the_issuer_gave() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        async with client(served, issuer.token("grace")) as grace:
            assert " oidc:grace " in str((await grace.call_tool("who", {})).content)

    at(work)


def test_a_session_stays_with_its_person_when_their_token_is_renewed() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        opened = await served.post("/mcp", HELLO, **bearer(issuer.token("grace")))
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        session = {"mcp_session_id": opened.headers["mcp-session-id"]}
        renewed = await served.post("/mcp", ping, **bearer(issuer.token("grace", kid="ec-1")), **session)
        others = await served.post("/mcp", ping, **bearer(issuer.token("ada", "shop-devs")), **session)
        token = await served.post("/mcp", ping, **bearer("token_of_grace"), **session)
        assert (renewed.status_code, others.status_code, token.status_code) == (200, 404, 404)

    at(work, grants=(holder("grace"),))


def test_a_refused_token_gets_the_reason_and_the_place_of_the_metadata() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        for token in (issuer.token(exp=5), issuer.token(aud="https://other.example.com"), "a.b.c"):
            answer = await served.post("/mcp", HELLO, **bearer(token))
            assert answer.status_code == 401
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]
        assert "has expired" in (await served.post("/mcp", HELLO, **bearer(issuer.token(exp=5)))).text
        answer = await served.post("/mcp", HELLO)
        place = f'resource_metadata="{AUDIENCE}/.well-known/oauth-protected-resource"'
        assert answer.headers["www-authenticate"] == f'Bearer realm="remit", {place}'
        assert served.opened == []

    at(work)


def test_the_metadata_names_the_issuer_without_a_token() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        async with httpx2.AsyncClient() as http:
            for path in ("", "/mcp", "/p/nothing/mcp"):
                url = f"{served.url}/.well-known/oauth-protected-resource{path}"
                told = (await http.get(url)).json()
                assert told["authorization_servers"] == [issuer.issuer]
                assert told["resource"] == AUDIENCE

    at(work)


def test_without_an_issuer_there_is_no_metadata() -> None:
    async def run() -> None:
        async with gateway() as served, httpx2.AsyncClient() as http:
            assert (await http.get(f"{served.url}/.well-known/oauth-protected-resource")).status_code == 404

    anyio.run(run)


def test_before_the_issuer_ever_answered_tokens_cannot_be_checked() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        issuer.is_down = True
        answer = await served.post("/mcp", HELLO, **bearer(issuer.token("grace")))
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "30"
        issuer.is_down = False
        assert (await served.post("/mcp", HELLO, **bearer(issuer.token("grace")))).status_code == 200
        issuer.is_down = True
        assert (await served.post("/mcp", HELLO, **bearer(issuer.token("grace")))).status_code == 200

    at(work)


def test_while_a_configuration_file_is_invalid_nobody_is_accepted_without_credentials() -> None:
    async def run() -> None:
        async with gateway(access=lambda: AccessSettings(is_complete=False), grants=[holder("ci")]) as served:
            assert (await served.post("/mcp", HELLO)).status_code == 401
            assert (await served.post("/mcp", HELLO, **bearer("token_of_ci"))).status_code == 200

    anyio.run(run)


def test_a_reader_lists_but_does_not_push_states_or_reach_servers() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        token, path = issuer.token("ada", "shop-devs"), f"/p/{BLOG.hash}"
        assert (await served.post(f"{path}/state", {"x": True}, **bearer(token))).status_code == 404
        assert served.pushed == []
        async with client(served, token, f"{path}/mcp", mode="legacy") as ada:
            assert (await ada.list_tools()).tools
            assert (await ada.list_resources()).resources
            for refused in (ada.read_resource("note://one"), ada.get_prompt("greet", {"who": "Ada"})):
                with pytest.raises(MCPError, match="role `reader`"):
                    await refused
        async with client(served, token, f"/p/{SHOP.hash}/mcp") as ada:
            assert (await ada.read_resource("note://one")).contents

    at(work)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_too_many_calls_per_minute_are_refused_with_the_time_to_wait(mode: str) -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        async with client(served, issuer.token("grace"), mode=mode) as grace:
            for _ in range(2):
                assert not (await grace.call_tool("echo", {"text": "hi"})).is_error
            refused = await grace.call_tool("echo", {"text": "hi"})
            assert refused.is_error
            assert isinstance(refused.content[0], types.TextContent)
            assert "2 calls per minute" in refused.content[0].text
            assert "call again in " in refused.content[0].text
            with pytest.raises(MCPError, match="Too many calls"):
                await grace.read_resource("note://one")
        async with client(served, "token_of_ci", mode=mode) as other:
            assert not (await other.call_tool("echo", {"text": "hi"})).is_error

    at(work, limits=CallLimits(calls_per_minute=2), grants=(holder("ci"),))


def test_one_stream_does_not_subscribe_to_more_than_the_limits_allow() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        async with client(served, issuer.token("grace")) as grace:
            uris = [f"note://{number}" for number in range(10)]
            async with grace.listen(tools_list_changed=True, resource_subscriptions=uris) as heard:
                assert heard.honored.resource_subscriptions == uris[:3]
            assert (await grace.call_tool("echo", {"text": "hi"})).is_error

    at(work, limits=CallLimits(calls_per_minute=3))


def test_one_principal_does_not_take_all_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.gateway.transports.endpoint_pool.MAX_SESSIONS", 4)

    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        mine, other = bearer(issuer.token("grace")), bearer("token_of_ci")
        opened = [await served.post("/mcp", HELLO, **mine) for _ in range(3)]
        assert [each.status_code for each in opened] == [200, 200, 503]
        assert "you have too many open sessions" in opened[2].text
        assert (await served.post("/mcp", HELLO, **other)).status_code == 200
        async with client(served, issuer.token("grace")) as stateless:
            assert (await stateless.list_tools()).tools
        async with httpx2.AsyncClient(headers=mine) as http:
            over = {"mcp-session-id": opened[0].headers["mcp-session-id"]}
            assert (await http.delete(f"{served.url}/mcp", headers=over)).status_code == 200
        while (await served.post("/mcp", HELLO, **mine)).status_code == 503:
            await anyio.lowlevel.checkpoint()  # the session winds down

    at(work, grants=(holder("ci"),))


def test_one_principal_does_not_take_all_endpoints() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        for room in ("a", "b", "c"):
            answer = await served.post(f"/rooms/{room}/mcp", HELLO, **bearer("token_of_ci"))
            assert answer.status_code == (200 if room != "c" else 503)
        assert "2 of your endpoints are in use" in answer.text
        assert (await served.post("/mcp", HELLO, **bearer(issuer.token("grace")))).status_code == 200

    at(work, grants=(holder("ci"),), max_endpoints=4)


def test_an_idle_endpoint_of_the_principal_with_the_most_makes_room() -> None:
    async def work(served: Gateway, issuer: LocalIssuer) -> None:
        stateless = {"mode": "2026-07-28"}
        grace = issuer.token("grace")
        async with client(served, grace, "/rooms/first/mcp", **stateless) as mine:
            await mine.list_tools()
        for room in ("a", "b"):
            async with client(served, "token_of_ci", f"/rooms/{room}/mcp", **stateless) as theirs:
                await theirs.list_tools()
        async with client(served, grace, "/rooms/second/mcp", **stateless) as mine:
            await mine.list_tools()
        assert {each.spec.room for each in served.endpoints} == {"first", "b", "second"}

    at(work, grants=(holder("ci"),), limits=CallLimits(endpoints=2), max_endpoints=3, endpoint=StubEndpoint)
