"""`remit audit`: checks and exports the log of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.audit.audit_log import BreakKind, CallQuery
from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.calls.calls_command import call_shape
from remit.cli.options import ERRORS_FOUND, JSON, PROJECT, Moment
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.projects import Workspace
from remit.text.times import local_time, moment

if TYPE_CHECKING:
    from remit.audit.audit_log import ChainBreak, ChainCheck

_MOST_SHOWN = 10  # places where the log was changed


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
        _show(found)
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


def _show(found: ChainCheck) -> None:
    if found.breaks:
        render.out(f"The log was changed in {render.plural(len(found.breaks), 'place')}:")
        for each in found.breaks[:_MOST_SHOWN]:
            render.out(f"- {_described(each)}")
        if (more := len(found.breaks) - _MOST_SHOWN) > 0:
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
