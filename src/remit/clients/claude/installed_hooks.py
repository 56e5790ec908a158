"""The hooks that `remit install` registers in Claude Code's settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from remit.install.install_record import Edit
from remit.install.recorded_environment import record_words

# The events a hook receives, and its timeout. Remit decides within two or three seconds; a hook that cannot
# decide, because it crashed or is gone, blocks the call.
HOOKS: Mapping[str, Mapping[str, Any]] = {
    "SessionStart": {"timeout": 30},
    "UserPromptSubmit": {"timeout": 15},
    "UserPromptExpansion": {"timeout": 60, "async": True},
    "PreToolUse": {"timeout": 10, "onFailure": "block"},
    "PostToolUse": {"timeout": 60, "async": True},
    "PostToolUseFailure": {"timeout": 60, "async": True},
    "ConfigChange": {"timeout": 60, "async": True},
    "FileChanged": {"timeout": 30},
    "CwdChanged": {"timeout": 30},
    "SessionEnd": {"timeout": 5},
}


# An argument that hooks ignore: if their Python is gone, the client shows only the command line.
REPAIR = (
    "--if-this-cannot-run=ask the user to run `remit install claude-code{0}` again, or to remove this hook "
    "with `remit uninstall claude-code{0}` or by hand from the client's settings"
)


def claude_hooks(command: Sequence[str], record: str, option: str = "") -> list[Edit]:
    """Return the edits that add our hooks to Claude Code's settings; `option` is that of the install."""
    program, *args = (*command, "hook", *record_words(record))
    repair = REPAIR.format(option)
    return [
        Edit(
            ("hooks", event),
            {"hooks": [_handler(program, [*args, repair] if "onFailure" in details else args, details)]},
            is_item=True,
        )
        for event, details in HOOKS.items()
    ]


def _handler(program: str, args: Sequence[str], details: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "command", "command": program, "args": list(args), **details}
