"""Principals: who calls a gateway, and the role that each has in a project."""

from dataclasses import dataclass, field

from remit.configuration.config_model import Role
from remit.decision.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A role in some projects."""

    role: Role
    projects: tuple[Project, ...] | None = None  # None: every project

    def reaches(self, project: Project) -> bool:
        """Check whether it includes a project."""
        return self.projects is None or project in self.projects


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller that has proved who it is."""

    name: str  # unique: a token's name, or `oidc:` with the name that the issuer gave
    issuer: str | None = None  # None: known by a token of Remit's own
    groups: tuple[str, ...] = ()  # as the issuer says
    memberships: tuple[Membership, ...] = ()  # none: no project
    agents: tuple[str, ...] = ()  # empty: every agent and the main session
    token: str | None = field(default=None, compare=False, repr=False)  # hash of a token of Remit's own
    valid_until: float | None = field(default=None, compare=False)  # Unix seconds, of an access token

    @property
    def projects(self) -> tuple[Project, ...] | None:
        """The projects in which it has a role; None: every project."""
        found: dict[Project, None] = {}
        for membership in self.memberships:
            if membership.projects is None:
                return None
            found.update(dict.fromkeys(membership.projects))
        return tuple(found)

    @property
    def is_unbound(self) -> bool:
        """Whether it has a role in every project, as any agent."""
        return self.projects is None and not self.agents

    def role_in(self, project: Project) -> Role | None:
        """Return its strongest role in a project; None: the project does not exist for it."""
        held = [membership.role for membership in self.memberships if membership.reaches(project)]
        return max(held, key=lambda role: role.rank, default=None)

    def default_project(self, usual: Project) -> Project:
        """Return the project for a URL that names none: its own if it has exactly one."""
        projects = self.projects
        return projects[0] if projects is not None and len(projects) == 1 else usual

    def reaches_agent(self, agent: str | None) -> bool:
        """Check whether it may act as an agent; None: as the main session."""
        return not self.agents or agent in self.agents

    def agent(self, asked: str | None) -> str | None:
        """Return the agent for a URL: its own if the URL names none and it has exactly one."""
        return self.agents[0] if asked is None and len(self.agents) == 1 else asked
