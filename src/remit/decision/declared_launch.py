"""How to start or reach a server, as its entry declares it.

A launch may contain secrets. It stays in memory while files are read and servers start, and is never stored,
printed or logged; only two digests of it are stored, and of a trusted one an outline without secrets.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from remit.decision.definitions.entry_digests import with_files
from remit.text.secrets import is_credential, names_a_secret

_DIGEST_FORM = "2:"  # what digests of entries begin with: trust in another form does not count
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
    # Of a project's server: digests of the project's files that steer its runner, by their path in it.
    runner_files: Mapping[str, str] = field(default_factory=dict[str, str])

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

        Every part counts, whatever the transport: a command that prints headers gets the variables, too. The
        files that steer its runner follow one by one, so `entry_change` can name the one that changed.
        """
        words = (self.transport, self.command, list(self.args), self.cwd, self.url, self.headers_helper)
        registered = None if self.registered is None else list(self.registered)
        values = (_lasting(self.env), _lasting(self.headers), dict(self.variables))
        return with_files(_DIGEST_FORM + _digest(*words, registered, *values), self.runner_files)

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
    return re.sub(r"\.(exe|cmd|bat|ps1)$", "", name)


# Whole families count, because tools add variables: one that is missing here would be a way in. A name that
# ends like a credential's is left out: it chooses an account and no program.
_STEERING = r"""(?xi)
    (?!(?:.*_)?(?:TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY)$)
    (?:
        (?:  # loaders, and libraries that load modules
            LD_ | DYLD_ | _RLD | LDR_ | GCONV_ | GIO_ | GI_ | GTK | QT_ | GST_ | MALLOC_ | OPENSSL_ | P11_
          | PKCS11 | KRB5 | NUMPY_ | NPY_ | OPENBLAS | VK_ | LIBGL | FONTCONFIG_ | DBUS_
            # shells and terminals
          | BASH | ZSH | ZDOTDIR | KSH | FISH_ | PROMPT_ | XDG_ | PSMODULE | INPUTRC | TERMINFO | TERMCAP
            # interpreters and runtimes
          | PYTHON | __PYVENV
          | PERL | RUBY | LUA_ | NODE | DENO_ | BUN_ | TS_NODE | TSX_ | ELECTRON_ | PHP | JAVA
          | _JAVA | JDK_ | JRE_ | CLASSPATH | DOTNET_ | CORECLR_ | COR_ | COMPLUS_ | MONO_ | R_ | JULIA_
          | ERL_ | ELIXIR_ | TCL | GUILE_ | RACKET | PLT | SBCL_ | OCAML | CAML | GHC | SWIFT | DART_ | NIM_
          | CRYSTAL_
            # compilers and build tools
          | RUST | CARGO | GO[A-Z]*$ | CGO_ | CC | CXX | CPP | MAKE | CMAKE | PKG_CONFIG | SCCACHE | BAZEL
          | ZIG_ | GCC_ | LLVM_ | MAVEN | MVN | M2_ | GRADLE | ANT_ | SBT_ | KOTLIN_ | SCALA_ | GROOVY_
          | LEIN_ | CLJ | JBANG | MSBUILD | NUGET
            # package and version managers
          | NPM_CONFIG | PNPM_ | YARN_ | COREPACK | NVM_ | VOLTA_ | FNM_ | PIP_ | PIPX_ | PIPENV_ | UV_
          | POETRY_ | PDM_ | HATCH_ | CONDA | MAMBA_ | VIRTUAL_ENV | PYENV | PIXI_ | GEM_ | BUNDLE | RBENV
          | RVM | COMPOSER | CABAL | STACK_ | OPAM | MIX_ | HEX_ | REBAR | PUB_ | FLUTTER_ | HOMEBREW | NIX_
          | ASDF | MISE_ | DIRENV
            # version control, containers, clusters and provisioning
          | GIT_ | SSH_ | GNUPG | GPG_ | HG | SVN_ | RSYNC_ | HUSKY | LEFTHOOK | PRE_COMMIT | DOCKER
          | BUILDKIT | COMPOSE_ | PODMAN | CONTAINER | BUILDAH_ | KUBE | HELM | TF_ | TERRAFORM | ANSIBLE_
          | VAGRANT_ | PULUMI_ | CLOUDSDK_
            # editors, pagers and browsers
          | EDITOR | VISUAL | PAGER | MANPAGER | LESS | BROWSER | VIM | EMACS | EXINIT | PUPPETEER_
          | PLAYWRIGHT_ | CHROME_ | SELENIUM_
            # certificates, name resolution and clients' own files
          | SSL | TLS_ | CURL_ | WGETRC | HOSTALIASES | RES_OPTIONS | LOCALDOMAIN | PSQL | PGSERVICE
          | PGSYSCONF | REMIT_ | CLAUDE_
        ).*
      | .*(?:PATH|PATHS|HOME|PROXY|OPTS|OPTIONS|FLAGS|PRELOAD)
      | (?:.*_)?(?:
            DIR | ROOT | RC | INIT | CONF | CONFIG | CONFIG_FILE | OPTION | OPT | ARG | ARGS | ARGV | LOADER
          | REQUIRE | IMPORT | MODULE | MODULES | PLUGIN | PLUGINS | EXTENSION | EXTENSIONS | HOOK | HOOKS
          | WRAPPER | LAUNCHER | RUNNER | INTERPRETER | SHELL | COMMAND | COMMANDS | CMD | EXEC | EXE
          | EXECUTABLE | BIN | BINARY | PROGRAM | SCRIPT | TOOLCHAIN | EDITOR | PAGER | BROWSER | ASKPASS
          | HELPER | REGISTRY | REGISTRIES | INDEX_URL | REPO | REPOSITORY | MIRROR | CA_BUNDLE | CA_CERT
          | CA_CERTS | CA_FILE | CERT_FILE | SOCK | SOCKET | BREAKPOINT | DEBUGGER
        )
      | ENV | IFS | PS4 | PATHEXT | COMSPEC | HOMEDRIVE | USERPROFILE | ALLUSERSPROFILE | APPDATA
      | LOCALAPPDATA | PROGRAMDATA | PROGRAMFILES | SYSTEMROOT | SYSTEMDRIVE | WINDIR | TMPDIR | TMP | TEMP
      | PWD | OLDPWD
    )
"""


def steers_code(variable: str) -> bool:
    """Return whether this environment variable can change which code a server runs, or whom it talks to."""
    return re.fullmatch(_STEERING, variable) is not None  # compiled on first use


_ADDRESS = r"""(?xi)
    (?:.*_)?(?:BASE|URLS?|URIS?|HOSTS?|HOSTNAME|ENDPOINTS?|DOMAIN|ADDR|ADDRESS|SERVERS?|PORT|ORIGIN|DSN)
"""


def names_an_address(variable: str) -> bool:
    """Return whether this environment variable seems to name the host that a server talks to."""
    return re.fullmatch(_ADDRESS, variable) is not None


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
    """Replace renewable values of variables and headers with None."""
    return sorted((name, None if is_renewable(name, value) else value) for name, value in values.items())


def is_renewable(name: str, value: str) -> bool:
    """Return whether a value is a credential, which may be rotated without asking the user again.

    Neither a path, an address, a command nor a reference is one, whatever its variable is called.
    """
    return names_a_secret(name) and not steers_code(name) and is_credential(value, name)
