"""Remembering: what calls left behind becomes observations in the memory of their project.

Hooks keep traces, in milliseconds; a session that begins has the time to make observations of them, and it
begins whether or not the one before it came to an end. Where a project has no memory, none is made for it:
its traces are told of all the same, until they are too old.
"""

from remit.hooks.quick_store import CLIENT, visiting
from remit.memory.scope_gate import memory_id
from remit.store.trace_store import is_observing, news

_MOST = 200  # traces, the newest, that a session which begins takes the time for


def remember(directory: str, client: str = CLIENT) -> None:
    """Make observations of the traces that memory does not know of yet.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    with visiting(directory, client) as here:
        if not is_observing(here.database, here.workspace):
            return
        left = news(here.database, here.workspace)[-_MOST:]
        if not left:
            return
        from remit.bootstrap import open_memory
        from remit.memory.artifacts import Observed
        from remit.memory.project_memory import Seen

        with open_memory(directory) as memory:
            kept = memory.observe(
                memory_id(here.workspace.project),
                *(Seen(Observed(each.observed), each.text, each.at, each.artifact) for each in left),
            )
        with here.database.transaction():
            for each, artifact in zip(left, kept, strict=False):
                values = {"trace": each.id, "artifact": artifact, "times": each.times, "at": each.at}
                here.database.run("trace_remembered", **values)
