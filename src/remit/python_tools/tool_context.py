"""The context for decisions about Python tools: detected states and the states of a project."""

import logging
import os
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock

from remit.approvals.approval_service import Permit
from remit.approvals.call_binding import Binding
from remit.bootstrap import open_registry
from remit.catalog.contexts import ALL_CLIENTS
from remit.conditions.check import LOCATION, Vocabulary
from remit.conditions.syntax import CelType
from remit.configuration.condition_rules import ENTITIES, VARIABLES
from remit.decision.context import Context
from remit.decision.decide import UNKNOWN, Decision, decide
from remit.decision.kinds import Kind
from remit.decision.policy import Policy
from remit.decision.projects import Workspace, identify
from remit.decision.state_snapshot import Implications, Snapshot, StateValue
from remit.decision.tool_lookup import closest_to_being_visible, find
from remit.decision.tool_names import MCP
from remit.decision.tools import Tool
from remit.errors import StoreUnavailableError, UnknownStateError
from remit.python_tools.recorded_call import RecordedCall
from remit.python_tools.state_registry import StateAwareRegistry
from remit.registry import Registry
from remit.states.location import check_location
from remit.text.spelling import did_you_mean
from remit.text.untrusted_text import one_line

Location = Mapping[str, object]
_log = logging.getLogger("remit.python_tools")

_LONGEST_PROBLEM = 1_000  # characters
_BY_ITS_DETECTOR = "its detector, a function of this program, must return true"
_NOWHERE = Workspace(dir="", checkout="", project=identify(""))
# Maps, as their keys depend on the project's files.
_OF_A_PROJECT = {**VARIABLES, "env": CelType.MAP, ENTITIES: CelType.MAP}


class ToolContextSource:
    """Takes snapshots, and builds the context for decisions about tools.

    Raises:
        NoSuchDirectoryError: there is no such project.
        StateError: states imply each other in a circle.
        StoreError: the database cannot be used.
    """

    def __init__(self, detected: StateAwareRegistry[object], project: str | None) -> None:
        self._detected = detected
        self._lock = RLock()  # only one thread may use the store at a time
        self._is_closed = False
        self._registry = None if project is None else open_registry()
        self._logged: set[str] = set()  # problems of the project's files
        self._read_policy: Policy | None = None
        self._approving = self._registry  # without a project, opened for the first call that needs approval
        self._context = (
            Context(workspace=_NOWHERE, client=None)
            if self._registry is None or project is None
            else _program_context(self._registry, project)
        )
        if self._registry is not None:
            self._log_problems(self._registry)

    def close(self) -> None:
        """Close the store."""
        self._is_closed = True
        if self._approving is not None:
            self._approving.close()

    @contextmanager
    def _opened(self) -> Generator[None]:
        """Hold the lock of a store that is open."""
        with self._lock:
            if self._is_closed:
                raise StoreUnavailableError(
                    "this registry is closed", hint="use it inside its `with` block, before `close`"
                )
            yield

    @property
    def vocabulary(self) -> Vocabulary:
        """The states and variables that conditions may use."""
        if self._registry is None:
            return Vocabulary(states=self._detected.implications.names, variables={"location": LOCATION})
        with self._opened():
            known = [each.name for each in self._registry.states.reports(self._context)]
        return Vocabulary(states={*self._detected.implications.names, *known}, variables=_OF_A_PROJECT)

    @property
    def ways(self) -> dict[str, str]:
        """How each state can become true, if known."""
        told = {
            name: f"make this true: {each.description}" if each.description else _BY_ITS_DETECTOR
            for name, each in self._detected.states.items()
        }
        if self._registry is None:
            return told
        with self._opened():
            return {**self._registry.states.unlocks(self._context), **told}

    def now(self, location: Location | None = None) -> Context:
        """Take one snapshot of all states."""
        check_location(None if location is None else dict(location))
        own = self._detected.snapshot(location)
        context = self._project_context()
        if context.snapshot is None:
            return replace(context, snapshot=own)
        there = context.snapshot
        variables = there.variables if location is None else {**there.variables, **own.variables}
        return replace(context, snapshot=Snapshot(states={**there.states, **own.states}, variables=variables))

    def _project_context(self) -> Context:
        """Return the current rules and states of the project; without a project, an empty context."""
        if self._registry is None:
            return self._context
        with self._opened():
            context = self._registry.states.with_snapshot(self._context)
            if context.policy is not self._read_policy:
                self._read_policy = context.policy
                self._log_problems(self._registry)
            return context

    def _log_problems(self, registry: Registry) -> None:
        """Log each mistake in the project's files once: an author sees no other sign of it."""
        for problem in registry.configuration.problems(self._context.workspace):
            text = one_line(": ".join(filter(None, problem)), _LONGEST_PROBLEM)
            if text not in self._logged:
                self._logged.add(text)
                _log.warning("%s", text)

    def declared(self, name: str, context: Context) -> Decision | None:
        """Decide about a tool of an MCP server that the project knows; None without a project.

        A tool that its server has not listed yet is decided like its server, with the rules for its own name.
        """
        if self._registry is None:
            return None
        with self._opened():
            listed = self._registry.tools(self._context)
        nearest = min(find(name, listed), key=closest_to_being_visible, default=None)
        if nearest is None:
            return UNKNOWN
        if nearest.tool.kind is Kind.MCP_SERVER and nearest.decision.is_available:
            return decide(nearest.tool._replace(name=name, kind=Kind.MCP_TOOL), context)
        return nearest.decision

    def succeeded(self, tool: str) -> None:
        """Update the project's workflow states after a tool succeeded."""
        if self._registry is not None:
            with self._opened():
                self._registry.states.advance(tool, self._context)

    def record(self, name: str, decision: Decision, call: RecordedCall) -> None:
        """Record a call in the project's audit, and count it if the project knows the tool."""
        if self._registry is None:
            return
        with self._opened():
            known = self._served(name) if call.ran else None
            batch = call.batch(name, decision, known, self._context.workspace)
            self._registry.usage.record_calls(batch, self._context)
            self._registry.audit.prune(self._context)

    def _served(self, name: str) -> Tool | None:
        """Find the tool of an MCP server that the project knows under a name."""
        if self._registry is None or not name.startswith(MCP):
            return None
        found = find(name, self._registry.tools(self._context))
        nearest = min(found, key=closest_to_being_visible, default=None)
        return nearest.tool if nearest is not None and nearest.tool.kind is Kind.MCP_TOOL else None

    def permit(self, binding: Binding, decision: Decision, arguments: Mapping[str, object]) -> Permit:
        """Consume or request the approval of a call.

        Raises:
            ApprovalError: the call cannot be approved.
            StoreError: the database cannot be used.
        """
        with self._opened():
            registry, context = self._approvals()
            return registry.approvals.permit_bound(binding, decision, arguments, context)

    def settle(self, asked: Permit, permit_again: Callable[[], Permit], *, approve: bool | None) -> Permit:
        """Record the user's answer to a question about a call, and decide about the call anew.

        Raises:
            ApprovalError: the call cannot be approved.
            StoreError: the database cannot be used.
        """
        with self._opened():
            registry, context = self._approvals()
            return registry.approvals.settle(asked, context, approve=approve, permit_again=permit_again)

    def notifies(self) -> bool:
        """Check whether the desktop shows that a call waits for approval."""
        with self._opened():
            registry, context = self._approvals()
            return registry.states.plan(context).notifies

    def _approvals(self) -> tuple[Registry, Context]:
        """Return the registry and the place of the approvals: the project, else the working directory."""
        if self._approving is None:
            self._approving = open_registry()
        if self._registry is not None:
            return self._approving, self._context
        return self._approving, self._approving.at(os.curdir, ALL_CLIENTS)

    def given(self, states: Iterable[str], location: Location | None = None) -> Context:
        """Make a context in which exactly these states and those they imply hold.

        Raises:
            UnknownStateError: a state is not declared.
        """
        check_location(None if location is None else dict(location))
        holding = list(states)
        known = self.vocabulary.states
        for name in holding:
            require_state(name, known)
        implied = {name: each.implies for name, each in self._detected.states.items()}
        closed = Implications(known, implied).close({name: StateValue(True, "given") for name in holding})
        context = self._project_context()
        variables = {**(context.snapshot or Snapshot()).variables, "location": dict(location or {})}
        return replace(context, snapshot=Snapshot(states=closed, variables=variables))


def _program_context(registry: Registry, project: str) -> Context:
    """Return the context of a program: it waits for no client's approval, so trust alone decides."""
    return replace(registry.at(project, ALL_CLIENTS, is_headless=True), is_installed=True)


def require_state(name: str, known: Collection[str]) -> None:
    """Check that a state is declared.

    Raises:
        UnknownStateError: the state is not declared.
    """
    if name not in known:
        hint = did_you_mean(name, known) or "declare it with its detector"
        raise UnknownStateError(f"no state is called `{name}`", hint=hint)
