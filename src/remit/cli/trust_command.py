"""`remit trust`: servers and states of a project that run something."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.cli import json_output, render, server_output
from remit.cli.options import WorkspaceOptions, confirm, for_a_workspace, known_names
from remit.decision.context import Context, shorten
from remit.errors import UnknownServerError

if TYPE_CHECKING:
    from remit.configuration.detector_kinds import Detector
    from remit.configuration.merged_configuration import TrustRequest
    from remit.registry import Registry
    from remit.trust.trust_rule import ServerTrust


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=known_names)
@for_a_workspace
@click.option("--all", "everything", is_flag=True, help="Trust all that are listed.")
@click.option("--revoke", is_flag=True, help="Trust each NAME no more, or with --all none.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def trust(
    *,
    names: tuple[str, ...],
    options: WorkspaceOptions,
    everything: bool,
    revoke: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Trust servers and states that run something.

    Servers that come with a project are started only then, and states that run a program, reach a server or
    change what is not the project's count only then. Without a NAME, lists both with what they would do.
    Trust ends when an entry changes. Asks first, unless --yes is given.
    """
    if everything and names:
        raise click.UsageError("name servers and states, or give --all")
    if revoke and not (everything or names):
        raise click.UsageError("name what to trust no more, or give --all")
    with open_registry() as registry:
        context = options.context(registry)
        found = _find(registry, context, names)
        if everything or names:
            _show(found, context, to_stderr=True)
            if not (found.is_empty or revoke):
                confirm("Trust these, as they stand?", yes=yes)
            _settle(registry, context, found, revoke=revoke)
            found = _find(registry, context, names)
        problems = registry.problems(context)
    render.problems(problems, context)
    if as_json:
        render.data(_shape(found, context))
    elif everything or names:
        _tell(found)
    else:
        _show(found, context)


class TrustCandidates(NamedTuple):
    """Servers, states and tools that need trust."""

    servers: Sequence[ServerTrust]
    states: Sequence[TrustRequest]

    @property
    def is_empty(self) -> bool:
        """Whether nothing needs trust."""
        return not (self.servers or self.states)


def _find(registry: Registry, context: Context, names: Sequence[str]) -> TrustCandidates:
    """Find everything that needs trust, or the named part.

    Raises:
        UnknownServerError: nothing that needs trust has a given name.
    """
    states = registry.configuration.trust_requests(context.workspace, names)
    others = [name for name in names if not any(item.name == name for item in states)]
    try:
        servers = registry.trust.servers(context, others) if others or not names else []
    except UnknownServerError as error:
        message = str(error).replace("no server of this project", "no server or state of this project")
        raise UnknownServerError(message, hint=error.hint) from None
    return TrustCandidates(servers, states)


def _settle(registry: Registry, context: Context, found: TrustCandidates, *, revoke: bool) -> None:
    """Trust the candidates, or revoke their trust."""
    servers, configuration = registry.trust, registry.configuration
    (servers.revoke if revoke else servers.grant)(found.servers, context)
    if found.states:
        (configuration.revoke if revoke else configuration.trust)(found.states, context.workspace)


def _show(found: TrustCandidates, context: Context, *, to_stderr: bool = False) -> None:
    """Show what each candidate would do."""
    if found.servers or not found.states:
        server_output.entries(found.servers, context, to_stderr=to_stderr)
    stream = sys.stderr if to_stderr else sys.stdout
    for at, item in enumerate(found.states):
        if at or found.servers:
            stream.write("\n")
        for line in _lines(item, context):
            stream.write(f"{render.printable(line)}\n")


def _tell(found: TrustCandidates) -> None:
    """Print whether each candidate is trusted now."""
    if found.servers or not found.states:
        server_output.trusted(found.servers)
    for item in found.states:
        word = "trusted" if item.is_trusted else "not trusted"
        render.out(f"{word}: {render.printable(item.title)}")


def _shape(found: TrustCandidates, context: Context) -> json_output.Shape:
    """Return the JSON of `remit trust`."""
    states = [_state(item) for item in found.states if item.is_state]
    tools = [_tool(item) for item in found.states if not item.is_state]
    return json_output.trust(found.servers, states, tools, context)


def _lines(item: TrustRequest, context: Context) -> Iterator[str]:
    word = (
        "trusted" if item.is_trusted else "changed since it was trusted" if item.is_changed else "not trusted"
    )
    source = shorten(item.file.path, context)
    yield f"{item.title} ({item.file.layer}, {source}): {word}"
    if item.detector is not None:
        yield from _action(item.detector)
    yield from (f"  {reason}" for reason in item.reasons)


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
