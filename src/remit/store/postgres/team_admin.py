"""Changes teams: their projects, their servers and their rules, as an administrator of the store."""

import secrets

from remit.decision.projects import TEAM, Project
from remit.errors import TeamError
from remit.store.postgres.team_store import SqlTeams, StoredTeam
from remit.store.sql_store import SqlStore

_ID_BYTES = 8  # as many hexadecimal digits as the hash of a path


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
