"""Turns the traces of calls into observations in the memory of their project.

Hooks store traces, in milliseconds; a session start has the time to turn them into observations. A project
without memory gets none: the session context shows its traces anyway, until they are too old.
"""

from remit.hooks.hook_context import HookEnvironment, open_context
from remit.memory.scope_gate import memory_id

_MAX_TRACES = 200  # the newest


def observe_traces(directory: str, environment: HookEnvironment) -> None:
    """Make observations of the traces that memory does not have yet.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    with open_context(directory, environment) as context:
        if not context.store.is_observing():
            return
        traces = context.store.new_traces()[-_MAX_TRACES:]
        if not traces:
            return
        from remit.memory.artifacts import ObservationType
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
