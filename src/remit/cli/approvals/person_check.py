"""Refuses commands that only a person may run when an agent runs them."""

import os

from remit.approvals.agent_processes import MARKERS, MULTIPLEXERS, ProcessTree, find_agent
from remit.approvals.process_tree import read_process_tree
from remit.errors import ApprovalError

looks_at_processes = True  # not where the demo plays the person


def require_person(act: str = "approve a call") -> None:
    """Check that no agent runs this command, which does what only a person may do.

    Raises:
        ApprovalError: an agent runs it.
    """
    tree = read_process_tree(MARKERS, MULTIPLEXERS) if looks_at_processes else ProcessTree(())
    agent = find_agent(os.environ, tree)
    if agent is not None:
        raise ApprovalError(
            f"{agent} runs this command, and only a person can {act}",
            hint="run it yourself: in a terminal that an administrator installed, on the console or over SSH",
        )
