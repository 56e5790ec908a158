"""The MCP server we are: accepts clients, serves what is visible, asks for approval, and passes calls on."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.gateway.approval_question import can_elicit, question, read_answer
    from remit.gateway.endpoint import EndpointSpec, Identity
    from remit.gateway.gateway import Gateway, Hello, Parts, run_until_stopped
    from remit.gateway.http import Address, Authenticator, HttpGateway, bind, serve_app, serve_http
    from remit.gateway.live_lists import Worker
    from remit.gateway.refusals import approval_required, denied, failure, refusal
    from remit.gateway.status import running_gateways
    from remit.gateway.stdio import serve_memory, serve_stdio

_MODULES = {
    "approval_question": "can_elicit question read_answer",
    "endpoint": "EndpointSpec Identity",
    "gateway": "Gateway Hello Parts run_until_stopped",
    "http": "Address Authenticator HttpGateway bind serve_app serve_http",
    "live_lists": "Worker",
    "refusals": "approval_required denied failure refusal",
    "status": "running_gateways",
    "stdio": "serve_memory serve_stdio",
}
_HOMES = {name: f"remit.gateway.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.gateway` has no attribute `{name}`")
