"""Decides about the tools of an agent framework: which ones a model sees, and whether a call may run."""

import json
import logging
import time
from asyncio import to_thread
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

from remit.decision import Decision, Tool, Verdict, near_names
from remit.errors import ArgumentsError, RemitError
from remit.gateway import approval_required, denied, refusal
from remit.python_tools import Ask, DefinedTool, ListedTool, ToolRegistry, check_arguments, error_text
from remit.search import ToolFilter, check_top_k, weighted_texts
from remit.store import Approval, Call, Outcome
from remit.text import as_question
from remit.trust import Permit

AnyTool = TypeVar("AnyTool")
Rename = Callable[[str], str | None]  # None: the name stays
_LONGEST_NAME = 64  # OpenAI, Anthropic
_MOST_NAMED = 20  # available tools in the answer to an unknown name
_log = logging.getLogger("remit.integrations")


class RefusedError(Exception):
    """A call may not run; its text is for the model."""

    def __init__(self, text: str, *, is_mistake: bool) -> None:
        super().__init__(text)
        self.is_mistake = is_mistake  # in the arguments: the model can correct it


@contextmanager
def packages_of(extra: str) -> Generator[None]:
    """Import the packages of an extra.

    Raises:
        ModuleNotFoundError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"the package `{error.name}` is not installed; run `pip install {extra}`"
        raise ModuleNotFoundError(message, name=error.name) from error


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


def exported_tools(registry: ToolRegistry) -> dict[str, DefinedTool]:
    """Return every tool of a registry by a name that all providers accept, hidden ones too.

    Model providers allow neither dots nor long names: `requirement.list` becomes `requirement__list`.
    """
    exported: dict[str, DefinedTool] = {}
    for tool in registry.definitions():
        name = tool.name.replace(".", "__")
        if len(name) > _LONGEST_NAME or name in exported:
            digest = sha256(tool.name.encode()).hexdigest()[:8]
            name = f"{name[: _LONGEST_NAME - 9]}_{digest}"
        exported[name] = tool
    return exported


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
        caller: str,
        names: Rename | None = None,
        top_k: int | None = None,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
    ) -> None:
        if top_k is not None:
            check_top_k(top_k)
        self.registry = registry
        self.caller = caller
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
        texts = list(messages)
        if self._top_k is None or len(tools) <= self._top_k or not weighted_texts(texts):
            return list(tools)
        described = [describe(tool) for tool in tools]
        best = ToolFilter(described)(texts, self._top_k, self._min_score, self._always_include)
        chosen = {*map(id, best), *(id(item) for item in described if item.name in used)}
        return [tool for tool, item in zip(tools, described, strict=True) if id(item) in chosen]

    def call(self, tool: DefinedTool, arguments: Mapping[str, object]) -> "GuardedCall":
        """Decide about a call; use or request its approval.

        Raises:
            ApprovalError: the call cannot be approved.
            StoreError: the database cannot be used.
        """
        return GuardedCall(self, tool, self._renamed([tool])[0], arguments)

    @asynccontextmanager
    async def running(
        self,
        tool: DefinedTool,
        arguments: Mapping[str, object],
        ask: Ask | None = None,
        waiting: tuple[type[Exception], ...] = (),
    ) -> AsyncGenerator["GuardedCall"]:
        """Decide about a call, ask a person if needed and possible, and record how it ends.

        Errors of the types `waiting` mean that the tool did not run yet.

        Raises:
            RefusedError: the call may not run.
        """
        call = await to_thread(self.call, tool, arguments)
        if call.pending is not None and ask is not None:
            await to_thread(call.settle, approve=await ask(call.pending))
        if (text := await to_thread(call.refuse)) is not None:
            raise RefusedError(text, is_mistake=call.mistake is not None)
        async with call.running_async(*waiting):
            yield call

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
        usable = [name for name, _ in self._visible()]
        if near := near_names(name, usable):
            return f"no tool is called `{name}`; {as_question(near)}"
        listed = ", ".join(f"`{item}`" for item in usable[:_MOST_NAMED])
        return f"no tool is called `{name}`" + (f"; available tools: {listed}" if listed else "")

    def refusal(self, name: str, permit: Permit) -> str:
        """Word the answer to a model for a call that may not run."""
        if permit.is_denied:
            answer = denied(name, permit.decision)
        elif permit.approval is not None:
            answer = approval_required(name, permit.decision, permit.approval.id)
        else:
            answer = refusal(name, permit.decision, self._visible())
        return str(answer["content"][0]["text"])

    def _visible(self) -> list[tuple[str, Tool]]:
        """List the agent's tools that are available now, under the framework's names."""
        tools = self._agents_tools
        if tools is None:
            tools = [replace(tool, name=name) for name, tool in exported_tools(self.registry).items()]
        decided = zip(tools, self._decided(tools), strict=True)
        return [(tool.name, item.tool.row) for tool, item in decided if item.decision.is_available]

    def _decided(self, tools: Sequence[DefinedTool]) -> list[ListedTool]:
        return self.registry.listed(self._renamed(tools))

    def _renamed(self, tools: Sequence[DefinedTool]) -> list[DefinedTool]:
        exported = exported_tools(self.registry)
        renamed: list[DefinedTool] = []
        for tool in tools:
            name = None if self._names is None else self._names(tool.name)
            if name is None:
                name = exported[tool.name].name if tool.name in exported else tool.name
            renamed.append(tool if name == tool.name else replace(tool, name=name))
        return renamed


class GuardedCall:
    """One call of a tool: first decided about, then perhaps approved, then run by the framework.

    How it ended is recorded in the project's log of calls.
    """

    def __init__(
        self, guard: ToolGuard, tool: DefinedTool, renamed: DefinedTool, arguments: Mapping[str, object]
    ) -> None:
        self._guard = guard
        self._name = tool.name
        self._tool = renamed
        self._arguments = arguments
        self._called_at, self._began = time.time(), time.perf_counter()
        self.mistake: str | None = None  # in the arguments of a call that needs approval
        self._message: str | None = None  # of the person who said no
        self.answer = ""
        self.is_error = False  # the tool reported a failure
        self._is_recorded = False
        try:
            self._permit = self._permit_now()
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
        self._permit = self._guard.registry.settle(self._permit, self._permit_now, approve=approve)
        self._message = message

    def refuse(self) -> str | None:
        """Return the answer to the model if the call may not run now, and record that; None if it may."""
        if self._permit.is_allowed:
            return None
        text = self.mistake or self._guard.refusal(self._name, self._permit)
        if self._permit.is_denied and self._message:
            text = f"{text}\nThe person's reason: {self._message}"
        outcome = Outcome.WAITING if self._permit.is_pending else Outcome.REFUSED
        self._record(Outcome.DENIED if self._permit.is_denied else outcome)
        return text

    def unknown(self) -> str:
        """Return the answer to a model that called a name which no tool has, and record that."""
        self._record(Outcome.UNKNOWN)
        return self._guard.unknown(self._name)

    def deny(self) -> None:
        """Record that a person said no, where the framework itself asked and does not run the call."""
        if self.pending is not None:
            self.settle(approve=False)
        self.refuse()

    def end(self, error: Exception | None = None) -> None:
        """Record how the call ended, and update the project's workflow states if it succeeded."""
        if self._is_recorded:  # as unknown
            return
        if error is not None:
            self.answer, self.is_error = error_text(error), True
        if not self.is_error:
            self._guard.registry.succeeded(self._tool.name)
        self._record(Outcome.FAILED if self.is_error else Outcome.DONE)

    @contextmanager
    def running(self, *waiting: type[Exception]) -> Generator[None]:
        """Run the call, and record how it ends; `waiting` errors mean that the tool did not run yet."""
        try:
            yield
        except waiting:
            raise
        except Exception as error:
            self.end(error)
            raise
        self.end()

    @asynccontextmanager
    async def running_async(self, *waiting: type[Exception]) -> AsyncGenerator[None]:
        """Run the call as `running` does; the store is used in a thread."""
        try:
            yield
        except waiting:
            raise
        except Exception as error:
            await to_thread(self.end, error)
            raise
        await to_thread(self.end)

    def _permit_now(self) -> Permit:
        return self._guard.registry.permit(self._tool, self._arguments, caller=self._guard.caller)

    def _record(self, outcome: Outcome) -> None:
        """Record the call; if that fails, the call stands."""
        self._is_recorded = True
        decision = self._permit.decision
        call = Call(
            called_at=round(self._called_at * 1000),
            endpoint=self._guard.caller,
            client=self._guard.caller,
            agent=None,
            caller=None,
            tool=self._tool.name,
            verdict=decision.verdict,
            gate=decision.gate,
            outcome=outcome,
            duration_ms=round((time.perf_counter() - self._began) * 1000),
            bytes_in=len(json.dumps(dict(self._arguments), default=str)),
            bytes_out=len(self.answer),
        )
        try:
            self._guard.registry.record(call)
        except RemitError as error:
            _log.warning("a call of `%s` could not be recorded: %s", self._name, error)


def _run_elsewhere(_: Mapping[str, object]) -> object:
    raise RuntimeError("the framework runs this tool")
