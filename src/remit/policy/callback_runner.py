"""Runs sync and async filters for all tools, within a time limit; a filter that does not answer refuses."""

import asyncio
import threading
from collections.abc import Awaitable, Mapping, Sequence
from inspect import isawaitable

from remit.decision.context import Context
from remit.decision.declarations import Key
from remit.decision.tools import Tool
from remit.policy.callbacks import FilterContext, ServerFilter, filter_context

TIMEOUT = 5.0  # seconds for all filters together


def refusals(
    filterings: Sequence[ServerFilter], tools: Sequence[Tool], context: Context, timeout: float = TIMEOUT
) -> Mapping[Key, str]:
    """Run every filter on the tools it concerns, and return the reasons of refused tools."""
    asked = _Asked(filterings, tools, context)
    asked.start()
    asked.join(timeout)
    late = f"its filter did not answer within {timeout:g} s"
    answers = dict(asked.answers)  # copied: a late filter may still answer
    return {tool.key: refusal for tool in tools if (refusal := answers.get(tool.key, late)) is not None}


class _Asked(threading.Thread):
    """Runs all filters in a thread, because one may hang and the caller may have a running event loop."""

    def __init__(self, filterings: Sequence[ServerFilter], tools: Sequence[Tool], context: Context) -> None:
        super().__init__(daemon=True)
        self._filterings = filterings
        self._tools = tools
        self._contexts = {
            server: filter_context(context, server) for server in dict.fromkeys(tool.server for tool in tools)
        }
        self.answers: dict[Key, str | None] = {}

    def run(self) -> None:
        asyncio.run(self._ask())

    async def _ask(self) -> None:
        waiting = [found for tool in self._tools if (found := self._plain(tool)) is not None]
        await asyncio.gather(*waiting)

    def _plain(self, tool: Tool) -> Awaitable[None] | None:
        """Run the filters of a tool, up to the first that must be awaited."""
        context = self._contexts[tool.server]
        concerned = [each for each in self._filterings if each.concerns(tool)]
        for at, each in enumerate(concerned):
            try:
                answer = each.filter(context, tool)
            except Exception as error:
                self.answers[tool.key] = each.failure(error)
                return None
            if isawaitable(answer):
                return self._awaited(tool, context, answer, concerned[at:])
            if refusal := each.refusal(answer):
                self.answers[tool.key] = refusal
                return None
        self.answers[tool.key] = None
        return None

    async def _awaited(
        self, tool: Tool, context: FilterContext, first: Awaitable[object], left: Sequence[ServerFilter]
    ) -> None:
        pending: object = first
        for at, each in enumerate(left):
            try:
                answer = pending if at == 0 else each.filter(context, tool)
                refusal = each.refusal(await answer if isawaitable(answer) else answer)
            except Exception as error:
                refusal = each.failure(error)
            if refusal is not None:
                self.answers[tool.key] = refusal
                return
        self.answers[tool.key] = None
