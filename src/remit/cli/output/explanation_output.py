"""The answer of `remit why`: the decision, every gate, and what else is known of a name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.catalog.costs import SentDefinitions
from remit.cli.render import LONG, cost_words, note, out, plural, print_lines, printable, table, wrapped
from remit.decision.context import Context, shorten
from remit.decision.decide import Verdict
from remit.decision.gate_rules import GateResult
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.permissions.client_consents import trust_command
from remit.decision.permissions.client_facts import client_title
from remit.text.untrusted_text import one_line

if TYPE_CHECKING:
    from remit.catalog.explanation import Explanation, UnaskedServer
    from remit.decision.declarations import Key
    from remit.decision.tools import Tool
    from remit.trust.server_sandbox import Sandbox

_LONGEST_DESCRIPTION = 200
MOST_UNASKED = 5  # servers below an unknown name


def show_explanation(
    explained: Explanation,
    context: Context,
    lines: Mapping[Key, int],
    *,
    sent: SentDefinitions = SentDefinitions.ALL,
    sandbox: Sandbox | None = None,
) -> None:
    """Show a decision, every gate, and the other declarations of the name, with their lines."""
    decision = explained.decision
    if explained.tool is None:
        out(f"{printable(explained.name)}: {printable(unknown_reason(explained))}")
        if decision.unlock:
            out(f"to change it: {printable(decision.unlock)}")
        for line in unasked_lines(explained.unasked):
            out(printable(line))
        if explained.suggestions:
            note(f"hint: did you mean {' or '.join(f'`{it}`' for it in explained.suggestions)}?")
        return
    decided, *steps = _headline(explained)
    print_lines(wrapped(printable(decided), "", "  ") if len(decided) > LONG else [decided])
    print_lines(steps)
    out()
    gates = [(gate, _answer(result), _gate_reason(result, explained)) for gate, result in explained.gates]
    table("", ("gate", "answer", "reason"), gates)
    print_lines(facts(explained, sent))
    if sandbox is not None:
        when = "" if context.starts_servers else " (when Remit starts it)"
        out(printable(f"sandbox: {sandbox}{when}"))
    if explained.shadowed:
        out()
        others = [
            (tool.scope, source(tool, context, lines), why.full_reason) for tool, why in explained.shadowed
        ]
        table("other declarations of this name", ("scope", "source", "reason"), others)


def unknown_reason(explained: Explanation) -> str:
    """Say why nothing is known of a name."""
    if explained.decision.detail:
        return explained.decision.detail
    return "no server listed here has it" if explained.unasked else "not known here"


def _headline(explained: Explanation) -> Iterator[str]:
    """Say what an agent gets, and what to do: a visible tool may still not start, or be refused."""
    decision = explained.decision
    if explained.obstacle and decision.verdict is Verdict.VISIBLE:
        yield f"{explained.name}: {decision.full_reason}, but {explained.obstacle}"
    else:
        yield f"{explained.name}: {decision.verdict}, {decision.full_reason}"
    if step := explained.obstacle_fix or decision.unlock:
        yield f"to change it: {step}"
    yield from trust_lines(explained)
    yield from permission_lines(explained)


def trust_lines(explained: Explanation) -> Iterator[str]:
    """Say that Remit does not start a server that the client starts, and how to trust it."""
    tool = explained.tool
    if tool is not None and tool.is_trusted is False and explained.decision.is_available:
        yield f"not trusted in Remit: {client_title(tool.client)} starts it, and Remit does not"
        yield f"to trust it: look at it with `remit trust`, then run `{trust_command(tool.server)}`"


def permission_lines(explained: Explanation) -> Iterator[str]:
    """Say that the client asks before each call of a visible tool, and how to allow it."""
    if explained.permission_step and explained.tool is not None and not explained.obstacle:
        title = client_title(explained.tool.client)
        yield f"{title} asks before each call; `claude -p` cannot ask, so it refuses the call"
        yield f"to allow it: {explained.permission_step}"


def source(tool: Tool, context: Context, lines: Mapping[Key, int]) -> str:
    """Name the file of a declaration, with its line if it has one."""
    line = lines.get(tool.key)
    return shorten(tool.source, context) + (f" line {line}" if line else "")


def unasked_lines(servers: Sequence[UnaskedServer]) -> Iterator[str]:
    """Name the servers that may have an unknown tool, with the reason and the next step of each."""
    if not servers:
        return
    yield f"{'server' if len(servers) == 1 else 'servers'} whose tools are not known:"
    for each in servers[:MOST_UNASKED]:
        yield f"  `{each.label}`: {each.reason}"
        if each.step:
            yield f"    to change it: {each.step}"
    if len(servers) > MOST_UNASKED:
        yield f"  and {plural(len(servers) - MOST_UNASKED, 'more server')}: `remit tools --all`"


def unasked_hint(explained: Explanation) -> str | None:
    """Return what to do about servers that may have an unknown tool; None if there are none."""
    if not explained.unasked:
        return None
    if all(each.can_be_asked for each in explained.unasked):
        return "the tools of some servers are not known yet: run `remit scan --connect`"
    return f"the tools of some servers are not known: see `remit why {shlex.quote(explained.name)}`"


def _gate_reason(result: GateResult, explained: Explanation) -> str:
    """Return the reason of a gate; a long one that the headline gives is not repeated."""
    is_told = result.full_reason == explained.decision.full_reason and len(result.full_reason) > LONG
    return result.reason if is_told and len(result.reason) < LONG else result.full_reason


def _answer(result: GateResult) -> str:
    if result.asks:
        return "asks"
    return "passed" if result.passed else "hidden"


def facts(explained: Explanation, sent: SentDefinitions = SentDefinitions.ALL) -> Iterator[str]:
    """Describe the tool: its purpose, contents, cost and last connection."""
    tool = explained.tool
    if tool is None:
        return
    if explained.obstacle and explained.decision.verdict is Verdict.ASK:
        subject = "" if tool.kind is Kind.MCP_SERVER else f"its server `{tool.server}`: "
        yield f"{subject}{explained.obstacle}"
    if explained.is_assumed:
        yield from _assumption(explained, tool.server or tool.name)
    if explained.ratings:
        told = ", ".join(f"`{each.level.word}` ({each.origin})" for each in explained.ratings)
        yield f"danger by source: {told}"
    if tool.description:
        yield f"description: {_shortened(tool.description)}"
    if listed := [each for each in explained.tools if each.status is not ToolStatus.STALE]:
        cost = "" if tool.tokens is None else f", about {cost_words(tool.tokens, sent)}"
        yield f"its tools: {len(listed):,} known{cost}"
    if tool.failure is not None and not explained.obstacle:
        yield f"the last connection failed: {tool.failure}"


def _shortened(description: str) -> str:
    """Return the first line of a description; `…` marks what is left out."""
    first, *others = description.strip().splitlines() or [""]
    short = one_line(first, _LONGEST_DESCRIPTION)
    return f"{short} …" if others and not short.endswith("…") else short


def _assumption(explained: Explanation, server: str) -> Iterator[str]:
    for each in explained.unasked:
        is_possible = explained.decision.is_available and not explained.obstacle
        step = f": {each.step}" if is_possible and each.step else ""
        yield f"not known yet whether `{server}` has this tool{step}"
    if not explained.unasked:
        yield f"`{server}` did not list this tool when it was last asked"
