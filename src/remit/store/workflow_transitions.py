"""Sets and clears workflow states as tools succeed.

A hook process imports this module, so it has nothing else of states.
"""

import json

from remit.decision.globs import tool_globs
from remit.decision.projects import Workspace
from remit.decision.tool_names import spellings
from remit.store.database import Database


def advance(database: Database, name: str, workspace: Workspace, at: int) -> None:
    """Set and clear the workflow states that a tool's success does, inside the transaction of its use."""
    project = workspace.project.hash
    found = database.rows("transitions", workspace=workspace.dir, project=project)
    for pattern, state, truth in json.loads(found[0][0]) if found else ():
        if any(form.matches(each) for form in tool_globs(pattern) for each in spellings(name)):
            if truth:
                database.run("set_state", project=project, name=state, at=at, by=name)
            else:
                database.run("clear_state", project=project, name=state)
