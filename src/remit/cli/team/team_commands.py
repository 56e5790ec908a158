"""`remit team`: the teams of a shared store, with their projects, servers and rules."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from remit.bootstrap import find_store, now, open_team_admin, open_teams
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import ERRORS_FOUND, JSON, YES, confirm
from remit.cli.team.team_server_commands import server
from remit.configuration.checks.team_policy import policy_problems
from remit.errors import NoSuchFileError, TeamError
from remit.files.bounded_reader import ANYWHERE, FileError, read_text

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


team.add_command(server)


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
