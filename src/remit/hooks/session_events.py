"""Handles session events: a session starts, its files change, or it ends."""

import json
from collections.abc import Callable

from remit.hooks.event import Answer, Event, added_context, with_message
from remit.hooks.hook_context import HookEnvironment, open_context, rescan
from remit.hooks.hook_log import log_failure

_MAX_PATH = 4_096
_MAX_TRACES = 200  # only the newest


def session_started(event: Event, environment: HookEnvironment) -> Answer:
    """Read changed files, and return the context that lists the agent's tools."""
    from remit.hooks.call_recovery import recover_calls

    watched = rescan(event.directory, is_headless=event.is_headless, environment=environment)
    _attempt(event, environment.refresh_blocks)
    _attempt(event, lambda: recover_calls(event, environment))
    _attempt(event, lambda: observe_traces(event.directory, environment))
    with environment.open_registry() as registry:
        here = registry.at(event.directory, is_headless=event.is_headless)
        start = registry.sessions.start(registry.as_agent(event.text("agent_type"), here))
        if any(notice.kind == "definition" for notice in start.notices):
            _attempt(event, lambda: registry.trust.pins.mark_reported(here))
    if event.session_id is not None:
        with open_context(event.directory, environment) as context:
            transcript = event.text("transcript_path", _MAX_PATH)
            context.store.begin_session(
                event.session_id, environment.now(), json.dumps(start.holding), transcript
            )
    return with_message(added_context(event.name, start.text, watched), [str(each) for each in start.notices])


def files_changed(event: Event, environment: HookEnvironment) -> Answer:
    """Read changed files again, and return the files to watch."""
    watched = rescan(event.directory, is_headless=event.is_headless, environment=environment)
    return None if event.name == "ConfigChange" else added_context(event.name, "", watched)


def session_ended(event: Event, environment: HookEnvironment) -> Answer:
    """Count the session's unreported calls, and record that it ended."""
    from remit.hooks.call_recovery import recover_calls

    if event.session_id is not None:
        try:
            recover_calls(event, environment, event.session_id)
        finally:
            with open_context(event.directory, environment) as context:
                context.store.end_session(event.session_id, environment.now())
    return None


def observe_traces(directory: str, environment: HookEnvironment) -> None:
    """Turn new traces into observations in their project's memory.

    Hooks only store traces, which takes milliseconds; there is time for this when a session starts. A project
    without memory gets no observations, but the session context shows its traces until they are too old.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    with open_context(directory, environment) as context:
        if not context.store.is_observing():
            return
        traces = context.store.new_traces()[-_MAX_TRACES:]
        if not traces:
            return
        from remit.memory.artifacts import ObservationType
        from remit.memory.memory_scopes import memory_id
        from remit.memory.project_memory import NewObservation

        with environment.open_memory(directory) as memory:
            artifacts = memory.observe(
                memory_id(context.workspace.project),
                *(
                    NewObservation(ObservationType(each.observed), each.text, each.at, each.artifact)
                    for each in traces
                ),
            )
        context.store.mark_remembered(zip(traces, artifacts, strict=False))


def _attempt(event: Event, step: Callable[[], object]) -> None:
    """Run a step whose failure must not prevent a session from starting."""
    try:
        step()
    except Exception as error:
        log_failure(event.name, error)
