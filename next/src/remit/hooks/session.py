"""Handles the events of sessions: one starts, or its user writes a prompt."""

import os
import time
from typing import TYPE_CHECKING

from remit.config import data_directory
from remit.files import Machine, locate, this_machine
from remit.hooks.event import Answer, told
from remit.hooks.kept import CLIENT
from remit.hooks.main import log_failure
from remit.store import open_store
from remit.text import one_line, plural

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context
    from remit.hooks.event import Event
    from remit.hooks.main import Hook
    from remit.hooks.notices import Installed, Notice

REREAD = 1.5  # seconds after which the client has read its settings again, before the first request
_MOST_NAMED = 3  # pending approvals
_LONGEST_NAME = 128


def session_started(event: "Event", hook: "Hook") -> Answer:
    """Read changed files, repair the copies of rules in the client, and list the agent's tools."""
    from remit.hooks.session_context import session_text

    with hook.parts.open_registry() as registry:
        context = registry.at(event.directory, CLIENT, is_headless=event.is_headless)
        if hook.level == "context":  # that install shows tools and counts uses, and nothing else
            return told(event.name, session_text(registry, context, hook.now))
        before = registry.store.usage.sessions(context.workspace, 1)
        registry.clients.refresh(context)
        notices = _notices(registry, context, before[0].started_at if before else None)
        reread_at = time.monotonic() + REREAD if _repaired(registry, context, event, hook) else 0.0
        context = registry.as_agent(event.text("agent_type"), context)
        text = session_text(registry, context, hook.now, notices=notices)
    time.sleep(max(0.0, reread_at - time.monotonic()))
    return told(event.name, text, [str(notice) for notice in notices])


def _notices(registry: "Registry", context: "Context", since: int | None) -> "list[Notice]":
    from remit.hooks.notices import broken_files, changed_local_file, find_notices

    return [
        *find_notices(registry, context, installed(context, this_machine())),
        *broken_files(registry.config.problems(context.workspace), context),
        *changed_local_file(context, since),
    ]


def installed(context: "Context", machine: Machine) -> "Installed | None":
    """Return what the install records say of a context's client; None without an install.

    Raises:
        FileChangeError: a record cannot be read.
    """
    from remit.clients import load_record, record_path
    from remit.hooks.notices import Installed

    client = context.client or CLIENT
    for is_managed in (False, True):
        record = load_record(record_path(client, machine, is_managed=is_managed))
        if record is not None:
            rules = load_record(record_path(client, machine, project=context.workspace.project))
            return Installed(record, rules, is_managed)
    return None


def _repaired(registry: "Registry", context: "Context", event: "Event", hook: "Hook") -> bool:
    """Rewrite the copies of rules that changed; a failure must not keep a session from starting."""
    try:
        return hook.parts.refresh_copies(registry, context)
    except Exception as error:
        log_failure(event.name, error)
        return False


def prompt_submitted(event: "Event", hook: "Hook") -> Answer:
    """Tell which calls wait for approval.

    The user reads how to answer; the model, which tools are meant, and neither arguments nor the command.
    """
    if event.text("source") not in (None, "user", "sdk"):
        return None
    with open_store(os.path.join(data_directory(this_machine()), "remit.sqlite"), patience=1.0) as store:
        waiting = store.approvals.waiting(locate(event.directory), hook.now())
    if not waiting:
        return None
    tools = [one_line(approval.binding.tool.replace("`", "'"), _LONGEST_NAME) for approval in waiting]
    named = [
        f"`{tool}` waits for your approval: run `remit approve {approval.id}`"
        for tool, approval in zip(tools[:_MOST_NAMED], waiting, strict=False)
    ]
    more = len(waiting) - len(named)
    if more:
        named.append(f"{plural(more, 'more call')} {'waits' if more == 1 else 'wait'}: run `remit approve`")
    calls = f"{plural(len(waiting), 'call')} {'waits' if len(waiting) == 1 else 'wait'}"
    listed = ", ".join(dict.fromkeys(f"`{tool}`" for tool in tools[:_MOST_NAMED])) + (
        " and others" if more else ""
    )
    text = f"{calls} for the user's approval in Remit: {listed}. Only the user can answer."
    return told(event.name, text, named)
