"""What people see of a policy: what is wrong with it, and the calls that wait for their word."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby

from remit.approvals import Approvals
from remit.apps.cli import render
from remit.apps.cli.shapes import Shape, asked_for
from remit.configurations import Noticed
from remit.core.approvals import Approval
from remit.core.decide import Context, shorten
from remit.core.findings import Severity


def check(found: Sequence[Noticed], context: Context) -> None:
    """Show what was noticed, by file."""
    render.out(render.heading(context))
    if not found:
        render.out("Nothing to mend.")
        return
    for source, group in groupby(found, key=lambda each: each.problem.source):
        render.out(f"\n{render.printable(shorten(source, context))}")
        for severity, problem in group:
            what = ": ".join(filter(None, (problem.place, problem.reason)))
            render.out(f"  {severity}: {render.printable(what)}")
    counts = _counts(found)
    render.out(
        "\n" + ", ".join(f"{count} {name[:-1] if count == 1 else name}" for name, count in counts.items())
    )


def checked(found: Sequence[Noticed], context: Context) -> Shape:
    """The answer of `remit policy check`."""
    return {**asked_for(context), "findings": [_noticed(each) for each in found], **_counts(found)}


def approvals(found: Sequence[Approval], asked: Approvals, *, to_stderr: bool = False) -> None:
    """Show what each call would do, so that a person can judge it."""
    stream = sys.stderr if to_stderr else sys.stdout
    for at, item in enumerate(found):
        lines = (
            f"{item.id}  {item.binding.tool}: {asked.status(item)}",
            f"  for        {item.binding.principal}",
            f"  because    it {item.reason}",
            *([f"  arguments  {item.shown}"] if item.shown else []),
            f"  until      {_time(item.expires_at)}",
        )
        stream.write("\n" if at else "")
        stream.writelines(f"{render.printable(line)}\n" for line in lines)


def asked_about(found: Sequence[Approval], asked: Approvals, context: Context) -> Shape:
    """The answer of `remit approve`."""
    return {**asked_for(context), "approvals": [_approval(item, asked) for item in found]}


def _counts(found: Sequence[Noticed]) -> dict[str, int]:
    return {f"{each}s": sum(item.severity is each for item in found) for each in Severity}


def _noticed(item: Noticed) -> Shape:
    line, column = item.position
    return {
        "severity": item.severity,
        "source": item.problem.source,
        "line": line or None,
        "column": column or None,
        "reason": item.problem.reason,
    }


def _approval(item: Approval, asked: Approvals) -> Shape:
    return {
        "id": item.id,
        "status": asked.status(item),
        "tool": item.binding.tool,
        "principal": item.binding.principal,
        "reason": item.reason,
        "arguments": item.shown or None,
        "requested_at": _time(item.requested_at),
        "expires_at": _time(item.expires_at),
    }


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
