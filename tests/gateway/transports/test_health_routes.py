"""What those who run a gateway ask it, and how it ends."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from remit.gateway.access.token_grants import Grant, digest
from remit.gateway.requests.call_metrics import CallMetrics, Metric, Sample, prometheus_text
from remit.gateway.transports.health_routes import StoreHealth
from support.http_gateway import SHOP, gateway
from support.processes import ServedProject

SLOW = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
    else:
        result = {"content": [{"type": "text", "text": "at last"}]}
        time.sleep(1.5 if asked["method"] == "tools/call" else 0)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""  # noqa: E501
TOKEN = {"authorization": "Bearer secret"}


def test_metrics_are_written_as_prometheus_reads_them() -> None:
    calls = CallMetrics()
    calls.count("done", None, 0.004)
    calls.count("done", None, 0.3)
    calls.count("refused", "policy", 100)
    text = prometheus_text(calls.metrics())
    assert '# TYPE remit_calls_total counter\nremit_calls_total{outcome="done",gate=""} 2\n' in text
    assert 'remit_calls_total{outcome="refused",gate="policy"} 1\n' in text
    assert 'remit_call_seconds_bucket{le="0.005"} 1\n' in text
    assert 'remit_call_seconds_bucket{le="0.5"} 2\n' in text
    assert 'remit_call_seconds_bucket{le="+Inf"} 3\n' in text
    assert "remit_call_seconds_sum 100.304\nremit_call_seconds_count 3\n" in text
    odd = Metric("x", "gauge", "X.", [Sample(1, {"name": 'a "b"\\\n'})])
    assert prometheus_text([odd]).splitlines()[-1] == r'x{name="a \"b\"\\\n"} 1'


@pytest.mark.long
@pytest.mark.parametrize(
    ("store", "says"),
    [
        (StoreHealth(), {"status": "ready", "store": "reachable", "catalog": "current"}),
        (StoreHealth(False), {"status": "ready", "store": "unreachable", "catalog": "last known"}),
    ],
)
@pytest.mark.anyio
async def test_a_gateway_is_ready_without_its_store_and_says_what_it_serves(
    store: StoreHealth, says: dict[str, str]
) -> None:
    async with gateway(store=store) as served, httpx2.AsyncClient() as client:
        response = await client.get(f"{served.url}/ready")
        assert (response.status_code, response.json()) == (200, says)


@pytest.mark.anyio
async def test_metrics_need_a_token_for_every_project_once_tokens_exist() -> None:
    async with gateway() as served, httpx2.AsyncClient() as client:
        open_to_all = await client.get(f"{served.url}/metrics")
        assert open_to_all.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert "\nremit_spool_batches 3\n" in open_to_all.text
        assert "\nremit_store_reachable 1\n" in open_to_all.text
    grant = Grant(name="prometheus", digest=digest("secret"))
    async with gateway(grants=[grant]) as served, httpx2.AsyncClient() as client:
        assert (await client.get(f"{served.url}/metrics")).status_code == 401
        assert (await client.get(f"{served.url}/metrics", headers=TOKEN)).status_code == 200
    bound = Grant(name="shop", digest=digest("secret"), projects=(SHOP,))
    async with gateway(grants=[bound]) as served, httpx2.AsyncClient() as client:
        assert (await client.get(f"{served.url}/metrics", headers=TOKEN)).status_code == 404


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_after_sigterm_a_call_in_flight_is_answered_and_no_other_is_accepted(
    mode: Any, tmp_path: Path
) -> None:
    served = ServedProject(tmp_path, is_forked=True)
    served.declare({"slow": [sys.executable, "-c", SLOW]})

    async def run(url: str, process: "subprocess.Popen[str]") -> None:
        async with Client(f"{url}/mcp", mode=mode) as client:
            await client.list_tools()
            answers: list[Any] = []

            async def call() -> None:
                answers.append(await client.call_tool("slow__wait", {}))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await until(url, "\nremit_calls_in_flight 1\n")
                assert await readiness(url) == 200
                process.send_signal(signal.SIGTERM)
                while await readiness(url) == 200:
                    await anyio.sleep(0.02)
                assert await readiness(url) == 503  # a load balancer that looks has time to notice
            assert answers[0].content[0].text == "at last"

    command = served.command("--http", "127.0.0.1:0")
    with subprocess.Popen(
        command, cwd=served.project, env=served.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        url = process.stderr.readline().rpartition(" on ")[2].strip().removesuffix("/mcp")
        try:
            anyio.run(run, url, process)
            began = time.monotonic()
            assert process.wait(10) == 128 + signal.SIGTERM
            assert time.monotonic() - began < 5
        finally:
            process.kill()


async def readiness(url: str) -> int:
    async with httpx2.AsyncClient() as client:
        return (await client.get(f"{url}/ready")).status_code


async def until(url: str, metric: str) -> None:
    with anyio.fail_after(20):
        async with httpx2.AsyncClient() as client:
            while metric not in (await client.get(f"{url}/metrics")).text:
                await anyio.sleep(0.02)
