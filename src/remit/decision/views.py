"""A view: one client's configuration as one workspace sees it. What is in force is a property of a view."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from remit.decision.projects import Workspace


class Flags(NamedTuple):
    """How the client is started, where that changes what it loads."""

    is_headless: bool = False  # without a terminal, nobody is asked and nothing waits for approval
    mcp_configs: tuple[str, ...] = ()  # files with servers for this one session

    @property
    def key(self) -> str:
        """What tells one way of starting from another; empty for the usual one."""
        return "" if self == Flags() else json.dumps(self)


USUAL = Flags()


def runs_headless(variables: Mapping[str, str]) -> bool:
    """Tell by what Claude Code hands on to hooks and servers whether it runs without a terminal."""
    return variables.get("CLAUDE_CODE_ENTRYPOINT", "cli") != "cli"


class View(NamedTuple):
    """Whose configuration, seen from where."""

    client: str
    workspace: Workspace
    flags: Flags = USUAL
