"""Finds the credential of a caller before a server is reached for it; never that of anyone else."""

import logging

from anyio.to_thread import run_sync

from remit.errors import CredentialError, NotSignedInError, StoreError
from remit.upstream.failures import not_signed_in
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.upstream_model import Failure, Upstream

_log = logging.getLogger("remit.upstream")


async def find_credential(
    resources: LaunchResources, upstream: Upstream, principal: str | None
) -> Credential:
    """Return the credential that a principal has for a server.

    Raises:
        NotSignedInError: there is none, or it cannot be used.
    """
    if principal is None or resources.credentials is None:
        raise _error(upstream, not_signed_in(upstream, principal))
    try:
        found = await run_sync(resources.credentials().find, upstream, principal)
    except (CredentialError, StoreError) as error:  # where keys and stores are is for people
        _log.warning("the credential of %s for `%s` cannot be used: %s", principal, upstream.label, error)
        reason = "cannot be used now: your credential for it cannot be read"
        raise _error(upstream, Failure(reason=reason, hint=error.hint)) from None
    if found is None:
        raise _error(upstream, not_signed_in(upstream, principal))
    return found


def _error(upstream: Upstream, failure: Failure) -> NotSignedInError:
    return NotSignedInError(
        f"`{upstream.label}` {failure.reason}",
        hint=failure.hint,
        next_step=failure.next_step,
        reason=failure.reason,
    )
