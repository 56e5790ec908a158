import pytest

from remit.filters.filter_functions import FilterTool, ToolFilterContext
from remit.filters.filter_lint import remarks, remarks_of

OWN_NAME = (
    "`f` compares `tool.name` with `mcp__…`; it is the server's own name (compare `tool.canonical_name`)"
)


def body(code: str, before: str = "") -> str:
    return f"{before}async def f(context, tool):\n    {code}\n"


@pytest.mark.parametrize(
    "code",
    [
        "return tool.name != 'mcp__disk__wipe'",
        "return not tool.name.startswith('mcp__disk')",
        "return tool.name not in {'log', 'mcp__disk__wipe'}",
        "return not fnmatch(tool.name, 'mcp__*__wipe')",
        "return not re.match('^mcp__', tool.name)",
        "return tool.name not in BLOCKED",
        "match tool.name:\n        case 'mcp__disk__wipe': return False",
    ],
)
def test_a_comparison_of_the_own_name_with_a_canonical_one_is_found(code: str) -> None:
    found = remarks(body(code, "BLOCKED = ['mcp__disk__wipe']\n"))
    assert {(each.line, each.message) for each in found} == {(3, OWN_NAME)}


@pytest.mark.parametrize(
    "code",
    [
        "return tool.name != 'wipe'",
        "return tool.canonical_name != 'mcp__disk__wipe'",
        "return other.name != 'mcp__disk__wipe' and other().name",
        "return tool.name not in LATER and 'mcp__x'",
    ],
)
def test_other_comparisons_are_not(code: str) -> None:
    assert remarks(body(code, "first, LATER = 'log', 1\nx.y = 'mcp__disk__wipe'\n")) == []


def test_a_function_that_is_nearly_a_filter_is_named() -> None:
    source = "def f(ctx, tool): ...\ndef g(context, name): ...\ndef _h(ctx, tool): ...\ndef i(a, b): ...\n"
    words = "is not a filter: its parameters must be `(context, tool)`"
    assert [tuple(each) for each in remarks(source)] == [(1, f"`f` {words}"), (2, f"`g` {words}")]


def test_a_function_of_an_application_is_read_if_its_source_is_known() -> None:
    def f(context: ToolFilterContext, tool: FilterTool) -> bool:
        return context.client is None or tool.name != "mcp__disk__wipe"

    assert [each.message for each in remarks_of(f)] == [OWN_NAME]
    assert remarks_of(len) == []


def test_a_function_that_takes_no_tool_compares_none() -> None:
    assert list(remarks("def f(context):\n    return context.name != 'mcp__disk__wipe'\n")) == []
