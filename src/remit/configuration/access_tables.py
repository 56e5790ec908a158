"""Reads who may use a gateway: the identity provider, the roles of its people, and their limits."""

from remit.configuration.config_model import AccessRule, CallLimits, IdentityProvider, Role, SignInClient
from remit.configuration.store_place import path_problem
from remit.configuration.table_fields import TableFields

ACCESS_SECTIONS = ("identity", "access", "limits")
_SIGN_IN = ("client_secret_file", "public_url", "scopes", "audience_parameter")  # with `client_id`
_PARAMETERS = ("resource", "audience", "none")
_IDENTITY = ("issuer", "audience", "jwks", "name_claim", "groups_claim", "client_id", *_SIGN_IN)
_RULE = ("group", "principal", "role", "projects")
_LIMITS = ("calls_per_minute", "concurrent_calls", "endpoints")
_MOST = 1_000_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PROJECTS = 'for example `projects = ["~/code/shop"]`, or `["*"]` for all projects'


def read_identity(top: TableFields) -> IdentityProvider | None:
    """Read `[identity]`; None if it is missing or invalid."""
    if "identity" not in top:
        return None
    fields = top.table("identity")
    fields.only(_IDENTITY)
    for key in ("issuer", "audience"):
        if key not in fields:
            fields.note(key, f"`{key}` is missing", _NEEDS[key])
    issuer, audience = _address(fields, "issuer"), fields.text_or_texts("audience")
    if issuer is None or not audience:
        return None
    return IdentityProvider(
        issuer,
        audience,
        _address(fields, "jwks"),
        fields.text("name_claim") or "sub",
        fields.text("groups_claim") or "groups",
        _sign_in(fields, audience),
    )


def _sign_in(fields: TableFields, audience: tuple[str, ...]) -> SignInClient | None:
    """Read how people sign in at the issuer; None if they paste a token."""
    client_id = fields.text("client_id")
    if client_id is None:
        for key in fields.given(_SIGN_IN):
            fields.note(key, f"`{key}` needs `client_id`")
        return None
    secret = fields.text("client_secret_file")
    if secret is not None and (problem := path_problem(secret)):
        fields.note("client_secret_file", problem)
    public_url = _public_url(fields, audience)
    if public_url is None:
        return None
    scopes = fields.text_or_texts("scopes") or ("openid",)
    parameter = fields.one_of("audience_parameter", _PARAMETERS) or _PARAMETERS[0]
    return SignInClient(client_id, public_url, secret, scopes, parameter)


def _public_url(fields: TableFields, audience: tuple[str, ...]) -> str | None:
    """Read the origin of the gateway; by default, it is that of the audience."""
    from urllib.parse import urlsplit  # few files name one

    if "public_url" not in fields:
        for each in filter(is_key_address, audience):
            parts = urlsplit(each)
            return f"{parts.scheme}://{parts.netloc}".lower()
        fields.note("public_url", "`public_url` is missing", 'for example `"https://tools.example.com"`')
        return None
    address = _address(fields, "public_url")
    if address is not None and urlsplit(address).path.strip("/"):
        fields.note("public_url", "expected an address without a path")
        return None
    return None if address is None else address.rstrip("/").lower()


_NEEDS = {
    "issuer": 'for example `issuer = "https://login.example.com"`',
    "audience": "without it, tokens for other services would be accepted",
}


def _address(fields: TableFields, key: str) -> str | None:
    """Read an address that is trusted with keys or people."""
    address = fields.text(key)
    if address is None:
        return None
    if is_key_address(address):
        return address
    fields.note(key, "expected an https address without a user, a query and a fragment")
    return None


def is_key_address(address: str) -> bool:
    """Check whether keys from an address can be trusted: it is encrypted, or on this machine."""
    from urllib.parse import urlsplit  # few files name one

    try:
        parts = urlsplit(address)
        has_extras = "@" in parts.netloc or parts.query or parts.fragment or parts.port == 0
    except ValueError:
        return False
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    return bool(is_safe and parts.hostname and not has_extras)


def read_access(top: TableFields) -> tuple[AccessRule, ...]:
    """Read the `[[access]]` tables."""
    return tuple(filter(None, map(_rule, top.rows("access"))))


def _rule(fields: TableFields) -> AccessRule | None:
    fields.only(_RULE)
    if len(fields.given(("group", "principal"))) != 1:
        fields.note("", "expected either `group` or `principal`")
    for key in ("role", "projects"):
        if key not in fields:
            fields.note(key, f"`{key}` is missing", _PROJECTS if key == "projects" else None)
    role, projects = fields.one_of("role", tuple(Role)), fields.text_or_texts("projects")
    group, principal = fields.text("group"), fields.text("principal")
    if role is None or not projects or (group is None) == (principal is None):
        return None
    return AccessRule(Role(role), projects, group, principal)


def read_limits(top: TableFields) -> CallLimits:
    """Read `[limits]`."""
    fields = top.table("limits")
    fields.only(_LIMITS)
    return CallLimits(*(fields.whole(key, 1, _MOST) for key in _LIMITS))
