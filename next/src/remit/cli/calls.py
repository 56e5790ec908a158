"""`remit calls`: what agents called in a project, newest first, refused calls included."""

from collections.abc import Iterator, Sequence

import click

from remit.bootstrap import open_registry
from remit.cli import answers, render
from remit.cli.options import JSON, Here, Moment, with_here
from remit.cli.overview import heading
from remit.cli.render import Line, Span
from remit.decision import Context, Verdict
from remit.store import Call, CallQuery, Outcome
from remit.text import local_time

_MAIN = "main"
_LIMIT = 30
_COLUMNS = ("time", "tool", "by", "agent", "outcome", "ms", "bytes")
_WORDS: dict[str, str] = {
    Outcome.WAITING: "approval requested",
    Outcome.ASKS_BACK: "needs input",  # of its caller, as the server says
}
_BAD = (Outcome.FAILED, Outcome.ERROR, Outcome.UNREACHABLE)


@click.command()
@click.argument("text", default="")
@with_here
@click.option("--agent", "caller", metavar="NAME", help="Only calls of this agent; `main`: the main session.")
@click.option(
    "--outcome", type=click.Choice([item.value for item in Outcome]), help="Only calls with this outcome."
)
@click.option("--since", type=Moment(), metavar="TIME", help="Only calls from then on: `6h`, `2d`, a date.")
@click.option("--limit", type=click.IntRange(1), default=_LIMIT, show_default=True, help="At most this many.")
@JSON
def calls(
    *,
    text: str,
    here: Here,
    caller: str | None,
    outcome: str | None,
    since: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show what agents called here, newest first.

    TEXT is part of a tool's name. Refused calls are listed, too, with what refused them; arguments and
    results are never recorded.
    """
    agent = "" if caller == _MAIN else caller
    query = CallQuery(text=text, agent=agent, outcome=outcome, since=since, limit=limit)
    with open_registry() as registry:
        context = here.context(registry)
        found = registry.store.calls.find(query, context.workspace)
        total = registry.store.calls.span(query, context.workspace).calls
    if as_json:
        render.data(answers.calls(found, total, context))
    else:
        render.paged(call_lines(found, total, context))
        if any(call.outcome == Outcome.REFUSED and call.verdict for call in found):
            render.note("hint: `remit why NAME` says why a tool is refused, and how to allow it")


def call_lines(found: Sequence[Call], total: int, context: Context) -> Iterator[Line]:
    """Write a line for each call."""
    yield heading(context)
    if not found:
        yield "No calls recorded."
        return
    yield ""
    rows: list[tuple[str | Span, ...]] = [
        (
            local_time(call.called_at),
            call.tool,
            call.caller or "",
            call.agent or "",
            (outcome_text(call), _style(call)),
            f"{call.duration_ms:,}" if call.duration_ms else "",
            f"{call.bytes_out:,}" if call.bytes_out else "",
        )
        for call in found
    ]
    yield from render.table(_COLUMNS, rows, numbers=_COLUMNS[-2:])
    if total > len(found):
        yield f"{len(found):,} of {total:,} calls; `--limit` shows more"


def outcome_text(call: Call) -> str:
    """Name the outcome of a call, and what decided it."""
    word = _WORDS.get(call.outcome, call.outcome)
    note = _note(call)
    return f"{word} ({note})" if note else word


def _note(call: Call) -> str:
    if call.outcome in (Outcome.WAITING, Outcome.DENIED):
        return ""
    if call.outcome == Outcome.REFUSED and not call.verdict:
        return "could not decide"
    if call.verdict != Verdict.ASK or call.gate is None:
        return call.gate or ""
    return "needs approval" if call.outcome == Outcome.REFUSED else "approved"


def _style(call: Call) -> str:
    return "bad" if call.outcome in _BAD else "warn" if call.outcome == Outcome.REFUSED else ""
