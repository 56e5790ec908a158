"""`remit approve`: approves or denies pending calls."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from remit.bootstrap import clock, open_registry
from remit.cli import render
from remit.cli.options import JSON, YES, Here, confirm, require_person
from remit.cli.render import Line, Shape
from remit.errors import ApprovalError
from remit.text import local_time, moment, one_line

if TYPE_CHECKING:
    from remit.decision import Context
    from remit.store import Approval
    from remit.trust import Approvals

_STEP = 0.25  # seconds between two looks
_ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "": None, "s": None, "skip": None}
_QUESTION = "Approve this call? [y]es, [n]o, [s]kip: "
_LONGEST_NAME = 100


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "-C", "--project", "directory", metavar="DIR", default=".", help="The directory; default: here."
)
@click.option("--deny", is_flag=True, help="Deny them.")
@YES
@click.option("--watch", "is_watching", is_flag=True, help="Show calls as they arrive, and answer them.")
@JSON
def approve(
    *, ids: tuple[str, ...], directory: str, deny: bool, yes: bool, is_watching: bool, as_json: bool
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
        require_person("approve a call", yes=yes or is_watching)
    with open_registry() as registry:
        context, approvals = Here(directory).context(registry), registry.approvals
        if is_watching:
            _watch(approvals, context, as_json=as_json)
            return
        found = [approvals.find(id, context) for id in ids] if ids else approvals.waiting(context)
        if ids:
            render.note(approval_lines(found, approvals))
            if not deny:
                confirm("Approve these calls?", yes=yes)
            found = [approvals.answer(item.id, context, approve=not deny) for item in found]
        if as_json:
            render.data(_answers(found, approvals, context))
        elif ids:
            render.out(_answered(item, approvals) for item in found)
        elif found:
            render.paged(approval_lines(found, approvals))
            render.note(f"hint: `remit approve {found[0].id}` approves it, with --deny it denies it")
        else:
            render.out("No pending approvals.")


def approval_lines(found: Sequence["Approval"], approvals: "Approvals") -> Iterator[Line]:
    """Write calls that need approval, with all their arguments."""
    for number, item in enumerate(found):
        if number:
            yield ""
        yield ((f"{item.id}  {item.binding.tool}", "title"), (f"  {approvals.status(item)}", ""))
        yield f"  why      {item.reason}"
        yield f"  caller   {item.binding.caller}"
        yield f"  expires  {_deadline(item.expires_at)}"
        yield "  arguments"
        yield from (f"    {line}" for line in (item.shown or "none").split("\n"))


def _deadline(milliseconds: int) -> str:
    left = max(0, milliseconds - clock()) / 60_000
    return f"{local_time(milliseconds, '%H:%M')} ({f'{left:.0f} min' if left >= 1 else 'less than 1 min'})"


def _answered(item: "Approval", approvals: "Approvals") -> str:
    once = ": for one call; the agent has to call again" if item.is_approved else ""
    return f"{approvals.status(item)} {item.id}  {item.binding.tool}{once}"


def _answers(found: Sequence["Approval"], approvals: "Approvals", context: "Context") -> Shape:
    from remit.cli.answers import asked_for

    return {**asked_for(context), "approvals": [approval_answer(item, approvals) for item in found]}


def approval_answer(item: "Approval", approvals: "Approvals") -> Shape:
    return {
        "id": item.id,
        "status": approvals.status(item),
        "tool": item.binding.tool,
        "caller": item.binding.caller,
        "reason": item.reason,
        "arguments": item.shown or None,
        "requested_at": moment(item.requested_at),
        "expires_at": moment(item.expires_at),
    }


def _watch(approvals: "Approvals", context: "Context", *, as_json: bool) -> None:
    """Show each call that needs approval, until interrupted; without a terminal, take no answers."""
    takes_answers = not as_json and sys.stdin.isatty()
    if not as_json:
        render.note(f"Waiting for approval requests in {context.workspace.project.path}; Ctrl-C ends it.")
    seen: set[str] = set()
    try:
        while True:
            for item in approvals.waiting(context):
                if item.id not in seen:
                    seen.add(item.id)
                    _show(item, approvals, as_json=as_json)
                    if takes_answers:
                        _ask(item, approvals, context)
            time.sleep(_STEP)
    except KeyboardInterrupt:  # how the user ends it
        pass


def _show(item: "Approval", approvals: "Approvals", *, as_json: bool) -> None:
    if as_json:
        import json

        render.text(json.dumps(approval_answer(item, approvals)))
    else:
        if sys.stderr.isatty():  # a notice of the terminal, and a bell for those that have none
            tool = one_line(render.printable(item.binding.tool), _LONGEST_NAME)
            sys.stderr.write(f"\x1b]9;Remit: {tool} needs your approval\x07\x07")
        render.out(["", *approval_lines([item], approvals)])
    sys.stdout.flush()


def _ask(item: "Approval", approvals: "Approvals", context: "Context") -> None:
    """Ask about a call until it is answered, here or elsewhere."""

    def is_open() -> bool:
        return approvals.status(approvals.find(item.id, context)) == "waiting"

    word: str | None = None
    while word not in _ANSWERS:
        word = _read_line(is_open)
        if word is None:
            render.note(f"\n{item.id} is {approvals.status(approvals.find(item.id, context))}")
            return
    approve = _ANSWERS[word]
    if approve is None:
        render.note(f"{item.id} stays pending: `remit approve {item.id}` answers it")
        return
    try:
        render.out(_answered(approvals.answer(item.id, context, approve=approve), approvals))
    except ApprovalError as error:
        render.warning(error)
    sys.stdout.flush()


def _read_line(is_open: Callable[[], bool]) -> str | None:
    """Read one line; None if the call was answered elsewhere meanwhile.

    What was typed before the question is dropped: nobody approves a call that they have not seen.

    Raises:
        KeyboardInterrupt: the terminal is closed.
    """
    if sys.platform == "win32":
        return input(_QUESTION).strip().lower() if is_open() else None
    import select  # not available everywhere
    import termios

    stdin = sys.stdin.fileno()
    termios.tcflush(stdin, termios.TCIFLUSH)
    sys.stderr.write(_QUESTION)
    sys.stderr.flush()
    while is_open():
        if select.select([stdin], [], [], _STEP)[0]:
            data = os.read(stdin, 4_096)  # past Python's buffer, which could hold more than this line
            if not data:
                raise KeyboardInterrupt
            return data.decode(errors="replace").strip().lower()
    return None
