"""Suggests tools that may help now, based on past calls, the prompt or states.

A suggestion is a hint and never runs anything. It must be likely enough. There are at most two per session,
with some calls in between. A suggestion that was not taken up is not repeated until the tool is used.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

THRESHOLD = 0.6
MOST = 2  # per session
COOLDOWN = 5  # calls after one suggestion before the next
ENOUGH_EVENTS = 20  # before anything is learned
ENOUGH_TIMES = 3  # occurrences of a pattern
LONGEST = 3  # calls that a pattern looks back
BY_STATE = 0.7  # likelihood for a tool whose state became true in this session


class Cause(StrEnum):
    """The cause of a suggestion, most reliable first."""

    SEQUENCE = "sequence"
    PROMPT = "prompt"
    STATE = "state"


class ToolCall(NamedTuple):
    """One call of a tool, by its canonical name."""

    session_id: str
    tool: str
    at: int


class CallPattern(NamedTuple):
    """A tool that was called after other calls, and how often."""

    before: tuple[str, ...]
    tool: str
    times: int
    of: int  # times that `before` was seen

    @property
    def likelihood(self) -> float:
        """The likelihood that it happens again, which is lower for few occurrences."""
        return self.times / (self.of + 1)


class Candidate(NamedTuple):
    """A tool that might be suggested."""

    tool: str
    cause: Cause
    likelihood: float
    why: str


class PastSuggestion(NamedTuple):
    """A suggestion that was made."""

    session_id: str
    tool: str
    at: int
    is_taken: bool  # the tool was used in this project afterwards


class WithheldSuggestion(NamedTuple):
    """A withheld candidate, and why."""

    candidate: Candidate
    reason: str


class SuggestionChoice(NamedTuple):
    """The candidates that are suggested, and those that are withheld."""

    said: Sequence[Candidate] = ()
    withheld: Sequence[WithheldSuggestion] = ()


class SessionCalls(NamedTuple):
    """The session that suggestions are for."""

    session_id: str
    calls: Sequence[ToolCall] = ()  # in order

    def calls_after(self, at: int) -> int:
        """Count the calls after a time."""
        return sum(call.at > at for call in self.calls)


def learn(calls: Iterable[ToolCall]) -> list[CallPattern]:
    """Learn call patterns; return none if there are too few calls."""
    listed = sorted(calls, key=lambda call: (call.session_id, call.at))
    if len(listed) < ENOUGH_EVENTS:
        return []
    seen: Counter[tuple[str, ...]] = Counter()
    followed: Counter[tuple[tuple[str, ...], str]] = Counter()
    for _, session in groupby(listed, key=lambda call: call.session_id):
        names = _steps(session)
        for end in range(1, len(names) + 1):
            for length in range(1, min(LONGEST, end) + 1):
                before = names[end - length : end]
                seen[before] += 1
                if end < len(names):
                    followed[before, names[end]] += 1
    found = [
        CallPattern(before, tool, times, seen[before])
        for (before, tool), times in followed.items()
        if times >= ENOUGH_TIMES
    ]
    return sorted(found, key=lambda each: (-each.likelihood, -len(each.before), each.before, each.tool))


def by_sequence(
    patterns: Iterable[CallPattern], calls: Iterable[ToolCall], *, where: str = "here"
) -> list[Candidate]:
    """Find the tools that usually come next, each by the likeliest pattern that the last calls match."""
    steps = _steps(calls)
    found: dict[str, Candidate] = {}
    for pattern in patterns:
        if steps[-len(pattern.before) :] == pattern.before and pattern.tool not in found:
            after = ", then ".join(pattern.before)
            why = f"{pattern.times} of {pattern.of} times it came after {after} {where}"
            found[pattern.tool] = Candidate(pattern.tool, Cause.SEQUENCE, pattern.likelihood, why)
    return list(found.values())


def by_state(
    needing: Mapping[str, Collection[str]], holding: Collection[str], before: Collection[str]
) -> list[Candidate]:
    """Find the tools that need a state which became true since the session began."""
    found: list[Candidate] = []
    for tool, states in needing.items():
        if new := sorted(state for state in states if state in holding and state not in before):
            why = f"{' and '.join(f'`{state}`' for state in new)} holds since this session began"
            found.append(Candidate(tool, Cause.STATE, BY_STATE, why))
    return found


def choose(
    candidates: Iterable[Candidate],
    session: SessionCalls,
    made: Sequence[PastSuggestion],
    *,
    suggestable: Collection[str],
    is_heard: bool = True,
) -> SuggestionChoice:
    """Choose what to suggest; `suggestable` are the tools that are available now."""
    here = [each for each in made if each.session_id == session.session_id]
    said: list[Candidate] = []
    withheld: list[WithheldSuggestion] = []
    for candidate in _best(each for each in candidates if each.tool in suggestable):
        reason = _objection(candidate, session, here, made) if is_heard else "suggestions are switched off"
        if reason is None and len(here) + len(said) >= MOST:
            reason = f"a session gets at most {MOST} suggestions"
        if reason is None:
            said.append(candidate)
        else:
            withheld.append(WithheldSuggestion(candidate, reason))
    return SuggestionChoice(said, withheld)


def write(said: Iterable[tuple[Candidate, str]]) -> str:
    """Write suggestions as a hint, each with the name that the model can call."""
    lines = [f"- {name}: {candidate.why}" for candidate, name in said]
    return "\n".join(["Tools that may help here (a hint, nothing was run):", *lines]) if lines else ""


def _best(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates by likelihood, and keep the best one per tool."""
    order = {cause: rank for rank, cause in enumerate(Cause)}
    ordered = sorted(candidates, key=lambda each: (-each.likelihood, order[each.cause], each.tool, each.why))
    return list({each.tool: each for each in reversed(ordered)}.values())[::-1]


def _objection(
    candidate: Candidate,
    session: SessionCalls,
    here: Sequence[PastSuggestion],
    made: Sequence[PastSuggestion],
) -> str | None:
    if candidate.likelihood < THRESHOLD:
        return f"not likely enough: {candidate.likelihood:.2f} is below {THRESHOLD}"
    if any(call.tool == candidate.tool for call in session.calls):
        return "it was used in this session"
    if any(each.tool == candidate.tool and not each.is_taken for each in made):
        return "it was suggested before and not used"
    if here and (calls := session.calls_after(max(each.at for each in here))) < COOLDOWN:
        return f"{calls} calls since the last suggestion; the next one comes after {COOLDOWN}"
    return None


def _steps(calls: Iterable[ToolCall]) -> tuple[str, ...]:
    """Return the tools of calls in order; repeated calls of one tool are one step."""
    return tuple(name for name, _ in groupby(call.tool for call in calls))
