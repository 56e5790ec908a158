"""Answers to a model when a call is refused or fails: the reason, and what the model itself can do."""

import json
from collections.abc import Iterable
from typing import Any

from remit.decision import Decision, Gate, Tool, spellings, tool_globs
from remit.errors import UpstreamError
from remit.text import one_line

META = "remit/refusal"
APPROVAL_REQUIRED = "approval_required"
ASK_THE_USER = "Ask the user: only a person can change this."
STORE_DOWN = "Remit's store cannot be used now; try again in a minute"
_REFUSED, _DENIED = "refused", "denied"
_AFTER_A_NO = "Do not call it again unless the user asks for it."
_LONGEST_REASON = 1_000  # characters
_LONGEST_LINE = 300  # characters of what a server wrote
_MOST_NAMED = 5  # tools that a model could call next
# Their details name the rule and its file; others quote servers, or tell how a state is detected.
_BY_RULES = (Gate.POLICY, Gate.ARGUMENTS, Gate.DANGER)

Visible = Iterable[tuple[str, Tool]]  # what a model can call, with the names it uses


def refusal(
    name: str, decision: Decision, visible: Visible = (), *, has_output_schema: bool = False
) -> dict[str, Any]:
    """Refuse a call, with the gate, the reason and the next step."""
    gate = f" ({decision.gate})" if decision.gate is not None else ""
    step = next_step(decision, visible)
    lines = [f"`{name}` is not available now{gate}: {reason_of(decision)}", step]
    return _answer(lines, {**_told(_REFUSED, name, decision), "next_step": step}, has_output_schema)


def reason_of(decision: Decision) -> str:
    """Return the reason of a decision as one clean line; an objecting rule is named with its file."""
    reason = decision.full_reason if decision.gate in _BY_RULES else decision.reason
    return clean_reason(reason)


def clean_reason(reason: str) -> str:
    """Return a reason as one clean line: it may name a repository's server, rule or file."""
    return one_line(reason, _LONGEST_REASON)


def next_step(decision: Decision, visible: Visible = ()) -> str:
    """Tell a model what it can do itself; if there is nothing, whom to ask."""
    step = decision.next_step
    if step is None:
        return ASK_THE_USER
    if not step.tools:
        return f"Next step: {step.text}."
    globs = [form for pattern in step.tools for form in tool_globs(pattern)]
    names = [
        name
        for name, tool in visible
        if any(form.matches(spelled) for form in globs for spelled in spellings(tool.name))
    ]
    named = " or ".join(f"`{name}`" for name in names[:_MOST_NAMED])
    return f"Next step: {step.text} of {named}." if named else ASK_THE_USER


def approval_required(
    name: str, decision: Decision, approval: str, *, has_output_schema: bool = False
) -> dict[str, Any]:
    """Answer that a call waits for a person, with the command that approves it."""
    step = f"Ask the user to run `remit approve {approval}`, then call it again with the same arguments."
    lines = [f"{APPROVAL_REQUIRED}: `{name}` {reason_of(decision)}", step]
    told = {**_told(APPROVAL_REQUIRED, name, decision), "approval": approval, "next_step": step}
    return _answer(lines, told, has_output_schema)


def denied(name: str, decision: Decision, *, has_output_schema: bool = False) -> dict[str, Any]:
    """Answer that a person said no to a call."""
    lines = [f"`{name}` {reason_of(decision)}, and a person said no.", _AFTER_A_NO]
    told = {**_told(_DENIED, name, decision), "next_step": _AFTER_A_NO}
    return _answer(lines, told, has_output_schema)


def unreachable(error: UpstreamError) -> dict[str, Any]:
    """Answer that a server could not be reached, with the last line it wrote; repairing it is for people."""
    step = f"Next step: {error.next_step}." if error.next_step else ASK_THE_USER
    last = [f"It wrote last: {json.dumps(one_line(line, _LONGEST_LINE))}" for line in error.output[-1:]]
    return failure("\n".join([str(error), *last, step]))


def failure(text: str, hint: str | None = None) -> dict[str, Any]:
    """Answer that a call failed."""
    words = text if hint is None else f"{text}\nhint: {hint}"
    return {"content": [{"type": "text", "text": words}], "isError": True}


def _told(error: str, name: str, decision: Decision) -> dict[str, Any]:
    return {
        "error": error,
        "tool": name,
        "gate": None if decision.gate is None else str(decision.gate),
        "reason": reason_of(decision),
    }


def _answer(lines: list[str], told: dict[str, Any], has_output_schema: bool) -> dict[str, Any]:
    """Return text and data; beside an output schema, which the data would violate, it goes to `_meta`."""
    answer: dict[str, Any] = {"content": [{"type": "text", "text": "\n".join(lines)}], "isError": True}
    return {**answer, "_meta": {META: told}} if has_output_schema else {**answer, "structuredContent": told}
