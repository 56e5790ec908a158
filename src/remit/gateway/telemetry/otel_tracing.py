"""Makes OpenTelemetry spans with the semantic conventions for MCP, without arguments and results."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from remit.errors import RemitError
from remit.protocol.json_rpc import JsonRpcError
from remit.protocol.tracing import TRACE_KEYS, TracedRequest
from remit.text.json_values import as_object
from remit.text.untrusted_text import one_line

_LONGEST_NAME = 128
_NAMES = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}


class OtelSpan:
    """An open span."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def answered(self, answer: Mapping[str, object]) -> None:
        """Note a tool's failure."""
        if answer.get("isError") is True:
            self._fail("tool_error")

    def failed(self, error: BaseException) -> None:
        """Note an error by its code or class; its message may contain arguments."""
        if isinstance(error, JsonRpcError):
            self._span.set_attribute("rpc.response.status_code", str(error.code))
            self._fail(str(error.code))
        elif isinstance(error, RemitError | TimeoutError | OSError):
            self._fail(type(error).__name__)
        else:
            self._fail("cancelled" if not isinstance(error, Exception) else type(error).__name__)

    def _fail(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)


class OtelTracing:
    """Makes spans with a tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()  # no baggage: it could carry anything

    @contextmanager
    def serving(self, request: TracedRequest) -> Generator[OtelSpan]:
        """Trace a request of a client, as part of the client's trace if it names one."""
        with self._span(request, SpanKind.SERVER, self._context(request)) as span:
            yield span

    @contextmanager
    def calling(self, request: TracedRequest) -> Generator[OtelSpan]:
        """Trace a request to a server."""
        with self._span(request, SpanKind.CLIENT, None) as span:
            yield span

    def carrier(self) -> dict[str, str]:
        """Return the trace context of the current span."""
        found: dict[str, str] = {}
        self._propagator.inject(found)
        return found

    @contextmanager
    def _span(self, request: TracedRequest, kind: SpanKind, context: Context | None) -> Generator[OtelSpan]:
        name, attributes = _described(request)
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=kind,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as opened:
            span = OtelSpan(opened)
            try:
                yield span
            except BaseException as error:
                span.failed(error)
                raise

    def _context(self, request: TracedRequest) -> Context | None:
        """Read the client's trace context; MCP's own place comes before the HTTP header."""
        for carrier in (as_object(request.params.get("_meta")), request.carrier):
            given = {key: carrier[key] for key in TRACE_KEYS if isinstance(carrier.get(key), str)}
            context = self._propagator.extract(given)
            if get_current_span(context).get_span_context().is_valid:
                return context
        return None


def _described(request: TracedRequest) -> tuple[str, dict[str, str]]:
    method = request.method
    attributes = {"mcp.method.name": method}
    for key, value in (
        ("jsonrpc.request.id", request.id),
        ("mcp.session.id", request.session),
        ("mcp.protocol.version", request.version or None),
    ):
        if value is not None:
            attributes[key] = one_line(str(value), _LONGEST_NAME)
    if method == "tools/call":
        attributes["gen_ai.operation.name"] = "execute_tool"
    name = request.params.get("name")
    if method in _NAMES and isinstance(name, str):
        attributes[_NAMES[method]] = shown = one_line(name, _LONGEST_NAME)
        return f"{method} {shown}", attributes
    return method, attributes
