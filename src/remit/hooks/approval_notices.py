"""Tells a session which calls wait for the user's approval.

The user reads how to answer. The model reads which tools are meant, and neither arguments nor the command.
"""

from remit.hooks.event import Answer, Event, added_context, with_message
from remit.hooks.hook_context import HookEnvironment, open_context
from remit.text.untrusted_text import one_line

_MOST_NAMED = 3
_LONGEST_NAME = 128


def with_pending_approvals(answer: Answer, event: Event, environment: HookEnvironment) -> Answer:
    """Add the pending approvals of the project to the answer to a prompt."""
    with open_context(event.directory, environment) as context:
        pending = [
            (id, one_line(tool.replace("`", "'"), _LONGEST_NAME))
            for id, tool in context.store.pending_approvals(environment.now())
        ]
    if not pending:
        return answer
    named = [f"`{tool}` waits for your approval: run `remit approve {id}`" for id, tool in pending]
    more = len(pending) - _MOST_NAMED
    if more > 0:
        named[_MOST_NAMED:] = [f"{more} more calls wait for your approval: run `remit approve`"]
    tools = ", ".join(dict.fromkeys(f"`{tool}`" for _, tool in pending[:_MOST_NAMED]))
    calls = "1 call waits" if len(pending) == 1 else f"{len(pending)} calls wait"
    others = " and others" if more > 0 else ""
    text = f"{calls} for the user's approval in Remit: {tools}{others}. Only the user can answer."
    earlier = _context(answer)
    joined = f"{earlier}\n\n{text}" if earlier else text
    return with_message(added_context(event.name, joined), named)


def _context(answer: Answer) -> str:
    """Return the context for the model that an answer has already."""
    specific = (answer or {}).get("hookSpecificOutput")
    return str(specific.get("additionalContext", "")) if isinstance(specific, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - built by `added_context`
