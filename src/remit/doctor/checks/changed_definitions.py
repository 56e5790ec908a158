"""Servers, tools and instructions that are held: nobody accepted them, or the project's lock differs."""

from collections.abc import Iterator

from remit.decision.definitions.definition_changes import ChangeVerdict, is_held, steps_to_settle
from remit.decision.definitions.project_lock import LOCK, lock_place, lock_steps, package_differences
from remit.decision.kinds import COULD_RUN, Kind
from remit.decision.problems import Severity
from remit.decision.tools import Tool
from remit.doctor.findings import ClientSetup, Finding, finding_about
from remit.files.bounded_reader import this_machine
from remit.text.untrusted_text import one_line
from remit.upstream.launch.installed_packages import launched_package

_LONGEST_NAME = 100
_MOST_NAMED = 5  # tools of a server that differ from the lock


def changed_definitions(setup: ClientSetup) -> Iterator[Finding]:
    """Find definitions that wait for the user."""
    for tool in setup.tools:
        change = tool.change
        if change is None or not _waits(tool, setup):
            continue
        is_rejected = change.verdict is ChangeVerdict.REJECTED
        subject = "its instructions" if tool.kind is Kind.MCP_SERVER else f"`{tool.name}`"
        then = ", then run `remit lock`" if _objection(tool, setup) else ""
        yield Finding(
            severity=Severity.NOTE if is_rejected else Severity.WARNING,
            check="definition",
            source=tool.source,
            subject=tool.server,
            scope=tool.scope,
            reason=f"{subject}: {change.detail}",
            fix=f"{steps_to_settle(change, tool.name)}{then}",
        )


def withheld_items(setup: ClientSetup) -> Iterator[Finding]:
    """Find resources, resource templates and prompts that are not served because of their texts."""
    for tool in setup.tools:
        for kind, name, reason in setup.withheld.get(tool.key, ()):
            yield Finding(
                severity=Severity.WARNING,
                check="definition",
                source=tool.source,
                subject=tool.server,
                scope=tool.scope,
                reason=f"the {kind} `{one_line(name, _LONGEST_NAME)}` is withheld: {reason}",
                fix="if it is an attack, remove the server; if not, ask its author for another description",
            )


def differing_from_lock(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that the project's lock holds, or some of whose tools it holds."""
    broken = {problem.source for problem in setup.problems}  # what they declare is not known now
    differing = [
        (tool, objection)
        for tool in setup.tools
        if tool.config_status in COULD_RUN and (objection := _objection(tool, setup)) is not None
        if tool.source not in broken
    ]
    held = {tool.server: objection for tool, objection in differing if tool.kind is Kind.MCP_SERVER}
    by_server: dict[str | None, list[Tool]] = {}
    for tool, _ in differing:
        is_alone = tool.server not in held and not _waits(tool, setup)  # its own finding names both steps
        if tool.kind is Kind.MCP_SERVER or is_alone:
            by_server.setdefault(tool.server, []).append(tool)
    for server, (first, *_) in by_server.items():
        yield Finding(
            severity=Severity.WARNING,
            check="lock",
            source=first.source,
            subject=server,
            scope=first.scope,
            reason=f"held: {held.get(server) or _named(by_server[server])}",
            fix=lock_steps(first),
        )


def replaced_packages(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose installed package is not the locked one, as far as that is known offline."""
    if setup.lock is None or setup.lock.problem is not None:
        return
    machine = this_machine()
    for declaration, launch in setup.launches:
        place = lock_place(declaration, setup.lock.root)
        locked = None if place is None else setup.lock.servers.get(place)
        if locked is None or locked.package is None:
            continue
        now = launched_package(launch, setup.lock.root, machine.variables, machine.home)
        for difference in package_differences(locked.package, now):
            yield finding_about(
                declaration,
                Severity.WARNING,
                "lock",
                reason=f"differs from `{LOCK}`: {difference}; the gateway does not start it",
                fix="install the locked version; or review the new one, then run `remit lock`",
            )


def _waits(tool: Tool, setup: ClientSetup) -> bool:
    return not tool.is_unlisted and is_held(tool.change, setup.changes)


def _objection(tool: Tool, setup: ClientSetup) -> str | None:
    """Return how a tool or server differs from a valid lock; an invalid one is a problem of its own."""
    lock = setup.lock
    return None if lock is None or lock.problem is not None or tool.is_unlisted else lock.objection(tool)


def _named(tools: list[Tool]) -> str:
    names = ", ".join(f"`{tool.name}`" for tool in tools[:_MOST_NAMED])
    more = f" and {len(tools) - _MOST_NAMED} more" if len(tools) > _MOST_NAMED else ""
    verb = "differs" if len(tools) == 1 else "differ"
    return f"{names}{more} {verb} from `{LOCK}`"
