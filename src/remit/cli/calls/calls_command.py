"""`remit calls` and `remit audit`: what agents called in a project, and whether the log of it is whole."""

from __future__ import annotations

import csv
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from remit.audit.audit_log import AuditEntry, AuditOutcome, BreakKind, CallQuery
from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import ERRORS_FOUND, JSON, PROJECT, Moment
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.decide import Verdict
from remit.decision.projects import Workspace
from remit.text.times import local_time, moment

if TYPE_CHECKING:
    from remit.audit.audit_log import ChainBreak, ChainCheck, FoundCalls
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


_MOST_BREAKS = 10  # places where the log was changed


@click.group()
def audit() -> None:
    """Check and export the log of calls."""


@audit.command()
@PROJECT
@click.option(
    "--head", default="", metavar="DIGEST", help="The digest of an earlier check, which must be in the log."
)
@JSON
def verify(*, project: str, head: str, as_json: bool) -> None:
    """Check that no entry was changed, added or removed.

    Each entry has a digest over itself and all entries before it. Keep the digest that this command prints:
    with it, a later check finds out whether the newest entries were cut off. Entries that were
    deleted for their age break nothing, and are counted. Nor do missing numbers, which a transaction that
    was rolled back or a gateway that died leaves behind.

    Exits with 0 if the log is as it was written, with 1 if it is not or does not contain DIGEST, and with 2
    if it could not be checked.
    """
    with open_registry() as registry:
        context = registry.at(project)
        found = registry.audit.verify(context, head)
    if as_json:
        render.data({**asked_for(context), **check_shape(found)})
    else:
        _show_check(found)
    if found.breaks or not found.knows:
        raise SystemExit(ERRORS_FOUND)


@audit.command("export")
@PROJECT
@click.option("--all-projects", is_flag=True, help="The entries of every project in the store.")
@click.option("--since", type=Moment(), metavar="TIME", help="From then on: `6h`, `2d`, or a date.")
@click.option("--until", type=Moment(), metavar="TIME", help="Before then.")
def export(*, project: str, all_projects: bool, since: int | None, until: int | None) -> None:
    """Print the log of calls as JSON Lines, for other systems.

    Each line has the project, the caller and the outcome of a call, and the digest that `remit audit verify`
    checks. The order is that of the log, so times may go back a little. Arguments and results are never
    stored.
    """
    with open_registry() as registry:
        here = [registry.at(project).workspace]
        found = [Workspace(each.path, each.path, each) for each in registry.audit.projects()]
        for owner, (entry, chain) in registry.audit.export(
            CallQuery(since=since, until=until), found if all_projects else here
        ):
            render.line({"project": owner._asdict(), **call_shape(entry), "digest": chain})


def check_shape(found: ChainCheck) -> Shape:
    """Return a check as JSON."""
    broken_at = None if found.broken_at is None else moment(found.broken_at)
    until = None if found.deleted_until is None else moment(found.deleted_until)
    breaks = [{**each._asdict(), "called_at": moment(each.called_at)} for each in found.breaks]
    return {**found._asdict(), "breaks": breaks, "broken_at": broken_at, "deleted_until": until}


def _described(found: ChainBreak) -> str:
    at = local_time(found.called_at)
    if found.kind is BreakKind.ALTERED:
        return f"{at}: this entry was changed or not written by Remit, or one before it was removed"
    if found.entries == 1:
        return f"{at}: this entry was added or moved after the next one was written"
    return f"{at}: {found.entries:,} entries from here on were added or moved after the next one was written"


def _show_check(found: ChainCheck) -> None:
    if found.breaks:
        render.out(f"The log was changed in {render.plural(len(found.breaks), 'place')}:")
        for each in found.breaks[:_MOST_BREAKS]:
            render.out(f"- {_described(each)}")
        if (more := len(found.breaks) - _MOST_BREAKS) > 0:
            render.note(f"{more:,} more; `--json` lists all.")
    elif not found.knows:
        render.out("The log does not contain this digest: entries were cut off, or it is of another project.")
    else:
        count = f"{found.entries:,} {'entry' if found.entries == 1 else 'entries'}"
        render.out(f"{count}, none changed." if found.entries else "The log is empty.")
        if found.deleted and found.deleted_until is not None:
            until = local_time(found.deleted_until)
            render.note(f"{found.deleted:,} older entries, up to {until}, were deleted for their age.")
        if found.head:
            render.out(f"Digest: {found.head}")
