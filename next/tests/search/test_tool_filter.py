"""Filtering tools that a caller passes in."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from remit.search import ToolFilter, filter_tools


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


SHOT = tool("browser_take_screenshot", "Capture an image of the current page")
CLICK = tool("browser_click", "Click on an element of the page")
READ = tool("read_file", "Read the contents of a file")
WRITE = tool("write_file", "Write text to a file")
COMMIT = tool("git_commit", "Record changes to the repository")
PUSH = tool("git_push", "Upload commits to a remote repository")
MAIL = tool("send_email", "Send a message to someone's inbox")
TOOLS = [SHOT, CLICK, READ, WRITE, COMMIT, PUSH, MAIL]


def names(tools: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in tools]


def test_the_best_come_first_and_are_the_very_objects() -> None:
    found = filter_tools(TOOLS, "take a picture of the page", top_k=2)
    assert found[0] is SHOT
    assert len(found) == 2


def test_functions_are_chosen_as_well() -> None:
    def send_email(to: str) -> None:
        """Send a message to someone's inbox."""

    def read_file(path: str) -> None:
        """Read the contents of a file."""

    functions: list[Callable[[str], None]] = [send_email, read_file]
    assert filter_tools(functions, "write to my boss", top_k=1) == [send_email]


def test_the_last_messages_of_a_conversation_are_a_query() -> None:
    messages = [
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "Sunny. Shall I commit the changes to the repository?"},
        {"role": "user", "content": "yes, go on"},
    ]
    assert filter_tools(TOOLS, messages, top_k=1) == [COMMIT]


def test_the_newest_message_weighs_most() -> None:
    messages = [
        {"role": "user", "content": "take a screenshot of the page"},
        {"role": "user", "content": "now send a message to her inbox"},
    ]
    found = filter_tools(TOOLS, messages, top_k=7)
    assert found[0] is MAIL
    assert found.index(SHOT) < found.index(COMMIT)


@pytest.mark.parametrize("lines", [3, 40, 300])
def test_an_instruction_counts_before_and_after_pasted_text(lines: int) -> None:
    pasted = "".join(f"At {i} a worker of region {i} started and counted its stock.\n" for i in range(lines))
    asked = "Send this to Anna by email."
    assert names(filter_tools(TOOLS, f"{asked}\n\n{pasted}", top_k=1)) == ["send_email"]
    assert names(filter_tools(TOOLS, f"{pasted}\n{asked}", top_k=1)) == ["send_email"]


def test_what_is_always_included_comes_first_in_its_own_order_and_counts() -> None:
    found = filter_tools(TOOLS, "take a screenshot", top_k=3, always_include=["git_*"])
    assert found == [COMMIT, PUSH, SHOT]
    assert filter_tools(TOOLS, "take a screenshot", top_k=1, always_include=["git_*"]) == [COMMIT, PUSH]


def test_what_is_excluded_is_not_even_included_always() -> None:
    found = filter_tools(TOOLS, "record changes", top_k=7, always_include=["git_commit"], exclude=["git_*"])
    assert {"git_commit", "git_push"} & {*names(found)} == set()
    assert found


def test_what_is_excluded_takes_nobodys_place() -> None:
    crowd = [tool(f"take_screenshot_{at}", "Take a screenshot of the page") for at in range(300)]
    found = filter_tools([*crowd, SHOT, MAIL], "take a screenshot of the page", top_k=1, exclude=["take_*"])
    assert found == [SHOT]


def test_names_are_matched_with_and_without_their_server() -> None:
    tools = [tool("mcp__git__commit", "Record changes"), tool("mcp__mail__send", "Send a mail")]
    assert filter_tools(tools, "anything", exclude=["mcp__git__*"], always_include=["send"]) == [tools[1]]


def test_what_scores_too_low_is_left_out() -> None:
    found = filter_tools(TOOLS, "take a screenshot of the page", min_score=0.5)
    assert found[0] is SHOT
    assert len(found) < len(TOOLS)
    assert filter_tools(TOOLS, "photosynthesis of tropical orchids", min_score=None) == []


def test_where_nothing_is_said_only_what_is_always_included_is_left() -> None:
    assert filter_tools(TOOLS, [], always_include=["read_file"]) == [READ]


def test_one_pattern_needs_no_list() -> None:
    assert MAIL not in filter_tools(TOOLS, "message her inbox", exclude="send_*")
    assert filter_tools(TOOLS, [], always_include="read_file") == [READ]


def test_an_empty_list_of_tools_gives_an_empty_choice() -> None:
    assert filter_tools([], "take a screenshot") == []
    assert filter_tools([], []) == []


@pytest.mark.parametrize("query", ["", "  ", [], [{"role": "tool", "content": "42"}]])
def test_a_query_without_text_is_an_error_rather_than_an_empty_choice(query: Any) -> None:
    with pytest.raises(ValueError, match="no text from a user or an agent to choose tools by"):
        filter_tools(TOOLS, query)


def test_a_google_tool_comes_back_with_the_chosen_functions_only() -> None:
    google = {"functionDeclarations": [SHOT, MAIL, READ], "other": 1}
    assert filter_tools([google], "take a picture of the page", top_k=1) == [
        {"functionDeclarations": [SHOT], "other": 1}
    ]
    found: list[Any] = filter_tools([google, COMMIT], "record changes, then message her inbox", top_k=2)
    assert COMMIT in found
    assert {"functionDeclarations": [MAIL], "other": 1} in found


def test_a_google_tool_that_is_an_object_is_copied() -> None:
    class GoogleTool:
        def __init__(self, function_declarations: Sequence[object]) -> None:
            self.function_declarations = function_declarations

        def model_copy(self, update: dict[str, Any]) -> "GoogleTool":
            return GoogleTool(**update)

    given = GoogleTool([SHOT, MAIL])
    [found] = filter_tools([given], "take a picture of the page", top_k=1)
    assert found.function_declarations == [SHOT]
    assert given.function_declarations == [SHOT, MAIL]


def test_a_list_that_is_filtered_often_is_read_once() -> None:
    choose = ToolFilter(TOOLS)
    assert choose("take a picture of the page", top_k=1) == [SHOT]
    assert choose("message her inbox", top_k=1) == [MAIL]
    assert choose("message her inbox", top_k=1, exclude=["send_*"]) != [MAIL]


def test_a_tool_that_changed_is_read_again() -> None:
    changing = tool("helper", "Record changes to the repository")
    assert filter_tools([changing, MAIL], "commit my changes", top_k=1) == [changing]
    changing["description"] = "Tell the weather of tomorrow"
    assert filter_tools([changing, COMMIT], "commit my changes", top_k=1) == [COMMIT]


@pytest.mark.parametrize("top_k", [0, 51])
def test_a_limit_out_of_bounds_is_refused(top_k: int) -> None:
    with pytest.raises(ValueError, match="`top_k` must be between 1 and 50"):
        filter_tools(TOOLS, "x", top_k=top_k)


@pytest.mark.parametrize("top_k", [1.5, "3", None, True])
def test_a_limit_that_is_not_a_whole_number_is_refused(top_k: Any) -> None:
    with pytest.raises(TypeError, match="`top_k` must be a whole number from 1 to 50, not"):
        filter_tools(TOOLS, "x", top_k=top_k)


@pytest.mark.parametrize("tools", [None, 7, "read_file", {"read_file": READ}])
def test_tools_that_are_not_a_list_are_refused(tools: Any) -> None:
    with pytest.raises(TypeError, match="`tools` must be a list of tools, not"):
        ToolFilter(tools)


def test_a_value_that_is_not_a_tool_is_refused_with_its_place() -> None:
    wrong: list[Any] = [READ, 7]
    with pytest.raises(TypeError, match=r"tools\[1\]: cannot read a tool of type `int`"):
        filter_tools(wrong, "x")
    wrong = [READ, {"type": "function", "function": {"description": "x"}}]
    with pytest.raises(TypeError, match=r"tools\[1\]: .* with the keys `type`, `function`, but no name"):
        filter_tools(wrong, "x")


def test_a_tool_that_google_runs_is_chosen_by_its_field() -> None:
    search: Any = {"google_search": {}}
    held: Any = SimpleNamespace(function_declarations=None, code_execution=SimpleNamespace())
    given = [search, held, MAIL]
    assert filter_tools(given, "search the web with Google", top_k=1) == [search]
    assert filter_tools(given, "execute this code", top_k=1) == [held]
