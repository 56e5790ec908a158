"""The context of a decision: the caller, the workspace, and the rules."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.decision.agents import Agent
from remit.decision.policy import NO_POLICY, Policy
from remit.decision.policy_rules import Mode
from remit.decision.projects import DEFAULT_FLAGS, LaunchFlags, View, Workspace
from remit.decision.requirements import NO_REQUIREMENTS, Requirements

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.permissions.client_permissions import ClientPermissions
    from remit.decision.state_snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The caller, the workspace, and the rules of a decision."""

    workspace: Workspace
    client: str | None  # None: all clients, for an inventory
    flags: LaunchFlags = DEFAULT_FLAGS
    agent: Agent | None = None  # None: the main session
    home: str = ""  # shortens paths in reasons
    starts_servers: bool = False  # Remit itself starts servers, so a project's servers must be trusted
    is_installed: bool = (
        False  # in the client, so these servers must be trusted even if the client starts them
    )
    requirements: Requirements = NO_REQUIREMENTS
    snapshot: "Snapshot | None" = None  # None: no detectors ran, because no tool requires a state
    policy: Policy = NO_POLICY
    permissions: "Mapping[str, ClientPermissions] | None" = None  # by client; None: not read yet
    mode: Mode | None = None  # None: the configured mode
    refusals: "Mapping[Key, str] | None" = None  # reasons from Python policy filters
    run_context: object = None  # passed to those filters by the host application

    def view(self, client: str) -> View:
        """Return the view of one client's configuration from this workspace."""
        return View(client, self.workspace, self.flags)

    def permissions_of(self, client: str) -> "ClientPermissions | None":
        """Return a client's own permission rules; None if it has none."""
        return None if self.permissions is None else self.permissions.get(client)


def shorten(path: str, context: Context) -> str:
    """Shorten a path relative to the workspace or the home directory."""
    for base, sign in ((context.workspace.dir, ""), (context.home, "~" + os.sep)):
        inside = base.rstrip(os.sep) + os.sep
        if base and path.startswith(inside):
            return sign + path[len(inside) :]
    return path
