"""Requests that only another gateway can answer: 503 for a load balancer that tries the next one."""

from typing import Any

import pytest

from remit.protocol.json_rpc import Answer, ElsewhereError, ErrorCode, JsonRpcError, Params
from remit.upstream.ports import RequestContext
from support.downstream import NEW, OLD, downstream
from support.http_gateway import gateway
from support.stub_endpoint import StubEndpoint, text

pytestmark = pytest.mark.anyio
eras = pytest.mark.parametrize("era", [OLD, NEW])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class OneOfTwo(StubEndpoint):
    """An endpoint whose server runs at another gateway, as the endpoint knows only when it is asked."""

    async def call(self, asked: Params, caller: RequestContext) -> Answer:
        if asked["name"] == "echo":
            return text("here")
        if asked["name"] == "progress":
            await caller.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        if caller.can_move:
            raise ElsewhereError(ErrorCode.INTERNAL_ERROR, "elsewhere")
        raise JsonRpcError(ErrorCode.INTERNAL_ERROR, "runs at another gateway")


async def asked(era: str, name: str, **headers: str) -> tuple[int, dict[str, Any]]:
    statuses = list[int]()
    async with gateway(endpoint=OneOfTwo) as served, downstream(served.url, era) as client:

        async def note(response: Any) -> None:
            statuses.append(response.status_code)

        client.http.event_hooks = {"response": [note]}
        client.headers |= headers
        answer = await client.ask("tools/call", name=name, arguments={})
        return statuses[0], answer


@eras
async def test_a_load_balancer_that_repeats_requests_gets_503(era: str) -> None:
    status, answer = await asked(era, "who", **{"Remit-Retry": "503"})
    assert status == 503
    assert answer["error"]["message"] == "another gateway runs the server of this tool"


@eras
async def test_another_client_gets_the_reason_in_the_answer(era: str) -> None:
    _, answer = await asked(era, "who")
    assert answer["error"]["message"] == "runs at another gateway"


@eras
async def test_what_is_answered_here_passes_unchanged(era: str) -> None:
    status, answer = await asked(era, "echo", **{"Remit-Retry": "503"})
    assert (status, answer["result"]["content"]) == (200, [{"type": "text", "text": "here"}])
