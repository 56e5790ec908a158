"""The two consents that a project's server may need: the approval of its client, then your trust in Remit.

They are independent: a client starts what you approved there, and Remit starts what you trust here.
"""

import shlex

from remit.decision.permissions.client_facts import client_title


def pending_reason(client: str, *, is_trusted: bool | None = None) -> str:
    """Say what a server that its client has not approved waits for."""
    untrusted = ", and not trusted in Remit" if is_trusted is False else ""
    return f"waiting for approval in {client_title(client)}{untrusted}"


def pending_unlock(client: str, server: str | None, *, is_trusted: bool | None = None) -> str:
    """Say how to approve a server in its client and, if it is not trusted, how to let Remit start it."""
    title = client_title(client)
    approve = f"start {title} here and approve it"
    if is_trusted is not False:
        return approve
    return f"{approve}, then run `{trust_command(server)}` to let Remit start it too"


def trust_command(server: str | None) -> str:
    """Return the command that trusts a server."""
    return f"remit trust {shlex.quote(server or '')}"
