"""`remit token`: access tokens of the gateway."""

from __future__ import annotations

import re
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_credentials, open_token_admin, open_tokens
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import JSON, NOTHING_DONE
from remit.configuration.config_model import Role
from remit.text.times import day

if TYPE_CHECKING:
    from remit.cli.output.json_output import Shape
    from remit.gateway.access.token_grants import Grant

_NAME = re.compile(r"[A-Za-z0-9][\w.@-]{0,63}", re.ASCII)


@click.group()
def token() -> None:
    """Manage gateway tokens."""


@token.command("add")
@click.argument("name")
@click.option(
    "--project",
    "projects",
    metavar="DIR_OR_NAME",
    multiple=True,
    help="Limit the token to this project, a directory or the name of a team's project; may be repeated. "
    "Default: every project.",
)
@click.option(
    "--agent",
    "agents",
    metavar="NAME",
    multiple=True,
    help="Limit the token to this agent; may be repeated. Default: any agent, and the main session.",
)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.USER.value,
    show_default=True,
    help="What its bearer may do in these projects: list (reader), call (user), approve, or change policy.",
)
def add_token(name: str, *, projects: tuple[str, ...], agents: tuple[str, ...], role: str) -> None:
    """Create a token and print it, once.

    Once a token exists, `remit serve --http` requires one from every client. Only its hash is stored.
    """
    require_person("create a token")
    if not _NAME.fullmatch(name):
        raise click.UsageError("a token name may have up to 64 letters, digits and . _ @ -")
    with open_registry() as registry:
        found = dict.fromkeys(registry.projects.named(each) for each in projects)
    with closing(open_token_admin()) as tokens:
        at = time.time_ns() // 1_000_000
        made = tokens.add(name, projects=[*found], agents=agents, role=Role(role), at=at)
    render.out(made)


@token.command("list")
@JSON
def list_tokens(*, as_json: bool) -> None:
    """List the tokens and what each may reach."""
    with closing(open_tokens()) as tokens:
        grants = tokens.grants()
    if as_json:
        render.data({"tokens": [_shape(grant) for grant in grants]})
    elif grants:
        render.table("", ("token", "role", "projects", "agents", "made"), [_cells(grant) for grant in grants])
    else:
        render.out(
            "No tokens: without an identity provider, a gateway started now accepts everyone on this machine."
        )


@token.command("revoke")
@click.argument("name")
def revoke_token(name: str) -> None:
    """Revoke a token, starting now."""
    require_person("revoke a token")
    with closing(open_token_admin()) as tokens:
        is_revoked = tokens.revoke(name)
    if not is_revoked:
        sys.stderr.write(f"error: there is no token `{render.printable(name)}`\n")
        sys.exit(NOTHING_DONE)
    with closing(open_credentials()) as credentials:  # the next token of this name may be someone else's
        removed = credentials.remove(name)
    render.out(f"revoked {render.printable(name)}")
    if removed:
        render.out(f"removed its credentials for servers: {removed}")


def _shape(grant: Grant) -> Shape:
    return {
        "name": grant.name,
        "projects": [project._asdict() for project in grant.projects],
        "agents": [*grant.agents],
        "role": grant.role,
        "created_at": grant.created_at,
    }


def _cells(grant: Grant) -> tuple[str, ...]:
    projects = ", ".join(project.path for project in grant.projects) or "all"
    return grant.name, grant.role, projects, ", ".join(grant.agents) or "all", day(grant.created_at)
