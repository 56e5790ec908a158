"""What the bearer of a token may reach of a gateway."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest

from remit.decision.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A token, by its name; of the token itself only the hash is known."""

    name: str
    digest: str
    projects: tuple[Project, ...] = ()  # none: every project
    agents: tuple[str, ...] = ()  # none: every agent, and the main session
    created_at: int = 0  # Unix milliseconds

    def default_project(self, usual: Project) -> Project:
        """Choose the project that its bearer means without saying so: its only one, where it has one."""
        return self.projects[0] if len(self.projects) == 1 else usual

    def reaches(self, project: Project) -> bool:
        """Whether its bearer may reach a project."""
        return not self.projects or project in self.projects

    def reaches_agent(self, agent: str | None) -> bool:
        """Whether its bearer may be this agent."""
        return not self.agents or agent in self.agents

    def agent(self, asked: str | None) -> str | None:
        """Choose the agent that its bearer means: its only one, where the bearer did not say."""
        return self.agents[0] if asked is None and len(self.agents) == 1 else asked


def digest(token: str) -> str:
    """Make of a token what may be stored of it: tokens are random, and so need no salt."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_grant(token: str, grants: Iterable[Grant]) -> Grant | None:
    """Find whose token this is; how long that takes says nothing about any token."""
    made = digest(token)
    found = None
    for grant in grants:
        if compare_digest(grant.digest, made):
            found = grant
    return found
