"""What a server waits for, in words."""

import pytest

from remit.decision.permissions.client_consents import pending_reason, pending_unlock


@pytest.mark.parametrize(
    ("is_trusted", "approved_in", "reason"),
    [
        (True, None, "waiting for approval in Claude Code"),
        (False, None, "waiting for approval in Claude Code, and not trusted in Remit"),
        (True, "a.json", "approved in a.json, which counts only once this folder is trusted in Claude Code"),
        (
            False,
            "a.json",
            "approved in a.json, which counts only once this folder is trusted in Claude Code; "
            "also not trusted in Remit",
        ),
    ],
)
def test_a_pending_server_says_what_it_waits_for(
    is_trusted: bool, approved_in: str | None, reason: str
) -> None:
    assert pending_reason("claude-code", is_trusted=is_trusted, approved_in=approved_in) == reason


def test_a_pending_server_says_what_to_do() -> None:
    assert (
        pending_unlock("claude-code", "git", is_approved=True)
        == "start Claude Code here and trust the folder"
    )
    assert pending_unlock("claude-code", "git", is_trusted=False) == (
        "start Claude Code here and approve it, then run `remit trust git` to let Remit start it too"
    )
