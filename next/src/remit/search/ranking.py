"""Combines shared words and similarity of meaning into one score per tool and query.

BM25 is not normalized, because its size shows how much of the query matched. The score is between 0 and 1
and comparable across queries: roughly the probability that the tool is the intended one. A tool that the
query names comes first, whatever else the query contains.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from remit.decision import (
    Decision,
    Key,
    Kind,
    Status,
    Tool,
    ToolDecision,
    closest_to_being_visible,
    holds_text,
    is_demoted,
    spellings,
    tool_prefix,
)
from remit.search.documents import query_parts, query_words
from remit.text import split

_UNNAMED = 0.96  # highest score of a tool that the query does not name
_GONE, _DEMOTED, _DEPRECATED = 0.5, 0.7, 0.5  # how much less likely such a tool is meant
_MOST_OF_SERVER = 3  # tools of a server that the query names, after its row
_APART = 0.02  # by how much lifted scores differ

_SHORTEST, _LONGEST = 5, 80  # letters of a name that is checked for typos
_LONGEST_QUERY = 300  # characters; a longer query is not a name
_GENERIC_WORDS = frozenset(("mcp", "server"))  # of a server's name; they do not tell it from others
_REQUEST_WORDS = frozenset(("tool", "tools", "use", "using"))  # `playwright tools` means the server, too
_OWN_WARNING = re.compile(
    r"\bDEPRECATED\b|(?i:^\W*deprecated\b|\bthis tool (?:is|has been) (?:now )?deprecated\b)"
)

ServerKey = tuple[str, str | None, str | None]  # client, server, plugin


class Form(IntEnum):
    """How a document contains the only word of a query."""

    NONE = 0
    STEM = 1
    SPELLED = 2


class Hit(NamedTuple):
    """A document found by an index."""

    document: int
    words: float  # BM25; 0 if no word matches
    meaning: float | None  # cosine; None if the document has no vector
    part: float | None = None  # best cosine among the query's parts, if it has several
    telling: int = 0  # bits of the query's telling words that it contains
    form: int = Form.NONE


class RankedTool(NamedTuple):
    """A found tool with its decision and score."""

    tool: Tool
    decision: Decision
    score: float
    hit: Hit | None = None  # None: only its name was found


class Fusion(NamedTuple):
    """Combines a model's cosine with BM25 into one score; calibrated on evaluation sets."""

    word_weight: float = 0.02  # weight of BM25, relative to the cosine
    part_weight: float = 0.0  # weight of the best part's cosine, relative to the whole query
    lone_word_weight: float = 0.1  # weight of BM25 for documents without a vector
    expected: float = 0.53  # share of the best BM25 to subtract: long queries match more words by chance
    steepness: float = 8.27
    midpoint: float = 0.666  # the remaining sum at which a tool is as likely as not
    confidence: float = 0.052  # if the best result scores lower, all results are noise
    noise: float = 0.016  # a result that scores lower is always noise
    far_below: float = 0.08  # share of the best score; what scores lower is far below it

    def by_words(self, hit: Hit) -> float:
        """Return the weighted BM25 score."""
        return hit.words * (self.lone_word_weight if hit.meaning is None else self.word_weight)

    def by_meaning(self, hit: Hit) -> float:
        """Combine the cosines of the query and of its best part."""
        if hit.part is None:
            return hit.meaning or 0.0
        return ((hit.meaning or 0.0) + self.part_weight * hit.part) / (1 + self.part_weight)

    def scores(self, hits: Iterable[Hit]) -> dict[int, float]:
        """Return the probability of each document, between 0 and 1."""
        hits = list(hits)
        by_words = [self.by_words(hit) for hit in hits]
        even = self.midpoint + self.expected * max(by_words, default=0.0)
        scores = {
            hit.document: 1 / (1 + math.exp(-self.steepness * (self.by_meaning(hit) + words - even)))
            for hit, words in zip(hits, by_words, strict=True)
        }
        for form in (Form.STEM, Form.SPELLED):  # what contains the only word comes before what does not
            if lifted := [hit.document for hit in hits if hit.form == form]:
                floor = max((scores[hit.document] for hit in hits if hit.form < form), default=0.0)
                scores |= {at: max(scores[at], floor + (1 - floor) * _APART * scores[at]) for at in lifted}
        return scores


WORDS_ALONE = Fusion(expected=0.48, steepness=3.1, midpoint=0.83, confidence=0.0, noise=0.0)


class NameMatch(IntEnum):
    """How a query names a tool, most certain first."""

    EXACT = 0
    SAME_WORDS = 1  # `git commit` or `gitCommit` for `git_commit`
    ONE_LETTER = 2  # one letter added, missing or changed, or two swapped


_CERTAINTY = {NameMatch.EXACT: 1.0, NameMatch.SAME_WORDS: 0.99, NameMatch.ONE_LETTER: 0.98}


class Names:
    """The names of a set of tools, indexed for many queries."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._exact: dict[str, list[str]] = {}
        self._plain: dict[str, list[str]] = {}
        self._servers: dict[str, list[str]] = {}
        self._near: dict[tuple[int, str], list[str]] = {}
        self._spelled: dict[str, str] = {}
        for tool in tools:
            for name in dict.fromkeys(_names(tool)):
                self._exact.setdefault(name, []).append(tool.name)
                self._plain.setdefault(_letters(name), []).append(tool.name)
                self._spelled.setdefault(_letters(name), name)
            if tool.kind is Kind.MCP_SERVER and (words := _label_words(tool)):
                self._servers.setdefault("".join(words), []).append(tool.name)
        for name in filter(_is_comparable, self._plain):
            for end in (name[0], "$" + name[-1]):
                self._near.setdefault((len(name), end), []).append(name)

    def find(self, query: str, *, may_be_typo: bool = True) -> dict[str, NameMatch]:
        """Return the tool names that a query contains, with the kind of match."""
        if len(query) > _LONGEST_QUERY:
            return {}
        exact = [name for form in spellings(query.strip()) for name in self._exact.get(form, ())]
        if exact:
            return dict.fromkeys(exact, NameMatch.EXACT)
        wanted, words = _letters(query), _telling_words(query)
        labels = ("".join(words), "".join(word for word in words if word not in _REQUEST_WORDS))
        servers = (server for label in dict.fromkeys(labels) for server in self._servers.get(label, ()))
        if wanted and (same := [*self._plain.get(wanted, ()), *servers]):
            return dict.fromkeys(same, NameMatch.SAME_WORDS)
        if not may_be_typo or not _is_comparable(wanted):
            return {}
        near = (name for name in self._alike(wanted) if is_one_letter_off(wanted, name))
        if len(query.split()) > 1:  # `get user` is no typo of `set_user`
            near = (name for name in near if _is_misspelled(_words(query), _words(self._spelled[name])))
        return {tool: NameMatch.ONE_LETTER for name in near for tool in self._plain[name]}

    def _alike(self, wanted: str) -> Iterable[str]:
        """List similar names: about the same length, with the same first or last letter."""
        sizes, ends = range(len(wanted) - 1, len(wanted) + 2), (wanted[0], "$" + wanted[-1])
        return dict.fromkeys(
            name for size in sizes for end in ends for name in self._near.get((size, end), ())
        )


def is_one_letter_off(one: str, other: str) -> bool:
    """Return whether two words differ by one letter added, missing or changed, or by two swapped."""
    shorter, longer = sorted((one, other), key=len)
    start = _shared(shorter, longer)
    end = min(_shared(shorter[::-1], longer[::-1]), len(shorter) - start)
    left, right = shorter[start : len(shorter) - end], longer[start : len(longer) - end]
    return (len(left) <= 1 and len(right) <= 1) or (len(left) == 2 and left == right[::-1])


def _is_misspelled(query: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether a query has the words of a name, one of them with a letter wrong."""
    if len(query) != len(name):
        return False
    wrong = [pair for pair in zip(query, name, strict=True) if pair[0] != pair[1]]
    return len(wrong) == 1 and all(len(word) >= _SHORTEST for word in wrong[0])


def _words(name: str) -> list[str]:
    return split(name).lower().split()


def rank(
    query: str,
    found: Iterable[tuple[ToolDecision, Hit | None]],
    scores: Mapping[int, float],
    matches: Mapping[str, NameMatch],
    successors: Mapping[Key, Sequence[ToolDecision]],
) -> list[RankedTool]:
    """Rank tools, best first, with each name once.

    `scores` maps documents to scores; `matches` maps the names in the query to the kind of match;
    `successors` maps the keys of tools that call themselves deprecated to the tools they name instead.
    """
    ranked = [_ranked(item, hit, scores, matches) for item, hit in _each_once(found)]
    return _servers_and_tools(query, _with_successors(ranked, matches, successors), matches)


def _ranked(
    item: ToolDecision, hit: Hit | None, scores: Mapping[int, float], matches: Mapping[str, NameMatch]
) -> RankedTool:
    score = 0.0 if hit is None else scores[hit.document]
    match = matches.get(item.tool.name)
    if match is NameMatch.EXACT:
        score = _CERTAINTY[match]
    elif match is not None:
        score = _CERTAINTY[match] - 0.01 * (1 - score)  # among equal matches, the closer meaning comes first
    else:
        score *= _UNNAMED * _likelihood(item.tool)
    return RankedTool(*item, score, hit)


def _likelihood(tool: Tool) -> float:
    if tool.status in (Status.STALE, Status.UNLISTED):
        return _GONE
    return _DEMOTED if tool.outcomes and is_demoted(tool.outcomes) else 1.0


def _best_first(item: RankedTool) -> tuple[float, bool, float, int, str, str]:
    tool = item.tool
    return -item.score, not item.decision.is_available, -_likelihood(tool), -tool.uses, tool.name, tool.client


def _each_once(found: Iterable[tuple[ToolDecision, Hit | None]]) -> list[tuple[ToolDecision, Hit | None]]:
    """For each name, keep the row that is closest to being visible."""
    best: dict[tuple[str, str], tuple[ToolDecision, Hit | None]] = {}
    for item, hit in found:
        key = (item.tool.client, item.tool.name)
        if key not in best or closest_to_being_visible(item) < closest_to_being_visible(best[key][0]):
            best[key] = item, hit
    return list(best.values())


def successors_of(listed: Sequence[ToolDecision]) -> dict[Key, list[ToolDecision]]:
    """Map the tools that call themselves deprecated to the tools of their server that they mention."""
    warned = [tool for tool, _ in listed if not holds_text(tool) and _warns(tool.description)]
    siblings = tools_by_server(listed) if warned else {}
    return {
        tool.key: [
            item
            for item in siblings.get(_home(tool), ())
            if item.tool.name != tool.name
            and own_name(item.tool) in re.findall(r"[\w-]+", tool.description or "")
        ]
        for tool in warned
    }


def _warns(description: str | None) -> bool:
    return description is not None and _OWN_WARNING.search(description) is not None


def _with_successors(
    ranked: Sequence[RankedTool],
    matches: Mapping[str, NameMatch],
    successors: Mapping[Key, Sequence[ToolDecision]],
) -> list[RankedTool]:
    """Let what a query finds of a deprecated tool count for its successors, and less for itself."""
    if not successors:
        return list(ranked)
    items = {item.tool.key: item for item in ranked}
    for item in ranked:
        if (key := item.tool.key) in successors and matches.get(item.tool.name) is not NameMatch.EXACT:
            items[key] = item._replace(score=_DEPRECATED * item.score)
            for tool, decision in successors[key]:
                known = items.get(tool.key, RankedTool(tool, decision, 0.0))
                items[tool.key] = known._replace(score=max(known.score, min(item.score, _UNNAMED)))
    return list(items.values())


def worth_showing(query: str, ranked: Sequence[RankedTool], fusion: Fusion) -> list[RankedTool]:
    """Drop noise and what scores far below the best result.

    If even the best is uncertain, all results are noise, except those with a telling word of the query. Far
    below the best, only the first with such a word stays, or all with the only word. If a query asks for
    several things, each has a best result of its own, so only noise is dropped.
    """
    best = ranked[0].score if ranked else 0.0
    noise = fusion.noise if best >= fusion.confidence else fusion.confidence
    far_below = 0.0 if query_parts(query) else fusion.far_below * best
    shown: list[RankedTool] = []
    seen = 0
    for item in ranked:
        telling, form = (0, Form.NONE) if item.hit is None else (item.hit.telling, item.hit.form)
        if item.score >= max(far_below, 0.0 if telling else noise) or telling & ~seen or form != Form.NONE:
            shown.append(item)
            seen |= telling
    return shown


def builtins_last(ranked: Sequence[RankedTool]) -> list[RankedTool]:
    """Put a client's own tools below everything else, because its agents know them without a search."""
    others = [item for item in ranked if item.tool.kind is not Kind.BUILTIN]
    least = min((item.score for item in others), default=1.0)
    builtins = (item for item in ranked if item.tool.kind is Kind.BUILTIN)
    return [*others, *(item._replace(score=min(item.score, least)) for item in builtins)]


def _servers_and_tools(
    query: str, ranked: Sequence[RankedTool], matches: Mapping[str, NameMatch]
) -> list[RankedTool]:
    """Keep the row of a server that the query means, with its best tools; of others, the tools or the row."""
    servers = {_home(item.tool): item for item in ranked if item.tool.kind is Kind.MCP_SERVER}
    tools = [item.tool for item in ranked if item.tool.kind is Kind.MCP_TOOL]
    words = _telling_words(query)
    labeled = {home for home, row in servers.items() if _has_in_label(row.tool, words)}
    if any(not _own_words(tool).isdisjoint(words) for tool in tools if labeled):
        labeled.clear()  # the words are those of a tool
    meant = {home: row.score for home, row in servers.items() if home in labeled or row.tool.name in matches}
    dropped = {_home(tool) for tool in tools} - meant.keys()
    kept = (
        _with_server(item, meant[home]) if (home := _home(item.tool)) in meant else item
        for item in ranked
        if item.tool.kind is not Kind.MCP_SERVER or _home(item.tool) not in dropped
    )
    best: list[RankedTool] = []
    counts = Counter[ServerKey]()
    for item in sorted(kept, key=_best_first):
        home = _home(item.tool)
        is_one_of_many = item.tool.kind is Kind.MCP_TOOL and home in meant and item.tool.name not in matches
        counts[home] += is_one_of_many
        if not is_one_of_many or counts[home] <= _MOST_OF_SERVER:
            best.append(item)
    return best


def _with_server(item: RankedTool, score: float) -> RankedTool:
    """Give a tool about the score of its server, which the query means; the best tool stays the best."""
    if item.tool.kind is not Kind.MCP_TOOL:
        return item
    lifted = score * (1 - _APART * (1 - item.score)) * _likelihood(item.tool)
    return item._replace(score=max(item.score, lifted))


def tools_by_server(listed: Iterable[ToolDecision]) -> dict[ServerKey, list[ToolDecision]]:
    """Group tools by their server."""
    groups: dict[ServerKey, list[ToolDecision]] = {}
    for item in listed:
        if item.tool.kind is Kind.MCP_TOOL:
            groups.setdefault(_home(item.tool), []).append(item)
    return groups


def meant_servers(query: str, tools: Iterable[Tool], matches: Mapping[str, NameMatch]) -> list[ServerKey]:
    """List the servers that a query may mean, whatever words their tools have."""
    words = _telling_words(query)
    rows = (tool for tool in tools if tool.kind is Kind.MCP_SERVER)
    return [_home(row) for row in rows if row.name in matches or _has_in_label(row, words)]


def _has_in_label(server: Tool, words: Collection[str]) -> bool:
    """Tell whether the name of a server has all words of a query."""
    return bool(words) and set(_label_words(server)).issuperset(words)


def _home(tool: Tool) -> ServerKey:
    return tool.client, tool.server, tool.plugin


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _is_comparable(name: str) -> bool:
    return _SHORTEST <= len(name) <= _LONGEST


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _telling_words(query: str) -> list[str]:
    """List the words of a query that may tell a server from others."""
    return [word for word in query_words(query) if word not in _GENERIC_WORDS]


def _label_words(server: Tool) -> list[str]:
    """List the words of a server's name that tell it from others; all its words if none does."""
    words = _words(server.server or "")
    return [word for word in words if word not in _GENERIC_WORDS] or words


def own_name(tool: Tool) -> str:
    """Return a tool's name without its server."""
    return tool.name if tool.server is None else tool.name.removeprefix(tool_prefix(tool.server, tool.plugin))


def _own_words(tool: Tool) -> frozenset[str]:
    return frozenset(_words(own_name(tool)))


def _names(tool: Tool) -> list[str]:
    """List the names of a tool: in full, without its server, and a command without its slash."""
    names = [tool.name, tool.name.removeprefix("/")]
    if tool.server is not None:
        own = own_name(tool)
        names += [tool.server] if tool.kind is Kind.MCP_SERVER else [own, f"{tool.server} {own}"]
    return names
