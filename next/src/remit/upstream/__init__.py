"""The MCP servers we call: starts, supervises, lists and ends them, and signs in to them."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; hooks load this package
if TYPE_CHECKING:
    from remit.upstream.launch import Launcher, LocalLauncher, ReadyServer
    from remit.upstream.lists import DECLARES_STATES
    from remit.upstream.live_servers import ServerListing, ask_all, refresh
    from remit.upstream.model import Health, Upstream, UpstreamStatus, make_upstreams
    from remit.upstream.oauth import Registration, SignInState, authorize, sign_in, sign_in_state, sign_out
    from remit.upstream.obstacles import Obstacle, start_obstacles
    from remit.upstream.pool import Admit, Change, LocalServer, UpstreamPool, open_pool
    from remit.upstream.sandbox import sandbox_problem
    from remit.upstream.session import OnList
    from remit.upstream.tokens import Bearer, StoredToken, TokenStore, open_token_store
    from remit.upstream.variables import DEPTH

_MODULES = {
    "launch": "Launcher LocalLauncher ReadyServer",
    "lists": "DECLARES_STATES",
    "model": "Health Upstream UpstreamStatus make_upstreams",
    "live_servers": "ServerListing ask_all refresh",
    "oauth": "Registration SignInState authorize sign_in sign_in_state sign_out",
    "obstacles": "Obstacle start_obstacles",
    "pool": "Admit Change LocalServer UpstreamPool open_pool",
    "sandbox": "sandbox_problem",
    "session": "OnList",
    "tokens": "Bearer StoredToken TokenStore open_token_store",
    "variables": "DEPTH",
}
_HOMES = {name: f"remit.upstream.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.upstream` has no attribute `{name}`")
