"""Spends the permit of a server: the one place where a launch becomes something that can be opened.

Processes, connections, header commands and sign-ins all take a `ReadyServer`.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from anyio.to_thread import run_sync

from remit.decision import Launch
from remit.errors import NotReadyError
from remit.upstream.failures import missing, secrets_of
from remit.upstream.model import Upstream
from remit.upstream.variables import environment, expand, is_internal


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadyServer:
    """A permitted server whose variables are expanded, ready to be started or reached."""

    upstream: Upstream
    launch: Launch  # with expanded variables
    cwd: str
    environment: Mapping[str, str]
    words: tuple[str, ...]  # of its process, or of the command that prints headers; empty without either
    options: bytes | None = None  # of the sandbox, which gets them from a file without a name
    tokens: str | None = None  # the directory of this user's tokens; None: none is used
    secrets: frozenset[str] = frozenset()  # values that must never be shown


class Launcher(Protocol):
    """How servers are started, and for whom."""

    async def share(self, upstream: Upstream, name: str | None) -> str:
        """Return a key: callers with equal ones may share sessions.

        Raises:
            NotSignedInError: the caller has no credential for the server.
        """
        ...

    def ready(self, upstream: Upstream, name: str | None) -> AbstractAsyncContextManager[ReadyServer]:
        """Make a server ready for a caller; it runs inside the block, and ends if the block is cancelled.

        Raises:
            NotReadyError: it cannot be started here and now.
        """
        ...


class LocalLauncher:
    """Starts servers with the variables of this user, for everybody alike."""

    def __init__(
        self,
        variables: Mapping[str, str],
        home: str,
        data: str,
        is_internal: Callable[[str], bool] = is_internal,
    ) -> None:
        self._variables = variables
        self._home = home
        self._data = data  # Remit's own directory, below which sandboxed servers have their homes
        self._is_internal = is_internal  # variables that clients set for their own children

    async def share(self, upstream: Upstream, name: str | None) -> str:
        """Let all callers share."""
        del upstream, name
        return ""

    @asynccontextmanager
    async def ready(self, upstream: Upstream, name: str | None) -> AsyncGenerator[ReadyServer]:
        """Make a server ready."""
        del name
        if upstream.sandbox is None:
            yield self.make_ready(upstream)
        else:  # to look for what its program needs takes a while
            yield await run_sync(self.make_ready, upstream)

    def make_ready(self, upstream: Upstream) -> ReadyServer:
        """Expand exactly what the permit of a server contains.

        Raises:
            NotReadyError: a permit or variables are missing, or its sandbox is not possible.
        """
        permit = upstream.permit
        if permit is None:
            raise NotReadyError("may not be started", hint="`remit trust` shows why")
        variables, home = self._variables, self._home
        expanded = expand(permit.launch, variables, workspace=permit.directory, home=home)
        if expanded.missing:
            raise missing(expanded.missing, upstream)
        launch = expanded.launch
        cwd = os.path.normpath(os.path.join(permit.directory, launch.cwd or ""))
        given = environment(upstream, launch, cwd, variables, self._is_internal)
        secrets = secrets_of(expanded, permit.launch, given) - {home, cwd}  # `HOME` and `PWD`
        words, options = _words(launch, upstream.wrap), None
        if upstream.sandbox is not None and words:
            from remit.upstream.sandbox import enter_sandbox  # few servers have one

            words, given, options = enter_sandbox(upstream, words, cwd, given, home, self._data)
        return ReadyServer(
            upstream=upstream,
            launch=launch,
            cwd=cwd,
            environment=given,
            words=words,
            options=options,
            tokens=self._data,
            secrets=secrets,
        )


def _words(launch: Launch, wrap: tuple[str, ...]) -> tuple[str, ...]:
    if not launch.is_remote:
        return (*wrap, launch.command, *launch.args)
    if launch.headers_helper is None:
        return ()
    shell = ("cmd", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    return (*wrap, *shell, launch.headers_helper)
