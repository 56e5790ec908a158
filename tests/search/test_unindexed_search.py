"""A search without an index finds what an index would, by words."""

from remit.decision.tools import Definition, Tool
from remit.search.given_tools import as_listed, read_tool
from remit.search.unindexed_search import NOT_INDEXED, unindexed_searcher

ACTIONS = ("create", "read", "update", "delete", "export")
AREAS = ("issue", "page", "record", "branch", "message")
SAID = {
    f"{action}_{area}_{number}": f"{action.title()} one {area} of set {number}"
    for number in range(60)
    for action in ACTIONS
    for area in AREAS
} | {"till_close": "Settle the accounts of a day", "unsaid": ""}
LISTED = as_listed([read_tool({"name": name, "description": said}) for name, said in SAID.items()])


def definition_of(tool: Tool) -> Definition | None:
    said = SAID[tool.name]
    return Definition(name=tool.name, description=said) if said else None


def found(query: str) -> list[str]:
    results = unindexed_searcher(query, LISTED, definition_of).search(query)
    assert results.note == NOT_INDEXED
    return [item.tool.name for item in results.results]


def test_tools_are_found_by_words_of_their_descriptions_in_any_form() -> None:
    assert found("settles the account")[0] == "till_close"
    assert all("delete" in name and "record" in name for name in found("deleting records"))


def test_a_tool_is_found_by_its_name_without_a_description() -> None:
    assert found("unsaid") == ["unsaid"]
    assert found("export_page_59")[0] == "export_page_59"


def test_a_query_without_words_finds_nothing() -> None:
    assert found("") == []
    assert found("?!") == []
