"""Answers: what a hook may say to a client, in the shapes that it reads."""

from collections.abc import Sequence

Answer = dict[str, object] | None  # None: nothing to say


def decision(says: str, reason: str) -> Answer:
    """Deny a call, or have a person asked about it."""
    return _specific("PreToolUse", permissionDecision=says, permissionDecisionReason=reason)


def context(event: str, text: str, watched: Sequence[str] = ()) -> Answer:
    """Tell the model something, and have files watched."""
    said = {"additionalContext": text} if text else {}
    watching = {"watchPaths": list(watched)} if watched else {}
    return _specific(event, **said, **watching) if said or watching else None


def _specific(event: str, **said: object) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, **said}}
