"""Handles prompt events: suggests tools for a prompt, and counts the commands that a person types."""

from remit.hooks.approval_notices import with_pending_approvals
from remit.hooks.event import Answer, Event, added_context
from remit.hooks.hook_context import HookEnvironment, open_context
from remit.sessions.suggestions import COOLDOWN, MOST

_MAX_PROMPT = 100_000  # characters; longer prompts get no suggestions
_MIN_WORDS = 3
_NOT_TYPED = ("/", "!", "#", "<")  # prefixes of commands, and of texts that the client itself writes


def prompt_submitted(event: Event, environment: HookEnvironment) -> Answer:
    """Tell which calls wait for approval, and suggest tools for a prompt if they are likely to help."""
    if event.text("source") not in (None, "user", "sdk"):
        return None
    return with_pending_approvals(
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


def prompt_expanded(event: Event, environment: HookEnvironment) -> Answer:
    """Count a command or skill that a person invoked by name."""
    name = event.text("command_name")
    if name is None or event.fields.get("expansion_type") != "slash_command":
        return None
    name = name.removeprefix("/")
    with open_context(event.directory, environment) as context:
        if context.store.has_tool(f"/{name}") or context.store.has_tool(name):
            context.record_use("SlashCommand", subject=name, session_id=event.session_id, succeeded=True)
    return None
