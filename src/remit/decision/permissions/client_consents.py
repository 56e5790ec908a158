"""The two consents that a project's server may need: the approval of its client, then your trust in Remit.

They are independent: a client starts what you approved there, and Remit starts what you trust here.
"""

import shlex

from remit.decision.permissions.client_facts import client_title


def pending_reason(client: str, *, is_trusted: bool | None = None, approved_in: str | None = None) -> str:
    """Say what a server waits for: its client's approval or, if a file approves it, trust in the folder."""
    title, is_untrusted = client_title(client), is_trusted is False
    if approved_in is None:
        return f"waiting for approval in {title}{', and not trusted in Remit' if is_untrusted else ''}"
    approved = f"approved in {approved_in}, which counts only once this folder is trusted in {title}"
    return f"{approved}; also not trusted in Remit" if is_untrusted else approved


def pending_unlock(
    client: str, server: str | None, *, is_trusted: bool | None = None, is_approved: bool = False
) -> str:
    """Say how to approve a server in its client and, if it is not trusted, how to let Remit start it."""
    approve = f"start {client_title(client)} here and {'trust the folder' if is_approved else 'approve it'}"
    if is_trusted is not False:
        return approve
    return f"{approve}, then run `{trust_command(server)}` to let Remit start it too"


def trust_command(server: str | None) -> str:
    """Return the command that trusts a server."""
    return f"remit trust {shlex.quote(server or '')}"
