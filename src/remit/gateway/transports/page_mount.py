"""Where the pages for people are mounted in a gateway, and what they get from it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

from remit.decision.projects import Project
from remit.gateway.access.authenticator import Authenticator
from remit.gateway.access.call_limits import CallLimiters
from remit.gateway.access.principals import Principal
from remit.gateway.access.token_grants import Grant

if TYPE_CHECKING:
    from remit.gateway.transports.session_seal import SessionSeal

ROOT = "/web"


class PageHost(NamedTuple):
    """What a gateway lends to its pages."""

    client: str  # that the gateway serves
    authenticator: Authenticator
    grants: Callable[[], Sequence[Grant]]
    seal: "SessionSeal"
    limiters: CallLimiters
    find_project: Callable[[str | None, Principal | None], Awaitable[Project | None]]
    projects: Callable[[], Sequence[Project]]  # all known projects
    is_store_reachable: Callable[[], bool]  # as far as is known without asking


class MountedPages(Protocol):
    """The pages, as an ASGI application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def end(self) -> None: ...  # its streams


OpenPages = Callable[[PageHost], AbstractAsyncContextManager[MountedPages]]


def is_page(path: str) -> bool:
    """Check whether a path is one of the pages."""
    return path == ROOT or path.startswith(f"{ROOT}/")
