"""Recognizes commands that an agent runs, from the variables that clients set for them."""

from collections.abc import Mapping

from remit.errors import ApprovalError

# An agent can clear them, so this keeps it from deciding in passing and not from breaking out on purpose.
_VARIABLES = {
    "CLAUDECODE": "Claude Code",
    "CODEX_SANDBOX": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "CURSOR_AGENT": "Cursor",
    "GEMINI_CLI": "Gemini CLI",
    "OPENCODE": "opencode",
}


def require_person(variables: Mapping[str, str], act: str = "approve a call") -> None:
    """Check that no agent runs this command, which does what only a person may do.

    Raises:
        ApprovalError: an agent runs it.
    """
    client = next((client for name, client in _VARIABLES.items() if variables.get(name)), None)
    if client is not None:
        raise ApprovalError(
            f"{client} runs this command, and only a person can {act}",
            hint="run it in a terminal of your own",
        )
