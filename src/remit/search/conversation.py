"""Turns a conversation into a query: its last messages, weighted by age.

Reads the messages of OpenAI, Anthropic, Google, MCP and the agent frameworks, recognized by their fields.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, TypeGuard, cast

from remit.search.given_tools import field_of, is_mapping, type_name

MOST_MESSAGES = 4
FADING = 0.5  # weight of a message relative to the next one
_USERS = frozenset({"user", "human", "HumanMessageChunk"})
_AGENTS = frozenset({"assistant", "ai", "model", "AIMessageChunk"})
_PARTS = {"user-prompt": "user", "text": "assistant"}  # Pydantic AI: the role is in the kind of each part
_CONTENTS = ("content", "parts", "blocks")


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
    messages = [query] if _is_message(query) else query
    read = [said for at, message in enumerate(messages) for said in _read_at(at, message)]
    spoken = [said for said in read if said[1].strip()][::-1]
    asked = next((at for at, (is_user, _) in enumerate(spoken) if is_user), None)
    weights = [1.0 if at == asked else FADING**at for at in range(len(spoken))]
    kept = [at for at in range(len(spoken)) if at < MOST_MESSAGES or at == asked]
    return [WeightedText(spoken[at][1], weights[at]) for at in kept]


def _is_message(query: object) -> bool:
    is_known = _role(query) is not None or field_of(query, "parts") is not None
    return is_mapping(query) or is_known or not isinstance(query, Iterable)


def _read_at(at: int, message: object) -> list[tuple[bool, str]]:
    try:
        return _read(message)
    except TypeError as error:
        raise TypeError(f"messages[{at}]: {error}") from None


def _read(message: object) -> list[tuple[bool, str]]:
    """Return what a user (True) or an agent (False) says in a message: nothing for all other roles."""
    if isinstance(message, str):
        return [(True, message)]
    if _is_pair(message):
        return _read({"role": message[0], "content": message[1]})
    inner = field_of(message, "content")
    if _role(message) is None and _role(inner) is not None:  # Google ADK: an event around its content
        return _read(inner)
    content = next((found for name in _CONTENTS if (found := field_of(message, name)) is not None), None)
    if (role := _role(message)) in _USERS | _AGENTS:
        return [(role in _USERS, "\n".join(_texts(content)))]
    kinds = [(field_of(part, "part_kind"), part) for part in _sequence(content)]
    if any(kind is not None for kind, _ in kinds):
        return [
            (_PARTS[kind] == "user", "\n".join(_texts(field_of(part, "content"))))
            for kind, part in kinds
            if isinstance(kind, str) and kind in _PARTS
        ]
    if role is None and field_of(message, "parts") is not None:  # Google: without a role, of the user
        return [(True, "\n".join(_texts(content)))]
    is_event = inner is None and field_of(message, "author") is not None  # Google ADK: a change of state
    if role is None and not is_event:
        raise TypeError(
            f"cannot read a message of type `{type_name(message)}`; "
            'pass text, or messages with a role and content, such as {"role": "user", "content": "…"}'
        )
    return []


def _is_pair(message: object) -> TypeGuard[tuple[str, object]]:
    """Tell whether a message is a role and a content, as LangChain takes them."""
    if not isinstance(message, tuple):
        return False
    parts = cast("tuple[object, ...]", message)
    return len(parts) == 2 and isinstance(parts[0], str)


def _role(message: object) -> str | None:
    """Return the role of a message; LangChain and the items of OpenAI's Responses API have a type instead."""
    for name in ("role", "type"):
        role = field_of(message, name)
        if isinstance(role, Enum):
            role = role.value
        if isinstance(role, str) and role:
            return role
    return None


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a message, without tool calls, tool results and images."""
    if isinstance(content, str):
        yield content
        return
    single = field_of(content, "text")  # MCP: one part instead of a list
    for part in [single] if isinstance(single, str) else _sequence(content):
        text = part if isinstance(part, str) else field_of(part, "text")
        if isinstance(text, str):
            yield text


def _sequence(content: object) -> Sequence[object]:
    is_sequence = isinstance(content, Sequence) and not isinstance(content, str | bytes)
    return cast("Sequence[object]", content) if is_sequence else ()
