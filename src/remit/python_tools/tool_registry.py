"""A registry of Python tools that decides which are available, and explains why."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from inspect import getmembers_static
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from remit.approvals.approval_service import Permit
from remit.approvals.approvals import Approval
from remit.approvals.call_binding import bind
from remit.catalog.explanation import Explanation
from remit.conditions.check import check
from remit.configuration.condition_rules import read_condition
from remit.configuration.config_model import ToolEntry
from remit.decision.context import Context
from remit.decision.decide import UNKNOWN, Decision, ExplainedGate, ToolDecision, Verdict, decide, explain
from remit.decision.gate_rules import GateResult
from remit.decision.gates import Gate
from remit.decision.policy import Policy
from remit.decision.requirements import LocationScope, Requirements, StateScope
from remit.decision.state_snapshot import Snapshot
from remit.decision.tool_lookup import suggest
from remit.decision.tool_names import MCP
from remit.errors import HiddenToolError, NotApprovedError, ToolError
from remit.python_tools.decorators import DefinedTool, options_of
from remit.python_tools.function_tools import check_arguments, define, run_defined
from remit.python_tools.recorded_call import RecordedCall
from remit.python_tools.state_registry import TIMEOUT, Detect, DetectedState, StateAwareRegistry
from remit.python_tools.tool_context import Location, ToolContextSource, require_state
from remit.python_tools.tool_rules import (
    CLIENT,
    definition,
    entry,
    label,
    requirements,
    row,
)

if TYPE_CHECKING:
    from remit.integrations.provider_tools import ProviderTools

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., object])
Ask = Callable[[Approval], Awaitable[bool | None]]  # asks the user about a call; None: no answer


class ListedTool(NamedTuple):
    """A tool with the decision about it."""

    tool: DefinedTool
    decision: Decision

    @property
    def is_there(self) -> bool:
        """Whether it is available, perhaps after approval."""
        return self.decision.is_available


class ToolRegistry:
    """Tools defined in Python, each available only if its states, condition and location allow it.

    Functions detect the states. With a project, its configuration adds states, and its rules apply to the
    tools, too.

    Raises:
        NoSuchDirectoryError: there is no such project.
        StateError: states imply each other in a circle.
        StoreError: the database cannot be used.
    """

    def __init__(
        self,
        states: Mapping[str, DetectedState | Detect] | None = None,
        *,
        project: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._detected = StateAwareRegistry[object](states or {}, timeout=timeout)
        self._context_source = ToolContextSource(self._detected, project)
        self._tools: dict[str, DefinedTool] = {}
        self._cached_rules: tuple[tuple[Requirements, Policy, int], tuple[Requirements, Policy]] | None = None

    def __enter__(self) -> "ToolRegistry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the project's store."""
        self._context_source.close()

    def register(
        self,
        function: AnyFunction,
        *,
        required_states: Sequence[str] = (),
        when: str | None = None,
        location: LocationScope | None = None,
        name: str | None = None,
        description: str | None = None,
        namespace: str | None = None,
    ) -> AnyFunction:
        """Register a function as a tool, with the options of its decorators and of this call.

        Raises:
            ConditionError: its condition is invalid or can never hold.
            ToolError: the function cannot be a tool, or the name is taken.
            UnknownStateError: it needs an undeclared state.
        """
        marks = options_of(function)
        own = entry(required_states, when, location)
        said = {"name": name, "description": description, "namespace": namespace}
        marks = replace(marks, **{key: value for key, value in said.items() if value is not None})
        defined = define(function, replace(marks, needs=(*marks.needs, *own)))
        for need in defined.needs:
            self._check(need)
        self.add(defined)
        return function

    def register_all(self, container: object, *, namespace: str | None = None) -> list[str]:
        """Register the marked functions of a class, object or module as tools, and return their names.

        The namespace defaults to the lowercase name of the class; functions of a module have none.

        Raises:
            ConditionError: a condition is invalid or can never hold.
            ToolError: a function cannot be a tool, or a name is taken.
            UnknownStateError: a tool needs an undeclared state.
        """
        before = len(self._tools)
        for name, static in getmembers_static(container):
            marks = options_of(static)
            if marks.is_tool:
                home = marks.namespace or namespace or _namespace(container)
                self.register(getattr(container, name), namespace=home)
        return list(self._tools)[before:]

    def add(self, tool: DefinedTool) -> None:
        """Add a defined tool; it stays hidden if it needs an undeclared state.

        Raises:
            ConditionError: its condition is invalid.
            ToolError: the name is taken.
        """
        if tool.name in self._tools:
            raise ToolError(f"two tools are called `{tool.name}`", hint="give one another name")
        for need in tool.needs:
            read_condition(need)
        self._tools[tool.name] = tool

    def snapshot(self, location: Location | None = None) -> Snapshot:
        """Take a snapshot of all states."""
        return self._context_source.now(location).snapshot or Snapshot()

    def detect_current_states(self) -> list[str]:
        """List the states that hold now."""
        return [name for name, value in self.snapshot().states.items() if value.truth]

    def listed(self, location: Location | None = None) -> list[ListedTool]:
        """List every tool with its current decision, including hidden tools."""
        return self.decided(self._tools.values(), location)

    def decided(self, tools: Iterable[DefinedTool], location: Location | None = None) -> list[ListedTool]:
        """Decide about tools, registered or not.

        A tool that is not registered is decided by its name. If this is a name of an MCP tool
        (`mcp__github__create_issue`), the project's declarations of its server count.
        """
        context = self._with_tool_rules(self._context_source.now(location))
        return [self._decided(tool, context) for tool in tools]

    def tools(self, location: Location | None = None) -> list[DefinedTool]:
        """List the tools that are available now."""
        return [item.tool for item in self.listed(location) if item.is_there]

    def tools_for_states(
        self, states: Iterable[str] | None = None, location: Location | None = None
    ) -> list[DefinedTool]:
        """List the tools that are available when exactly these states hold; None means the current states.

        Raises:
            UnknownStateError: a state is not declared.
        """
        if states is None:
            return self.tools(location)
        context = self._with_tool_rules(self._context_source.given(states, location))
        listed = [self._decided(tool, context) for tool in self._tools.values()]
        return [item.tool for item in listed if item.is_there]

    def by_namespace(self, tools: Iterable[DefinedTool] | None = None) -> dict[str | None, list[DefinedTool]]:
        """Group tools by namespace; by default, all tools that are available now."""
        groups: dict[str | None, list[DefinedTool]] = {}
        for tool in self.tools() if tools is None else tools:
            groups.setdefault(tool.namespace, []).append(tool)
        return groups

    def why(self, name: str, location: Location | None = None) -> Explanation:
        """Explain why a tool is available or not."""
        context = self._with_tool_rules(self._context_source.now(location))
        tool = self._tools.get(name)
        if tool is None:
            listed = [ToolDecision(row(each), UNKNOWN) for each in self._tools.values()]
            gates = [ExplainedGate(Gate.SCOPE, GateResult(False, UNKNOWN.reason))]
            return Explanation(
                name=name, tool=None, decision=UNKNOWN, gates=gates, suggestions=suggest(name, listed)
            )
        found = row(tool)
        gates = list(explain(found, context))
        return Explanation(name=name, tool=found, decision=self._decided(tool, context).decision, gates=gates)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        location: Location | None = None,
        *,
        ask: Ask | None = None,
        principal: str = CLIENT,
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
            raise _refused(Permit(False, UNKNOWN), name)

        def permit_now() -> Permit:
            return self.permit(tool, given, location, principal=principal)

        permit = await asyncio.to_thread(permit_now)
        if permit.is_pending and permit.approval is not None and ask is not None:
            word = await ask(permit.approval)
            permit = await asyncio.to_thread(self.settle, permit, permit_now, approve=word)
        if not permit.is_allowed:
            raise _refused(permit, name)
        answer = await run_defined(tool, given)
        await asyncio.to_thread(self.succeeded, name)
        return answer

    def as_langchain(self) -> list[Any]:
        """Return all tools as LangChain tools that decide about their own calls."""
        return _integration("langchain").as_langchain(self)

    def as_fastmcp(self) -> list[Any]:
        """Return all tools as FastMCP tools that decide about their own calls."""
        return _integration("fastmcp").as_fastmcp(self)

    def as_pydantic_ai(self) -> Any:
        """Return the tools as a Pydantic AI toolset, which offers those that are available at each step."""
        return _integration("pydantic_ai").RemitToolset(self)

    def as_openai_agents(self) -> list[Any]:
        """Return all tools as function tools of the OpenAI Agents SDK, held to the decisions."""
        return _integration("openai_agents").as_openai_agents(self)

    def as_openai(self) -> "ProviderTools":
        """Return definitions for OpenAI's APIs, with a dispatcher for the model's calls."""
        return _integration("provider_tools").as_openai(self)

    def as_anthropic(self) -> "ProviderTools":
        """Return definitions for Anthropic's API, with a dispatcher for the model's calls."""
        return _integration("provider_tools").as_anthropic(self)

    def definitions(self) -> list[DefinedTool]:
        """List every registered tool, whether it is available or not."""
        return list(self._tools.values())

    def definition(self, name: str) -> DefinedTool | None:
        """Find a tool by name, whether it is available or not."""
        return self._tools.get(name)

    def permit(
        self,
        tool: DefinedTool,
        arguments: Mapping[str, object],
        location: Location | None = None,
        *,
        principal: str = CLIENT,
    ) -> Permit:
        """Tell whether a call of a tool, registered or not, may run now; consume or request its approval.

        Raises:
            ApprovalError: the call cannot be approved.
            ArgumentsError: it needs approval, and cannot run with these arguments.
            StoreError: the database cannot be used.
        """
        found, decision = self.decided([tool], location)[0]
        if decision.verdict is not Verdict.ASK:
            return Permit(decision.is_available, decision)
        check_arguments(found, arguments)  # before a person is asked about a call that cannot run
        binding = bind(principal, found.name, definition(found), arguments)
        return self._context_source.permit(binding, decision, arguments)

    def settle(self, asked: Permit, permit_again: Callable[[], Permit], *, approve: bool | None) -> Permit:
        """Record the answer to a question about a call, and decide about the call again.

        Raises:
            ApprovalError: the call cannot be approved.
            StoreError: the database cannot be used.
        """
        return self._context_source.settle(asked, permit_again, approve=approve)

    def notifies(self) -> bool:
        """Check whether the desktop shows that a call waits for approval."""
        return self._context_source.notifies()

    def succeeded(self, name: str) -> None:
        """Update the project's workflow states after a call of a tool succeeded."""
        self._context_source.succeeded(name)

    def record(self, name: str, decision: Decision, call: RecordedCall) -> None:
        """Record a call that a framework made: in the project's `remit calls`, and in `remit usage`."""
        self._context_source.record(name, decision, call)

    def _decided(self, tool: DefinedTool, context: Context) -> ListedTool:
        registered = self._tools.get(tool.name)
        if registered is None and tool.name.startswith(MCP):
            declared = self._context_source.declared(tool.name, context)
            if declared is not None:
                return ListedTool(tool, declared)
        found = registered or tool
        return ListedTool(found, decide(row(found), context))

    def _with_tool_rules(self, context: Context) -> Context:
        """Add the conditions and labels of the tools to a context."""
        key = (context.requirements, context.policy, len(self._tools))
        if self._cached_rules is None or self._cached_rules[0] != key:
            needed = [each for tool in self._tools.values() for each in requirements(tool)]
            said = (
                context.requirements.including(needed, self._context_source.ways),
                context.policy.including(map(label, self._tools.values())),
            )
            self._cached_rules = key, said
        own_requirements, policy = self._cached_rules[1]
        return replace(context, requirements=own_requirements, policy=policy)

    def _check(self, need: ToolEntry) -> None:
        vocabulary = self._context_source.vocabulary
        asked = need.states or StateScope()
        for name in (*asked.all, *(asked.any or ()), *asked.none):
            require_state(name, vocabulary.states)
        for mistake in check(read_condition(need), vocabulary):
            raise mistake.as_error()


def _integration(framework: str) -> Any:
    """Import the integration of a framework by its name: it depends on this package, not the reverse."""
    return import_module(f"remit.integrations.{framework}")


def _refused(permit: Permit, name: str) -> HiddenToolError | NotApprovedError:
    """Return the error for a call that may not run."""
    if permit.approval is None:
        return HiddenToolError(f"`{name}`: {permit.decision.reason}", hint=permit.decision.unlock)
    reason = f"`{name}` {permit.decision.reason}"
    if permit.is_denied:
        return NotApprovedError(f"{reason}, and a person said no", approval_id=None)
    id = permit.approval.id
    return NotApprovedError(reason, approval_id=id, hint=f"run `remit approve {id}`, then call it again")


def _namespace(container: object) -> str | None:
    """Return the default namespace for the tools of a class or an object; None for a module."""
    kind = container if isinstance(container, type) else type(container)
    return None if kind.__module__ == "builtins" else kind.__name__.lower()
