"""Turns a conversation into a query: its last messages, weighted by age.

Reads the messages of OpenAI, Anthropic, MCP and LangChain, recognized by their fields.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeGuard, cast

from remit.search.given import field_of, is_mapping, text_of, type_name

MOST_MESSAGES = 4
FADING = 0.5  # weight of a message relative to the next one
_USERS = frozenset({"user", "human", "HumanMessageChunk"})
_AGENTS = frozenset({"assistant", "ai", "AIMessageChunk"})


class WeightedText(NamedTuple):
    """A text and its weight, at most 1."""

    text: str
    weight: float


def weighted_texts(query: str | Iterable[object]) -> list[WeightedText]:
    """Return the weighted texts of a query or a conversation, newest first.

    Each message has half the weight of the next one. The user's last message keeps full weight, because it
    states the goal; the agent's text leads to the next tool.

    Raises:
        TypeError: the format of a message is not supported.
    """
    if isinstance(query, str):
        return [WeightedText(query, 1.0)] if query.strip() else []
    messages = [query] if is_mapping(query) or _role(query) else query
    spoken = [message for at, each in enumerate(messages) if (message := _read(at, each))][::-1]
    asked = next((at for at, (is_user, _) in enumerate(spoken) if is_user), None)
    return [
        WeightedText(text, 1.0 if at == asked else FADING**at)
        for at, (_, text) in enumerate(spoken)
        if at < MOST_MESSAGES or at == asked
    ]


def _read(at: int, message: object) -> tuple[bool, str] | None:
    """Return whether a user or the agent speaks, and the text; None for other roles and without text."""
    if isinstance(message, str):
        role, content = "user", message
    elif _is_pair(message):
        role, content = message
    else:
        role, content = _role(message), field_of(message, "content")
    if not isinstance(role, str):
        raise TypeError(
            f"messages[{at}]: cannot read a message of type `{type_name(message)}`; "
            'pass text, or messages with a role and content, such as {"role": "user", "content": "…"}'
        )
    text = "\n".join(_texts(content))
    return (role in _USERS, text) if role in _USERS | _AGENTS and text.strip() else None


def _is_pair(message: object) -> TypeGuard[tuple[object, object]]:
    """Tell whether a message is a role and a content, as LangChain takes them."""
    return isinstance(message, tuple) and len(cast("tuple[object, ...]", message)) == 2


def _role(message: object) -> str | None:
    """Return a message's role; messages of LangChain and items of OpenAI's Responses have a type instead."""
    return text_of(message, "role") or text_of(message, "type") or None


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a message, without tool calls, tool results and images."""
    if isinstance(content, str):
        yield content
        return
    single = text_of(content, "text")  # MCP: one part instead of a list
    is_list = isinstance(content, Sequence) and not isinstance(content, bytes)
    for part in [single] if single else cast("Sequence[object]", content) if is_list else ():
        text = part if isinstance(part, str) else text_of(part, "text")
        if text is not None:
            yield text
