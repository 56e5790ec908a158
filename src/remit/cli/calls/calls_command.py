"""`remit calls`: what agents called in a project."""

from __future__ import annotations

import csv
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from remit.audit.audit_log import AuditEntry, AuditOutcome, CallQuery
from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import JSON, PROJECT, Moment
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.decide import Verdict
from remit.text.times import local_time, moment

if TYPE_CHECKING:
    from remit.audit.audit_log import FoundCalls
    from remit.decision.context import Context

_ALL = 1_000_000  # more than the log holds
_MAIN = "main"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet would compute such a cell


@click.command()
@click.argument("text", default="")
@PROJECT
@click.option("--agent", metavar="NAME", help=f"Only calls of this agent; `{_MAIN}` is the main session.")
@click.option(
    "--outcome",
    type=click.Choice([each.value for each in AuditOutcome]),
    help="Only calls with this outcome.",
)
@click.option(
    "--since", type=Moment(), metavar="TIME", help="Only calls from then on: `6h`, `2d`, or a date."
)
@click.option("--until", type=Moment(), metavar="TIME", help="Only calls before then.")
@click.option(
    "--limit", type=click.IntRange(1), help="At most this many; default: 30, or all with --csv and --jsonl."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--jsonl", "as_lines", is_flag=True, help="Print a JSON object per line.")
@JSON
def calls(
    *,
    text: str,
    project: str,
    agent: str | None,
    outcome: str | None,
    since: int | None,
    until: int | None,
    limit: int | None,
    as_csv: bool,
    as_lines: bool,
    as_json: bool,
) -> None:
    """Show what agents called here, newest first.

    TEXT is part of a tool's name. Shows calls through the gateway, and those that Claude Code's hooks report.
    If the log names who called, or who approved a call on a gateway's page, the table does, too. Arguments
    and results are never stored. Entries are kept for 90 days by default
    (`[retention]` in remit.toml).
    """
    if as_csv + as_lines + as_json > 1:
        raise click.UsageError("pass one of --json, --jsonl and --csv")
    query = CallQuery(
        text=text,
        agent="" if agent == _MAIN else agent,
        outcome=outcome,
        since=since,
        until=until,
        limit=limit or (_ALL if as_csv or as_lines else 30),
    )
    with open_registry() as registry:
        context = registry.at(project)
        found = registry.audit.find(query, context)
    if as_json:
        render.data(calls_shape(found, context))
    elif as_lines:
        for entry in found.entries:
            render.line(call_shape(entry))
    elif as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows(csv_rows(found.entries))
    else:
        _show(found, context)


def calls_shape(found: FoundCalls, context: Context) -> Shape:
    """Return the JSON of `remit calls`."""
    return {**asked_for(context), "total": found.total, "calls": [call_shape(each) for each in found.entries]}


def call_shape(entry: AuditEntry) -> Shape:
    """Return a call as JSON."""
    return {**entry._asdict(), "called_at": moment(entry.called_at)}


def csv_rows(entries: Sequence[AuditEntry]) -> list[Sequence[object]]:
    """Return calls as rows of CSV, below a row of titles."""
    rows = [call_shape(entry).values() for entry in entries]
    return [AuditEntry._fields, *([_cell(value) for value in row] for row in rows)]


def _cell(value: object) -> object:
    """Keep a spreadsheet from computing what an agent or a server named."""
    return (
        f"'{value}"
        if isinstance(value, str) and unicodedata.normalize("NFKC", value).startswith(_FORMULA)
        else value
    )


def _show(found: FoundCalls, context: Context) -> None:
    render.out(render.place(context))
    if not found.entries:
        render.out("No calls recorded." if found.total == 0 else "No more calls.")
        return
    render.out()
    names_callers = any(entry.principal for entry in found.entries)
    columns = ("time", "tool", *(["by"] if names_callers else []), "agent", "outcome", "ms", "bytes")
    rows = [
        (
            local_time(entry.called_at),
            entry.tool,
            *([entry.principal or ""] if names_callers else []),
            entry.agent or "",
            _outcome(entry),
            f"{entry.duration_ms:,}" if entry.duration_ms else "",
            f"{entry.bytes_out:,}" if entry.bytes_out else "",
        )
        for entry in found.entries
    ]
    render.table("", columns, rows, numbers=("ms", "bytes"))
    if any(_is_explained(each) for each in found.entries):
        render.note("hint: `remit why NAME` says why a tool is refused, and how to allow it")
    if found.total > len(found.entries):
        render.out(f"\n{len(found.entries):,} of {found.total:,} calls; `--limit` shows more")


def _is_explained(entry: AuditEntry) -> bool:
    """Return whether `remit why` explains why a call was refused."""
    return entry.outcome == AuditOutcome.REFUSED and bool(entry.verdict) and not entry.is_of_application


_OUTCOME_WORDS: dict[str, str] = {
    AuditOutcome.WAITING: "approval requested",
    AuditOutcome.ASKS_BACK: "needs input",  # of its caller, as the server says
}


def outcome_word(entry: AuditEntry) -> str:
    """Name the outcome of a call: what waited then may be approved by now."""
    return _OUTCOME_WORDS.get(entry.outcome, entry.outcome)


def outcome_note(entry: AuditEntry) -> str:
    """Say which gate decided a call, or that a person approved it; empty without either."""
    if entry.outcome in (AuditOutcome.WAITING, AuditOutcome.DENIED):
        return ""
    if entry.outcome == AuditOutcome.REFUSED and not entry.verdict:
        return "could not decide"
    if entry.verdict != Verdict.ASK or entry.gate is None:
        return entry.gate or ""
    return "needs approval" if entry.outcome == AuditOutcome.REFUSED else "approved"


def _outcome(entry: AuditEntry) -> str:
    note = outcome_note(entry)
    return f"{outcome_word(entry)} ({note})" if note else outcome_word(entry)
