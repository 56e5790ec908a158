"""The instructions that a model gets at the start of a session with the gateway."""

from collections.abc import Mapping

from remit.presentation.remit_tools import OwnTool
from remit.presentation.strategies import Presentation

_MOST = 4_000  # characters of all servers' instructions together
_LEAST = 200  # characters of each server's, however many there are
_MOST_NAMED = 60  # servers


def instructions(presentation: Presentation, servers: Mapping[str, str | None]) -> str | None:
    """Explain how to reach deferred tools, and include the instructions of servers."""
    parts: list[str] = []
    if presentation.deferred and OwnTool.CALL in presentation.own:
        counts = _counts(presentation.deferred_by_server)
        parts.append(f"{presentation.hint} Not listed are tools of: {counts}.")
    texts = {server: text for server, text in servers.items() if text}
    most = max(_LEAST, _MOST // max(1, len(texts)))
    parts += [f"# {server}\n{text[:most]}" for server, text in texts.items()]
    return "\n\n".join(parts) or None


def _counts(deferred: Mapping[str, int]) -> str:
    named = [f"{server} ({count})" for server, count in deferred.items()]
    more = f" and {len(named) - _MOST_NAMED} more servers" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more
