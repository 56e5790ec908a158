"""Pages of others that may ask: a browser wants to hear so, before and after each of their requests."""

from collections.abc import Collection

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

_SHOWN = ("Mcp-Session-Id", "WWW-Authenticate")  # what a page may read of an answer, beside its body


def allow_origins(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Let pages of some origins ask an application, which has to take these origins itself.

    They may send any header: which arguments 2026 repeats as headers is for each tool to say. A browser sends
    nothing along by itself, such as cookies.
    """
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        allow_private_network=True,
        expose_headers=_SHOWN,
    )
