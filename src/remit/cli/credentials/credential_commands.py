"""`remit credential`: the credentials that users of the gateway have for servers."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_credentials, open_key_file
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import JSON, NOTHING_DONE, WorkspaceOptions, for_a_workspace, known_names
from remit.text.times import day

if TYPE_CHECKING:
    from remit.cli.output.json_output import Shape
    from remit.upstream.principal_credentials.credential_model import SealedCredential

_LONGEST_NAME = 512
_FOR = click.option(
    "--for",
    "principal",
    metavar="PRINCIPAL",
    required=True,
    help="Whose credential: the name of a token, or of a user as the identity provider gives it.",
)


@click.group()
def credential() -> None:
    """Manage the credentials of gateway users for servers.

    A server with `credentials = "principal"` in its rules is only used with the credential of its caller.
    Credentials are encrypted before they are stored, and never shown.
    """


@credential.command("set")
@click.argument("server", shell_complete=known_names)
@_FOR
@for_a_workspace
def set_credential(*, server: str, principal: str, options: WorkspaceOptions, as_json: bool) -> None:
    """Store a credential, read from stdin.

    It replaces an earlier one, and only works for the server's current address or command.
    """
    require_person("set a credential")
    if not principal.isprintable() or len(principal) > _LONGEST_NAME:
        raise click.UsageError("the name of the principal is not printable, or too long")
    with open_registry() as registry:
        upstream = registry.servers.find(server, options.context(registry))
    if sys.stdin.isatty():
        value = str(click.prompt("Credential", hide_input=True, err=True))
    else:
        value = sys.stdin.read(1 << 20)
    with closing(open_credentials()) as credentials:
        credentials.set(upstream, principal, value.strip(), time.time_ns() // 1_000_000)
    if as_json:
        render.data({"server": upstream.label, "principal": principal})
    else:
        render.out(
            f"set the credential of {render.printable(principal)} for {render.printable(upstream.label)}"
        )
    if not upstream.is_per_principal:
        sys.stderr.write(
            f"note: not used yet: `{render.printable(upstream.label)}` runs with this machine's credentials\n"
            f'hint: set `credentials = "principal"` for it in your configuration\n'
        )


@credential.command("list")
@JSON
def list_credentials(*, as_json: bool) -> None:
    """List who has a credential for which server, without values."""
    with closing(open_credentials()) as credentials:
        found = credentials.all()
    if as_json:
        render.data({"credentials": [_shape(each) for each in found]})
    elif found:
        render.table("", ("principal", "server", "project", "key", "set"), [_cells(each) for each in found])
    else:
        render.out("No credentials.")


@credential.command("remove")
@click.argument("server", required=False)
@_FOR
def remove_credential(server: str | None, *, principal: str) -> None:
    """Remove the credential for a server, or all of a principal.

    The gateway closes the principal's connections to the server at the next call.
    """
    require_person("remove a credential")
    with closing(open_credentials()) as credentials:
        removed = credentials.remove(principal, server)
    if not removed:
        sys.stderr.write(f"error: {render.printable(principal)} has no such credential\n")
        sys.exit(NOTHING_DONE)
    render.out(f"removed: {removed}")


@credential.command("new-key")
def new_key() -> None:
    """Create a key, and use it for new credentials.

    Adds it as the first line of the file that `store_key_file` names. Copy the file to all nodes, then run
    `remit credential rekey`. Older keys stay in the file until you delete their lines.
    """
    require_person("create a key")
    render.out(f"created key {open_key_file().add()}")


@credential.command("rekey")
def rekey() -> None:
    """Encrypt all credentials with the newest key."""
    require_person("re-encrypt credentials")
    with closing(open_credentials()) as credentials:
        render.out(f"re-encrypted: {credentials.rekey()}")


def _shape(each: SealedCredential) -> Shape:
    place = each.place
    return {
        "principal": place.principal,
        "server": place.server,
        "project": place.project,
        "key": each.key_id,
        "created_at": each.created_at,
    }


def _cells(each: SealedCredential) -> tuple[str, str, str, str, str]:
    return (
        each.place.principal,
        each.place.server,
        each.place.project or "all",
        each.key_id,
        day(each.created_at),
    )
