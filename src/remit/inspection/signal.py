"""A sign in a sentence that it steers the model rather than describes a tool."""

from collections.abc import Callable
from dataclasses import dataclass

from remit.inspection.inspection_findings import Suspicion
from remit.inspection.sentences import Sentence
from remit.inspection.tool_mentions import ToolMentions


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Evidence for one idea; enough by itself if it has a severity, else weighed with others."""

    name: str
    reason: str
    test: Callable[[Sentence, ToolMentions], bool]
    severity: Suspicion | None = None
