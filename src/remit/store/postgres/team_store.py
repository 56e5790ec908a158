"""Reads and changes teams: their projects, their servers and their rules."""

import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision.projects import TEAM, Project, Workspace, team_workspace
from remit.errors import TeamError, UnknownProjectError
from remit.store.database import Row
from remit.store.postgres.postgres_database import PostgresDatabase
from remit.store.sql_store import SqlStore
from remit.text.spelling import did_you_mean

_ID_BYTES = 8  # as many hexadecimal digits as the hash of a path


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


class SqlTeamAdmin(SqlTeams):
    """The teams in a shared store, on a connection with the role `remit_admin`."""

    def add(self, name: str, at: int) -> Project:
        """Create a team.

        Raises:
            TeamError: the name is taken.
        """
        made = Project(TEAM + name, secrets.token_hex(_ID_BYTES))
        with self.database.transaction():
            if self.database.rows("team_by_name", name=name):
                raise TeamError(f"a team `{name}` already exists")
            self.database.run("add_owner", **made._asdict(), at=at)
            self.database.rows("add_team", id=made.hash, name=name, at=at)
        return made

    def add_project(self, name: str, team: StoredTeam, at: int) -> Project:
        """Create a project of a team.

        Raises:
            TeamError: the name is taken, by any team.
        """
        made = Project(f"{team.owner.path}/{name}", secrets.token_hex(_ID_BYTES))
        with self.database.transaction():
            taken = {each.project.short_name: each for each in self.workspaces().values()}
            if name in taken:
                raise TeamError(
                    f"`{taken[name].project.path}` already has this name",
                    hint="names of projects are part of URLs, so all teams share them",
                )
            self.database.run("add_owner", **made._asdict(), at=at)
            self.database.rows("add_team_project", hash=made.hash, id=team.owner.hash, name=name, at=at)
        return made

    def put_server(self, name: str, entry: str, team: StoredTeam, at: int) -> None:
        """Add a server to a team, or replace its entry."""
        self.database.run("put_team_server", id=team.owner.hash, name=name, entry=entry, at=at)

    def remove_server(self, name: str, team: StoredTeam) -> bool:
        """Remove a server; False if the team has none of this name."""
        return bool(self.database.rows("remove_team_server", id=team.owner.hash, name=name))

    def set_policy(self, text: str, team: StoredTeam) -> None:
        """Replace the rules of a team."""
        self.database.run("set_team_policy", id=team.owner.hash, policy=text)

    def remove(self, team: StoredTeam) -> None:
        """Remove a team, its projects, and everything stored about them."""
        with self.database.transaction():
            for project in team.projects:
                self.remove_project(project)
            self.database.run("remove_team", hash=team.owner.hash)
            SqlStore(self.database).forget(team.owner)

    def remove_project(self, project: Project) -> None:
        """Remove a project of a team, and everything stored about it."""
        with self.database.transaction():
            self.database.run("remove_team_project", hash=project.hash)
            SqlStore(self.database).forget(project)
