"""Prompts: tools that may help with what a person asks for, said as a hint."""

from remit.hooks.answers import Answer, context
from remit.hooks.event import Event
from remit.hooks.quick_store import is_known, record_use, suggest, suggestions_made
from remit.sessions.suggestions import COOLDOWN, MOST

_LONGEST = 100_000  # characters of a prompt; a longer one is no question
_FEWEST_WORDS = 3
_NO_PERSON = ("/", "!", "#", "<")  # how a command begins, or what a client writes by itself


def submitted(event: Event) -> Answer:
    """Suggest tools for a prompt, where that is likely to help."""
    prompt, session = event.text("prompt", _LONGEST), event.session_id
    if prompt is None or session is None or event.text("source") not in (None, "user", "sdk"):
        return None
    if prompt.lstrip().startswith(_NO_PERSON) or len(prompt.split(None, _FEWEST_WORDS)) < _FEWEST_WORDS:
        return None
    made, calls = suggestions_made(session, event.directory)
    if made >= MOST or (made and calls < COOLDOWN):
        return None
    agent = event.text("agent_type")
    text = suggest(prompt, session, event.directory, agent=agent, is_headless=event.is_headless)
    return context(event.name, text)


def expanded(event: Event) -> Answer:
    """Count a command or a skill that a person called by its name."""
    name = event.text("command_name")
    if name is None or event.fields.get("expansion_type") != "slash_command":
        return None
    name = name.removeprefix("/")
    if is_known(f"/{name}", event.directory) or is_known(name, event.directory):
        record_use(
            "SlashCommand",
            directory=event.directory,
            subject=name,
            session_id=event.session_id,
            succeeded=True,
        )
    return None
