"""`remit login` and `remit logout`: OAuth of remote servers."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_login
from remit.cli import render
from remit.cli.options import NOTHING_DONE, WorkspaceOptions, for_a_workspace, known_names

if TYPE_CHECKING:
    from remit.upstream.upstream_model import Upstream


@click.command()
@click.argument("server", shell_complete=known_names)
@for_a_workspace
@click.option(
    "--client-id",
    metavar="ID",
    help="The client ID at the server; default: register automatically.",
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
def login(
    *,
    server: str,
    options: WorkspaceOptions,
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
    secret = None
    if secret_variable is not None:
        secret = os.environ.get(secret_variable)
        if client_id is None or not secret:
            raise click.UsageError(f"pass --client-id, and set {secret_variable}")
    upstream = _find(server, options)
    open_login().sign_in(
        upstream,
        client_id=client_id,
        client_secret=secret,
        port=port or 0,
        scope=scope,
        on_url=_show,
        open_browser=_open if not no_browser else lambda _: None,
    )
    _tell(upstream, "signed in to", as_json=as_json, is_signed_in=True)


@click.command()
@click.argument("server", shell_complete=known_names)
@for_a_workspace
def logout(*, server: str, options: WorkspaceOptions, as_json: bool) -> None:
    """Sign out of a remote server."""
    upstream = _find(server, options)
    was_kept = open_login().sign_out(upstream)
    _tell(upstream, "signed out of" if was_kept else "not signed in to", as_json=as_json, is_signed_in=False)
    if not was_kept:
        sys.exit(NOTHING_DONE)


def _find(server: str, options: WorkspaceOptions) -> Upstream:
    with open_registry() as registry:
        return registry.servers.find(server, options.context(registry))


def _show(url: str) -> None:
    sys.stderr.write(f"If no browser opens, sign in here:\n{render.printable(url)}\n")
    sys.stderr.flush()


def _open(url: str) -> None:
    if url.startswith(("https://", "http://")):  # the server supplies it, and browsers open other schemes too
        webbrowser.open(url)


def _tell(upstream: Upstream, what: str, *, as_json: bool, is_signed_in: bool) -> None:
    if as_json:
        render.data({"server": upstream.label, "signed_in": is_signed_in})
    else:
        render.out(f"{what} {render.printable(upstream.label)}")
