"""Starts tracing where the variables of OpenTelemetry ask for it, with the extra `otel`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

from remit import __version__
from remit.files.own_environment import own_environment
from remit.protocol.tracing import Switch

_ASK = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
_EXPORTERS = ("otlp", "console")
_SDK = "opentelemetry.sdk"
_PACKAGES = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")


def start_tracing(variables: Mapping[str, str], say: Callable[[str], object]) -> None:
    """Trace from now on, if the variables ask for it; spans that wait are sent when the process ends."""
    asked = next((name for name in _ASK if variables.get(name)), None)
    exporter = variables.get("OTEL_TRACES_EXPORTER") or "otlp"
    if asked is None or exporter == "none" or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    if exporter not in _EXPORTERS:
        say(f"not tracing: OTEL_TRACES_EXPORTER must be one of {', '.join((*_EXPORTERS, 'none'))}")
        return
    if not _is_installed(exporter):
        install = own_environment().add_command(*_PACKAGES)
        say(f"not tracing, although {asked} is set: run `{install}`")
        return
    from remit.gateway.telemetry.otel_tracing import OtelTracing  # few processes trace

    # The provider is not the global one: the SDK of MCP would make spans of its own.
    provider = _provider(exporter)
    Switch.active = OtelTracing(provider.get_tracer("remit", __version__))


def _is_installed(exporter: str) -> bool:
    try:
        wanted = _SDK if exporter == "console" else "opentelemetry.exporter.otlp.proto.http"
        return find_spec(_SDK) is not None and find_spec(wanted) is not None
    except ModuleNotFoundError:
        return False


def _provider(exporter: str):
    sdk, export = import_module("opentelemetry.sdk.trace"), import_module("opentelemetry.sdk.trace.export")
    resources = import_module("opentelemetry.sdk.resources")
    if exporter == "console":
        import sys  # stdout belongs to the protocol

        made = export.ConsoleSpanExporter(out=sys.stderr)
    else:
        http = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        made = http.OTLPSpanExporter()
    # Variables such as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    named = resources.Resource({"service.name": "remit", "service.version": __version__})
    provider = sdk.TracerProvider(resource=named.merge(resources.OTELResourceDetector().detect()))
    provider.add_span_processor(export.BatchSpanProcessor(made))
    return provider
