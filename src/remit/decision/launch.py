"""How a server is started or reached, as its entry says it.

A launch may hold secrets: it lives in memory while files are read and servers are started, and is never
stored, printed or logged. What is kept of it are two digests, which tell one launch from another.
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
    """How messages travel to a server and back."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    WEBSOCKET = "ws"


class VariableSyntax(StrEnum):
    """A way of writing a variable into an entry."""

    BRACES = "${X}"
    DEFAULTS = "${X:-default}"  # or without a default
    BARE = "$X"
    DOLLAR_ENV = "${env:X}"
    BRACE_ENV = "{env:X}"
    BRACE_FILE = "{file:path}"
    SECRETS = "${{ secrets.X }}"
    INPUT = "${input:id}"
    WORKSPACE = "${workspaceFolder}"
    NAMED = "${named:X}"  # Remit's own, for a client whose entries name variables and have no sign for them


class OAuthClient(NamedTuple):
    """What a remote server knows its clients by, where an entry says so."""

    client_id: str
    port: int = 0  # at which `localhost` takes the browser back; 0: any


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Launch:
    """A process to start, or a URL to reach; variables in it are not expanded yet."""

    transport: Transport = Transport.STDIO
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None  # None: the launch directory
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    headers_helper: str | None = None  # a shell's command that prints more of them
    registered: OAuthClient | None = None  # None: whoever signs in introduces itself
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # those the client sets for it
    syntaxes: tuple[
        VariableSyntax, ...
    ] = ()  # its client's; where there is none, the text is taken as it stands

    def __repr__(self) -> str:
        return f"Launch({self.transport})"

    @property
    def is_remote(self) -> bool:
        """Whether it names a URL."""
        return self.transport is not Transport.STDIO

    @property
    def endpoint(self) -> str:
        """A digest of the command with its arguments, or of the URL: what makes two servers the same."""
        if self.is_remote:
            return _digest("url", self._filled(self.url))
        return command_digest([self._filled(word) for word in (self.command, *self.args)])

    @property
    def digest(self) -> str:
        """A digest of all that would be started or reached, but for secrets, which may be renewed.

        A value that may hand over a variable of the user's is no such secret, whatever its name.
        """
        if self.is_remote:
            helper = () if self.headers_helper is None else (self.headers_helper,)
            registered = () if self.registered is None else (list(self.registered),)
            return _digest(self.transport, self.url, _lasting(self.headers), *helper, *registered)
        entry = (self.command, list(self.args), _lasting(self.env), self.cwd, dict(self.variables))
        return _digest(self.transport, *entry)

    def _filled(self, word: str) -> str:
        """Put in what the client itself sets: two plugins may start the same file, each of its own folder."""
        for name, value in self.variables.items():
            word = word.replace(f"${{{name}}}", value)
        return word

    @property
    def starts_remit(self) -> bool:
        """Whether it starts Remit's own gateway, directly or through a runner such as `uvx`."""
        words = (self.command, *self.args)
        return any(program(word) == "remit" and following == "serve" for word, following in pairwise(words))

    @property
    def starts_installed_remit(self) -> bool:
        """Whether it starts Remit by its name alone: nothing in a project can stand in its place."""
        words = self.args if self.command == "uvx" else (self.command, *self.args)
        is_named = re.match(r"remit(@[\w.]+)? serve( |$)", " ".join(words)) is not None
        return is_named and self.cwd is None and not any(map(steers_code, self.env))


def program(word: str) -> str:
    """Name a program as on every system, without its folder, its ending and the version that is asked for."""
    name = word.replace("\\", "/").rpartition("/")[2].partition("@")[0].lower()
    return re.sub(r"\.(exe|cmd|bat|ps1)$", "", name)


_STEERING = re.compile(  # of the loaders, the languages and the tools that fetch packages
    r"(.*_)?(PATH|OPTIONS|OPTS|PRELOAD|REGISTRY|INDEX_URL|COMMAND)"
    r"|PATHEXT|SHELL|ENV|HOME|USERPROFILE|COMSPEC|IFS|CLASSPATH|RUBYLIB|RUBYOPT|PERL5LIB|PERL5OPT|GOFLAGS"
    r"|PYTHON(PATH|HOME|STARTUP|USERBASE)|(LD|DYLD|BASH|NODE|NPM_CONFIG|PIP|UV|GIT)_.*",
    re.IGNORECASE,
)


def steers_code(variable: str) -> bool:
    """Tell whether a variable of this name can change which code a server runs."""
    return _STEERING.fullmatch(variable) is not None


def references(value: str, syntaxes: Sequence[VariableSyntax] = ()) -> list[str]:
    """List the names of the variables that a value is made of, in any client's way of writing them.

    A bare `$X` inside a word is one only where the client says so: it may be half of a password.
    """
    pattern = _REFERENCE_OR_BARE if VariableSyntax.BARE in syntaxes else _REFERENCE
    return [braced or bare for braced, bare in pattern.findall(value)]


_BRACED = r"\$?\{{1,2}\s{0,9}(?:env:|named:|secrets\.)?([A-Za-z_][A-Za-z0-9_.]{0,99})[^}]{0,999}\}"
_REFERENCE = re.compile(_BRACED + r"|(?:^|(?<=\s))\$([A-Za-z_][A-Za-z0-9_]*)$")
_REFERENCE_OR_BARE = re.compile(_BRACED + r"|\$([A-Za-z_][A-Za-z0-9_]*)")


def command_digest(words: Sequence[str]) -> str:
    """Tell one command from another without keeping its words, which may be secret."""
    return _digest("stdio", *words)


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _lasting(values: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Leave out the values of variables and headers that are secrets and hand over nothing else."""
    return sorted((name, None if _is_renewable(name, value) else value) for name, value in values.items())


def _is_renewable(name: str, value: str) -> bool:
    return names_a_secret(name) and not any(sign in value for sign in "${")
