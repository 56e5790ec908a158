"""Changed files: what changed is read again, and the client told what else to watch."""

from remit.hooks.answers import Answer, context
from remit.hooks.event import Event
from remit.hooks.quick_store import rescan


def changed(event: Event) -> Answer:
    """Read again what changed of the client's files and of Remit's own."""
    watched = rescan(event.directory, is_headless=event.is_headless)
    return None if event.name == "ConfigChange" else context(event.name, "", watched)
