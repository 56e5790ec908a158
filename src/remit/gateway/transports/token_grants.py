"""The grants of gateway tokens, and the port to where they are stored."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Protocol

from remit.decision.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The grant of one token, which is stored as a hash."""

    name: str
    digest: str
    projects: tuple[Project, ...] = ()  # empty: every project
    agents: tuple[str, ...] = ()  # empty: every agent and the main session
    created_at: int = 0  # Unix milliseconds

    @property
    def is_unbound(self) -> bool:
        """Whether it includes every project and every agent."""
        return not self.projects and not self.agents

    def default_project(self, usual: Project) -> Project:
        """Return the project for a URL that names none: the grant's own if it has exactly one."""
        return self.projects[0] if len(self.projects) == 1 else usual

    def reaches(self, project: Project) -> bool:
        """Check whether it includes a project."""
        return not self.projects or project in self.projects

    def reaches_agent(self, agent: str | None) -> bool:
        """Check whether it includes an agent."""
        return not self.agents or agent in self.agents

    def agent(self, asked: str | None) -> str | None:
        """Return the agent for a URL: the grant's own if the URL names none and it has exactly one."""
        return self.agents[0] if asked is None and len(self.agents) == 1 else asked


class Tokens(Protocol):
    """Stores the grants of tokens: in a file, or in the store that several nodes share."""

    def close(self) -> None: ...

    def follow(self) -> None: ...  # changes, until closed

    def grants(self) -> Sequence[Grant]: ...

    def add(self, name: str, *, projects: Sequence[Project], agents: Sequence[str], at: int) -> str: ...

    def revoke(self, name: str) -> bool: ...


def new_token() -> str:
    """Create a token."""
    return f"remit_{secrets.token_urlsafe(32)}"


def digest(token: str) -> str:
    """Hash a token for storage; tokens are random, so they need no salt."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_grant(token: str, grants: Iterable[Grant]) -> Grant | None:
    """Find the grant of a token in constant time."""
    made = digest(token)
    found = None
    for grant in grants:
        if compare_digest(grant.digest, made):
            found = grant
    return found
