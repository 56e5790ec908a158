"""Reads teams: their projects, their servers and their rules."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision.projects import TEAM, Project, Workspace, team_workspace
from remit.errors import TeamError, UnknownProjectError
from remit.store.database import Row
from remit.store.postgres.postgres_database import PostgresDatabase
from remit.text.spelling import did_you_mean


class StoredTeam(NamedTuple):
    """A team with its projects and its servers."""

    name: str
    owner: Project  # of what its projects share
    projects: Sequence[Project]
    servers: Mapping[str, str]  # entries as JSON, by name
    has_policy: bool


class SqlTeams:
    """The teams in a shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database
        self._workspaces: tuple[int, Mapping[str, Workspace]] | None = None  # with their revision
        self._shared: dict[tuple[str, Workspace], tuple[int, list[Row]]] = {}  # by query, with their revision

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def locate(self, name: str) -> Workspace:
        """Find the workspace of a team's project by its name, or by its path `team:TEAM/NAME`.

        Raises:
            UnknownProjectError: there is no such project.
        """
        known = self.workspaces()
        for path, workspace in known.items():
            if name in (path, workspace.project.short_name):
                return workspace
        shown = name.partition("/")[2] or name.removeprefix(TEAM)
        names = [workspace.project.short_name for workspace in known.values()]
        raise UnknownProjectError(
            f"no team has a project `{shown}`",
            hint=did_you_mean(shown, names) or "`remit team list` lists the projects of teams",
        )

    def workspaces(self) -> Mapping[str, Workspace]:
        """Map the paths of all projects of teams to their workspaces."""
        revision = self.database.revision_of("teams")
        if self._workspaces is None or self._workspaces[0] != revision:
            rows = self.database.rows("all_team_projects")
            found = [_workspace(*row) for row in rows]
            self._workspaces = revision, {each.project.path: each for each in found}
        return self._workspaces[1]

    def servers(self, workspace: Workspace) -> Mapping[str, str]:
        """Return the entries of the team's servers, by name."""
        return dict(self._of_team("servers_of_team", workspace))

    def policy(self, workspace: Workspace) -> str:
        """Return the rules of the team; empty: none."""
        found = self._of_team("policy_of_team", workspace)
        return found[0][0] if found else ""

    def all(self) -> list[StoredTeam]:
        """List the teams."""
        projects = [(each.team, each.project) for each in self.workspaces().values()]
        teams: list[StoredTeam] = []
        for name, id, has_policy in self.database.rows("all_teams"):
            owner = Project(TEAM + name, id)
            own = [project for team, project in projects if team == owner]
            servers = dict(self.database.rows("all_team_servers", id=id))
            teams.append(StoredTeam(name, owner, own, servers, has_policy))
        return teams

    def find(self, name: str) -> StoredTeam:
        """Find a team by its name.

        Raises:
            TeamError: there is no such team.
        """
        teams = {team.name: team for team in self.all()}
        if name not in teams:
            hint = did_you_mean(name, teams) or "`remit team list` lists the teams"
            raise TeamError(f"there is no team `{name}`", hint=hint)
        return teams[name]

    def stored_policy(self, team: StoredTeam) -> str:
        """Return the rules of any team."""
        return self.database.rows("team_by_name", name=team.name)[0][2]

    def _of_team(self, query: str, workspace: Workspace) -> list[Row]:
        """Read what a team shares, again only when a team changed."""
        team, revision = workspace.team, self.database.revision_of("teams")
        known = self._shared.get((query, workspace))
        if known is None or known[0] != revision:
            id = "" if team is None else team.hash
            rows = self.database.rows(query, team=id, project=workspace.project.hash)
            known = self._shared[query, workspace] = revision, rows
        return known[1]


def _workspace(name: str, hash: str, team: str, team_id: str) -> Workspace:
    return team_workspace(Project(f"{TEAM}{team}/{name}", hash), Project(TEAM + team, team_id))
