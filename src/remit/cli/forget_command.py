"""`remit forget`: erases everything stored about a project."""

from contextlib import closing

import click

from remit.bootstrap import find_store, open_registry, open_teams
from remit.bootstrap_gateway import open_credentials
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.onboarding import leftovers
from remit.cli.options import YES, confirm
from remit.decision.projects import TEAM, Project
from remit.errors import TeamError


@click.command()
@click.argument("project")
@YES
def forget(project: str, *, yes: bool) -> None:
    """Delete everything stored about a project.

    PROJECT is a directory in it, or its hash. Asks for confirmation, and lists the files that stay in it. A
    shared store keeps the audit log: only its owner can delete from it (`remit store prune`).
    """
    require_person("delete what is stored, with trust and accepted definitions")
    with open_registry() as registry:
        found = registry.projects.find(project)
        path = render.printable(found.path)
        _require_no_team(found)
        confirm(f"Delete everything Remit stored about {path}?", yes=yes)
        registry.projects.forget(found)
    with closing(open_credentials()) as credentials:
        credentials.forget(found.hash)
    render.out(f"forgot {path}")
    leftovers.show(leftovers.of_projects([found.path]))


def _require_no_team(project: Project) -> None:
    """Refuse a team or its project: only an administrator removes them."""
    if not project.path.startswith(TEAM):
        return
    with closing(open_teams(find_store().place)) as teams:
        known = {each.hash for team in teams.all() for each in (team.owner, *team.projects)}
    if project.hash in known:
        raise TeamError(
            f"{project.path} belongs to a team",
            hint="run `remit team project remove NAME`, or `remit team remove TEAM`",
        )
