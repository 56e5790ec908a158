"""`remit trust`: servers and states of a project that run something, and changed definitions."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import clock, open_registry
from remit.cli import render
from remit.cli.options import JSON, NOTHING_DONE, YES, Here, confirm, known_names, require_person, with_here
from remit.cli.overview import ask_servers
from remit.cli.render import Line, Shape
from remit.cli.rules import follow
from remit.config import TrustRequest
from remit.decision import Context, Key, Kind, Tool, shorten, spellings, status_reason, trust_command
from remit.errors import NotFoundError
from remit.text import did_you_mean, local_time, moment
from remit.trust import Cause, HeldDefinition, ServerTrust, accept, grant, pending, revoke, servers

if TYPE_CHECKING:
    from remit.catalog import Registry

_NOTHING = "Nothing here needs your trust."
_CAUSES = {
    Cause.NEW: "added after its server was accepted",
    Cause.CHANGED: "changed",
    Cause.SUSPICIOUS: "suspicious",
}
_ACCEPTED = {"first sight": "at first sight", "new entry": "when its entry changed", "person": "by you"}


class Candidates(NamedTuple):
    """What needs trust, as it was read just now."""

    servers: Sequence[ServerTrust]
    requests: Sequence[TrustRequest]  # states, rules and variables
    definitions: Sequence[HeldDefinition]

    @property
    def waiting(self) -> "Candidates":
        """Those that are not trusted."""
        return Candidates(
            [item for item in self.servers if not item.is_trusted],
            [item for item in self.requests if not item.is_trusted],
            self.definitions,
        )

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not (self.servers or self.requests or self.definitions)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=known_names)
@with_here
@click.option("--all", "everything", is_flag=True, help="Trust everything that is listed and needs no name.")
@click.option(
    "--revoke", "revokes", is_flag=True, help="Revoke trust in each NAME, or with --all in everything."
)
@YES
@JSON
def trust(
    *, names: tuple[str, ...], here: Here, everything: bool, revokes: bool, yes: bool, as_json: bool
) -> None:
    """Trust servers, states and changed definitions.

    Until you trust them, Remit does not start a project's servers, ignores its states that run a program,
    contact a server or redefine states of other files, and hides tools whose definitions changed after you
    accepted them. Without a NAME, lists all of these: what they would do, and what changed.

    A NAME is a server, a state or a tool; a server stands for all its changed definitions, except suspicious
    ones, which need their own name. A server whose definitions changed is asked again before the change is
    shown. Trust ends when an entry or a definition changes. Asks for confirmation.
    """
    if everything and names:
        raise click.UsageError("pass the names of servers, states or tools, or --all")
    if revokes and not (everything or names):
        raise click.UsageError("pass the names to revoke trust in, or --all")
    is_chosen = everything or bool(names)
    with open_registry() as registry:
        context = here.context(registry)
        if is_chosen and not revokes:
            require_person("trust what a project or server runs", yes=yes)
        if not as_json and not revokes:
            _ask_again(registry, context, names)
        found = find_candidates(registry, context, names)
        skipped = [item for item in found.definitions if is_chosen and not _may_accept(item, names)]
        found = found._replace(definitions=[item for item in found.definitions if item not in skipped])
        if is_chosen:
            chosen = found if revokes or names else found.waiting
            _settle(registry, context, chosen, revokes=revokes, yes=yes)
            found = find_candidates(registry, context, names, known=found)
        held = {tool.key: tool.held.reason for tool in registry.catalog(context).tools if tool.held}
    if as_json:
        render.data(trust_answer(found, context))
    elif is_chosen:
        render.out(_result_lines(found, skipped, held, revokes=revokes))
    else:
        render.paged(candidate_lines(found, context, held))
        render.note(_hints(found))
    if is_chosen and not revokes and (skipped or not found.waiting.is_empty):
        sys.exit(NOTHING_DONE)


def find_candidates(
    registry: "Registry", context: Context, names: Sequence[str], *, known: Candidates | None = None
) -> Candidates:
    """Find what needs trust here, or the named part; `known` was named before.

    Raises:
        NotFoundError: nothing that needs trust has a given name.
    """
    catalog = registry.catalog(context)
    requests = catalog.configuration.requests
    definitions = pending(registry.store, catalog.context)
    found = project_servers(registry, context)
    if not names:
        return Candidates(found, requests, definitions)
    chosen = Candidates(
        [item for item in found if any(map(item.declaration.is_called, names))],
        [item for item in requests if item.name in names],
        [item for item in definitions if any(_is_called(item, name, definitions) for name in names)],
    )
    for name in names if known is None else ():
        is_known = any(item.declaration.is_called(name) for item in chosen.servers)
        is_known |= any(item.name == name for item in chosen.requests)
        if not is_known and not any(_is_called(item, name, definitions) for item in chosen.definitions):
            raise _unknown(name, found, definitions, catalog.tools)
    return chosen


def project_servers(registry: "Registry", context: Context) -> list[ServerTrust]:
    """List the servers here that come from the project, so they need trust."""
    catalog = registry.catalog(context)
    return servers(registry.store, catalog.resolved, context, catalog.configuration.options)


def _is_called(item: HeldDefinition, name: str, others: Sequence[HeldDefinition]) -> bool:
    """Return whether a name means a definition; a tool's own name is enough if no other has it."""
    if item.is_called(name):
        return True
    meant = [other for other in others if not other.is_instructions and other.definition.tool == name]
    return meant == [item]


def _may_accept(item: HeldDefinition, names: Sequence[str]) -> bool:
    """Return whether a choice includes a definition: a suspicious one needs its own name."""
    own = {item.accepting_name, item.definition.tool}
    return item.cause is not Cause.SUSPICIOUS or any(own & {name, *spellings(name)} for name in names)


def _ask_again(registry: "Registry", context: Context, names: Sequence[str]) -> None:
    """Ask the servers of changed definitions for their tools, so what is shown is what they say now."""
    definitions = pending(registry.store, registry.catalog(context).context)
    meant = [
        item
        for item in definitions
        if not names or any(_is_called(item, name, definitions) for name in names)
    ]
    if labels := sorted({item.tool.server or "" for item in meant}):
        ask_servers(registry, context, labels)


def _settle(registry: "Registry", context: Context, chosen: Candidates, *, revokes: bool, yes: bool) -> None:
    """Show what was chosen, ask, and trust exactly that."""
    if chosen.is_empty:
        return
    if not revokes:
        render.note(candidate_lines(chosen, context))
        confirm("Trust these as shown?", yes=yes)
        grant(registry.store, chosen.servers, context, clock())
        registry.config.trust(chosen.requests, context.workspace)
        for item in accept(registry.store, chosen.definitions, context, clock()):
            render.note(f"warning: {item.title} changed again: run the command again")
    else:
        confirm(f"Revoke the trust in {_counted(chosen)}?", yes=yes)
        revoke(registry.store, chosen.servers, context)
        registry.config.revoke(chosen.requests, context.workspace)
    follow(registry, context)


def _counted(chosen: Candidates) -> str:
    names = [label_of(item) for item in chosen.servers] + [item.title for item in chosen.requests]
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def candidate_lines(
    found: Candidates, context: Context, held: Mapping[Key, str] | None = None
) -> Iterator[Line]:
    """Write what each candidate would do, or how it changed, in blocks."""
    if found.is_empty:
        yield _NOTHING
    blocks = [
        *(server_lines(item, context, (held or {}).get(item.declaration.key)) for item in found.servers),
        *(request_lines(item, context) for item in found.requests),
        *map(definition_lines, found.definitions),
    ]
    for number, block in enumerate(blocks):
        if number:
            yield ""
        yield from block


def server_lines(item: ServerTrust, context: Context, objection: str | None = None) -> Iterator[Line]:
    """Write what a server would run, below its state and how it differs from the project's lock."""
    declaration = item.declaration
    state = (
        "trusted" if item.is_trusted else "changed since you trusted it" if item.is_changed else "not trusted"
    )
    reason = status_reason(_row_of(item))
    agent = "" if declaration.agent is None else f"agent {declaration.agent}, "
    place = shorten(declaration.source, context)
    yield (
        (label_of(item), "title"),
        (f" ({agent}{declaration.scope}, {place}): {state}{f'; {reason}' if reason else ''}", ""),
    )
    if objection is not None:
        yield f"  the lock holds it: {objection}"
    if declaration.launch is None:
        yield "  its file cannot be read now"
    yield from (f"  {line}" for line in item.lines)
    if changes := item.changes:
        yield "  what changed:"
        yield from (f"  {line}" for line in changes)


def _row_of(item: ServerTrust) -> Tool:
    """Return a row with the declaration's status, which has its reason."""
    found = item.declaration
    place = (found.client, found.kind, found.scope, found.project_hash, found.dir, found.agent)
    return Tool(*place, found.server, found.name, status=found.status)


def label_of(item: ServerTrust) -> str:
    """Return the name of a server as its file writes it."""
    return item.declaration.server or item.declaration.name


def request_lines(item: TrustRequest, context: Context) -> Iterator[Line]:
    """Write what a part of a project's file would run or change."""
    word = (
        "trusted" if item.is_trusted else "changed since you trusted it" if item.is_changed else "not trusted"
    )
    yield ((item.title, "title"), (f" ({shorten(item.origin.path, context)}): {word}", ""))
    yield from (f"  {line}" for line in item.shown.splitlines())
    yield from (f"  {reason}" for reason in item.reasons)


def definition_lines(item: HeldDefinition) -> Iterator[Line]:
    """Write a changed definition: the cause, what was accepted before, and all that differs."""
    yield ((item.title, "title"), (f" ({item.tool.server}): {_CAUSES[item.cause]}", ""))
    if item.cause is Cause.SUSPICIOUS:
        yield f"  {item.reason}"
    if item.before is not None:
        by = _ACCEPTED.get(item.before.by, item.before.by)
        yield f"  accepted {by}, {local_time(item.before.at)}"
    yield from (f"  {line}" for line in item.lines())


def _result_lines(
    found: Candidates,
    skipped: Iterable[HeldDefinition],
    held: Mapping[Key, str],
    *,
    revokes: bool,
) -> Iterator[Line]:
    """Say whether each candidate is trusted now, and what was left out."""
    if found.is_empty and not skipped:
        yield "Accepted." if not revokes else _NOTHING
    for item in found.servers:
        yield f"{'trusted' if item.is_trusted else 'not trusted'}: {label_of(item)}"
        if item.is_trusted and (objection := held.get(item.declaration.key)):
            yield f"  the lock still holds it, because {objection}: run `remit lock`"
    for item in found.requests:
        yield f"{'trusted' if item.is_trusted else 'not trusted'}: {item.title}"
    for item in found.definitions:
        yield f"not accepted: {item.title}"
    for item in skipped:
        step = trust_command(item.accepting_name)
        yield f"not accepted: {item.title} looks suspicious; read it, then run `{step}`"


def _hints(found: Candidates) -> Iterator[Line]:
    waiting = found.waiting
    if waiting.servers or waiting.requests:
        yield "hint: `remit trust NAME` trusts one of them, `remit trust --all` all of them"
    elif waiting.definitions:
        yield "hint: `remit trust NAME` accepts a definition; `remit disable NAME` hides its tool for good"


def _unknown(
    name: str,
    known: Sequence[ServerTrust],
    definitions: Sequence[HeldDefinition],
    tools: Collection[Tool],
) -> NotFoundError:
    """Say that nothing of a name needs trust, or which names may be meant."""
    several = sorted({item.accepting_name for item in definitions if item.definition.tool == name})
    if len(several) > 1:
        hint = f"name one of them: {', '.join(f'`{full}`' for full in several)}"
        return NotFoundError(f"`{name}` is the name of several tools", hint=hint)
    meant = [tool for tool in tools if name == tool.server or tool.name in spellings(name)]
    if any(tool.is_trusted is False for tool in meant):
        return NotFoundError(
            f"`{name}` is not trusted: trust its server", hint=f"run `{trust_command(meant[0].server)}`"
        )
    if any(tool.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL) for tool in meant):
        return NotFoundError(f"`{name}` needs no trust: it is yours, or accepted")
    names = [*(label_of(item) for item in known), *(item.accepting_name for item in definitions)]
    hint = did_you_mean(name, names) or "`remit trust` lists what does"
    return NotFoundError(f"nothing called `{name}` needs your trust", hint=hint)


def trust_answer(found: Candidates, context: Context) -> Shape:
    from remit.cli.answers import asked_for

    return {
        **asked_for(context),
        "servers": [_server(item) for item in found.servers],
        "states": [_request(item) for item in found.requests if item.subject.startswith("states.")],
        "tools": [_request(item) for item in found.requests if not item.subject.startswith("states.")],
        "definitions": [_definition(item) for item in found.definitions],
    }


def _server(item: ServerTrust) -> Shape:
    from remit.cli.answers import declared

    return {
        **declared(item.declaration),
        "trusted": item.is_trusted,
        "changed": item.is_changed,
        "entry": item.lines,
        "changes": item.changes,
    }


def _request(item: TrustRequest) -> Shape:
    return {
        "name": item.name,
        "source": item.origin.path,
        "trusted": item.is_trusted,
        "changed": item.is_changed,
        "shown": item.shown,
        "reasons": [*item.reasons],
    }


def _definition(item: HeldDefinition) -> Shape:
    before = item.before
    return {
        "name": item.accepting_name,
        "server": item.tool.server,
        "client": item.tool.client,
        "kind": "instructions" if item.is_instructions else "tool",
        "verdict": "flagged" if item.cause is Cause.SUSPICIOUS else "changed",
        "reason": item.reason,
        "accepted_by": None if before is None else before.by,
        "accepted_at": None if before is None else moment(before.at),
        "diff": item.lines(),
    }
