"""Spans of requests: the client's trace goes on through the gateway, and nothing but names is told."""

from collections.abc import Iterator
from typing import Any

import pytest

from remit.gateway.telemetry.otel_setup import start_tracing
from remit.gateway.telemetry.otel_tracing import OtelTracing
from remit.protocol.json_rpc import JsonRpcError
from remit.protocol.tracing import Switch, TracedRequest, trace_headers, with_trace

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="`make test` installs OpenTelemetry's SDK")
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"00-{TRACE}-{PARENT}-01"
SECRET = "hunter2-secret"  # noqa: S105 - to look for
CALL = TracedRequest(
    "tools/call", {"name": "git__log", "arguments": {"password": SECRET}}, 7, "5e55", "2026-07-28"
)


@pytest.fixture
def spans() -> Iterator[Any]:
    """The spans that ended; tracing is on meanwhile."""
    from importlib import import_module

    export = import_module("opentelemetry.sdk.trace.export")
    memory = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    Switch.active = OtelTracing(provider.get_tracer("test"))
    yield memory.get_finished_spans
    Switch.active = None
    provider.shutdown()


def test_a_call_and_the_request_to_its_server_are_spans_of_the_clients_trace(spans: Any) -> None:
    assert Switch.active is not None
    asked = CALL._replace(params={**CALL.params, "_meta": {"traceparent": GIVEN}})
    sent: dict[str, object] = {"traceparent": GIVEN, "tracestate": "a=b", "progressToken": 1}
    with Switch.active.serving(asked) as served, Switch.active.calling(CALL) as called:
        with_trace(sent)
        headers = trace_headers()
        called.answered({"content": [{"type": "text", "text": SECRET}]})
        served.answered({})
    client, server = spans()
    assert (server.name, server.kind.name, client.kind.name) == ("tools/call git__log", "SERVER", "CLIENT")
    assert f"{server.context.trace_id:032x}" == f"{client.context.trace_id:032x}" == TRACE
    assert f"{server.parent.span_id:016x}" == PARENT
    assert client.parent.span_id == server.context.span_id
    assert sent == {"traceparent": f"00-{TRACE}-{client.context.span_id:016x}-01", "progressToken": 1}
    assert headers == {"traceparent": sent["traceparent"]}
    assert dict(server.attributes) == {
        "mcp.method.name": "tools/call",
        "mcp.session.id": "5e55",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "7",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "git__log",
    }
    assert SECRET not in client.to_json() + server.to_json()


def test_a_header_names_the_trace_where_the_message_names_none(spans: Any) -> None:
    assert Switch.active is not None
    for request in (
        CALL._replace(carrier={"traceparent": GIVEN}),
        CALL._replace(params={"_meta": {"traceparent": "nonsense"}}, carrier={"traceparent": GIVEN}),
        CALL._replace(params={"_meta": {"traceparent": 5}}, carrier={"traceparent": "00-no"}),
    ):
        with Switch.active.serving(request):
            pass
    first, second, third = spans()
    assert f"{first.context.trace_id:032x}" == f"{second.context.trace_id:032x}" == TRACE
    assert third.parent is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (JsonRpcError(-32602, SECRET), "-32602"),
        (TimeoutError(SECRET), "TimeoutError"),
        (KeyboardInterrupt(SECRET), "cancelled"),
    ],
)
def test_an_error_is_told_by_its_kind_without_its_message(
    spans: Any, error: BaseException, kind: str
) -> None:
    assert Switch.active is not None
    with pytest.raises(type(error)), Switch.active.calling(CALL):
        raise error
    (found,) = spans()
    assert (found.attributes["error.type"], found.status.status_code.name) == (kind, "ERROR")
    assert SECRET not in found.to_json()


def test_a_tool_that_fails_is_an_error_of_the_tool(spans: Any) -> None:
    assert Switch.active is not None
    with Switch.active.serving(CALL._replace(method="prompts/get")) as span:
        span.answered({"isError": True})
    (found,) = spans()
    assert (found.attributes["error.type"], found.attributes["gen_ai.prompt.name"]) == (
        "tool_error",
        "git__log",
    )


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "TRUE"}, ""),
        ({"OTEL_TRACES_EXPORTER": "none"}, ""),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER must be one of otlp, console, none"),
    ],
    ids=str,
)
def test_nothing_is_traced_unless_variables_ask_for_it(variables: dict[str, str], told: str) -> None:
    said: list[str] = []
    start_tracing(variables, said.append)
    assert Switch.active is None
    assert told in "".join(said)
    assert bool(said) == bool(told)
