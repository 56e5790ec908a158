"""Handles prompt events: names pending approvals, suggests tools, and counts typed commands."""

from remit.decision.client_reports import CallOutcome
from remit.hooks.event import Answer, Event, added_context, with_message
from remit.hooks.hook_context import HookEnvironment, open_context
from remit.sessions.suggestions import COOLDOWN, MOST
from remit.text.untrusted_text import one_line

_MAX_PROMPT = 100_000  # characters; longer prompts get no suggestions
_MIN_WORDS = 3
_MOST_NAMED = 3  # pending approvals
_LONGEST_NAME = 128
_NOT_TYPED = ("/", "!", "#", "<")  # prefixes of commands, and of texts that the client itself writes


def prompt_submitted(event: Event, environment: HookEnvironment) -> Answer:
    """Tell which calls wait for approval, and suggest tools for a prompt if they are likely to help."""
    if event.text("source") not in (None, "user", "sdk"):
        return None
    return _with_pending_approvals(
        added_context(event.name, _suggested(event, environment)), event, environment
    )


def _suggested(event: Event, environment: HookEnvironment) -> str:
    """Return a text that suggests tools; empty if there is nothing to suggest."""
    prompt, session = event.text("prompt", _MAX_PROMPT), event.session_id
    if prompt is None or session is None:
        return ""
    if prompt.lstrip().startswith(_NOT_TYPED) or len(prompt.split(None, _MIN_WORDS)) < _MIN_WORDS:
        return ""
    with open_context(event.directory, environment) as context:
        made, calls = context.store.suggestion_counts(session)
    if made >= MOST or (made and calls < COOLDOWN):
        return ""
    with environment.open_registry() as registry:
        here = registry.at(event.directory, is_headless=event.is_headless)
        return registry.sessions.suggest(
            registry.as_agent(event.text("agent_type"), here), session_id=session, prompt=prompt
        )


def _with_pending_approvals(answer: Answer, event: Event, environment: HookEnvironment) -> Answer:
    """Add the pending approvals of the project to the answer to a prompt.

    The user reads how to answer. The model reads which tools are meant, and neither arguments nor the
    command.
    """
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


def prompt_expanded(event: Event, environment: HookEnvironment) -> Answer:
    """Count a command or skill that a person invoked by name."""
    name = event.text("command_name")
    if name is None or event.fields.get("expansion_type") != "slash_command":
        return None
    name = name.removeprefix("/")
    with open_context(event.directory, environment) as context:
        if context.store.has_tool(f"/{name}") or context.store.has_tool(name):
            use = CallOutcome(event.session_id, succeeded=True)
            context.record_use("SlashCommand", use, subject=name)
    return None
