"""The MCP servers we call: starts, supervises, lists and ends them, and signs in to them."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; hooks load this package
if TYPE_CHECKING:
    from remit.upstream.launch import Launcher, LocalLauncher, ReadyServer
    from remit.upstream.lists import DECLARES_STATES
    from remit.upstream.model import (
        Health,
        Sandbox,
        ServerOptions,
        Upstream,
        UpstreamStatus,
        make_upstreams,
    )
    from remit.upstream.pool import Change, LocalServer, UpstreamPool, open_pool
    from remit.upstream.session import OnList

_MODULES = {
    "launch": "Launcher LocalLauncher ReadyServer",
    "lists": "DECLARES_STATES",
    "model": "Health Sandbox ServerOptions Upstream UpstreamStatus make_upstreams",
    "pool": "Change LocalServer UpstreamPool open_pool",
    "session": "OnList",
}
_HOMES = {name: f"remit.upstream.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.upstream` has no attribute `{name}`")
