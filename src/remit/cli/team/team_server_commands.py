"""`remit team server`: the servers that the projects of a team share."""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing

import click

from remit.bootstrap import find_store, now, open_team_admin, open_teams
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import JSON, NOTHING_DONE
from remit.clients.parsing.entry_fields import EntryError
from remit.errors import TeamError
from remit.scanning.team_servers import team_launch
from remit.text.secrets import is_secret, names_a_secret
from remit.upstream.launch.start_obstacles import launch_values

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_REFERENCE = re.compile(r"(?:[A-Za-z]+ +)?\$\{\w+\}", re.ASCII)  # a header may begin with a scheme


@click.group("server")
def server() -> None:
    """Manage the servers that the projects of a team share."""


@server.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("team_name", metavar="TEAM")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND ARGS...]", type=click.UNPROCESSED)
@click.option("--url", metavar="URL", help="The address of a remote server, instead of a command.")
@click.option(
    "--header", "headers", metavar="NAME=VALUE", multiple=True, help="A header for --url; may be repeated."
)
@click.option(
    "--env",
    "variables",
    metavar="NAME=VALUE",
    multiple=True,
    help="A variable of the command; may be repeated.",
)
def add_server(
    team_name: str,
    name: str,
    words: tuple[str, ...],
    *,
    url: str | None,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
) -> None:
    """Add a server to a team, or replace it.

    Every gateway starts COMMAND in the home directory of its user, or connects to the URL. In values,
    `${VARIABLE}` means a variable of the gateway: the store keeps no secrets.
    """
    require_person("add a server to a team")
    if not _NAME.fullmatch(name):
        raise click.UsageError("a server name may have up to 64 letters, digits and . _ -")
    if (url is None) == (not words):
        raise click.UsageError("name either a command after `--`, or a URL with --url")
    if (headers and url is None) or (variables and url is not None):
        raise click.UsageError("--header is for --url, and --env for a command")
    entry: dict[str, object] = (
        {"command": words[0], "args": words[1:], "env": _pairs(variables)}
        if url is None
        else {"type": "http", "url": url, "headers": _pairs(headers)}
    )
    text = json.dumps(entry)
    _check(name, text)
    with closing(open_team_admin()) as teams:
        found = teams.find(team_name)
        teams.put_server(name, text, found, now())
    render.out(f"{found.owner.path} has the server {name}")


@server.command("remove")
@click.argument("team_name", metavar="TEAM")
@click.argument("name")
def remove_server(team_name: str, name: str) -> None:
    """Remove a server from a team."""
    require_person("remove a server from a team")
    with closing(open_team_admin()) as teams:
        found = teams.find(team_name)
        is_removed = teams.remove_server(name, found)
    if not is_removed:
        sys.stderr.write(f"error: {found.owner.path} has no server `{render.printable(name)}`\n")
        sys.exit(NOTHING_DONE)
    render.out(f"removed {render.printable(name)} from {found.owner.path}")


@server.command("list")
@click.argument("team_name", metavar="TEAM")
@JSON
def list_servers(team_name: str, *, as_json: bool) -> None:
    """List the servers of a team."""
    with closing(open_teams(find_store().place)) as teams:
        entries = teams.find(team_name).servers
    if as_json:
        render.data({"servers": {name: json.loads(entry) for name, entry in entries.items()}})
    elif entries:
        render.table("", ("server", "runs"), [(name, _shown(name, entry)) for name, entry in entries.items()])
    else:
        render.out("No servers.")


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if not all(name and sign for name, sign, _ in pairs):
        raise click.UsageError("write a header or variable as NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _check(name: str, entry: str) -> None:
    """Refuse an entry that no gateway could start, or that contains a secret."""
    try:
        launch = team_launch(name, entry)
    except EntryError as error:
        raise TeamError(f"`{name}` is not a valid server: {error}") from error
    if launch.starts_remit:
        raise TeamError(f"`{name}` starts Remit itself, which gateways never do")
    for value in launch_values(launch):
        if is_secret(value.text, value.name) or _is_written_out(value.text, value.name):
            raise TeamError(
                f"`{value.place}` looks like a secret, and the store keeps none",
                hint="write `${VARIABLE}` instead, and set the variable where gateways run",
            )


def _is_written_out(text: str, name: str) -> bool:
    """Tell whether a value whose name promises a secret is more than the name of a variable."""
    return names_a_secret(name) and text != "" and _REFERENCE.fullmatch(text) is None


def _shown(name: str, entry: str) -> str:
    launch = team_launch(name, entry)
    return render.printable(launch.url or " ".join((launch.command, *launch.args)))
