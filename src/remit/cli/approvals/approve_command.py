"""`remit approve`: approves or denies pending calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.approvals.approval_output import approval_lines, approval_shape
from remit.cli.approvals.person_check import require_person
from remit.cli.approvals.watch_approvals import watch
from remit.cli.options import JSON, PROJECT, YES, confirm
from remit.cli.output.json_output import Shape, asked_for
from remit.decision.context import Context, project_option

if TYPE_CHECKING:
    from remit.approvals.approval_service import ApprovalService
    from remit.approvals.approvals import Approval


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@PROJECT
@click.option("--deny", is_flag=True, help="Deny them.")
@YES
@click.option("--watch", "is_watching", is_flag=True, help="Show calls as they arrive, and answer them.")
@JSON
def approve(
    *, ids: tuple[str, ...], project: str, deny: bool, yes: bool, is_watching: bool, as_json: bool
) -> None:
    """Approve or deny pending calls.

    Without an ID, lists them with all their arguments. An approval covers exactly that call, once, until it
    expires. Asks for confirmation, except with --deny. Agents cannot approve calls.
    """
    if deny and not ids:
        raise click.UsageError("pass the ID of a call to deny")
    if is_watching and (ids or deny or yes):
        raise click.UsageError("--watch takes no ID, --deny or --yes")
    if (ids and not deny) or (is_watching and not as_json):
        require_person()
    with open_registry() as registry:
        context = registry.at(project)
        approvals = registry.approvals
        if is_watching:
            watch(approvals, context, as_json=as_json)
            return
        found = [approvals.find(id, context) for id in ids] if ids else approvals.waiting(context)
        if ids:
            render.paged([*approval_lines(found, approvals)], to_stderr=True)
            if not deny:
                confirm("Approve these calls?", yes=yes)
            found = [approvals.answer(item.id, context, approve=not deny) for item in found]
        if as_json:
            render.data(_approvals_shape(found, approvals, context))
        elif ids:
            for item in found:
                once = "" if deny else ": for one call; the agent has to call again"
                render.out(f"{approvals.status(item)} {item.id}  {render.printable(item.binding.tool)}{once}")
        elif found:
            render.paged([*approval_lines(found, approvals)])
            first = f"remit approve {found[0].id}{project_option(context)}"
            render.note(f"hint: `{first}` approves it, `{first} --deny` denies it")
        else:
            render.out("No pending approvals.")


def _approvals_shape(found: Sequence[Approval], approvals: ApprovalService, context: Context) -> Shape:
    """Return the JSON of `remit approve`."""
    return {**asked_for(context), "approvals": [approval_shape(item, approvals) for item in found]}
