"""Sessions: what an agent is told when one begins, and that one ended."""

import json
from collections.abc import Callable

from remit.bootstrap import open_registry
from remit.hooks.answers import Answer, context
from remit.hooks.event import Event
from remit.hooks.hook_log import note
from remit.hooks.quick_store import begin_session, end_session, rescan, visiting
from remit.hooks.recovery import recover
from remit.hooks.trace_observations import remember

_LONGEST_PATH = 4_096


def start(event: Event) -> Answer:
    """Read what changed, and tell the agent what it has here."""
    watched = rescan(event.directory, is_headless=event.is_headless)
    _try(event, lambda: recover(event))
    _try(event, lambda: remember(event.directory))
    with open_registry() as registry:
        here = registry.at(event.directory, is_headless=event.is_headless)
        text, holding = registry.opening(registry.as_agent(event.text("agent_type"), here))
    if event.session_id is not None:
        with visiting(event.directory) as visit:
            begin_session(event.session_id, visit, json.dumps(holding), _transcript(event))
    return context(event.name, text, watched)


def end(event: Event) -> Answer:
    """Keep what the session did that no hook told of, and that it ended."""
    if event.session_id is not None:
        try:
            recover(event, event.session_id)
        finally:
            end_session(event.session_id, event.directory)
    return None


def _try(event: Event, step: Callable[[], None]) -> None:
    """Do what may go wrong without keeping a session from beginning."""
    try:
        step()
    except Exception as error:
        note(event.name, error)


def _transcript(event: Event) -> str | None:
    return event.text("transcript_path", _LONGEST_PATH)
