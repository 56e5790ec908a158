"""Ends open requests whose token is revoked, or expires: streams, subscriptions and long calls."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import inf

import anyio
from anyio.abc import TaskGroup

from remit.errors import TokenError
from remit.gateway.access.principals import Principal
from remit.gateway.access.token_grants import Grant

_STEP = 0.25  # seconds between two looks at the tokens, while a request is open


class OpenRequest:
    """A request that is being answered."""

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self.is_revoked = False
        until = principal.valid_until
        deadline = inf if until is None else anyio.current_time() + max(0.0, until - time.time())
        self.scope = anyio.CancelScope(deadline=deadline)

    @property
    def is_cut_off(self) -> bool:
        """Whether it was ended before its answer was complete."""
        return self.scope.cancelled_caught


class OpenRequests:
    """The requests of known callers that a gateway is answering."""

    def __init__(self, grants: Callable[[], Sequence[Grant]], tasks: TaskGroup) -> None:
        self._grants = grants
        self._tasks = tasks
        self._open: set[OpenRequest] = set()
        self._is_watching = False

    @contextmanager
    def hold(self, principal: Principal) -> Generator[OpenRequest]:
        """Run a block until its end, or until the principal's token is no longer accepted."""
        request = OpenRequest(principal)
        self._open.add(request)
        if principal.token is not None and not self._is_watching:
            self._is_watching = True
            self._tasks.start_soon(self._watch)
        try:
            with request.scope:
                yield request
        finally:
            self._open.discard(request)

    async def _watch(self) -> None:
        """Cancel the requests whose token was revoked, until none is open."""
        try:
            while self._open:
                await anyio.sleep(_STEP)
                self._cancel_revoked()
        finally:
            self._is_watching = False

    def _cancel_revoked(self) -> None:
        try:
            known = {grant.digest for grant in self._grants()}
        except TokenError:  # the next look may succeed, and new requests are refused
            return
        for request in self._open:
            if request.principal.token is not None and request.principal.token not in known:
                request.is_revoked = True
                request.scope.cancel()
