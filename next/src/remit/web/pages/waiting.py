"""Waiting: what needs a person, with everything that the answer would allow."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from remit.bootstrap import clock, refresh_copies
from remit.cli import (
    Candidates,
    Line,
    answers,
    approval_answer,
    definition_lines,
    find_candidates,
    label_of,
    request_lines,
    server_lines,
    trust_answer,
)
from remit.decision import Context
from remit.errors import ApprovalError, InstallError
from remit.trust import Cause, accept, grant
from remit.web.listing import Listing, Source
from remit.web.page import Answer, Done, Request, Values, plain

PATH = "/waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A server, a part of a project's file or a changed definition that waits for trust."""

    kind: str
    title: str
    lines: Sequence[str]  # what it would do, or how it changed; the first says where it is
    name: str  # that the command takes
    candidate: Candidates  # this one alone
    digest: object
    is_suspicious: bool = False
    can_accept: bool = True  # there is something to trust: a file that cannot be read has nothing

    @property
    def token(self) -> str:
        """What names it in a form: exactly as it is shown."""
        return sha256(repr((self.kind, self.title, self.digest, list(self.lines))).encode()).hexdigest()

    @property
    def command(self) -> str:
        """The command that accepts it; a repository chooses the names of its servers."""
        return f"remit trust -- {shlex.quote(self.name)}"


def read(source: Source, request: Request) -> Answer:
    """List what waits, as `remit approve` and `remit trust` do."""
    listing = source.listing(request.here)
    part = "count" if request.params.get("part") == "count" else "part"

    def shape() -> answers.Shape:
        approvals = source.registry.approvals
        calls = [approval_answer(call, approvals) for call in approvals.waiting(listing.context)]
        return {**trust_answer(listing.candidates, listing.context), "approvals": calls}

    return Answer("waiting.html", shape, lambda: waiting(source, listing), part=part)


def waiting(source: Source, listing: Listing) -> Values:
    """Return the calls and the questions of trust that wait."""
    calls = source.registry.approvals.waiting(listing.context)
    minutes = {call.id: max(1, round((call.expires_at - clock()) / 60_000)) for call in calls}
    return {
        "calls": calls,
        "minutes": minutes,
        "items": list(_questions(listing.candidates, listing.context)),
    }


def answer_call(source: Source, request: Request) -> Done:
    """Approve or deny a call."""
    context = request.here.context(source.registry)
    approve = request.params.get("answer") == "approve"
    answered = source.registry.approvals.answer(request.params.get("id", ""), context, approve=approve)
    word = "Approved, for one call: the agent has to call again" if approve else "Denied"
    return Done(PATH, f"{word}: `{answered.binding.tool}`")


def settle(source: Source, request: Request) -> Done:
    """Trust a server or a part of a file, or accept a definition, exactly as it was shown.

    Raises:
        ApprovalError: it changed since it was shown.
    """
    registry, context = source.registry, request.here.context(source.registry)
    token = request.params.get("token", "")
    questions = _questions(find_candidates(registry, context, ()).waiting, context)
    item = next((item for item in questions if item.token == token and item.can_accept), None)
    if item is None:
        raise ApprovalError(
            "it changed, or was answered, since this page was loaded", hint="look at it again"
        )
    grant(registry.store, item.candidate.servers, context, clock())
    registry.config.trust(item.candidate.requests, context.workspace)
    if accept(registry.store, item.candidate.definitions, context, clock()):
        raise ApprovalError("it changed meanwhile", hint="look at it again")
    notice = f"{'Accepted' if item.kind == 'definition' else 'Trusted'}: `{item.title}`"
    try:
        refresh_copies(registry, context)
    except InstallError as error:
        notice = f"{notice}. The client's own rules are not current: {error}"
    return Done(PATH, notice)


def _questions(found: Candidates, context: Context) -> Iterator[Question]:
    for server in found.servers:
        declaration = server.declaration
        yield Question(
            kind="server",
            title=label_of(server),
            lines=_lines(server_lines(server, context)),
            name=label_of(server),
            candidate=Candidates([server], [], []),
            digest=declaration.digest,
            can_accept=declaration.launch is not None,
        )
    for part in found.requests:
        yield Question(
            kind="file",
            title=part.title,
            lines=_lines(request_lines(part, context)),
            name=part.name,
            candidate=Candidates([], [part], []),
            digest=part,
        )
    for item in found.definitions:
        yield Question(
            kind="definition",
            title=item.title,
            lines=_lines(definition_lines(item)),
            name=item.accepting_name,
            candidate=Candidates([], [], [item]),
            digest=item.definition.digest,
            is_suspicious=item.cause is Cause.SUSPICIOUS,
        )


def _lines(lines: Iterator[Line]) -> list[str]:
    """Return lines without the title, which is the heading of a question."""
    first = next(lines)
    where = first if isinstance(first, str) else plain(first[1:])
    return [
        where.strip().replace("(", "", 1).replace(")", "", 1),
        *(plain(line).removeprefix("  ") for line in lines),
    ]
