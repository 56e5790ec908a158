"""Changed files: what changed is read again, and the client told what else to watch."""

from remit.apps.hooks.answers import Answer, context
from remit.apps.hooks.events import Event
from remit.hot_paths import rescan


def changed(event: Event) -> Answer:
    """Read again what changed of the client's files and of Remit's own."""
    watched = rescan(event.directory, is_headless=event.is_headless)
    return None if event.name == "ConfigChange" else context(event.name, "", watched)
