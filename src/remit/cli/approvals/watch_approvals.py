"""`remit approve --watch`: shows calls that need approval as they come, and takes answers on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from remit.approvals.approvals import ApprovalStatus
from remit.cli import render
from remit.cli.approvals.approval_output import approval_lines, approval_shape
from remit.decision.context import project_option
from remit.errors import ApprovalError
from remit.text.untrusted_text import one_line

if TYPE_CHECKING:
    from remit.approvals.approval_service import ApprovalService
    from remit.approvals.approvals import Approval
    from remit.decision.context import Context

_STEP = 0.25  # seconds between two looks at the store
_ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "": None, "s": None, "skip": None}
_QUESTION = "Approve this call? [y]es, [n]o, [s]kip: "


def watch(approvals: ApprovalService, context: Context, *, as_json: bool) -> None:
    """Show each call that needs approval, until interrupted; without a terminal, take no answers."""
    show = _show_line if as_json else _show_text
    takes_answers = not as_json and sys.stdin.isatty()
    if not as_json:
        render.note(f"Waiting for approval requests in {context.workspace.project.path}; Ctrl-C ends it.")
    seen: set[str] = set()
    try:
        while True:
            for item in approvals.waiting(context):
                if item.id in seen or approvals.status(item) is not ApprovalStatus.WAITING:
                    continue
                seen.add(item.id)
                show(item, approvals)
                if takes_answers:
                    _answer(item, approvals, context)
            time.sleep(_STEP)
    except KeyboardInterrupt:  # how the user ends it
        pass


def _show_line(item: Approval, approvals: ApprovalService) -> None:
    render.line(approval_shape(item, approvals))
    sys.stdout.flush()


def _show_text(item: Approval, approvals: ApprovalService) -> None:
    _ring(item)
    render.paged(["", *approval_lines([item], approvals)])
    sys.stdout.flush()


def _ring(item: Approval) -> None:
    """Notify through the terminal: OSC 9, and a bell for terminals that do not know it."""
    if sys.stderr.isatty():
        tool = one_line(render.printable(item.binding.tool), 100)
        sys.stderr.write(f"\x1b]9;Remit: {tool} needs your approval\x07\x07")
        sys.stderr.flush()


def _answer(item: Approval, approvals: ApprovalService, context: Context) -> None:
    """Ask about a call until it is answered, here or elsewhere."""

    def status() -> ApprovalStatus:
        return approvals.status(approvals.find(item.id, context))

    while True:
        word = _ask(lambda: status() is ApprovalStatus.WAITING)
        if word is None:
            render.note(f"\n{item.id} is {status()}")
            return
        if word.lower() in _ANSWERS:
            break
    approve = _ANSWERS[word.lower()]
    if approve is None:
        command = f"remit approve {item.id}{project_option(context)}"
        render.note(f"{item.id} stays pending: `{command}` answers it")
        return
    try:
        answered = approvals.answer(item.id, context, approve=approve)
    except ApprovalError as error:
        render.warning(error)
        return
    render.out(f"{approvals.status(answered)} {item.id}  {render.printable(item.binding.tool)}")
    sys.stdout.flush()


def _ask(is_open: Callable[[], bool]) -> str | None:
    """Read one line; None if the call was answered elsewhere meanwhile.

    What was typed before the question is dropped: nobody approves a call that they have not seen.

    Raises:
        KeyboardInterrupt: the terminal is closed.
    """
    if sys.platform == "win32":
        return input(_QUESTION).strip() if is_open() else None
    import select  # not available everywhere
    import termios

    stdin = sys.stdin.fileno()
    termios.tcflush(stdin, termios.TCIFLUSH)
    sys.stderr.write(_QUESTION)
    sys.stderr.flush()
    while is_open():
        if select.select([stdin], [], [], _STEP)[0]:
            data = os.read(stdin, 4_096)  # past the buffer, which could hold more than this line
            if not data:
                raise KeyboardInterrupt
            return data.decode(errors="replace").strip()
    return None
