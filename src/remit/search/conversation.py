"""Turns a conversation into a query: its last messages, weighted by age."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard, cast

MOST_MESSAGES = 4
FADING = 0.5  # weight of a message relative to the next one
_SPEAKERS = ("user", "assistant", "human", "model")


class WeightedText(NamedTuple):
    """A text and its weight, at most 1."""

    text: str
    weight: float


def weighted_texts(query: str | Iterable[object]) -> list[WeightedText]:
    """Return the weighted texts of a query or a conversation, newest first.

    Each message has half the weight of the next one. The user's last message keeps full weight, because it
    states the goal; the agent's text leads to the next tool.
    """
    if isinstance(query, str):
        return [WeightedText(query, 1.0)]
    messages = [query] if _is_mapping(query) else query
    spoken = [(role, text) for role, text in map(_read, messages) if role in _SPEAKERS and text.strip()][::-1]
    asked = next((at for at, (role, _) in enumerate(spoken) if role in ("user", "human")), None)
    weights = [1.0 if at == asked else FADING**at for at in range(len(spoken))]
    kept = [at for at in range(len(spoken)) if at < MOST_MESSAGES or at == asked]
    return [WeightedText(spoken[at][1], weights[at]) for at in kept]


def _read(message: object) -> tuple[str, str]:
    if isinstance(message, str):
        return "user", message
    role = _field(message, "role") or _field(message, "type")
    return str(role or ""), "\n".join(_texts(_field(message, "content")))


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a message, without tool calls, tool results and images."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Sequence) and not isinstance(content, bytes):
        for part in cast(Sequence[object], content):
            text = part if isinstance(part, str) else _field(part, "text")
            if isinstance(text, str):
                yield text


def _field(given: object, name: str) -> object:
    return given.get(name) if _is_mapping(given) else getattr(given, name, None)


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)
