"""Decides about the tools of an agent framework: which ones a model sees, and whether a call may run."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from remit.approvals.approval_service import Permit
from remit.approvals.approvals import Approval
from remit.audit.audit_log import AuditOutcome
from remit.decision.decide import Decision, Verdict
from remit.decision.tool_lookup import near_names
from remit.errors import ArgumentsError, RemitError
from remit.integrations.exported_tools import exported_names, exported_tools
from remit.presentation import refusals
from remit.presentation.listing_strategies import VisibleTool
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.function_tools import check_arguments, error_text
from remit.python_tools.recorded_call import RecordedCall
from remit.python_tools.tool_registry import ListedTool, ToolRegistry
from remit.python_tools.tool_rules import row
from remit.search.conversation import weighted_texts
from remit.search.tool_filter import ToolFilter, check_top_k
from remit.text.spelling import as_question

AnyTool = TypeVar("AnyTool")
Rename = Callable[[str], str | None]  # None: the name stays
_MOST_NAMED = 20  # available tools in the answer to an unknown name
_log = logging.getLogger("remit.integrations")


def framework_tool(
    name: str, description: str | None, input_schema: Mapping[str, object], framework: str
) -> DefinedTool:
    """Describe a framework's tool; the framework runs it."""
    return DefinedTool(
        name=name,
        description=description or "",
        input_schema=dict(input_schema),
        run=_run_elsewhere,
        source=framework,
    )


class ToolGuard:
    """Holds the tools of one agent to the decisions of a registry.

    `names` maps a name in the framework to the name in Remit's rules, where they differ: a tool loaded from
    an MCP server may be `create_issue` in the framework and `mcp__github__create_issue` in Remit. `top_k`
    limits what a model sees to the tools that match the conversation.

    Raises:
        TypeError: `top_k` is not a whole number.
        ValueError: `top_k` is not between 1 and 50.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        principal: str,
        names: Rename | None = None,
        top_k: int | None = None,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
    ) -> None:
        if top_k is not None:
            check_top_k(top_k)
        self.registry = registry
        self.principal = principal
        self._names = names
        self._top_k = top_k
        self._min_score = min_score
        self._always_include = (always_include,) if isinstance(always_include, str) else tuple(always_include)
        self._agents_tools: Sequence[DefinedTool] | None = None  # None: all tools of the registry

    def know(self, tools: Sequence[DefinedTool]) -> None:
        """Take tools under the framework's names as all that the agent has, hidden ones too."""
        self._agents_tools = tools

    def decide(self, tools: Sequence[DefinedTool]) -> list[Decision]:
        """Decide about all tools of the agent under the framework's names, in their order."""
        self.know(tools)
        return [item.decision for item in self._decided(tools)]

    def decision(self, tool: DefinedTool) -> Decision:
        """Decide about one tool under the framework's name."""
        return self._decided([tool])[0].decision

    def available(
        self, tools: Sequence[AnyTool], describe: Callable[[AnyTool], DefinedTool]
    ) -> list[AnyTool]:
        """Return the tools that may be called now, perhaps after approval."""
        decisions = self.decide([describe(tool) for tool in tools])
        return [tool for tool, decision in zip(tools, decisions, strict=True) if decision.is_available]

    def relevant(
        self,
        tools: Sequence[AnyTool],
        describe: Callable[[AnyTool], DefinedTool],
        messages: Iterable[object],
        used: Collection[str] = (),
    ) -> list[AnyTool]:
        """Return the tools that match a conversation best, in their order, and those it already `used`.

        Without a limit, or without text to choose by, all of them.
        """
        said = list(messages)
        if self._top_k is None or len(tools) <= self._top_k or not weighted_texts(said):
            return list(tools)
        described = [describe(tool) for tool in tools]
        best = ToolFilter(described)(said, self._top_k, self._min_score, self._always_include)
        chosen = {*map(id, best), *(id(each) for each in described if each.name in used)}
        return [tool for tool, each in zip(tools, described, strict=True) if id(each) in chosen]

    def call(self, tool: DefinedTool, arguments: Mapping[str, object]) -> "GuardedCall":
        """Decide about a call; consume or request its approval.

        Raises:
            ApprovalError: the call cannot be approved.
            StoreError: the database cannot be used.
        """
        renamed = self._renamed(tool)

        def permit() -> Permit:
            return self.registry.permit(renamed, arguments, principal=self.principal)

        return GuardedCall(self, tool, arguments, permit)

    def needs_approval(self, tool: DefinedTool, arguments: Mapping[str, object]) -> bool:
        """Tell whether a person must approve a call; one that cannot run is answered with its mistake."""
        (item,) = self._decided([tool])
        if item.decision.verdict is not Verdict.ASK:
            return False
        try:
            check_arguments(item.tool, arguments)
        except ArgumentsError:
            return False
        return True

    def hidden_reason(self, tool: DefinedTool) -> str | None:
        """Word the answer for a call of a tool that its framework does not offer, if a decision hides it."""
        return self.call(tool, {}).refuse() if self.decision(tool).verdict is Verdict.HIDDEN else None

    def unknown(self, name: str) -> str:
        """Word the answer for a call of a name that no tool has; it names available tools only."""
        usable = [each.name for each in self._visible()]
        if near := near_names(name, usable):
            return f"no tool is called `{name}`; {as_question(near)}"
        listed = ", ".join(f"`{each}`" for each in usable[:_MOST_NAMED])
        return f"no tool is called `{name}`" + (f"; available tools: {listed}" if listed else "")

    def succeeded(self, tool: DefinedTool) -> None:
        """Update the project's workflow states after a call of a tool succeeded."""
        self.registry.succeeded(self._renamed(tool).name)

    def record(self, tool: DefinedTool, decision: Decision, call: RecordedCall) -> None:
        """Record a call in audit and usage; if that fails, the call stands."""
        try:
            self.registry.record(self._renamed(tool).name, decision, call)
        except RemitError as error:
            _log.warning("a call of `%s` could not be recorded: %s", tool.name, error)

    def refusal(self, name: str, permit: Permit) -> str:
        """Word the answer to a model for a call that may not run."""
        decision = permit.decision
        if permit.is_denied:
            return _text(refusals.denied(name, decision))
        if permit.approval is not None:
            return _text(refusals.approval_required(name, decision, permit.approval.id))
        return _text(refusals.refusal(name, decision, self._visible()))

    def _visible(self) -> Iterator[VisibleTool]:
        """Yield the agent's tools that are available now, under the framework's names."""
        tools = self._agents_tools
        if tools is None:
            tools = [replace(tool, name=name) for name, tool in exported_tools(self.registry).items()]
        for tool, item in zip(tools, self._decided(tools), strict=True):
            if item.is_there:
                yield VisibleTool(row(item.tool), {"name": tool.name})

    def _decided(self, tools: Sequence[DefinedTool]) -> list[ListedTool]:
        return self.registry.decided([self._renamed(tool) for tool in tools])

    def _renamed(self, tool: DefinedTool) -> DefinedTool:
        given = None if self._names is None else self._names(tool.name)
        return replace(tool, name=given or exported_names(self.registry).get(tool.name, tool.name))


class GuardedCall:
    """One call of a tool: first decided about, then perhaps approved, then run by the framework.

    How it ended is recorded in the project's audit and usage.
    """

    def __init__(
        self,
        guard: ToolGuard,
        tool: DefinedTool,
        arguments: Mapping[str, object],
        permit: Callable[[], Permit],
    ) -> None:
        self._guard = guard
        self._tool = tool
        self._arguments = arguments
        self._permit_again = permit
        self._called_at, self._began = time.time(), time.perf_counter()
        self.mistake: str | None = None  # in the arguments of a call that needs approval
        self._message: str | None = None  # of the person who said no
        try:
            self._permit = permit()
        except ArgumentsError as error:
            self._permit, self.mistake = Permit(False, guard.decision(tool)), error_text(error)

    @property
    def pending(self) -> Approval | None:
        """The approval that the call waits for, if any."""
        return self._permit.approval if self._permit.is_pending else None

    def settle(self, *, approve: bool | None, message: str | None = None) -> None:
        """Record what a person answered; without an answer (None), one given in a terminal counts.

        The model reads the message of a person who says no.
        """
        self._permit = self._guard.registry.settle(self._permit, self._permit_again, approve=approve)
        self._message = message

    def refuse(self) -> str | None:
        """Return the answer to the model if the call may not run now, and record that; None if it may."""
        if self._permit.is_allowed:
            return None
        text = self.mistake or self._guard.refusal(self._tool.name, self._permit)
        if self._permit.is_denied and self._message:
            text = f"{text}\nThe person's reason: {self._message}"
        self._record(self._refusal, text)
        return text

    def unknown(self) -> str:
        """Return the answer to a model that called a name which no tool has, and record that."""
        text = self._guard.unknown(self._tool.name)
        self._record(AuditOutcome.UNKNOWN, text)
        return text

    def deny(self) -> None:
        """Record that a person said no, where the framework itself asked and does not run the call."""
        if self.pending is not None:
            self.settle(approve=False)
        self.refuse()

    @property
    def _refusal(self) -> AuditOutcome:
        if self._permit.is_denied:
            return AuditOutcome.DENIED
        return AuditOutcome.WAITING if self._permit.is_pending else AuditOutcome.REFUSED

    def succeeded(self, answer: str | None = None) -> None:
        """Update the project's workflow states after the call succeeded, and record it."""
        self._guard.succeeded(self._tool)
        self._record(AuditOutcome.DONE, answer)

    def failed(self, answer: str | None = None) -> None:
        """Record that the tool failed."""
        self._record(AuditOutcome.FAILED, answer)

    def _record(self, outcome: AuditOutcome, answer: str | None) -> None:
        call = RecordedCall(
            called_at=round(self._called_at * 1000),
            principal=self._guard.principal,
            outcome=outcome,
            duration_ms=round((time.perf_counter() - self._began) * 1000),
            asked=self._arguments,
            answer=answer,
        )
        self._guard.record(self._tool, self._permit.decision, call)


def _run_elsewhere(_: Mapping[str, object]) -> object:
    raise RuntimeError("the framework runs this tool")


def _text(answer: Mapping[str, list[dict[str, str]]]) -> str:
    return answer["content"][0]["text"]
