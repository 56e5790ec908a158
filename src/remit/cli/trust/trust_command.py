"""`remit trust`: servers and states of a project that run something, and changed definitions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import (
    NOTHING_DONE,
    YES,
    WorkspaceOptions,
    confirm,
    for_a_workspace,
    known_names,
)
from remit.cli.output import json_output, server_output
from remit.cli.output.inspection_notes import inspection_notes, show_notes
from remit.cli.trust.trust_names import in_full, unknown_error, unneeded_error
from remit.decision.context import Context, shorten
from remit.decision.definitions.definition_changes import ChangeVerdict, ways_to_settle
from remit.decision.problems import CHANGED_ENTRY
from remit.text.times import local_time, moment
from remit.trust.definition_diff import diff_lines
from remit.trust.held_definitions import AcceptedBy

if TYPE_CHECKING:
    from remit.cli.output.inspection_notes import ToolNote
    from remit.configuration.detector_kinds import Detector
    from remit.configuration.merged_configuration import TrustRequest
    from remit.decision.declarations import Key
    from remit.registry import Registry
    from remit.trust.held_definitions import HeldDefinition
    from remit.trust.trust_rule import ServerTrust


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=known_names)
@for_a_workspace
@click.option("--all", "everything", is_flag=True, help="Trust everything that is listed and needs no name.")
@click.option("--harmless", is_flag=True, help="Accept all changed definitions that are harmless.")
@click.option("--reject", is_flag=True, help="Reject the changed definition of each NAME.")
@click.option("--revoke", is_flag=True, help="Revoke trust in each NAME, or with --all in everything.")
@YES
def trust(
    *,
    names: tuple[str, ...],
    options: WorkspaceOptions,
    everything: bool,
    harmless: bool,
    reject: bool,
    revoke: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Trust servers, states and changed definitions.

    Until you trust them, Remit does not start a project's servers, ignores its states that run a program,
    contact a server or redefine states of other files, and hides tools whose definitions changed after you
    accepted them. Without a NAME, lists all of these: what they would do, and what changed.

    A NAME is a server, a state or a tool; a server stands for all its changed definitions. Definitions that
    you rejected, that inspection flags high or that are too large to inspect need the tool's own name. Trust
    ends when an entry or a definition changes. Asks for confirmation.
    """
    chosen = bool(everything or names or harmless)
    _check(names, everything=everything, harmless=harmless, reject=reject, revoke=revoke)
    with open_registry() as registry:
        context = options.context(registry)
        found = find_candidates(registry, context, names)
        objections = lock_objections(registry, context)
        if harmless:
            found = TrustCandidates([], [], [item for item in found.definitions if item.is_harmless])
        skipped = _skipped(found, names) if chosen and not (reject or revoke) else []
        found = found.without(skipped)
        listed, found = found, found.pending if everything and not revoke else found
        notes = [] if as_json or harmless else _notes(found, registry, context, of_all=not chosen)
        if chosen:
            _show(found, context, objections, to_stderr=True)
            show_notes(notes, to_stderr=True)
            if not (found.is_empty or revoke):
                require_person("trust what a project or server runs")
                question = "Reject these definitions?" if reject else "Trust these as shown?"
                confirm(question, yes=yes)
            settle_candidates(registry, context, found, revoke=revoke, reject=reject)
            found = _settled(listed if as_json else found, registry, context, names)
        problems = [each for each in registry.problems(context) if each.reason != CHANGED_ENTRY]
    render.problems(problems, context)
    if as_json:
        skips = {"skipped": [item.name for item in skipped]} if chosen else {}
        render.data(trust_shape(found, context) | skips)
    elif chosen:
        if found.is_empty and not skipped:
            render.out("No harmless change is held." if harmless else _NOTHING)
        _tell(found, skipped, objections)
    else:
        if found.is_empty:
            render.out(_NOTHING)
        _show(found, context, objections)
        show_notes(notes)
        _hint(found)
    remains = any(not (everything and item.is_rejected) for item in skipped) or not found.is_settled
    if (names or everything) and not (reject or revoke) and remains:
        sys.exit(NOTHING_DONE)


_NOTHING = "No server of this project needs your trust."


def _hint(found: TrustCandidates) -> None:
    """Say how to settle what is listed, if anything has to be."""
    if any(not item.is_trusted for item in (*found.servers, *found.states)):
        render.note("hint: `remit trust NAME` trusts one of them, `remit trust --all` all of them")
    if any(not item.is_rejected for item in found.definitions):
        harmless = ", `remit trust --harmless` accepts the harmless ones"
        more = harmless if any(item.is_harmless for item in found.definitions) else ""
        ways = "`remit trust NAME` accepts a definition, `remit trust --reject NAME` rejects it"
        render.note(f"hint: {ways}{more}")


def _check(names: Sequence[str], *, everything: bool, harmless: bool, reject: bool, revoke: bool) -> None:
    """Refuse options that contradict each other."""
    if everything and names:
        raise click.UsageError("pass the names of servers, states or tools, or --all")
    if harmless and (everything or names or reject or revoke):
        raise click.UsageError("--harmless cannot be combined with a NAME or another choice")
    if reject and (revoke or not names):
        raise click.UsageError("pass the names of tools or servers whose changed definitions to reject")
    if revoke and not (everything or names):
        raise click.UsageError("pass the names to revoke trust in, or --all")


class TrustCandidates(NamedTuple):
    """Servers, states and definitions that need trust."""

    servers: Sequence[ServerTrust]
    states: Sequence[TrustRequest]
    definitions: Sequence[HeldDefinition] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing needs trust."""
        return not (self.servers or self.states or self.definitions)

    @property
    def pending(self) -> TrustCandidates:
        """What is not trusted yet, or not with the sandbox that the project declares now."""
        servers = [item for item in self.servers if item.is_limited or not item.is_trusted]
        return self._replace(servers=servers, states=[item for item in self.states if not item.is_trusted])

    @property
    def is_settled(self) -> bool:
        """Whether everything is trusted and accepted."""
        is_trusted = all(item.is_trusted for item in (*self.servers, *self.states))
        return is_trusted and all(item.change is None for item in self.definitions)

    def without(self, skipped: Collection[HeldDefinition]) -> TrustCandidates:
        """Leave out definitions."""
        return self._replace(definitions=[each for each in self.definitions if each not in skipped])


def find_candidates(registry: Registry, context: Context, names: Sequence[str]) -> TrustCandidates:
    """Find everything that needs trust, or the named part.

    Raises:
        UnknownServerError: nothing that needs trust has a given name.
    """
    registry.refresh(context)
    states = registry.configuration.trust_requests(context.workspace, names)
    changed = registry.trust.pins.changed(context)
    names = [in_full(name, changed) for name in names]
    definitions = [item for item in changed if not names or any(map(item.is_called, names))]
    named = [name for name in names if not any(item.name == name for item in states)]
    needed = [name for name in named if not any(item.is_called(name) for item in definitions)]
    known = registry.trust.servers(context) if named or not names else []
    servers = [item for item in known if not names or any(map(item.declaration.is_called, named))]
    for name in needed:
        if not any(item.declaration.is_called(name) for item in servers):
            servers_here = [item.declaration.server or "" for item in known]
            raise unneeded_error(name, registry, context) or unknown_error(name, servers_here, changed)
    return TrustCandidates(servers, states, definitions)


def lock_objections(registry: Registry, context: Context) -> Mapping[Key, str]:
    """Return how servers and tools of this project differ from its lock, by key."""
    lock = registry.configuration.current(context.workspace).compiled.policy.lock
    if lock is None:
        return {}
    found = {row.key: lock.objection(row) for row in registry.catalog.tools(context)}
    return {key: objection for key, objection in found.items() if objection is not None}


def _skipped(found: TrustCandidates, names: Sequence[str]) -> list[HeldDefinition]:
    """List the definitions that neither `--all` nor the name of a server accepts."""
    return [item for item in found.definitions if item.needs_its_name and not any(map(item.is_named, names))]


def _notes(found: TrustCandidates, registry: Registry, context: Context, *, of_all: bool) -> list[ToolNote]:
    servers = {item.declaration.server for item in found.servers}
    return inspection_notes(registry, context, lambda tool: of_all or tool.server in servers)


def _settled(
    before: TrustCandidates, registry: Registry, context: Context, names: Sequence[str]
) -> TrustCandidates:
    """Return the same candidates as they are now."""
    states = registry.configuration.trust_requests(context.workspace, names) if before.states else []
    keys = {item.declaration.key for item in before.servers}
    servers = [item for item in registry.trust.servers(context) if item.declaration.key in keys]
    changed = {item.key: item for item in registry.trust.pins.changed(context)}
    definitions = [changed.get(item.key) or replace(item, change=None) for item in before.definitions]
    return TrustCandidates(servers, states, definitions)


def settle_candidates(
    registry: Registry, context: Context, found: TrustCandidates, *, revoke: bool, reject: bool
) -> None:
    """Trust the candidates, revoke their trust, or reject their definitions."""
    servers, configuration = registry.trust, registry.configuration
    if reject:
        registry.trust.pins.reject(found.definitions, context)
        return
    if not revoke:
        registry.trust.pins.accept(found.definitions, context)
    (servers.revoke if revoke else servers.grant)(found.servers, context)
    if found.states:
        (configuration.revoke if revoke else configuration.trust)(found.states, context.workspace)


def _show(
    found: TrustCandidates, context: Context, objections: Mapping[Key, str], *, to_stderr: bool = False
) -> None:
    """Show what each candidate would do, and how it differs from the project's lock."""
    server_output.entries(found.servers, context, objections, to_stderr=to_stderr)
    stream = sys.stderr if to_stderr else sys.stdout
    blocks = [
        *(state_lines(item, context) for item in found.states),
        *(_wrapped_lines(item, objections.get(item.key)) for item in found.definitions),
    ]
    for at, block in enumerate(blocks):
        if at or found.servers:
            stream.write("\n")
        for line in block:
            stream.write(f"{render.printable(line)}\n")


def _wrapped_lines(item: HeldDefinition, objection: str | None) -> Iterator[str]:
    """Write a changed definition with its reason wrapped; the lines of the difference stay whole."""
    title, *lines = definition_lines(item, objection)
    yield title
    if item.change is not None:
        yield from render.wrapped(render.printable(lines.pop(0).strip()), "  ")
    yield from lines


def _tell(found: TrustCandidates, skipped: Sequence[HeldDefinition], objections: Mapping[Key, str]) -> None:
    """Print whether each candidate is trusted now, and which definitions were skipped."""
    server_output.trusted(found.servers, objections)
    for item in found.states:
        word = "trusted" if item.is_trusted else "not trusted"
        render.out(f"{word}: {render.printable(item.title)}")
    for item in found.definitions:
        word = "accepted" if item.change is None else "rejected" if item.is_rejected else "not accepted"
        render.out(f"{word}: {render.printable(item.title)}")
        if item.change is None and item.key in objections:
            render.out(server_output.still_held(objections[item.key]))
    for item in skipped:
        if item.change is not None:
            ways = ways_to_settle(item.change, item.name)
            render.note(f"not accepted: {item.title} ({_VERDICTS[item.change.verdict]}); {ways}")


def trust_shape(found: TrustCandidates, context: Context) -> json_output.Shape:
    """Return the JSON of `remit trust`."""
    states = [_state(item) for item in found.states if item.is_state]
    tools = [_tool(item) for item in found.states if not item.is_state]
    definitions = [_definition(item) for item in found.definitions]
    return json_output.trust(found.servers, states, tools, context) | {"definitions": definitions}


def state_lines(item: TrustRequest, context: Context) -> Iterator[str]:
    word = (
        "trusted" if item.is_trusted else "changed since it was trusted" if item.is_changed else "not trusted"
    )
    source = shorten(item.file.path, context)
    yield f"{item.title} ({item.file.layer}, {source}): {word}"
    if item.detector is not None:
        yield from _action(item.detector)
    yield from (f"  {reason}" for reason in item.reasons)


_VERDICTS = {
    ChangeVerdict.HARMLESS: "changed, harmless",
    ChangeVerdict.MATTERS: "changed",
    ChangeVerdict.FLAGGED: "suspicious",
    ChangeVerdict.UNINSPECTED: "too large to inspect",
    ChangeVerdict.REJECTED: "rejected",
}


def definition_lines(item: HeldDefinition, objection: str | None = None) -> Iterator[str]:
    """Write a changed definition: the verdict, what was accepted before, and the difference."""
    word = "accepted" if item.change is None else _VERDICTS[item.change.verdict]
    yield f"{item.title} ({item.server}): {word}"
    if item.change is not None:
        yield f"  {item.change.detail}"
    if objection is not None and not item.is_instructions:
        yield f"  held by the lock: {objection}"
    if item.accepted_at is not None:
        by = _ACCEPTED[item.accepted_by or AcceptedBy.FIRST_SIGHT]
        yield f"  accepted {by}, {local_time(item.accepted_at)}"
    yield from (
        f"  {line}" for line in diff_lines(item.accepted, item.current, is_instructions=item.is_instructions)
    )


_ACCEPTED = {
    AcceptedBy.FIRST_SIGHT: "at first sight",
    AcceptedBy.ENTRY: "when its entry changed",
    AcceptedBy.PERSON: "by you",
}


def _definition(item: HeldDefinition) -> json_output.Shape:
    change = item.change
    return {
        "name": item.name,
        "server": item.server,
        "client": item.key[0],
        "kind": "instructions" if item.is_instructions else "tool",
        "verdict": None if change is None else change.verdict.value,
        "reason": None if change is None else change.detail,
        "accepted_by": None if item.accepted_by is None else item.accepted_by.value,
        "accepted_at": None if item.accepted_at is None else moment(item.accepted_at),
        "changed_at": None if item.changed_at is None else moment(item.changed_at),
        "diff": diff_lines(item.accepted, item.current, is_instructions=item.is_instructions),
    }


def _action(detector: Detector) -> Iterator[str]:
    action = detector.action
    if action is not None:
        yield f"  {action.verb:<7} {shlex.join(detector.argv) or detector.url or action.command}"


def _tool(item: TrustRequest) -> json_output.Shape:
    return {
        "name": item.name,
        "layer": item.file.layer,
        "source": item.file.path,
        "trusted": item.is_trusted,
        "changed": item.is_changed,
        "reasons": list(item.reasons),
    }


def _state(item: TrustRequest) -> json_output.Shape:
    detector = item.detector
    return {
        **_tool(item),
        "command": list(detector.argv) if detector is not None and detector.argv else None,
        "url": (detector.url or None) if detector is not None else None,
    }
