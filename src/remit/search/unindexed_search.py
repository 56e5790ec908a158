"""Searches many tools without an index, while one is built: candidates first, ranked as usual."""

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import nlargest
from math import log

from remit.decision.decide import ToolDecision
from remit.decision.tools import Definition, Tool
from remit.search.array_index import ArrayIndex
from remit.search.documents import definition_document, indexed_columns, query_words
from remit.search.ports import IndexEntry
from remit.search.search_service import BY_WORDS_ALONE, WORDS_ALONE, Searcher
from remit.search.word_tokenizer import Tokenizer

NOT_INDEXED = f"{BY_WORDS_ALONE}: the tools are being indexed"
_BEST = 200  # candidates
_OTHERS = 800  # tools besides, which show how rare a word is
_IN_NAME = 3.0  # weight of a word in a name, beside one in a description

DefinitionOf = Callable[[Tool], Definition | None]


def unindexed_searcher(query: str, listed: Sequence[ToolDecision], definition_of: DefinitionOf) -> Searcher:
    """Open a searcher for one query among tools that have no index."""
    chosen = [
        item._replace(tool=item.tool._replace(document_id=at))
        for at, item in enumerate(_candidates(query, listed, definition_of))
    ]
    entries = [
        IndexEntry(at, indexed_columns(definition_document(definition_of(tool) or _name_only(tool))), None)
        for at, (tool, _) in enumerate(chosen)
    ]
    return Searcher(chosen, ArrayIndex(entries, WORDS_ALONE), None, NOT_INDEXED)


def _candidates(
    query: str, listed: Sequence[ToolDecision], definition_of: DefinitionOf
) -> list[ToolDecision]:
    """List the tools that contain the most telling words of a query, and some others."""
    words = _stems(query)
    found: dict[int, dict[str, float]] = {}
    for at, (tool, _) in enumerate(listed):
        definition = definition_of(tool)
        name, said = tool.name.lower(), ((definition and definition.description) or "").lower()
        weights = {word: _IN_NAME if word in name else 1.0 for word in words if word in name or word in said}
        if weights:
            found[at] = weights
    common = Counter(word for weights in found.values() for word in weights)
    rarity = {word: log(1 + len(listed) / often) for word, often in common.items()}
    scores = {
        at: sum(weight * rarity[word] for word, weight in weights.items()) for at, weights in found.items()
    }
    best = nlargest(_BEST, scores, key=lambda at: (scores[at], -at))
    others = range(0, len(listed), max(1, len(listed) // _OTHERS))
    return [listed[at] for at in dict.fromkeys((*best, *others))]


def _stems(query: str) -> list[str]:
    """Cut the words of a query, so that they occur in other forms of them: `invoices`, `queries`."""
    terms = Tokenizer()(" ".join(query_words(query)))
    return list(dict.fromkeys(term.removesuffix("i") or term for term in terms))


def _name_only(tool: Tool) -> Definition:
    return Definition(name=tool.name, server=tool.server)
