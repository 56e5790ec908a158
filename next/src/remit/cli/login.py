"""`remit login` and `remit logout`: OAuth of remote servers."""

import os
import sys
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_login, open_registry
from remit.cli import render
from remit.cli.options import JSON, NOTHING_DONE, Here, known_names, with_here
from remit.decision import Face, needs_trust, trust_command
from remit.errors import NotFoundError, SignInError
from remit.text import did_you_mean

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.config import ServerOptions
    from remit.decision import Context, Declaration
    from remit.upstream import Upstream


@click.command()
@click.argument("server", shell_complete=known_names)
@with_here
@click.option(
    "--client-id", metavar="ID", help="The client ID at the server; default: register automatically."
)
@click.option(
    "--client-secret-env",
    "secret_variable",
    metavar="VARIABLE",
    help="The environment variable that holds the client secret.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The port for the browser's callback; default: any."
)
@click.option("--scope", metavar="SCOPES", help="Scopes to request in addition to those the server requires.")
@click.option("--no-browser", is_flag=True, help="Print the URL instead of opening a browser.")
@JSON
def login(
    *,
    server: str,
    here: Here,
    client_id: str | None,
    secret_variable: str | None,
    port: int | None,
    scope: str | None,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Sign in to a remote server.

    Opens the server's sign-in page in the browser, and stores the tokens in the system's keyring, or in a
    file that only you can read. The gateway uses them from then on, and renews them automatically.
    """
    from remit.upstream import Registration, sign_in

    secret = None
    if secret_variable is not None:
        secret = os.environ.get(secret_variable)
        if client_id is None or not secret:
            raise click.UsageError(f"pass --client-id, and set {secret_variable}")
    upstream = _find(server, here)
    launcher, tokens = open_login()
    sign_in(
        upstream,
        launcher,
        tokens,
        on_url=lambda url: render.note(["If no browser opens, sign in here:", url]),
        open_browser=(lambda _: None) if no_browser else _open,
        registration=Registration(client_id=client_id, client_secret=secret, port=port or 0, scope=scope),
    )
    _tell(upstream.label, "signed in to", as_json=as_json, is_signed_in=True)


@click.command()
@click.argument("server", shell_complete=known_names)
@with_here
@JSON
def logout(*, server: str, here: Here, as_json: bool) -> None:
    """Sign out of a remote server."""
    from remit.upstream import sign_out

    upstream = _find(server, here)
    was_signed_in = sign_out(upstream, *open_login())
    word = "signed out of" if was_signed_in else "not signed in to"
    _tell(upstream.label, word, as_json=as_json, is_signed_in=False)
    if not was_signed_in:
        sys.exit(NOTHING_DONE)


def _find(name: str, here: Here) -> "Upstream":
    """Find a server that Remit may reach.

    Raises:
        NotFoundError: there is none of this name.
        SignInError: Remit may not reach it.
    """
    with open_registry() as registry:
        context = here.context(registry)._replace(face=Face.GATEWAY)
        declared = [
            item.declaration
            for item in registry.catalog(context).resolved
            if item.declaration.is_called(name) and item.shadowed_by is None
        ]
        if declared:
            return _upstream(declared[0], registry, context)
        labels = [item.declaration.server or "" for item in registry.catalog(context).resolved]
    hint = did_you_mean(name, [*filter(None, labels)]) or "`remit tools` lists the servers"
    raise NotFoundError(f"no server is called `{name}` here", hint=hint)


def _upstream(declaration: "Declaration", registry: "Registry", context: "Context") -> "Upstream":
    from remit.upstream import make_upstreams

    catalog = registry.catalog(context)

    def options(item: "Declaration") -> "ServerOptions":
        is_projects = needs_trust(item.scope, item.project_hash, item.source, context.workspace)
        return catalog.configuration.options(item.server or "", item.plugin, is_projects=is_projects)

    rows = [item for item in registry.tools(context) if item.tool.key == declaration.key]
    trusted = registry.store.trust.entries(context.workspace)
    made = make_upstreams(catalog.resolved, rows, context, options, trusted)
    if declaration.key not in made:
        reason = rows[0].decision.full_reason if rows else "its file cannot be read now"
        hint = trust_command(declaration.server) if rows and rows[0].tool.is_trusted is False else None
        raise SignInError(f"`{declaration.server}`: {reason}", hint=f"run `{hint}`" if hint else None)
    return made[declaration.key]


def _open(url: str) -> None:
    if url.startswith(("https://", "http://")):  # the server supplies it, and browsers open other schemes too
        import webbrowser

        webbrowser.open(url)


def _tell(label: str, what: str, *, as_json: bool, is_signed_in: bool) -> None:
    if as_json:
        render.data({"server": label, "signed_in": is_signed_in})
    else:
        render.out(f"{what} {label}")
