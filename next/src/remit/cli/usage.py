"""`remit usage`: which tools were used here, which never were, and which to switch off."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from remit.bootstrap import clock, open_registry
from remit.cli import answers, render
from remit.cli.options import JSON, YES, Here, with_here
from remit.cli.overview import KIND_WORDS, cost_lines, first_texts, heading
from remit.cli.render import Line
from remit.config import personal_path
from remit.decision import Context, shorten
from remit.files import this_machine
from remit.hooks import proposals, report
from remit.text import moment

if TYPE_CHECKING:
    from remit.catalog import RequestCost
    from remit.hooks import PruneProposal, ToolUse, UsageReport

_WIDTH = 16  # columns of the longest bar
_UNUSED = 10  # tools that are listed
_SESSIONS = 5
_ID = 8  # characters of a session's id
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command()
@with_here
@click.option("--prune", is_flag=True, help="Propose tools to disable, and disable those you choose.")
@YES
@JSON
def usage(*, here: Here, prune: bool, yes: bool, as_json: bool) -> None:
    """Show which tools were used here, and which never were.

    --prune proposes tools that were not used in two weeks or five sessions, and tools that only fail. Without
    a terminal it disables nothing; with --yes, all of them.
    """
    with open_registry() as registry:
        context = here.context(registry)
        found = report(registry, context)
        cost = registry.request_cost(context, first_texts(registry, context))
        problems = registry.problems(context)
    if prune:
        _prune(proposals(found, now=clock()), here, context, yes=yes, as_json=as_json)
        return
    render.problems(problems, lambda path: shorten(path, context))
    if as_json:
        render.data(answers.usage(found, cost, context))
    else:
        render.paged(usage_lines(found, cost, context))


def usage_lines(found: "UsageReport", cost: "RequestCost", context: Context) -> Iterator[Line]:
    """Write the used tools with bars, the last sessions, and the tools that were never used."""
    yield heading(context)
    yield ""
    if found.used:
        most = found.used[0].uses
        columns = ("tool", "kind", "tokens", "uses", "failed", "last used", "")
        rows = [_used(use, most) for use in found.used]
        yield from render.table(columns, rows, numbers=columns[2:5])
    else:
        yield "No usage recorded yet."
    if found.sessions:
        yield ""
        columns = ("session", "began", "ended", "calls", "failed", "tools")
        rows = [
            (
                session.session[:_ID],
                _minute(session.started_at),
                _minute(session.ended_at),
                str(session.calls),
                str(session.failures or ""),
                str(session.tools),
            )
            for session in found.sessions[:_SESSIONS]
        ]
        yield from render.table(columns, rows, numbers=columns[3:])
    if found.unused:
        yield ""
        yield ((f"never used here: {len(found.unused):,}", "title"),)
        columns = ("tool", "kind", "tokens")
        rows = [(use.tool.name, KIND_WORDS[use.tool.kind], _tokens(use)) for use in found.unused[:_UNUSED]]
        yield from render.table(columns, rows, numbers=columns[2:])
        if len(found.unused) > _UNUSED:
            yield f"  and {len(found.unused) - _UNUSED:,} more; `--json` lists them all"
    yield ""
    yield from cost_lines(cost, context)


def _used(use: "ToolUse", most: int) -> tuple[str, ...]:
    return (
        use.tool.name,
        KIND_WORDS[use.tool.kind],
        _tokens(use),
        f"{use.uses:,}",
        f"{100 * use.failures / use.uses:.0f} %" if use.failures else "",
        "" if use.last_used_at is None else moment(use.last_used_at)[:10],
        bar_of(use.uses, most),
    )


def bar_of(count: int, most: int) -> str:
    """Draw a bar in eighths of a column; `most` gets the full width."""
    eighths = max(1, round(8 * _WIDTH * count / most)) if count and most else 0
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _tokens(use: "ToolUse") -> str:
    return "" if use.tool.tokens is None else f"{use.tool.tokens:,}"


def _minute(at: int) -> str:
    return moment(at)[:16].replace("T", " ")


def _prune(
    proposed: "Sequence[PruneProposal]", here: Here, context: Context, *, yes: bool, as_json: bool
) -> None:
    if as_json:
        file = personal_path(context.workspace, this_machine())
        render.data(answers.proposals(proposed, file, context))
    else:
        render.out(proposal_lines(proposed))
    if not proposed or (not yes and (as_json or not sys.stdin.isatty())):
        if proposed and not as_json:
            render.note("hint: `remit disable NAME` disables one of them, `remit usage --prune --yes` all")
        return
    chosen = proposed if yes else _chosen(proposed)
    if chosen:
        from remit.cli.rules import disable

        names = tuple(proposal.name for proposal in chosen)
        click.get_current_context().invoke(
            disable, names=names, directory=here.directory, client=here.client, everywhere=False, shared=False
        )


def proposal_lines(proposed: "Sequence[PruneProposal]") -> Iterator[Line]:
    """Write numbered proposals."""
    if not proposed:
        yield "Nothing to disable: no tool was unused for two weeks or five sessions, and none only fails."
        return
    columns = ("", "tool", "tokens", "reason")
    rows = [
        (str(number), proposal.name, f"{proposal.tokens:,}" if proposal.tokens else "", proposal.reason)
        for number, proposal in enumerate(proposed, 1)
    ]
    yield from render.table(columns, rows, numbers=("tokens",))


def _chosen(proposed: "Sequence[PruneProposal]") -> "list[PruneProposal]":
    """Ask which proposals to follow: numbers and ranges, or nothing."""
    text = click.prompt(
        "Disable which? (such as 1,3-5; empty: none)", default="", show_default=False, err=True
    )
    numbers: set[int] = set()
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise click.UsageError(f"`{part}` is not a number or a range")
        numbers |= {*range(int(first), int(last or first) + 1)}
    return [proposal for number, proposal in enumerate(proposed, 1) if number in numbers]
