"""The grants of gateway tokens."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Any, cast

from remit.configuration.config_model import Role
from remit.decision.projects import Project
from remit.errors import TokenError
from remit.gateway.access.principals import Membership, Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The grant of one token, which is stored as a hash."""

    name: str
    digest: str
    projects: tuple[Project, ...] = ()  # empty: every project
    agents: tuple[str, ...] = ()  # empty: every agent and the main session
    role: Role = Role.USER
    created_at: int = 0  # Unix milliseconds

    @property
    def principal(self) -> Principal:
        """The principal that its bearer is."""
        membership = Membership(role=self.role, projects=self.projects or None)
        return Principal(name=self.name, memberships=(membership,), agents=self.agents, token=self.digest)


def read_grants(items: object) -> list[Grant]:
    """Read stored grants.

    Raises:
        KeyError: a field is missing.
        TypeError: a value has a wrong type.
        ValueError: a role is unknown.
    """
    return [_grant(item) for item in _list(items)]


def _grant(item: Mapping[str, Any]) -> Grant:
    return Grant(
        name=str(item["name"]),
        digest=str(item["sha256"]),
        projects=tuple(Project(str(each["path"]), str(each["hash"])) for each in _list(item["projects"])),
        agents=tuple(map(str, _list(item["agents"]))),
        role=Role(item["role"]),
        created_at=int(item["created_at"]),
    )


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")  # an empty one would grant everything
    return cast("list[Any]", value)


def name_taken(name: str) -> TokenError:
    """Return the error for a second token of the same name."""
    return TokenError(
        f"a token called `{name}` already exists", hint=f"`remit token revoke {name}` revokes it"
    )


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
