"""Demotion: three failures in a tool's last five calls demote it in a project, one success restores it.

Outcomes are a text of at most five signs, `+` for a call that went well and `-` for one that failed, in the
order in which they became known. A call whose outcome is unknown takes no place among them: while it runs it
says nothing for or against its tool.
"""

ENOUGH = 3


def is_demoted(outcomes: str) -> bool:
    """Tell whether a tool with these outcomes ranks below others."""
    return outcomes.endswith("-") and outcomes.count("-") >= ENOUGH


def in_words(outcomes: str) -> str:
    """Say what demoted a tool."""
    return f"{outcomes.count('-')} of its last {len(outcomes)} calls here failed"
