"""Team: the projects, the servers and the rules that the projects of a team share."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from remit.cli.output.json_output import Shape, asked_for
from remit.scanning.team_servers import team_launch
from remit.web.page_model import PageAnswer, PageRequest, PageSources, Values

if TYPE_CHECKING:
    from remit.decision.projects import Project, Workspace
    from remit.store.postgres.team_store import StoredTeam


class _SharedServer(NamedTuple):
    """A server of a team, and what it runs; variables stand for secrets."""

    name: str
    runs: str


class _Team(NamedTuple):
    """A team, as far as a person may see it."""

    name: str
    projects: list[Project]
    servers: list[_SharedServer]
    rules: str


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """Show the team of this project, as `remit team list`, `server list` and `policy show` do."""
    context = asked.options.context(sources.registry)
    team = _team(sources, context.workspace, asked)

    def values() -> Values:
        return {"team": team}

    def shape() -> Shape:
        found = None
        if team is not None:
            projects = [each.short_name for each in team.projects]
            servers = {each.name: each.runs for each in team.servers}
            found = {"name": team.name, "projects": projects, "servers": servers, "rules": team.rules}
        return {**asked_for(context), "team": found}

    return PageAnswer("team.html", shape, values)


def _team(sources: PageSources, workspace: Workspace, asked: PageRequest) -> _Team | None:
    """Find the team of a project; other projects of it are listed if the person has a role in them."""
    if workspace.team is None or sources.team is None or asked.viewer is None:
        return None
    reaches = asked.viewer.reaches
    with closing(sources.team.teams()) as teams:
        found: StoredTeam | None = next((each for each in teams.all() if each.owner == workspace.team), None)
        if found is None:
            return None
        rules = teams.stored_policy(found)
    servers = [_SharedServer(name, _runs(name, entry)) for name, entry in found.servers.items()]
    return _Team(found.name, [each for each in found.projects if reaches(each)], servers, rules)


def _runs(name: str, entry: str) -> str:
    launch = team_launch(name, entry)
    return launch.url or " ".join((launch.command, *launch.args))
