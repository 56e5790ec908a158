"""A rule about sentences that steer the model rather than describe a tool."""

from collections.abc import Callable
from dataclasses import dataclass

from remit.inspection.inspection_findings import Suspicion
from remit.inspection.tool_mentions import ToolMentions
from remit.inspection.vocabulary.sentences import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRule:
    """One idea that a sentence may hold; enough by itself if it has a severity, else weighed with others."""

    name: str
    reason: str
    test: Callable[[Sentence, ToolMentions], bool]
    severity: Suspicion | None = None
