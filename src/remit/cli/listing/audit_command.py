"""`remit audit`: checks the log of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.json_output import Shape, asked_for, moment
from remit.cli.options import ERRORS_FOUND, JSON, PROJECT

if TYPE_CHECKING:
    from remit.policy.audit import ChainCheck


@click.group()
def audit() -> None:
    """Check that the log of calls is as it was written."""


@audit.command()
@PROJECT
@click.option(
    "--head", default="", metavar="DIGEST", help="The digest of an earlier check, which must be in the log."
)
@JSON
def verify(*, project: str, head: str, as_json: bool) -> None:
    """Check that no entry was changed, added or removed.

    Each entry has a digest over itself and all entries before it. Keep the digest that this command prints:
    with it, a later check finds out whether the newest entries were cut off. Entries are deleted after 90
    days, which breaks nothing. Exits with 1 if the log is not as it was written.
    """
    with open_registry() as registry:
        context = registry.at(project)
        found = registry.audit.verify(context, head)
    if as_json:
        render.data({**asked_for(context), **check_shape(found)})
    else:
        _show(found)
    if found.broken_at is not None or not found.knows:
        raise SystemExit(ERRORS_FOUND)


def check_shape(found: ChainCheck) -> Shape:
    """Return a check as JSON."""
    broken_at = None if found.broken_at is None else moment(found.broken_at)
    return {**found._asdict(), "broken_at": broken_at}


def _show(found: ChainCheck) -> None:
    if found.broken_at is not None:
        at = render.local_time(found.broken_at)
        render.out(f"The log was changed: the entry of {at} is not as written, or one before it is gone.")
    elif not found.knows:
        render.out("The log does not contain this digest: entries were cut off, or it is of another project.")
    else:
        count = f"{found.entries:,} {'entry' if found.entries == 1 else 'entries'}"
        render.out(f"{count}, none changed." if found.entries else "The log is empty.")
        if found.unlinked:
            render.note(f"The first {found.unlinked:,} have no digest: an older Remit wrote them.")
        if found.head:
            render.out(f"Digest: {found.head}")
