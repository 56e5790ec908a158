"""Waiting: what needs a person, with everything that the answer would allow."""

import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain

from remit import trust
from remit.bootstrap import clock
from remit.cli import answers
from remit.decision import shorten
from remit.errors import ApprovalError
from remit.trust import HeldDefinition, ServerTrust
from remit.web.listing import Listing, Source
from remit.web.page import Answer, Done, Request

PATH = "/waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A server or a changed definition that waits for trust."""

    kind: str
    title: str
    origin: str
    reason: str
    lines: Sequence[str]  # what it would do, or how it changed
    command: str
    subject: ServerTrust | HeldDefinition
    digest: str | None

    @property
    def token(self) -> str:
        """What names it in a form: exactly as it is shown."""
        return sha256(repr((self.kind, self.title, self.digest, list(self.lines))).encode()).hexdigest()

    @property
    def is_suspicious(self) -> bool:
        """Whether accepting it is not the answer to offer first."""
        return isinstance(self.subject, HeldDefinition) and self.subject.cause is trust.Cause.SUSPICIOUS

    @property
    def can_accept(self) -> bool:
        """Whether there is something to trust: a file that cannot be read has nothing."""
        return bool(self.lines)


def read(source: Source, request: Request) -> Answer:
    """List what waits, as `remit approve` and `remit trust` do."""
    listing = source.listing(request.here)
    part = "count" if request.params.get("part") == "count" else "part"

    def shape() -> answers.Shape:
        asked = questions(source, listing)
        return {
            **answers.asked_for(listing.context),
            "approvals": [
                {
                    "id": call.id,
                    "tool": call.binding.tool,
                    "caller": call.binding.caller,
                    "reason": call.reason,
                }
                for call in asked["calls"]
            ],
            "questions": [
                {"kind": item.kind, "name": item.title, "reason": item.reason, "lines": [*item.lines]}
                for item in asked["items"]
            ],
        }

    return Answer("waiting.html", shape, lambda: questions(source, listing), part=part)


def questions(source: Source, listing: Listing) -> dict[str, list]:
    """Return the calls and the questions of trust that wait."""
    calls = source.registry.approvals.waiting(listing.context)
    now = time.time() * 1000
    minutes = {call.id: max(1, round((call.expires_at - now) / 60_000)) for call in calls}
    return {"calls": calls, "minutes": minutes, "items": list(_questions(source, listing))}


def answer_call(source: Source, request: Request) -> Done:
    """Approve or deny a call."""
    context = request.here.context(source.registry)
    approve = request.params.get("answer") == "approve"
    answered = source.registry.approvals.answer(request.params.get("id", ""), context, approve=approve)
    word = "Approved, for one call: the agent has to call again" if approve else "Denied"
    return Done(PATH, f"{word}: `{answered.binding.tool}`")


def accept(source: Source, request: Request) -> Done:
    """Trust a server, or accept a definition, exactly as it was shown.

    Raises:
        ApprovalError: it changed since it was shown.
    """
    listing = source.listing(request.here)
    token = request.params.get("token", "")
    item = next(
        (item for item in _questions(source, listing) if item.token == token and item.can_accept), None
    )
    if item is None:
        raise ApprovalError(
            "it changed, or was answered, since this page was loaded", hint="look at it again"
        )
    store, context = source.registry.store, listing.context
    if isinstance(item.subject, ServerTrust):
        trust.grant(store, [item.subject], context, clock())
        return Done(PATH, f"Trusted: `{item.title}`")
    if trust.accept(store, [item.subject], context, clock()):
        raise ApprovalError("it changed meanwhile", hint="look at it again")
    return Done(PATH, f"Accepted: `{item.title}`")


def _questions(source: Source, listing: Listing) -> Iterator[Question]:
    untrusted = {
        tool.key
        for tool, decision in listing.known
        if tool.is_trusted is False and (decision.is_available or listing.causes.get(tool.key) == "untrusted")
    }
    if untrusted:
        yield from _servers(source, listing, untrusted)
    changes = listing.catalog.configuration.changes
    for item in trust.pending(source.registry.store, listing.catalog.context):
        if changes == "note" and item.cause is not trust.Cause.SUSPICIOUS:
            continue
        yield Question(
            kind="definition",
            title=item.title,
            origin=shorten(item.tool.source, listing.context),
            reason=item.reason,
            lines=item.lines(),
            command=f"remit trust -- {shlex.quote(item.accepting_name)}",
            subject=item,
            digest=item.definition.digest,
        )


def _servers(source: Source, listing: Listing, untrusted: set) -> Iterator[Question]:
    context = listing.context
    readings = source.registry.clients.readings(context).values()
    resolved = chain.from_iterable(reading.resolved for reading in readings)
    for item in trust.servers(source.registry.store, resolved, context):
        declaration = item.declaration
        if declaration.key not in untrusted or item.is_trusted:
            continue
        name = declaration.server or declaration.name
        yield Question(
            kind="server",
            title=name,
            origin=shorten(declaration.source, context),
            reason="its entry changed after you trusted it" if item.is_changed else "the project declares it",
            lines=item.changes or item.lines,
            command=f"remit trust -- {shlex.quote(name)}",
            subject=item,
            digest=declaration.digest,
        )
