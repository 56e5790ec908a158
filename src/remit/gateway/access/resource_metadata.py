"""Tells clients which identity provider a gateway accepts (RFC 9728), so they can sign in by themselves."""

from typing import Any
from urllib.parse import urlsplit

from remit.configuration.config_model import IdentityProvider

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def is_metadata(path: str) -> bool:
    """Check whether a path is that of the metadata; clients may add the path of an endpoint."""
    return path == WELL_KNOWN or path.startswith(f"{WELL_KNOWN}/")


def metadata(identity: IdentityProvider, origin: str) -> dict[str, Any]:
    """Return the metadata of the gateway, the same for all its endpoints."""
    return {
        "resource": _resource(identity, origin),
        "authorization_servers": [identity.issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Remit",
    }


def challenge(identity: IdentityProvider | None, origin: str, *, is_invalid: bool) -> str:
    """Return the value of `WWW-Authenticate`."""
    parts = ['realm="remit"']
    if is_invalid:
        parts.append('error="invalid_token"')
    if identity is not None:
        resource = urlsplit(_resource(identity, origin))
        parts.append(f'resource_metadata="{resource.scheme}://{resource.netloc}{WELL_KNOWN}"')
    return f"Bearer {', '.join(parts)}"


def _resource(identity: IdentityProvider, origin: str) -> str:
    """Return the address that clients ask tokens for: the audience, if that is one."""
    addresses = (each for each in identity.audience if each.startswith(("https://", "http://")))
    return next(addresses, origin)
