"""A registry of Python tools, each available only while its states, condition and location allow it."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from inspect import getmembers_static
from threading import RLock
from typing import Any, NamedTuple, TypeVar, Unpack

from remit.config import (
    VARIABLES,
    Configuration,
    Configurations,
    StateRule,
    check_tools,
    data_directory,
    state_rule,
)
from remit.decision import (
    UNKNOWN,
    Context,
    Decision,
    Rules,
    Snapshot,
    StateValue,
    ToolDecision,
    Verdict,
    Workspace,
    decide,
    explain,
    identify,
    near_names,
)
from remit.decision.when import LOCATION, CelType, Schema, Vocabulary, mistakes_in
from remit.errors import (
    HiddenToolError,
    NotApprovedError,
    NotFoundError,
    StateError,
    StoreUnavailableError,
    ToolError,
)
from remit.files import locate, this_machine
from remit.python_tools.states import TIMEOUT, DeclaredState, DetectedStates
from remit.python_tools.tools import (
    CLIENT,
    DefinedTool,
    ToolOptions,
    check_arguments,
    define,
    marks_of,
    read_options,
    run_tool,
)
from remit.states import States
from remit.store import Approval, Call, Store, open_store
from remit.text import did_you_mean, one_line
from remit.trust import Approvals, Permit

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., object])
Ask = Callable[[Approval], Awaitable[bool | None]]  # asks the user about a call; None: no answer
Location = Mapping[str, object]
Table = Mapping[str, Any]  # as in `remit.toml`

_log = logging.getLogger("remit.python_tools")
_LONGEST_PROBLEM = 1_000  # characters
_NOWHERE = Workspace("", "", identify(""))
_BY_ITS_DETECTOR = "its detector, a function of this program, must return true"
_ALONE: Schema = {"location": LOCATION, "args": CelType.MAP}
_IN_PROJECT: Schema = {**VARIABLES, "env": CelType.MAP, "entities": CelType.MAP}


class ListedTool(NamedTuple):
    """A tool with the decision about it."""

    tool: DefinedTool
    decision: Decision


class ToolReasons(NamedTuple):
    """Why a tool is available or not."""

    name: str
    decision: Decision
    gates: Sequence[Decision] = ()  # what each gate says
    suggestions: Sequence[str] = ()  # similar names, if there is no such tool


class ToolRegistry:
    """Tools defined in Python, each available only if its states, condition and location allow it.

    Functions detect the states. With a project, its configuration adds states, and its rules apply to the
    tools, too. States can also be `declared` as in `remit.toml`, for a project: a gateway can apply these.

    Raises:
        NotFoundError: there is no such directory.
        StateError: a state is not declared as it should be, or states imply each other in a circle.
        StoreError: the database cannot be used.
    """

    def __init__(
        self,
        states: Mapping[str, DeclaredState] | None = None,
        *,
        project: str | None = None,
        declared: Mapping[str, Table] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._detected = DetectedStates(states or {}, timeout=timeout)
        self._project = None if project is None else _Project(project)
        self.declared: Mapping[str, Table] = {}
        self._approving = self._project  # without a project, opened for the first call that needs approval
        self._tools: Mapping[str, DefinedTool] = {}  # replaced, never changed: threads read it
        self._combined: tuple[Rules, Mapping[str, DefinedTool], Rules] | None = None
        self.replace((), declared or {})

    def __enter__(self) -> "ToolRegistry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the project's store."""
        if self._approving is not None:
            self._approving.close()

    def register(
        self,
        function: AnyFunction,
        options: Mapping[str, object] | None = None,
        /,
        **more: Unpack[ToolOptions],
    ) -> AnyFunction:
        """Register a function as a tool, with the options of its decorators and of this call.

        Raises:
            ConditionError: its condition is invalid.
            NotFoundError: it needs an undeclared state.
            ToolError: the function cannot be a tool, an option is unknown, or the name is taken.
        """
        tool = define(function, {**read_options(options or {}), **more})
        self._check(tool)
        self.add(tool)
        return function

    def register_all(self, container: object, *, namespace: str | None = None) -> list[str]:
        """Register the marked functions of a class, object or module as tools, and return their names.

        The namespace defaults to the lowercase name of the class; functions of a module have none.

        Raises:
            ConditionError: a condition is invalid.
            NotFoundError: a tool needs an undeclared state.
            ToolError: a function cannot be a tool, or a name is taken.
        """
        before = len(self._tools)
        for name, static in getmembers_static(container):
            marks = marks_of(static)
            if marks.is_tool:
                home = marks.options.get("namespace") or namespace or _namespace(container)
                self.register(getattr(container, name), namespace=home)
        return [*self._tools][before:]

    def add(self, tool: DefinedTool) -> None:
        """Add a defined tool; it stays hidden if it needs an undeclared state.

        Raises:
            ToolError: the name is taken.
        """
        self._tools = _by_name([*self._tools.values(), tool])

    def replace(self, tools: Iterable[DefinedTool], declared: Mapping[str, Table]) -> None:
        """Replace all tools and declared states.

        Raises:
            StateError: a state is not declared as it should be, or there is no project.
            ToolError: two tools have one name.
        """
        known = _by_name(tools)
        for mistake in check_tools({"states": {**declared}}):
            raise StateError(f"{'.'.join(mistake.path)}: {mistake.message}", hint=mistake.hint)
        if self._project is not None:
            self._project.declare(declared)
        elif declared:
            raise StateError("declared states need a project", hint='write `project="."`')
        self.declared, self._tools = declared, known

    def definitions(self) -> list[DefinedTool]:
        """List every registered tool, whether it is available or not."""
        return [*self._tools.values()]

    def definition(self, name: str) -> DefinedTool | None:
        """Find a tool by name, whether it is available or not."""
        return self._tools.get(name)

    def detect_current_states(self) -> list[str]:
        """List the states that hold now."""
        snapshot = self._context(None).snapshot or Snapshot()
        return [name for name, value in snapshot.states.items() if value.truth]

    def get_tools_for_states(
        self, states: Iterable[str], location: Location | None = None
    ) -> list[DefinedTool]:
        """List the tools that are available when exactly these states and those they imply hold.

        Raises:
            NotFoundError: a state is not declared.
        """
        holding = {name: StateValue(True, "given") for name in states}
        for name in holding:
            self._require_state(name)
        closed = self._detected.implications.close(_those(holding, self._detected.implications.names))
        context = self._context(location, run=False)
        if self._project is not None:
            known = self._project.configuration().implications
            closed = {**known.close(_those(holding, known.names)), **closed}
        variables = {} if context.snapshot is None else context.snapshot.values
        given = context._replace(snapshot=Snapshot(closed, variables))
        return [
            item.tool for item in self._decided(self._tools.values(), given) if item.decision.is_available
        ]

    def group_by_namespace(
        self, tools: Iterable[DefinedTool] | None = None
    ) -> dict[str | None, list[DefinedTool]]:
        """Group tools by namespace; by default, all that are available now."""
        groups: dict[str | None, list[DefinedTool]] = {}
        for tool in self.tools() if tools is None else tools:
            groups.setdefault(tool.namespace, []).append(tool)
        return groups

    def tools(self, location: Location | None = None) -> list[DefinedTool]:
        """List the tools that are available now."""
        return [item.tool for item in self.listed(location=location) if item.decision.is_available]

    def listed(
        self, tools: Iterable[DefinedTool] | None = None, location: Location | None = None
    ) -> list[ListedTool]:
        """Decide about tools, registered or not; by default, about all that are registered."""
        return self._decided(self._tools.values() if tools is None else tools, self._context(location))

    def why(self, name: str, location: Location | None = None) -> ToolReasons:
        """Explain why a tool is available or not."""
        tool = self._tools.get(name)
        if tool is None:
            return ToolReasons(name, UNKNOWN, suggestions=near_names(name, self._tools))
        context = self._with_rules(self._context(location), [tool])
        return ToolReasons(name, decide(tool.row, context), explain(tool.row, context))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        location: Location | None = None,
        *,
        ask: Ask | None = None,
        caller: str = CLIENT,
    ) -> object:
        """Call a tool if it is available now.

        If the tool needs approval, `ask` asks the user about this call. Without an answer, the call waits for
        `remit approve` in the project, or else in the working directory; call again after it.

        A sync function runs in a worker thread, so it does not block the event loop. When the tool succeeds,
        the project's workflow states are updated.

        Raises:
            ApprovalError: the call cannot be approved.
            ArgumentsError: the tool does not accept these arguments.
            HiddenToolError: the tool is hidden or unknown.
            NotApprovedError: the call waits for approval, or a person said no.
        """
        given = arguments or {}
        tool = self._tools.get(name)
        if tool is None:
            raise refused_call(Permit(False, UNKNOWN), name)

        def permit_now() -> Permit:
            return self.permit(tool, given, location, caller=caller)

        permit = await asyncio.to_thread(permit_now)
        if permit.is_pending and permit.approval is not None and ask is not None:
            answer = await ask(permit.approval)
            permit = await asyncio.to_thread(self.settle, permit, permit_now, approve=answer)
        if not permit.is_allowed:
            raise refused_call(permit, name)
        result = await run_tool(tool, given)
        await asyncio.to_thread(self.succeeded, name)
        return result

    def permit(
        self,
        tool: DefinedTool,
        arguments: Mapping[str, object],
        location: Location | None = None,
        *,
        caller: str = CLIENT,
    ) -> Permit:
        """Tell whether a call of a tool, registered or not, may run now; use or request its approval.

        Raises:
            ApprovalError: the call cannot be approved.
            ArgumentsError: it needs approval, and cannot run with these arguments.
            StoreError: the database cannot be used.
        """
        context = self._context(location)._replace(args=arguments)
        (tool, decision) = self._decided([tool], context)[0]
        if decision.verdict is not Verdict.ASK:
            return Permit(decision.is_available, decision)
        check_arguments(tool, arguments)  # before a person is asked about a call that cannot run
        with self._approvals(ToolDecision(tool.row, decision)) as (approvals, place):
            return approvals.permit(tool.name, arguments, place, caller)

    def settle(self, asked: Permit, permit_again: Callable[[], Permit], *, approve: bool | None) -> Permit:
        """Take the answer to a question about a call, and decide about the call again.

        Raises:
            ApprovalError: the call cannot be approved.
            StoreError: the database cannot be used.
        """
        with self._approvals() as (approvals, place):
            return approvals.settle(asked, place, approve=approve, permit_again=permit_again)

    def succeeded(self, name: str) -> None:
        """Update the project's workflow states after a call of a tool succeeded."""
        if self._project is not None:
            self._project.advance(name)

    def record(self, call: Call) -> None:
        """Log a call that a framework made in the project's `remit calls`."""
        if self._project is not None:
            self._project.record(call)

    def _decided(self, tools: Iterable[DefinedTool], context: Context) -> list[ListedTool]:
        known = [self._tools.get(tool.name, tool) for tool in tools]
        with_rules = self._with_rules(context, known)
        return [ListedTool(tool, decide(tool.row, with_rules)) for tool in known]

    def _context(self, location: Location | None, *, run: bool = True) -> Context:
        """Take one snapshot of all states."""
        for part in location or ():
            if part not in LOCATION:
                raise StateError(f"a location has no `{part}`", hint=did_you_mean(part, LOCATION))
        context = Context(_NOWHERE, None) if self._project is None else self._project.context()
        known = context.snapshot or Snapshot()
        states = self._detected.detect() if run else {}
        variables = known.values if location is None else {**known.values, "location": dict(location)}
        variables = {"location": {}, **variables}
        return context._replace(snapshot=Snapshot({**known.states, **states}, variables))

    def _with_rules(self, context: Context, tools: Sequence[DefinedTool]) -> Context:
        """Add what tools require to a context; the rules of the registered ones are kept."""
        registered, combined = self._tools, self._combined
        if combined is None or combined[0] is not context.rules or combined[1] is not registered:
            own = [rule for tool in registered.values() for rule in tool.rules]
            combined = context.rules, registered, self._with_ways(context.rules.including(own))
            self._combined = combined
        rules = combined[2]
        if others := [tool for tool in tools if tool.name not in registered]:
            rules = rules.including(rule for tool in others for rule in tool.rules)
        return context._replace(rules=rules)

    def _with_ways(self, rules: Rules) -> Rules:
        """Tell how each state of the program becomes true."""
        ways = {
            name: f"make this true: {state.description}" if state.description else _BY_ITS_DETECTOR
            for name, state in self._detected.declared.items()
        }
        described = {
            name: table["description"] for name, table in self.declared.items() if "description" in table
        }
        ways |= {name: f"make this true: {description}" for name, description in described.items()}
        rules.unlocks = {**rules.unlocks, **ways}
        return rules

    def _check(self, tool: DefinedTool) -> None:
        vocabulary = self._vocabulary()
        for need in tool.needs:
            if need.states is not None:
                for name in (*need.states.all, *(need.states.any or ()), *need.states.none):
                    self._require_state(name)
            for mistake in mistakes_in(need, vocabulary):
                raise mistake.as_error()

    def _vocabulary(self) -> Vocabulary:
        own = self._detected.implications.names
        if self._project is None:
            return Vocabulary(own, _ALONE)
        return Vocabulary({*own, *self._project.configuration().implications.names}, _IN_PROJECT)

    def _require_state(self, name: str) -> None:
        known = self._vocabulary().states
        if name not in known:
            hint = did_you_mean(name, known) or "declare it with its detector"
            raise NotFoundError(f"no state is called `{name}`", hint=hint)

    @contextmanager
    def _approvals(self, *decided: ToolDecision) -> Generator[tuple[Approvals, Context]]:
        """Open the approvals of the project, or else of the working directory."""
        if self._approving is None:
            self._approving = _Project(os.curdir)
        with self._approving.opened() as store:

            def decide_already(*_: object) -> ToolDecision:
                return decided[0]

            approvals = Approvals(store.approvals, _now, decide_already)
            yield approvals, Context(self._approving.workspace, None)


class _ProgramConfigurations(Configurations):
    """The configuration with the states of a program; one that the project declares itself counts instead."""

    declared: Mapping[str, StateRule] = {}

    def current(self, workspace: Workspace) -> Configuration:
        """Return the merged configuration; changed files are read again."""
        configuration = super().current(workspace)
        states = {**self.declared, **configuration.states}
        implies = {name: states[name].implies for name in self.declared}
        implications = configuration.implications.including(tuple(self.declared), implies)
        return configuration._replace(states=states, implications=implications)


class _Project:
    """The store, the configuration and the states of a directory; only one thread uses them at a time."""

    def __init__(self, directory: str) -> None:
        machine = this_machine()
        self.workspace = locate(directory)
        self._lock = RLock()
        self._is_closed = False
        self._store = open_store(os.path.join(data_directory(machine), "remit.sqlite"))
        self._configurations = _ProgramConfigurations(self._store, machine, _now)
        self._states = States(self._store.states, self._configurations, machine, _now)
        self._logged: set[str] = set()  # problems of the project's files
        self._home = machine.home

    def declare(self, states: Mapping[str, Table]) -> None:
        """Replace the states that the program declares."""
        self._configurations.declared = {name: state_rule(name, table) for name, table in states.items()}

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            self._is_closed = True
            self._store.close()

    @contextmanager
    def opened(self) -> Generator[Store]:
        """Hold the lock of the open store.

        Raises:
            StoreUnavailableError: the registry is closed.
        """
        with self._lock:
            if self._is_closed:
                hint = "use it inside its `with` block, before `close`"
                raise StoreUnavailableError("this registry is closed", hint=hint)
            yield self._store

    def configuration(self) -> Configuration:
        """Return the current configuration; each mistake in its files is logged once."""
        with self.opened():
            configuration = self._configurations.current(self.workspace)
        for problem in configuration.problems:
            text = one_line(": ".join(filter(None, problem)), _LONGEST_PROBLEM)
            if text not in self._logged:
                self._logged.add(text)
                _log.warning("%s", text)
        return configuration

    def context(self) -> Context:
        """Return the rules and the states of the project."""
        context = Context(self.workspace, None, home=self._home, rules=self.configuration().rules)
        with self.opened():
            return context._replace(snapshot=self._states.snapshot(context))

    def advance(self, tool: str) -> None:
        """Update the workflow states after a tool succeeded."""
        with self.opened():
            self._states.advance(tool, Context(self.workspace, None))

    def record(self, call: Call) -> None:
        """Log a call."""
        with self.opened() as store:
            store.calls.add([call], self.workspace)


def refused_call(permit: Permit, name: str) -> HiddenToolError | NotApprovedError:
    """Return the error for a call that may not run."""
    if permit.approval is None:
        return HiddenToolError(f"`{name}`: {permit.decision.reason}", hint=permit.decision.unlock)
    reason = f"`{name}` {permit.decision.reason}"
    if permit.is_denied:
        return NotApprovedError(f"{reason}, and a person said no", approval_id=None)
    id = permit.approval.id
    return NotApprovedError(reason, approval_id=id, hint=f"run `remit approve {id}`, then call it again")


def _by_name(tools: Iterable[DefinedTool]) -> dict[str, DefinedTool]:
    named: dict[str, DefinedTool] = {}
    for tool in tools:
        if tool.name in named:
            raise ToolError(f"two tools are called `{tool.name}`", hint="give one another name")
        named[tool.name] = tool
    return named


def _those(values: Mapping[str, StateValue], names: Iterable[str]) -> dict[str, StateValue]:
    return {name: values[name] for name in names if name in values}


def _namespace(container: object) -> str | None:
    """Return the default namespace for the tools of a class or an object; None for a module."""
    kind = container if isinstance(container, type) else type(container)
    return None if kind.__module__ == "builtins" else kind.__name__.lower()


def _now() -> int:
    return time.time_ns() // 1_000_000
