"""`remit team`: the teams of a shared store, with their projects, servers and rules."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import click

from remit.bootstrap import find_store, now, open_team_admin, open_teams
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import JSON, confirm
from remit.cli.team.team_policy_commands import policy
from remit.cli.team.team_server_commands import server

if TYPE_CHECKING:
    from remit.cli.output.json_output import Shape
    from remit.store.postgres.team_store import StoredTeam

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_RESERVED = ("remit.toml",)  # ends the path of a team's rules


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
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
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
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def remove_project(name: str, *, yes: bool) -> None:
    """Delete a project of a team, and everything stored about it."""
    require_person("remove a project")
    with closing(open_team_admin()) as teams:
        found = teams.locate(name).project
        confirm(f"Delete {found.path} and everything stored about it?", yes=yes)
        teams.remove_project(found)
    render.out(f"removed {found.path}")


team.add_command(server)
team.add_command(policy)


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
