"""Runs sync and async filters within a time limit; a filter that does not answer refuses."""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import redirect_stdout
from inspect import isawaitable
from typing import NamedTuple

from remit.decision.agents import Agent
from remit.decision.context import Context, FilterRefusal
from remit.decision.declarations import Key
from remit.decision.kinds import Kind
from remit.decision.state_snapshot import Snapshot
from remit.decision.tools import Definition, Tool
from remit.filters.filter_functions import (
    FilterStates,
    FilterTool,
    ServerFilter,
    ToolFilterContext,
    filter_context,
    filter_tool,
    is_filtered,
)

TIMEOUT = 5.0  # seconds for all filters together
FAILURES = (Exception, SystemExit)  # what a user's code may raise

FindDefinitions = Callable[[Sequence[Tool]], Mapping[Key, Definition]]


def run_limited(work: Callable[[], None], timeout: float) -> None:
    """Run a user's code in a thread, because it may hang; wait for it until the time is over.

    What it prints goes to stderr: stdout belongs to a protocol, or is data.
    """
    with redirect_stdout(sys.stderr):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(timeout)


class FilterVerdicts:
    """The verdicts of all filters in one context, found when they are needed and then kept."""

    def __init__(
        self,
        filters: Sequence[ServerFilter],
        broken: FilterRefusal | None,
        snapshot: Snapshot | None,
        definitions: FindDefinitions,
        timeout: float = TIMEOUT,
    ) -> None:
        self._filters = filters
        self._broken = broken  # of a filter file that cannot be loaded, so nobody knows what it forbids
        self._definitions = definitions
        self._timeout = timeout
        self._known: dict[tuple[Key, Agent | None], FilterRefusal | None] = {}
        self.states = FilterStates(snapshot)

    def refusal(self, tool: Tool, context: Context) -> FilterRefusal | None:
        """Return why the filters refuse a tool to the caller; None if they do not."""
        if not is_filtered(tool):
            return None
        if self._broken is not None and tool.kind is not Kind.SUBAGENT:
            return self._broken
        asked = tool.key, context.agent
        if asked not in self._known:
            self.ask([tool], context)
        return self._known[asked]

    def ask(self, tools: Sequence[Tool], context: Context) -> None:
        """Ask the filters about many tools at once; the time limit is for all of them."""
        filtered = [tool for tool in tools if is_filtered(tool)]
        run = _Run(self._filters, self._questions(filtered, context))
        run_limited(run, self._timeout)
        answers = dict(run.answers)  # copied: a late filter may still answer
        late = _Answer(
            FilterRefusal(f"its filter did not answer within {self._timeout:g} s"), is_failure=True
        )
        for tool in filtered:
            refusal, is_failure = answers.get(tool.key, late)
            is_spared = is_failure and tool.kind is Kind.SUBAGENT  # a failing filter does not hide agents
            self._known[tool.key, context.agent] = None if is_spared else refusal

    def _questions(self, tools: Sequence[Tool], context: Context) -> "list[_Question]":
        contexts = {
            server: filter_context(context, server, self.states)
            for server in dict.fromkeys(tool.server for tool in tools)
        }
        found = self._definitions([tool for tool in tools if tool.kind is Kind.MCP_TOOL])
        return [
            _Question(tool, contexts[tool.server], filter_tool(tool, found.get(tool.key))) for tool in tools
        ]


class _Question(NamedTuple):
    """A tool, and the arguments of the filters."""

    tool: Tool
    context: ToolFilterContext
    shown: FilterTool


class _Answer(NamedTuple):
    """The answer of the filters about a tool."""

    refusal: FilterRefusal | None
    is_failure: bool = False


class _Run:
    """One run of all filters over some tools; its answers are there as soon as each is known."""

    def __init__(self, filters: Sequence[ServerFilter], questions: Sequence[_Question]) -> None:
        self._filters = filters
        self._questions = questions
        self.answers: dict[Key, _Answer] = {}

    def __call__(self) -> None:
        asyncio.run(self._ask())

    async def _ask(self) -> None:
        waiting = [found for question in self._questions if (found := self._plain(question)) is not None]
        await asyncio.gather(*waiting)

    def _plain(self, question: _Question) -> Awaitable[None] | None:
        """Run the filters of a tool, up to the first that must be awaited."""
        concerned = [each for each in self._filters if each.concerns(question.tool)]
        for at, each in enumerate(concerned):
            try:
                answer = each.filter(question.context, question.shown)
            except FAILURES as error:
                self._fail(question, each, error)
                return None
            if isawaitable(answer):
                return self._awaited(question, answer, concerned[at:])
            if self._is_refused(question, each, answer):
                return None
        self.answers[question.tool.key] = _Answer(None)
        return None

    async def _awaited(
        self, question: _Question, first: Awaitable[object], left: Sequence[ServerFilter]
    ) -> None:
        pending: object = first
        for at, each in enumerate(left):
            try:
                answer = pending if at == 0 else each.filter(question.context, question.shown)
                answer = await answer if isawaitable(answer) else answer
            except FAILURES as error:
                self._fail(question, each, error)
                return
            if self._is_refused(question, each, answer):
                return
        self.answers[question.tool.key] = _Answer(None)

    def _is_refused(self, question: _Question, asked: ServerFilter, answer: object) -> bool:
        refusal = asked.refusal(answer)
        if refusal is not None:
            self.answers[question.tool.key] = _Answer(refusal, is_failure=not isinstance(answer, bool))
        return refusal is not None

    def _fail(self, question: _Question, asked: ServerFilter, error: BaseException) -> None:
        self.answers[question.tool.key] = _Answer(asked.failure(error), is_failure=True)
