"""Answers to a model when a call is refused or fails."""

from typing import Any

from remit.decision.decide import Decision

META = "remit/refusal"
APPROVAL_REQUIRED = "approval_required"
REFUSED = "refused"


def refusal(name: str, decision: Decision, *, beside: bool = False) -> dict[str, Any]:
    """Refuse a call, with the gate, the reason and how to unlock it."""
    gate = f" by {decision.gate}" if decision.gate is not None else ""
    lines = [f"`{name}` is not available now{gate}: {decision.reason}"]
    lines += [f"unlock: {decision.unlock}"] if decision.unlock else []
    return _answer(lines, _told(REFUSED, name, decision), beside)


def approval_required(
    name: str, decision: Decision, approval: str, *, beside: bool = False
) -> dict[str, Any]:
    """Answer that a call needs approval, and how to approve it."""
    unlock = (
        f"a person can allow this call with `remit approve {approval}`; then call it again with the same "
        "arguments"
    )
    lines = [f"{APPROVAL_REQUIRED}: `{name}` {decision.reason}", f"unlock: {unlock}"]
    told = {**_told(APPROVAL_REQUIRED, name, decision), "approval": approval, "unlock": unlock}
    return _answer(lines, told, beside)


def denied(name: str, decision: Decision, *, beside: bool = False) -> dict[str, Any]:
    """Answer that the user denied a call."""
    lines = [f"`{name}` was not approved: {decision.reason}"]
    return _answer(lines, _told("denied", name, decision), beside)


def failure(text: str, hint: str | None = None) -> dict[str, Any]:
    """Answer that a call failed."""
    words = text if hint is None else f"{text}\nhint: {hint}"
    return {"content": [{"type": "text", "text": words}], "isError": True}


def _told(error: str, name: str, decision: Decision) -> dict[str, Any]:
    return {
        "error": error,
        "tool": name,
        "gate": None if decision.gate is None else str(decision.gate),
        "reason": decision.reason,
        "unlock": decision.unlock,
    }


def _answer(lines: list[str], told: dict[str, Any], beside: bool) -> dict[str, Any]:
    """Return text and data; `beside` moves the data to `_meta`, away from the tool's output schema."""
    answer: dict[str, Any] = {"content": [{"type": "text", "text": "\n".join(lines)}], "isError": True}
    return {**answer, "_meta": {META: told}} if beside else {**answer, "structuredContent": told}
