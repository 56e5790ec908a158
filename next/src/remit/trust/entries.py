"""What a server's entry runs or reaches, in lines that people read and trust."""

import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from remit.config import ServerOptions
from remit.decision import Context, Declaration, Kind, Launch, Resolved, needs_trust
from remit.secrets import hidden, is_credential, names_a_secret, redact, secrets_in, words_of
from remit.store import Store, TrustedEntry
from remit.text import make_visible
from remit.trust.permit import trusted_digest
from remit.trust.pins import line_diff

_UNSHOWN = "a hidden part changed"


class Options(Protocol):
    """How the configuration runs a server: `Configuration.options`."""

    def __call__(self, server: str, plugin: str | None, *, is_projects: bool) -> ServerOptions: ...


class ServerTrust(NamedTuple):
    """A server that needs trust: its entry as just read, and the one that was trusted last."""

    declaration: Declaration  # without a launch if its file cannot be read
    trusted: TrustedEntry | None
    options: ServerOptions = ServerOptions()

    @property
    def is_trusted(self) -> bool:
        """Whether the entry is trusted as it is now."""
        return self.trusted is not None and self.trusted.digest == self.digest

    @property
    def digest(self) -> str | None:
        """What trust in it covers."""
        return trusted_digest(self.declaration.digest, self.options)

    @property
    def is_changed(self) -> bool:
        """Whether the entry changed after it was trusted."""
        return self.trusted is not None and not self.is_trusted

    @property
    def lines(self) -> list[str]:
        """What the entry runs or reaches now; nothing if its file cannot be read."""
        if self.declaration.launch is None:
            return []
        sandbox = self.options.projects_sandbox
        return [
            *entry_lines(self.declaration.launch),
            *([make_visible(f"sandbox {sandbox}")] if sandbox else []),
        ]

    @property
    def changes(self) -> list[str]:
        """What changed after it was trusted: removed lines with `-`, added ones with `+`."""
        if self.trusted is None or self.is_trusted or self.declaration.launch is None:
            return []
        return line_diff(self.trusted.entry.splitlines(), self.lines) or [_UNSHOWN]


def servers(
    store: Store, resolved: Iterable[Resolved], context: Context, options: Options
) -> list[ServerTrust]:
    """List the servers among just read declarations that come from the project, so they need trust."""
    entries = store.trust.entries(context.workspace)
    return [
        ServerTrust(
            declaration,
            entries.get(declaration.key),
            options(declaration.server or "", declaration.plugin, is_projects=True),
        )
        for declaration, _ in resolved
        if declaration.kind is Kind.MCP_SERVER
        and needs_trust(declaration.scope, declaration.project_hash, declaration.source, context.workspace)
    ]


def grant(store: Store, items: Iterable[ServerTrust], context: Context, at: int) -> None:
    """Trust servers with the entries that were shown; one that could not be read stays as it is."""
    for item in items:
        key, digest = item.declaration.key, item.digest
        if digest is not None and item.declaration.launch is not None:
            store.trust.grant(key, digest, "\n".join(item.lines), context.workspace, at)


def revoke(store: Store, items: Iterable[ServerTrust], context: Context) -> None:
    """Revoke the trust in servers."""
    for item in items:
        store.trust.revoke(item.declaration.key, context.workspace)


def entry_lines(launch: Launch) -> list[str]:
    """Write everything that an entry starts or reaches, a line for each part, without credentials.

    The same lines are shown, stored and compared. Line breaks and invisible characters are escaped, so an
    entry cannot write a line of its own.
    """
    return [make_visible(line) for line in _parts(launch)]


def _parts(launch: Launch) -> Iterator[str]:
    words = (launch.command, *launch.args)
    if launch.command:
        shown = (prefix + _shown(value, name if prefix else "") for prefix, name, value in words_of(words))
        yield f"runs {shlex.join(shown)}"
    if launch.url:
        yield f"reaches {launch.transport} {_shown(launch.url)}"
    if launch.headers_helper is not None:
        yield f"runs {_shown(launch.headers_helper)} (for its headers)"
    if launch.cwd is not None:
        yield f"in {_shown(launch.cwd)}"
    if launch.registered is not None:
        port = f", port {launch.registered.port}" if launch.registered.port else ""
        yield f"signs in as {_shown(launch.registered.client_id)}{port}"
    run = " ".join((*words, launch.headers_helper or ""))
    for name, value in sorted(launch.env.items()):
        yield f"variable {name}={_shown(value, '' if name in run else name)}"
    for name, value in sorted(launch.headers.items()):
        yield f"header {name}={_shown(value, name)}"
    for name, value in sorted(launch.variables.items()):
        yield f"{name} is {_shown(value)}"


def _shown(value: str, name: str = "") -> str:
    """Hide a credential in its known form, or what may be one in a variable or header called so.

    No name hides what the command could run: a word of its own, or the variable that it mentions.
    """
    if name and names_a_secret(name) and is_credential(value, name):
        return hidden(value)
    return redact(value, secrets_in(value))
