"""The model of who may use a gateway: the identity provider, roles, and limits."""

from typing import NamedTuple

from remit.decision.roles import Role


class SignInClient(NamedTuple):
    """How the pages of a gateway sign people in at the issuer."""

    client_id: str
    public_url: str  # the origin at which browsers reach the gateway
    secret_file: str | None = None
    scopes: tuple[str, ...] = ("openid",)
    audience_parameter: str = "resource"  # what tells the issuer the audience of the token; "none": nothing

    @property
    def is_secure(self) -> bool:
        """Whether browsers come over TLS."""
        return self.public_url.startswith("https://")


class IdentityProvider(NamedTuple):
    """The issuer whose access tokens a gateway accepts."""

    issuer: str
    audience: tuple[str, ...]  # a token must be for one of them
    jwks: str | None = None  # the address of its keys; None: as its metadata says
    name_claim: str = "sub"
    groups_claim: str = "groups"
    sign_in: SignInClient | None = None  # None: people paste a token


class AccessRule(NamedTuple):
    """A role that a group or a person has in some projects."""

    role: Role
    projects: tuple[str, ...]  # paths, names in URLs or hashes; `*`: every project
    group: str | None = None
    principal: str | None = None


class CallLimits(NamedTuple):
    """What one principal may use of a gateway; None: as much as there is."""

    calls_per_minute: int | None = None
    concurrent_calls: int | None = None
    endpoints: int | None = None


UNLIMITED = CallLimits()
