"""Answers to a model when a call is refused or fails: the reason, and what the model itself can do.

How to change a rule is for people: `remit why` explains it.
"""

import json
from collections.abc import Iterable
from typing import Any

from remit.decision.decide import Decision
from remit.decision.gates import ASK_THE_USER
from remit.decision.globs import tool_globs
from remit.decision.tool_names import spellings
from remit.errors import UpstreamError
from remit.presentation.listing_strategies import VisibleTool
from remit.text.untrusted_text import one_line

META = "remit/refusal"
APPROVAL_REQUIRED = "approval_required"
DENIED = "denied"
REFUSED = "refused"
STORE_DOWN = "Remit's store cannot be used now; try again in a minute"
_AFTER_A_NO = "Do not call it again unless the user asks for it."
_LONGEST_REASON = 1_000  # characters
_LONGEST_LINE = 300  # characters of what a server wrote
_MOST_NAMED = 5  # tools that a model could call next


def refusal(
    name: str, decision: Decision, visible: Iterable[VisibleTool] = (), *, beside: bool = False
) -> dict[str, Any]:
    """Refuse a call, with the gate, the reason and the next step."""
    gate = f" {decision.gate.cause}" if decision.gate is not None else ""
    step = next_step(decision, visible)
    lines = [f"`{name}` is not available now{gate}: {clean_reason(decision.reason)}", step]
    return _answer(lines, {**_told(REFUSED, name, decision), "next_step": step}, beside)


def clean_reason(reason: str) -> str:
    """Return a reason as one clean line: it may name a repository's server, rule or file."""
    return one_line(reason, _LONGEST_REASON)


def next_step(decision: Decision, visible: Iterable[VisibleTool]) -> str:
    """Tell a model what it can do itself; if there is nothing, whom to ask."""
    step = decision.next_step
    if step is None:
        return ASK_THE_USER
    if not step.tools:
        return f"Next step: {step.text}."
    globs = [form for pattern in step.tools for form in tool_globs(pattern)]
    names = [
        each.name
        for each in visible
        if any(form.matches(name) for form in globs for name in spellings(each.tool.name))
    ]
    named = " or ".join(f"`{name}`" for name in names[:_MOST_NAMED])
    return f"Next step: {step.text} of {named}." if named else ASK_THE_USER


def approval_required(
    name: str, decision: Decision, approval: str, *, beside: bool = False
) -> dict[str, Any]:
    """Answer that a call waits for approval; the command that approves it is for people."""
    step = (
        f"Ask the user to answer approval `{approval}` in Remit, then call it again with the same arguments."
    )
    lines = [f"{APPROVAL_REQUIRED}: `{name}` {clean_reason(decision.reason)}", step]
    told = {**_told(APPROVAL_REQUIRED, name, decision), "approval": approval, "next_step": step}
    return _answer(lines, told, beside)


def denied(name: str, decision: Decision, *, beside: bool = False) -> dict[str, Any]:
    """Answer that a person said no to a call."""
    lines = [f"`{name}` {clean_reason(decision.reason)}, and a person said no.", _AFTER_A_NO]
    return _answer(lines, {**_told(DENIED, name, decision), "next_step": _AFTER_A_NO}, beside)


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
        "reason": clean_reason(decision.reason),
    }


def _answer(lines: list[str], told: dict[str, Any], beside: bool) -> dict[str, Any]:
    """Return text and data; `beside` moves the data to `_meta`, away from the tool's output schema."""
    answer: dict[str, Any] = {"content": [{"type": "text", "text": "\n".join(lines)}], "isError": True}
    return {**answer, "_meta": {META: told}} if beside else {**answer, "structuredContent": told}
