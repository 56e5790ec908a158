"""The rules of a team in the shared store, as a page edits them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from remit.configuration.checks.team_policy import policy_problems
from remit.configuration.file_paths import SHARED
from remit.decision.projects import TEAM
from remit.errors import PolicyError, StoreRightsError, TeamError

if TYPE_CHECKING:
    from remit.decision.projects import Workspace
    from remit.store.postgres.team_store import SqlTeamAdmin, SqlTeams, StoredTeam


class TeamRules:
    """The rules of the team of a project, as last read."""

    def __init__(
        self,
        open_teams: Callable[[], SqlTeams],
        open_admin: Callable[[], SqlTeamAdmin],
        workspace: Workspace,
    ) -> None:
        self._open_admin = open_admin
        self._workspace = workspace
        with closing(open_teams()) as teams:
            team = self._find(teams)
            self.path = f"{team.owner.path}/{SHARED}"
            self._found = teams.stored_policy(team)

    @property
    def text(self) -> str:
        """The rules, as TOML; empty: none."""
        return self._found

    def write(self, text: str) -> None:
        """Replace the rules; an empty text removes them.

        Raises:
            PolicyError: the text has mistakes, someone else changed the rules meanwhile, or this gateway may
                not change them.
            StoreError: the store cannot be used.
        """
        problems = policy_problems(self.path, text)
        if problems:
            raise PolicyError(problems[0].reason, hint="correct the draft first")
        try:
            opened = self._open_admin()
        except StoreRightsError as error:
            name = self.path.removeprefix(TEAM).partition("/")[0]
            raise PolicyError(
                "gateways of this store cannot change the rules of teams",
                hint=f"an administrator can, with `remit team policy set {name} FILE`",
            ) from error
        with closing(opened) as teams:
            team = self._find(teams)
            if teams.stored_policy(team) != self._found:
                raise PolicyError(f"`{self.path}` was changed meanwhile", hint="start a new draft")
            teams.set_policy(text if text.strip() else "", team)

    def _find(self, teams: SqlTeams) -> StoredTeam:
        found = next((each for each in teams.all() if each.owner == self._workspace.team), None)
        if found is None:
            raise TeamError("this project belongs to no team")
        return found
