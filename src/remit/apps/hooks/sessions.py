"""Sessions: what an agent is told when one begins, and that one ended."""

import json

from remit.apps.hooks.answers import Answer, context
from remit.apps.hooks.events import Event
from remit.bootstrap import open_registry
from remit.hot_paths import begin_session, end_session, rescan, visiting


def start(event: Event) -> Answer:
    """Read what changed, and tell the agent what it has here."""
    watched = rescan(event.directory, is_headless=event.is_headless)
    with open_registry() as registry:
        here = registry.at(event.directory, is_headless=event.is_headless)
        text, holding = registry.opening(registry.as_agent(event.text("agent_type"), here))
    if event.session_id is not None:
        with visiting(event.directory) as visit:
            begin_session(event.session_id, visit, json.dumps(holding))
    return context(event.name, text, watched)


def end(event: Event) -> Answer:
    """Keep that the session ended."""
    if event.session_id is not None:
        end_session(event.session_id, event.directory)
    return None
