"""The gateway on HTTP: which endpoint a URL means, who may reach it, and what is refused."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from remit.decision.projects import Project, identify
from remit.errors import AgentError, StoreUnreachableError
from remit.gateway.access.token_grants import Grant, digest
from remit.gateway.ports import EndpointSpec
from remit.gateway.transports.host_check import HostCheck
from remit.presentation.refusals import STORE_DOWN
from support.http_gateway import ACCEPT, BLOG, HELLO, SHOP, Gateway, gateway
from support.stub_endpoint import StubEndpoint

CI = "Bearer token_of_ci"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def holder(name: str, **given: Any) -> Grant:
    return Grant(name=name, digest=digest(f"token_of_{name}"), **given)


def at(work: Callable[[Gateway], Awaitable[None]], **given: Any) -> None:
    async def run() -> None:
        async with gateway(**given) as served:
            await work(served)

    anyio.run(run)


def test_each_url_is_an_endpoint_of_its_own() -> None:
    async def work(served: Gateway) -> None:
        for path in ("/mcp", f"/p/{SHOP.short_name}/mcp", f"/p/{BLOG.hash}/mcp"):
            assert (await served.post(path, HELLO)).status_code == 200
        assert (await served.post(f"/p/{BLOG.hash}/a/reviewer/mcp", HELLO)).status_code == 200
        assert (await served.post("/rooms/git/mcp", HELLO)).status_code == 200
        assert (await served.post(f"/p/{BLOG.hash}/rooms/git/mcp", HELLO)).status_code == 200
        assert served.opened == [
            EndpointSpec("/code/shop/web"),  # the same for both names of the project
            EndpointSpec("/code/blog"),
            EndpointSpec("/code/blog", agent="reviewer"),
            EndpointSpec("/code/shop/web", room="git"),
            EndpointSpec("/code/blog", room="git"),
        ]

    at(work)


@pytest.mark.long
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/mcp/",
        "/p/nothing/mcp",
        "/p/%2Fcode%2Fblog/mcp",
        "/p/..%2Fblog/mcp",
        "/p/shop/mcp",
        "/a/x/state",
        "//mcp",
    ],
)
def test_an_unknown_endpoint_is_not_found(path: str) -> None:
    async def work(served: Gateway) -> None:
        response = await served.post(path, HELLO, authorization=CI)
        assert response.status_code == 404
        assert served.opened == []

    at(work, grants=[holder("ci")])


def test_a_project_that_is_forbidden_is_answered_like_one_that_does_not_exist() -> None:
    async def work(served: Gateway) -> None:
        forbidden = await served.post(f"/p/{BLOG.short_name}/mcp", HELLO, authorization=CI)
        unknown = await served.post(f"/p/{identify('/x').short_name}/mcp", HELLO, authorization=CI)
        assert (forbidden.status_code, forbidden.content) == (unknown.status_code, unknown.content)
        assert forbidden.status_code == 404
        shaped = [{**dict(each.headers), "date": ""} for each in (forbidden, unknown)]
        assert shaped[0] == shaped[1]
        assert served.opened == []

    at(work, grants=[holder("ci", projects=(SHOP,))])


def test_a_url_names_the_agents_above_an_agent_from_the_first_to_the_last() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/a/lead/a/Code%20Reviewer/mcp", HELLO)).status_code == 200
        assert (await served.post("/a/a/a/b/a/c/rooms/git/mcp", HELLO)).status_code == 200
        assert [(spec.agent, spec.parents) for spec in served.opened] == [
            ("Code Reviewer", ("lead",)),
            ("c", ("b", "a")),
        ]

    at(work)


def test_a_token_must_include_every_agent_of_the_url() -> None:
    async def work(served: Gateway) -> None:
        path = "/a/lead/a/scout/mcp"
        assert (await served.post(path, HELLO, authorization=CI)).status_code == 404
        assert (await served.post(path, HELLO, authorization="Bearer token_of_both")).status_code == 200

    at(work, grants=[holder("ci", agents=("scout",)), holder("both", agents=("scout", "lead"))])


def test_a_token_means_its_only_project_and_its_only_agent() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/mcp", HELLO, authorization=CI)).status_code == 200
        other = await served.post("/a/writer/mcp", HELLO, authorization=CI)
        assert other.status_code == 404
        assert served.opened == [EndpointSpec("/code/blog", agent="reviewer")]

    at(work, grants=[holder("ci", projects=(BLOG,), agents=("reviewer",))], projects=())


@pytest.mark.long
@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Bearer", "Basic dG9rZW4=", "token_of_ci"])
def test_every_request_needs_a_token_where_there_are_any(authorization: str | None) -> None:
    async def work(served: Gateway) -> None:
        given = {} if authorization is None else {"authorization": authorization}
        response = await served.post("/mcp", HELLO, **given)
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith('Bearer realm="remit"')
        assert ("invalid_token" in response.headers["www-authenticate"]) is (authorization is not None)
        assert served.opened == []

    at(work, grants=[holder("ci")])


def test_a_token_that_is_revoked_is_refused_at_once() -> None:
    grants = [holder("ci")]

    async def work(served: Gateway) -> None:
        first = await served.post("/mcp", HELLO, authorization=CI)
        grants[:] = [holder("other")]
        named = {"authorization": "Bearer token_of_ci", "mcp_session_id": first.headers["mcp-session-id"]}
        assert first.status_code == 200
        assert (await served.post("/mcp", PING, **named)).status_code == 401

    at(work, grants=grants)


def test_revoking_the_last_token_does_not_open_the_gateway() -> None:
    grants = [holder("ci")]

    async def work(served: Gateway) -> None:
        assert (await served.post("/mcp", HELLO, authorization=CI)).status_code == 200
        grants.clear()
        assert (await served.post("/mcp", HELLO, authorization=CI)).status_code == 401
        assert (await served.post("/mcp", HELLO)).status_code == 401

    at(work, grants=grants)


def test_a_session_is_for_the_token_that_opened_it() -> None:
    async def work(served: Gateway) -> None:
        opened = await served.post("/mcp", HELLO, authorization="Bearer token_of_ada")
        session = opened.headers["mcp-session-id"]
        own = await served.post("/mcp", PING, authorization="Bearer token_of_ada", mcp_session_id=session)
        others = await served.post("/mcp", PING, authorization="Bearer token_of_eve", mcp_session_id=session)
        assert (own.status_code, others.status_code) == (200, 404)

    at(work, grants=[holder("ada"), holder("eve")])


def test_endpoints_do_not_share_upstream_sessions() -> None:
    async def work(served: Gateway) -> None:
        told: set[str] = set()
        paths = ("/mcp", f"/p/{BLOG.hash}/mcp", f"/p/{BLOG.hash}/a/reviewer/mcp", "/rooms/git/mcp")
        for path in (*paths, *paths):
            async with Client(f"{served.url}{path}", mode="2026-07-28") as client:
                told.add(str((await client.call_tool("who", {})).content))  # the session that it shares
        assert len(told) == len(paths)

    at(work)


def test_a_caller_is_identified_by_its_tokens_name() -> None:
    async def work(served: Gateway) -> None:
        http = httpx2.AsyncClient(headers={"authorization": "Bearer token_of_ada"})
        async with (
            http,
            Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode="legacy") as old,
        ):
            result = await old.call_tool("who", {})
            assert isinstance(result, types.CallToolResult)
            assert " ada " in str(result.content)

    at(work, grants=[holder("ada")])


@pytest.mark.long
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("host", "evil.example", 421),
        ("host", "127.0.0.1.evil.example:80", 421),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:5173", 403),
        ("origin", "http://localhost:{port}", 200),
        ("origin", "http://127.0.0.1:{port}", 200),
    ],
)
def test_requests_that_a_page_of_others_sends_are_refused(header: str, value: str, status: int) -> None:
    async def work(served: Gateway) -> None:
        said = value.format(port=served.url.rpartition(":")[2])
        assert (await served.post("/mcp", HELLO, **{header: said})).status_code == status
        assert len(served.opened) == (status == 200)

    at(work)


def test_responses_to_an_allowed_origin_carry_cors_headers() -> None:
    page = "http://localhost:6274"

    async def work(served: Gateway) -> None:
        wanted = "authorization,content-type,mcp-protocol-version,mcp-param-city"
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted}
        async with httpx2.AsyncClient(base_url=served.url) as browser:
            before = await browser.options("/mcp", headers={"Origin": page, **asked})
            others = await browser.options("/mcp", headers={"Origin": "http://localhost:5173", **asked})
        assert before.status_code == 200
        assert before.headers["access-control-allow-origin"] == page
        assert "POST" in before.headers["access-control-allow-methods"]
        assert before.headers["access-control-allow-headers"] == wanted
        assert "access-control-allow-credentials" not in before.headers
        assert "access-control-allow-origin" not in others.headers
        opened = await served.post("/mcp", HELLO, origin=page, authorization=CI)
        refused = await served.post("/mcp", HELLO, origin=page)
        assert (opened.status_code, refused.status_code) == (200, 401)
        for answer in (opened, refused):
            assert answer.headers["access-control-allow-origin"] == page
            assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
        assert (await served.post("/mcp", HELLO, origin="http://localhost:5173")).status_code == 403

    at(work, origins=[page], grants=[holder("ci")])


def test_responses_carry_no_cors_headers_by_default() -> None:
    async def work(served: Gateway) -> None:
        asked = {"Origin": served.url, "Access-Control-Request-Method": "POST"}
        async with httpx2.AsyncClient(base_url=served.url) as browser:
            answer = await browser.options("/mcp", headers=asked)
        assert not [name for name in answer.headers if name.startswith("access-control")]

    at(work)


def test_behind_a_proxy_that_has_tls_its_name_is_ours_and_a_token_is_needed() -> None:
    async def work(served: Gateway) -> None:
        proxied = {"host": "tools.example", "origin": "https://tools.example"}
        assert (await served.post("/mcp", HELLO, **proxied)).status_code == 401
        assert (await served.post("/mcp", HELLO, **proxied, authorization=CI)).status_code == 200
        elsewhere = {"host": "tools.example", "origin": "https://tools.example:8443"}
        assert (await served.post("/mcp", HELLO, **elsewhere, authorization=CI)).status_code == 403

    at(work, hosts=HostCheck("127.0.0.1", ["tools.example"]), grants=[holder("ci")])


def test_a_request_through_a_proxy_needs_a_token() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/mcp", HELLO, host="tools.example")).status_code == 401
        assert (await served.post("/mcp", HELLO)).status_code == 401

    at(work, hosts=HostCheck("127.0.0.1", ["tools.example"]))


def test_a_request_from_another_machine_needs_a_token() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/mcp", HELLO)).status_code == 401
        assert (await served.post("/mcp", HELLO, host="10.0.0.7")).status_code == 401
        assert (await served.post("/mcp", HELLO, host="evil.example")).status_code == 421

    at(work, hosts=HostCheck("10.0.0.7"))


def test_a_body_that_is_too_large_is_refused() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/mcp", {**PING, "params": {"x": "x" * (5 * 2**20)}})).status_code == 413

    at(work)


def test_the_health_check_needs_no_token() -> None:
    async def work(served: Gateway) -> None:
        async with httpx2.AsyncClient() as client:
            response = await client.get(f"{served.url}/health")
        assert response.json()["status"] == "ok"
        assert set(response.json()) == {"status", "version"}

    at(work, grants=[holder("ci")])


def test_an_application_pushes_its_states_with_a_token() -> None:
    async def work(served: Gateway) -> None:
        states = {"cart-open": True, "location": {"page": "/cart"}}
        pushed = await served.post("/state", states, authorization=CI)
        assert (pushed.status_code, pushed.json()) == (200, {"pushed": ["cart-open", "location"]})
        other = await served.post(f"/p/{BLOG.hash}/state", {"x": None}, authorization=CI)
        assert other.status_code == 200
        assert served.pushed == [("/code/shop/web", states), ("/code/blog", {"x": None})]
        assert (await served.post("/state", [1], authorization=CI)).status_code == 400
        assert (await served.post("/state", {"x": "y" * 2**19}, authorization=CI)).status_code == 413

    at(work, grants=[holder("ci")])


def test_an_agents_token_does_not_push_the_states_that_unlock_its_tools() -> None:
    async def work(served: Gateway) -> None:
        for path in ("/state", f"/p/{BLOG.hash}/state"):
            assert (await served.post(path, {"cart-open": True}, authorization=CI)).status_code == 404
        assert served.pushed == []

    at(work, grants=[holder("ci", agents=("reviewer",))])


def test_pushing_states_needs_a_token_even_on_this_machine() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/state", {"cart-open": True})).status_code == 401
        assert served.pushed == []

    at(work)


def test_unused_endpoints_make_room_for_others() -> None:
    async def work(served: Gateway) -> None:
        assert (await served.post("/rooms/a/mcp", PING)).status_code == 400  # it has no session
        assert (await served.post("/rooms/b/mcp", PING)).status_code == 400
        assert [each.spec.room for each in served.endpoints] == ["b"]

    at(work, max_endpoints=1)


def test_endpoints_in_use_are_not_closed_for_others() -> None:
    async def work(served: Gateway) -> None:
        async with Client(f"{served.url}/rooms/a/mcp", mode="legacy") as client:
            response = await served.post("/rooms/b/mcp", PING)
            assert response.status_code == 503
            assert len((await client.list_tools()).tools) > 1

    at(work, max_endpoints=1)


def test_an_endpoint_that_cannot_be_opened_says_why_and_can_be_tried_again() -> None:
    attempts: list[int] = []

    def endpoint() -> StubEndpoint:
        attempts.append(1)
        if len(attempts) == 1:
            raise AgentError("no agent is called `x`", hint="known is `reviewer`")
        return StubEndpoint()

    async def work(served: Gateway) -> None:
        first = await served.post("/a/x/mcp", HELLO)
        assert first.status_code == 404
        assert "known is `reviewer`" in first.text
        assert (await served.post("/a/x/mcp", HELLO)).status_code == 200

    at(work, endpoint=endpoint)


def test_an_endpoint_without_its_store_does_not_name_it() -> None:
    def endpoint() -> StubEndpoint:
        raise StoreUnreachableError("PostgreSQL at db.internal:5432 cannot be reached")

    async def work(served: Gateway) -> None:
        refused = await served.post("/mcp", HELLO)
        assert refused.status_code == 503
        assert refused.json()["error"]["message"] == STORE_DOWN

    at(work, endpoint=endpoint)


def test_concurrent_requests_get_the_same_endpoint() -> None:
    async def work(served: Gateway) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(served.post, "/mcp", HELLO)
        assert len(served.opened) == 1

    at(work)


def test_a_stateless_client_gets_errors_in_its_own_form() -> None:
    async def work(served: Gateway) -> None:
        headers = {**ACCEPT, "mcp-protocol-version": "2026-07-28", "mcp-method": "no/such"}
        meta: dict[str, object] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": meta}}
        async with httpx2.AsyncClient() as client:
            response = await client.post(f"{served.url}/mcp", json=body, headers=headers)
        assert response.status_code == 404
        assert response.json()["error"]["code"] == types.METHOD_NOT_FOUND

    at(work)


def test_the_project_of_a_team_is_reached_by_its_name_until_it_is_removed() -> None:
    api = Project("team:payments/api", "0123456789abcdef")
    gone = Project("team:payments/gone", "fedcba9876543210")

    async def work(served: Gateway) -> None:
        for path in ("/p/api/mcp", f"/p/{api.hash}/mcp", "/mcp"):
            assert (await served.post(path, HELLO, authorization=CI)).status_code == 200
        assert served.opened == [EndpointSpec("team:payments/api")]
        for path in ("/p/gone/mcp", "/p/api/mcp", "/mcp"):
            refused = await served.post(path, HELLO, authorization="Bearer token_of_late")
            assert refused.status_code == 404

    at(work, grants=[holder("ci", projects=(api,)), holder("late", projects=(gone,))], projects=(SHOP, api))
