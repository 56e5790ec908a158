"""Finds tools by name, word and meaning, and embeds and ranks texts for memory."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.search.conversation import WeightedText, weighted_texts
    from remit.search.documents import (
        Columns,
        Document,
        QueryTerms,
        build_document,
        document_key,
        indexed_columns,
        parse_query,
        tool_document,
    )
    from remit.search.given import GivenTool, read_tool
    from remit.search.index import Index
    from remit.search.models import Embedder, Vector, open_model, vectors_of
    from remit.search.ranking import WORDS_ALONE, Fusion, Hit, RankedTool
    from remit.search.results import TOKEN_BUDGET, DiscoveryText, present
    from remit.search.searcher import (
        DEFAULT_LIMIT,
        MAX_LIMIT,
        Searcher,
        SearchResults,
        ToolIndex,
        tool_documents,
    )
    from remit.search.tool_filter import ToolFilter, check_top_k, filter_tools

_MODULES = {
    "conversation": "WeightedText weighted_texts",
    "documents": "Columns Document QueryTerms build_document document_key indexed_columns parse_query"
    " tool_document",
    "given": "GivenTool read_tool",
    "index": "Index",
    "models": "Embedder Vector open_model vectors_of",
    "ranking": "WORDS_ALONE Fusion Hit RankedTool",
    "results": "TOKEN_BUDGET DiscoveryText present",
    "searcher": "DEFAULT_LIMIT MAX_LIMIT SearchResults Searcher ToolIndex tool_documents",
    "tool_filter": "ToolFilter check_top_k filter_tools",
}
_HOMES = {name: f"remit.search.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.search` has no attribute `{name}`")
