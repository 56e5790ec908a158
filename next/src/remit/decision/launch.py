"""How to start or reach a server, as its entry declares it.

A launch may contain secrets. It stays in memory while files are read and servers start, and is never stored,
printed or logged; only two digests of it are stored, and of a trusted one an outline without secrets.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from remit.decision.scopes import Scope, Workspace, is_at_or_below

_NOTHING: Mapping[str, str] = {}
_ENV_OPTIONS = ("-u", "--unset", "-C", "--chdir")  # of `env`, each with a value in the next word


class Transport(StrEnum):
    """The transport between client and server."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    WEBSOCKET = "ws"


class VariableSyntax(StrEnum):
    """A syntax for variables in entries."""

    BRACES = "${X}"
    DEFAULTS = "${X:-default}"  # the default is optional
    BARE = "$X"
    DOLLAR_ENV = "${env:X}"
    BRACE_ENV = "{env:X}"
    BRACE_FILE = "{file:path}"
    SECRETS = "${{ secrets.X }}"
    INPUT = "${input:id}"
    WORKSPACE = "${workspaceFolder}"
    NAMED = "${named:X}"  # Remit's own, for clients whose entries name variables without a syntax


class OAuthClient(NamedTuple):
    """The OAuth client that an entry configures for a remote server."""

    client_id: str
    port: int = 0  # port of the redirect URI on `localhost`; 0: any


class Launch(NamedTuple):
    """A process to start or a URL to connect to, with unexpanded variables."""

    transport: Transport = Transport.STDIO
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = _NOTHING
    cwd: str | None = None  # None: the launch directory
    url: str = ""
    headers: Mapping[str, str] = _NOTHING
    headers_helper: str | None = None  # a shell command that prints more headers
    registered: OAuthClient | None = None  # None: dynamic registration
    variables: Mapping[str, str] = _NOTHING  # set by the client
    syntaxes: tuple[VariableSyntax, ...] = ()  # of its client; empty: variables are not expanded

    def __repr__(self) -> str:
        return f"Launch({self.transport})"

    @property
    def is_remote(self) -> bool:
        """Whether it has a URL."""
        return self.transport is not Transport.STDIO

    @property
    def endpoint(self) -> str:
        """A digest of the command and its arguments, or of the URL, which identifies a server."""
        if self.is_remote:
            return _digest("url", self._filled(self.url))
        return command_digest([self._filled(word) for word in (self.command, *self.args)])

    @property
    def digest(self) -> str:
        """A digest of everything to start or connect to, except credentials, which may be rotated.

        Every part counts, whatever the transport: a command that prints headers gets the variables, too.
        """
        words = (self.transport, self.command, list(self.args), self.cwd, self.url, self.headers_helper)
        registered = None if self.registered is None else list(self.registered)
        return _digest(*words, registered, _lasting(self.env), _lasting(self.headers), dict(self.variables))

    def _filled(self, word: str) -> str:
        """Expand the client's own variables, because plugins may use the same path in different folders."""
        for name, value in self.variables.items():
            word = word.replace(f"${{{name}}}", value)
        return word

    @property
    def program(self) -> str:
        """The program that it runs: for `env -u NAME A=1 node`, the `node`."""
        if program(self.command) != "env":
            return self.command
        words = iter(self.args)
        for word in words:
            if word in _ENV_OPTIONS:
                next(words, None)
            elif not word.startswith("-") and "=" not in word:
                return word
        return self.command

    @property
    def starts_remit(self) -> bool:
        """Whether it seems to start a gateway of Remit, which would serve the same servers again."""
        words = (self.command, *self.args)
        return any(program(word) == "remit" and following == "serve" for word, following in pairwise(words))


def program(word: str) -> str:
    """Return the name of a program without its directory, extension and version."""
    name = word.replace("\\", "/").rpartition("/")[2].partition("@")[0].lower()
    stem, dot, extension = name.rpartition(".")
    return stem if dot and extension in ("exe", "cmd", "bat", "ps1") else name


def command_digest(words: Sequence[str]) -> str:
    """Return a digest of a command, whose words may be secrets."""
    return _digest("stdio", *words)


def needs_trust(scope: Scope, project_hash: str | None, source: str, workspace: Workspace) -> bool:
    """Return whether a server, or its tool, comes from a project instead of the user's own files.

    Others can edit any file in the repository, whatever scope the client gives it.
    """
    if project_hash is None or workspace.group is not None:
        return False
    if scope is Scope.LOCAL:
        return any(is_at_or_below(source, root) for root in (workspace.checkout, workspace.project.path))
    return scope in (Scope.PROJECT, Scope.PLUGIN)


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _lasting(values: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Replace credentials with None, because they may be rotated without asking the user again."""
    if not values:
        return []
    from remit.secrets import is_credential, names_a_secret  # a process that reads no entry does not need it

    return sorted(
        (name, None if names_a_secret(name) and is_credential(value, name) else value)
        for name, value in values.items()
    )
