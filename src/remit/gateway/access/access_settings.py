"""Who may use a gateway: settings of the machine's configuration, with their projects found."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remit.configuration.config_model import ANY_PROJECT, UNLIMITED, AccessRule, CallLimits, IdentityProvider
from remit.decision.projects import Project, called
from remit.gateway.access.principals import Membership, Principal

PREFIX = "oidc:"  # no token has a colon in its name, so nobody can take the name of another


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """The identity provider, the roles of its people, and the limits of all callers."""

    identity: IdentityProvider | None = None
    memberships: tuple[tuple[AccessRule, Membership], ...] = ()
    unknown: tuple[str, ...] = ()  # projects of rules that are not known
    limits: CallLimits = UNLIMITED
    is_complete: bool = True  # False: a file was never valid, so what it requires is unknown

    @property
    def wants_credentials(self) -> bool:
        """Whether callers must prove who they are."""
        return self.identity is not None or not self.is_complete

    def principal(self, identity: IdentityProvider, name: str, groups: Sequence[str]) -> Principal:
        """Return the principal of a checked access token, with the roles that the rules give it."""
        held = (
            membership
            for rule, membership in self.memberships
            if rule.principal == name or (rule.group is not None and rule.group in groups)
        )
        return Principal(
            name=f"{PREFIX}{name}", issuer=identity.issuer, groups=tuple(groups), memberships=tuple(held)
        )


def with_projects(
    rules: Iterable[AccessRule], projects: Sequence[Project]
) -> tuple[tuple[AccessRule, Membership], ...]:
    """Find the projects that rules name; one that is not known is left out until it is."""
    return tuple((rule, Membership(role=rule.role, projects=_projects(rule, projects))) for rule in rules)


def unknown_projects(rules: Iterable[AccessRule], projects: Sequence[Project]) -> tuple[str, ...]:
    """List the projects of rules that are not known."""
    named = dict.fromkeys(name for rule in rules for name in rule.projects if name != ANY_PROJECT)
    return tuple(name for name in named if find_project(name, projects) is None)


def find_project(name: str, projects: Iterable[Project]) -> Project | None:
    """Find a project by its path, its hash or its name in URLs."""
    path = os.path.expanduser(name)
    known = list(projects)
    return next((each for each in known if each.path == path), None) or called(name, known)


def _projects(rule: AccessRule, projects: Sequence[Project]) -> tuple[Project, ...] | None:
    if ANY_PROJECT in rule.projects:
        return None
    found = (find_project(name, projects) for name in rule.projects)
    return tuple(dict.fromkeys(each for each in found if each is not None))
