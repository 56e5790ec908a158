"""Remembering: what calls left behind becomes observations in the memory of their project.

Hooks keep traces, in milliseconds; a session that begins has the time to make observations of them, and it
begins whether or not the one before it came to an end. Where a project has no memory, none is made for it:
its traces are told of all the same, until they are too old.
"""

from remit.adapters.storage.traces import is_observing, news
from remit.core.memory.scopes import memory_id
from remit.hot_paths import CLIENT, visiting


def remember(directory: str, client: str = CLIENT) -> None:
    """Make observations of the traces that memory does not know of yet.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    with visiting(directory, client) as here:
        left = news(here.database, here.workspace) if is_observing(here.database, here.workspace) else []
        if not left:
            return
        from remit.bootstrap import open_memory
        from remit.core.memory.artifacts import Observed

        project_id = memory_id(here.workspace.project)
        with open_memory(directory) as memory:
            for each in left:
                kept = memory.observe(
                    project_id, Observed(each.observed), each.text, at=each.at, instead_of=each.artifact
                )
                if kept is None:
                    return
                here.database.run(
                    "trace_remembered", trace=each.id, artifact=kept, times=each.times, at=each.at
                )
