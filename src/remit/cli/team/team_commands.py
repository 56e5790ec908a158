"""`remit team`: the teams of a shared store, with their projects, servers and rules."""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from remit.bootstrap import find_store, now, open_team_admin, open_teams
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import ERRORS_FOUND, JSON, NOTHING_DONE, YES, confirm
from remit.clients.parsing.entry_fields import EntryError
from remit.configuration.checks.team_policy import policy_problems
from remit.errors import NoSuchFileError, TeamError
from remit.files.bounded_reader import ANYWHERE, FileError, read_text
from remit.scanning.team_servers import team_launch
from remit.text.secrets import is_secret, names_a_secret
from remit.upstream.launch.start_obstacles import launch_values

if TYPE_CHECKING:
    from remit.cli.output.json_output import Shape
    from remit.store.postgres.team_store import StoredTeam

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_RESERVED = ("remit.toml",)  # ends the path of a team's rules
_MAX_POLICY = 2**20  # bytes


def _name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value) or value in _RESERVED:
        raise click.BadParameter("use up to 64 lowercase letters, digits and . _ -")
    return value


@click.group()
def team() -> None:
    """Manage teams: their projects, servers and rules.

    Teams need a shared store in PostgreSQL. A team's project has an id instead of a directory, and every
    gateway on the store serves it at /p/NAME/mcp.
    """


@team.command("add")
@click.argument("name", callback=_name)
def add_team(name: str) -> None:
    """Create a team."""
    require_person("create a team")
    with closing(open_team_admin()) as teams:
        made = teams.add(name, now())
    render.out(f"created {made.path} ({made.hash})")


@team.command("list")
@JSON
def list_teams(*, as_json: bool) -> None:
    """List the teams with their projects and servers."""
    with closing(open_teams(find_store().place)) as teams:
        found = teams.all()
    if as_json:
        render.data({"teams": [_shape(each) for each in found]})
    elif found:
        render.table("", ("team", "projects", "servers", "rules"), [_cells(each) for each in found])
    else:
        render.out("No teams.")


@team.command("remove")
@click.argument("name")
@YES
def remove_team(name: str, *, yes: bool) -> None:
    """Delete a team, its projects, and everything stored about them."""
    require_person("remove a team")
    with closing(open_team_admin()) as teams:
        found = teams.find(name)
        count = len(found.projects)
        confirm(f"Delete {found.owner.path} and everything stored about its {count} projects?", yes=yes)
        teams.remove(found)
    render.out(f"removed {found.owner.path}")


@team.group("project")
def project() -> None:
    """Manage the projects of teams."""


@project.command("add")
@click.argument("team_name", metavar="TEAM")
@click.argument("name", callback=_name)
def add_project(team_name: str, name: str) -> None:
    """Create a project of a team.

    Gateways serve it at /p/NAME/mcp. `remit token add TOKEN --project NAME` gives access to it.
    """
    require_person("create a project")
    with closing(open_team_admin()) as teams:
        made = teams.add_project(name, teams.find(team_name), now())
    render.out(f"created {made.path} ({made.hash}), served at /p/{name}/mcp")


@project.command("remove")
@click.argument("name")
@YES
def remove_project(name: str, *, yes: bool) -> None:
    """Delete a project of a team, and everything stored about it."""
    require_person("remove a project")
    with closing(open_team_admin()) as teams:
        found = teams.locate(name).project
        confirm(f"Delete {found.path} and everything stored about it?", yes=yes)
        teams.remove_project(found)
    render.out(f"removed {found.path}")


_SERVER_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_REFERENCE = re.compile(r"(?:[A-Za-z]+ +)?\$\{\w+\}", re.ASCII)  # a header may begin with a scheme


@team.group("server")
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
    if not _SERVER_NAME.fullmatch(name):
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


@team.group("policy")
def policy() -> None:
    """Manage the rules of a team."""


@policy.command("set")
@click.argument("team_name", metavar="TEAM")
@click.argument("file")
def set_policy(team_name: str, file: str) -> None:
    """Store a file like remit.toml as the rules of a team.

    They count for all projects of the team, at every gateway, within a second. They are stronger than the
    `remit.toml` of a gateway's user, and weaker than the administrator's. An empty file removes them.
    """
    require_person("change the rules of a team")
    try:
        text = read_text(file, limit=_MAX_POLICY, within=ANYWHERE)
    except FileError as error:
        raise TeamError(f"`{render.printable(file)}`: {error.reason}") from error
    if text is None:
        raise NoSuchFileError(f"there is no file `{render.printable(file)}`")
    with closing(open_team_admin()) as teams:
        found = teams.find(team_name)
        problems = policy_problems(file, text)
        if problems:
            for problem in problems:
                place = f": {problem.place}" if problem.place else ""
                sys.stderr.write(render.printable(f"error: {problem.source}{place}: {problem.reason}") + "\n")
            sys.exit(ERRORS_FOUND)
        teams.set_policy(text if text.strip() else "", found)
    render.out(f"{found.owner.path} has {'new' if text.strip() else 'no'} rules")


@policy.command("show")
@click.argument("team_name", metavar="TEAM")
def show_policy(team_name: str) -> None:
    """Print the rules of a team."""
    with closing(open_teams(find_store().place)) as teams:
        text = teams.stored_policy(teams.find(team_name))
    sys.stdout.write(text if not text or text.endswith("\n") else f"{text}\n")


def _shape(team: StoredTeam) -> Shape:
    return {
        "name": team.name,
        "id": team.owner.hash,
        "projects": [{"name": each.short_name, **each._asdict()} for each in team.projects],
        "servers": [*team.servers],
        "has_policy": team.has_policy,
    }


def _cells(team: StoredTeam) -> tuple[str, str, str, str]:
    projects = ", ".join(each.short_name for each in team.projects) or "none"
    return team.name, projects, ", ".join(team.servers) or "none", "yes" if team.has_policy else "no"
