"""Servers that shadow or duplicate each other, and names that collide or are too long."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from remit.decision.context import shorten
from remit.decision.declarations import Declaration, Resolved
from remit.decision.declared_launch import Launch
from remit.decision.kinds import COULD_RUN, ConfigStatus, Kind, ToolStatus
from remit.decision.problems import Severity
from remit.decision.tool_names import MCP, OWN, is_covered
from remit.doctor.findings import ClientSetup, Finding, finding_about, fix_for_owner

LIMIT = 64  # characters of a tool's full name that model APIs commonly allow
_ROOM = 25  # characters for a tool's own name; enough for four of five real ones


def colliding_names(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose names become the same prefix."""
    groups: defaultdict[str, list[Declaration]] = defaultdict(list)
    for declaration in setup.in_force:
        groups[declaration.name].append(declaration)
    for name, group in groups.items():
        for declaration in group[1:]:
            yield finding_about(
                declaration,
                Severity.ERROR,
                "name-collision",
                reason=f"its tools are named `{name}`, as are those of `{group[0].server}`: "
                "a call may reach either",
                fix=fix_for_owner(
                    declaration, "rename one of the two, so they differ in letters, digits, `-` or `_`"
                ),
            )


def long_names(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose tool names exceed the limit, or probably will."""
    for declaration in setup.in_force:
        names = _known_tools(declaration, setup)
        direct = [name for name in names if len(name) > LIMIT]
        served = [OWN + name.removeprefix(MCP) for name in names if name not in direct]
        served = [name for name in served if len(name) > LIMIT]
        room = LIMIT - len(declaration.name.removesuffix("*"))
        if direct or (not names and room < _ROOM):
            yield finding_about(
                declaration,
                Severity.WARNING,
                "long-name",
                reason=_over(direct, "") if direct else _cramped(room),
                fix=fix_for_owner(declaration, "give the server a shorter name"),
            )
        elif served:
            yield finding_about(
                declaration,
                Severity.NOTE,
                "long-name",
                reason=_over(served, " when Remit serves it"),
                fix=fix_for_owner(
                    declaration, "give the server a shorter name; otherwise Remit shortens the tools'"
                ),
            )


def _known_tools(declaration: Declaration, setup: ClientSetup) -> list[str]:
    return [
        tool.name
        for tool in setup.tools
        if tool.kind is Kind.MCP_TOOL
        and tool.status is not ToolStatus.STALE
        and is_covered(tool.name, declaration.name)
    ]


def _cramped(room: int) -> str:
    left = f"leaves {room}" if room > 0 else "leaves none"
    return f"its prefix {left} of the {LIMIT} characters that a tool's name may have"


def _over(names: Sequence[str], when: str) -> str:
    longest = max(names, key=len)
    others = f", and {len(names) - 1} more" if len(names) > 1 else ""
    return f"`{longest}`{when} has {len(longest)} characters{others}; many models allow {LIMIT}"


def conflicts(setup: ClientSetup) -> Iterator[Finding]:
    """Find declarations shadowed by one of the same name with another command or URL."""
    for item in setup.servers:
        loser, winner = item.declaration, item.shadowed_by
        if winner is None or item.config_status not in COULD_RUN or loser.is_remit:
            continue  # the check of the install reports a replaced gateway
        if _label(winner) == _label(loser) and winner.endpoint != loser.endpoint:
            yield finding_about(
                loser,
                Severity.WARNING,
                "conflict",
                reason=_conflict(item, winner, setup),
                fix="give one of the two another name, or remove one",
            )


def _conflict(item: Resolved, winner: Declaration, setup: ClientSetup) -> str:
    rival = f"the {winner.scope} declaration of this name in {shorten(winner.source, setup.context)}"
    if item.config_status is ConfigStatus.PENDING:
        return f"waits for approval; until then {rival} is used, which is another server"
    return f"not used: {rival} wins, which is another server"


def _label(declaration: Declaration) -> tuple[str | None, str | None]:
    return declaration.server, declaration.plugin


def duplicates(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that are active under several names, so their tools are listed twice."""
    first: dict[object, Declaration] = {}
    for declaration, launch in setup.launches:
        original = first.setdefault(_identity(declaration, launch), declaration)
        if original is not declaration:
            place = shorten(original.source, setup.context)
            yield finding_about(
                declaration,
                Severity.WARNING,
                "duplicate",
                reason=f"the same server as `{original.server}` ({original.scope}, {place}): "
                "each of its tools is listed twice and costs its tokens twice",
                fix="remove one of the two",
            )


def _identity(declaration: Declaration, launch: Launch) -> object:
    """Return the identity of a server; other variables or headers may mean another account."""
    if declaration.is_remit:
        return "remit"
    details = (frozenset(launch.env.items()), frozenset(launch.headers.items()), launch.cwd)
    return launch.endpoint, *details
