"""Waiting: what needs a person, with everything that the answer would allow."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from remit.approvals.approval_service import is_call_of
from remit.cli.approvals.approval_output import approval_shape, deadline
from remit.cli.output.json_output import Shape
from remit.cli.output.server_output import entry_lines
from remit.cli.trust.trust_command import (
    TrustCandidates,
    definition_lines,
    find_candidates,
    settle_candidates,
    state_lines,
    trust_shape,
)
from remit.configuration import rule_edits
from remit.configuration.config_model import ConfigurationLayer
from remit.configuration.policy_compiler import disabling_rules
from remit.decision.context import shorten
from remit.decision.definitions.definition_changes import is_held
from remit.errors import ApprovalError
from remit.web.page_model import ActionResult, PageAnswer, PageRequest, PageSources, Values, Viewer

if TYPE_CHECKING:
    from remit.approvals.approvals import Approval
    from remit.decision.context import Context
    from remit.registry import Registry

PATH = "/waiting"


class WaitingItem(NamedTuple):
    """A server, a state or a changed definition that waits for trust."""

    kind: str
    title: str
    token: str  # names it in a form, exactly as it was shown
    lines: Sequence[str]  # what it would do, or how it changed
    candidate: TrustCandidates
    can_accept: bool = True

    @property
    def is_suspicious(self) -> bool:
        """Whether to reject it is the first answer to offer."""
        return any(each.is_suspicious for each in self.candidate.definitions)

    @property
    def commands(self) -> Sequence[str]:
        """The commands that answer it, best first; a repository chooses the names of its servers."""
        name = shlex.quote(self.title)
        accept, reject = f"remit trust -- {name}", f"remit trust --reject -- {name}"
        if not self.candidate.definitions:
            return (accept,)
        return (reject, accept) if self.is_suspicious else (accept, reject)


class WaitingCall(NamedTuple):
    """A call that waits for approval."""

    approval: Approval
    until: str
    is_own: bool = False  # of the viewer, who cannot approve it


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """List what waits, as `remit approve` and `remit trust` do; a gateway trusts on its own machine only."""
    registry, context = sources.registry, asked.options.context(sources.registry)
    approvals = registry.approvals
    waiting = approvals.waiting(context)
    found = find_candidates(registry, context, ()) if asked.viewer is None else TrustCandidates([], [])

    def values() -> Values:
        now = time.time() * 1000
        return {
            "calls": [
                WaitingCall(item, deadline(item.expires_at, now), _is_own(item, asked.viewer))
                for item in waiting
            ],
            "items": _items(found, context, registry),
        }

    def shape() -> Shape:
        calls = [approval_shape(item, approvals) for item in waiting]
        return {**trust_shape(found, context), "approvals": calls}

    is_count = asked.params.get("part") == "count"
    return PageAnswer(
        "waiting.html", shape, values, fragment="waiting_count.html" if is_count else "waiting_listing.html"
    )


def answer_call(sources: PageSources, asked: PageRequest) -> ActionResult:
    """Approve or deny a call."""
    context = asked.options.context(sources.registry)
    is_approved = asked.params.get("answer") == "approve"
    by = None if asked.viewer is None else asked.viewer.name
    done = sources.registry.approvals.answer(asked.params.get("id", ""), context, approve=is_approved, by=by)
    word = "Approved, for one call: the agent has to call again" if is_approved else "Denied"
    return ActionResult(PATH, f"{word}: `{done.binding.tool}`")


def settle(sources: PageSources, asked: PageRequest) -> ActionResult:
    """Trust a server or state, or accept or reject a definition, exactly as it was shown.

    A rejected server is disabled in `remit.local.toml`, as by `remit disable`.

    Raises:
        ApprovalError: it changed since it was shown.
        PolicyError: the file cannot be edited.
    """
    registry, context = sources.registry, asked.options.context(sources.registry)
    wanted = asked.params.get("token", "")
    items = _items(find_candidates(registry, context, ()), context, registry)
    item = next((each for each in items if each.token == wanted and each.can_accept), None)
    if item is None:
        raise ApprovalError(
            "it changed, or it was answered, since this page was loaded", hint="look at it again"
        )
    is_rejected = asked.params.get("answer") == "reject"
    if is_rejected and item.candidate.servers:
        return _disable(item, sources, context)
    is_rejected = is_rejected and bool(item.candidate.definitions)
    settle_candidates(registry, context, item.candidate, revoke=False, reject=is_rejected)
    word = "Rejected" if is_rejected else "Accepted" if item.candidate.definitions else "Trusted"
    return ActionResult(PATH, f"{word}: `{item.title}`")


def _is_own(approval: Approval, viewer: Viewer | None) -> bool:
    return viewer is not None and is_call_of(approval, viewer.name)


def _disable(item: WaitingItem, sources: PageSources, context: Context) -> ActionResult:
    file = sources.openers.rules(ConfigurationLayer.LOCAL, context.workspace)
    name = shlex.quote(item.title)
    with sources.openers.journal().recording(f"remit disable -- {name}"):
        file.write(
            rule_edits.write(
                file.text, [each.declaration.name for each in item.candidate.servers], rule_edits.DISABLED
            )
        )
    place = shorten(file.path, context)
    return ActionResult(
        PATH, f"Disabled in `{place}`: `{item.title}`. `remit enable -- {name}` takes it back."
    )


def _items(found: TrustCandidates, context: Context, registry: Registry) -> list[WaitingItem]:
    current = registry.configuration.current(context.workspace)
    rules, changes = current.loaded, current.compiled.policy.changes
    items = [
        _item(
            "server",
            each.declaration.server or each.declaration.name,
            entry_lines(each, context),
            TrustCandidates([each], []),
            each.declaration.digest,
            can_accept=each.declaration.launch is not None,
        )
        for each in found.servers
        if not each.is_trusted and not disabling_rules(rules, each.declaration.name)
    ]
    items += [
        _item(
            each.title.partition(" ")[0],
            each.name,
            list(state_lines(each, context)),
            TrustCandidates([], [each]),
            each.digest,
        )
        for each in found.states
        if not each.is_trusted
    ]
    items += [
        _item(
            "definition",
            each.title,
            list(definition_lines(each)),
            TrustCandidates([], [], [each]),
            each.changed_id,
        )
        for each in found.definitions
        if is_held(each.change, changes) and not each.is_rejected
    ]
    return items


def _item(
    kind: str,
    title: str,
    lines: Sequence[str],
    candidate: TrustCandidates,
    digest: object,
    *,
    can_accept: bool = True,
) -> WaitingItem:
    token = sha256(repr((kind, title, digest, list(lines))).encode()).hexdigest()
    return WaitingItem(kind, title, token, lines, candidate, can_accept)
