"""How to start or reach a server, as its entry declares it.

A launch may contain secrets. It stays in memory while files are read and servers start, and is never stored,
printed or logged; only two digests of it are stored.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from remit.text.secrets import names_a_secret


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Launch:
    """A process to start or a URL to connect to, with unexpanded variables."""

    transport: Transport = Transport.STDIO
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None  # None: the launch directory
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    headers_helper: str | None = None  # a shell command that prints more headers
    registered: OAuthClient | None = None  # None: dynamic registration
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # set by the client
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
        """A digest of everything to start or connect to, except secrets, which may be rotated.

        A value that refers to one of the user's variables does not count as a secret, whatever its name.
        """
        if self.is_remote:
            helper = () if self.headers_helper is None else (self.headers_helper,)
            registered = () if self.registered is None else (list(self.registered),)
            return _digest(self.transport, self.url, _lasting(self.headers), *helper, *registered)
        entry = (self.command, list(self.args), _lasting(self.env), self.cwd, dict(self.variables))
        return _digest(self.transport, *entry)

    def _filled(self, word: str) -> str:
        """Expand the client's own variables, because plugins may use the same path in different folders."""
        for name, value in self.variables.items():
            word = word.replace(f"${{{name}}}", value)
        return word

    @property
    def starts_remit(self) -> bool:
        """Whether it seems to start a gateway of Remit, which would serve the same servers again."""
        words = (self.command, *self.args)
        return any(program(word) == "remit" and following == "serve" for word, following in pairwise(words))


def program(word: str) -> str:
    """Return the name of a program without its directory, extension and version."""
    name = word.replace("\\", "/").rpartition("/")[2].partition("@")[0].lower()
    return re.sub(r"\.(exe|cmd|bat|ps1)$", "", name)


_STEERING = re.compile(  # affects loaders, language runtimes and package managers
    r"(.*_)?(PATH|OPTIONS|OPTS|PRELOAD|REGISTRY|INDEX_URL|COMMAND)"
    r"|PATHEXT|SHELL|ENV|HOME|USERPROFILE|COMSPEC|IFS|CLASSPATH|RUBYLIB|RUBYOPT|PERL5LIB|PERL5OPT|GOFLAGS"
    r"|PYTHON(PATH|HOME|STARTUP|USERBASE)|(LD|DYLD|BASH|NODE|NPM_CONFIG|PIP|UV|GIT)_.*",
    re.IGNORECASE,
)


def steers_code(variable: str) -> bool:
    """Return whether this environment variable can change which code a server runs."""
    return _STEERING.fullmatch(variable) is not None


def references(value: str, syntaxes: Sequence[VariableSyntax] = ()) -> list[str]:
    """List the variables that a value refers to, in any client's syntax.

    A bare `$X` inside a word counts only if the client supports it, because it may be part of a password.
    """
    pattern = _REFERENCE_OR_BARE if VariableSyntax.BARE in syntaxes else _REFERENCE
    return [braced or bare for braced, bare in pattern.findall(value)]


_BRACED = r"\$?\{{1,2}\s{0,9}(?:env:|named:|secrets\.)?([A-Za-z_][A-Za-z0-9_.]{0,99})[^}]{0,999}\}"
_REFERENCE = re.compile(_BRACED + r"|(?:^|(?<=\s))\$([A-Za-z_][A-Za-z0-9_]*)$")
_REFERENCE_OR_BARE = re.compile(_BRACED + r"|\$([A-Za-z_][A-Za-z0-9_]*)")


def command_digest(words: Sequence[str]) -> str:
    """Return a digest of a command, whose words may be secrets."""
    return _digest("stdio", *words)


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _lasting(values: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Replace secret values of variables and headers with None."""
    return sorted((name, None if _is_renewable(name, value) else value) for name, value in values.items())


def _is_renewable(name: str, value: str) -> bool:
    return names_a_secret(name) and not any(sign in value for sign in "${")
