"""The instructions that a model gets at the start of a session with the gateway."""

from collections.abc import Mapping

from remit.decision.tool_names import MEMORY_SERVER
from remit.presentation.listing_strategies import Presentation
from remit.presentation.remit_tools import OwnTool
from remit.text.untrusted_text import fence, one_line

_MOST = 4_000  # characters of all servers' instructions together
_LEAST = 200  # characters of each server's, however many there are
_MOST_NAMED = 60  # servers
_LONGEST_LABEL = 100


def instructions(
    presentation: Presentation, servers: Mapping[str, str | None], memory: str | None = None
) -> str | None:
    """Explain how to reach deferred tools and memory, and quote the instructions of servers.

    Headings are Remit's own: every line of a server is quoted, so it cannot write one.
    """
    parts: list[str] = []
    if presentation.deferred and OwnTool.CALL in presentation.own:
        counts = _counts(presentation.deferred_by_server)
        parts.append(f"{presentation.hint} Not listed are tools of: {counts}.")
    parts += [f"# {MEMORY_SERVER}\n{memory}"] if memory else []
    texts = {server: text for server, text in servers.items() if text}
    most = max(_LEAST, _MOST // max(1, len(texts)))
    parts += [
        fence(f"Instructions of the server `{_label(server)}`", text, most) for server, text in texts.items()
    ]
    return "\n\n".join(parts) or None


def _label(server: str) -> str:
    return one_line(server.replace("`", "'"), _LONGEST_LABEL)


def _counts(deferred: Mapping[str, int]) -> str:
    named = [f"{_label(server)} ({count})" for server, count in deferred.items()]
    more = f" and {len(named) - _MOST_NAMED} more servers" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more
