"""Reports definitions that changed: once to each session that starts, and to whoever asks for the status."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from remit.decision.definitions.definition_changes import ChangePolicy
from remit.sessions.install_notices import InstallNotice, NoticeKind
from remit.text.untrusted_text import one_line
from remit.trust.held_definitions import HeldDefinition

_MOST = 5  # tools to name
_LONGEST = 100  # characters of a name


def held_notices(items: Iterable[HeldDefinition], policy: ChangePolicy) -> list[InstallNotice]:
    """Tell which definitions wait for the user, by server."""
    waiting = [item for item in items if item.is_held(policy) and not item.is_rejected]
    return [
        _notice(
            server,
            f"{_counted(group)} of `{server}` held: changed, suspicious or too large to inspect",
            group,
        )
        for server, group in _by_server(waiting)
    ]


def accepted_notices(items: Iterable[HeldDefinition], policy: ChangePolicy) -> list[InstallNotice]:
    """Tell which changed definitions were accepted without the user, by server."""
    passed = [item for item in items if not item.is_held(policy)]
    judged = [item for item in passed if item.change is not None]
    chosen = [item for item in passed if item.change is None]
    told: tuple[tuple[Sequence[HeldDefinition], Callable[[str], str]], ...] = (
        (judged, lambda server: f"of `{server}` changed and accepted (`trust.changes`)"),
        (chosen, lambda server: f"of `{server}` changed with its entry and accepted"),
    )
    return [
        _notice(server, f"{_counted(group)} {words(server)}", group)
        for items, words in told
        for server, group in _by_server(items)
    ]


def _by_server(items: Sequence[HeldDefinition]) -> Iterator[tuple[str, list[HeldDefinition]]]:
    for server in dict.fromkeys(item.server for item in items):
        yield one_line(server, _LONGEST), [item for item in items if item.server == server]


def _counted(group: Sequence[HeldDefinition]) -> str:
    count = len({item.title for item in group})  # several clients may have the same server
    return "1 definition" if count == 1 else f"{count} definitions"


def _notice(server: str, reason: str, group: Sequence[HeldDefinition]) -> InstallNotice:
    names = [*dict.fromkeys(one_line(item.title, _LONGEST) for item in group)]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    named = ", ".join(names[:_MOST]) + more
    return InstallNotice(
        NoticeKind.DEFINITION, "", server, f"{reason} ({named})", "read the changes with `remit trust`"
    )
