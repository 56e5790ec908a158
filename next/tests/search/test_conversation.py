"""What counts of a conversation."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from remit.search import WeightedText, weighted_texts


def test_a_text_is_a_query_in_full() -> None:
    assert weighted_texts("list my files") == [WeightedText("list my files", 1)]


def test_a_message_may_be_a_text_and_a_conversation_one_message() -> None:
    assert weighted_texts(["look at it", "list my files"]) == [
        WeightedText("list my files", 1),
        WeightedText("look at it", 0.5),
    ]
    assert weighted_texts({"role": "user", "content": "list my files"}) == [WeightedText("list my files", 1)]


def test_of_messages_the_newest_counts_most() -> None:
    assert weighted_texts(
        [
            {"role": "user", "content": "look at the repository"},
            {"role": "assistant", "content": "Shall I commit?"},
            {"role": "user", "content": "yes"},
        ]
    ) == [
        WeightedText("yes", 1),
        WeightedText("Shall I commit?", 0.5),
        WeightedText("look at the repository", 0.25),
    ]


def test_the_last_words_of_the_user_count_in_full_however_much_the_agent_said_since() -> None:
    steps = [{"role": "assistant", "content": f"step {at}"} for at in range(6)]
    said = weighted_texts([{"role": "user", "content": "fix it"}, *steps])
    assert said[0] == WeightedText("step 5", 1)
    assert said[-1] == WeightedText("fix it", 1)
    assert [item.weight for item in said] == [1, 0.5, 0.25, 0.125, 1]


def test_parts_that_are_text_are_read_and_others_are_not() -> None:
    parts: list[object] = [
        {"type": "text", "text": "what is"},
        {"type": "image", "source": {}},
        {"type": "input_text", "text": "in this picture?"},
        SimpleNamespace(type="text", text="say it"),
        "briefly",
    ]
    assert weighted_texts([{"role": "user", "content": parts}]) == [
        WeightedText("what is\nin this picture?\nsay it\nbriefly", 1)
    ]


def test_what_tools_answer_and_what_the_system_says_is_no_query() -> None:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "tool", "content": "a long answer"},
        {"role": "user", "content": [{"type": "tool_result", "content": "another"}]},
        {"role": "user", "content": b"bytes"},
        {"type": "function_call", "name": "x", "arguments": "{}"},
        {"type": "function_call_output", "output": "text"},
    ]
    assert weighted_texts(messages) == [WeightedText("hello", 1)]


def test_messages_may_be_objects() -> None:
    messages = [
        SimpleNamespace(type="human", content="hello"),
        SimpleNamespace(role="assistant", content="hi"),
    ]
    assert weighted_texts(messages) == [WeightedText("hi", 1), WeightedText("hello", 1)]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(
            [SimpleNamespace(type="human", content="hello"), SimpleNamespace(type="ai", content="hi")],
            id="LangChain",
        ),
        pytest.param(
            [
                SimpleNamespace(type="HumanMessageChunk", content="hello"),
                SimpleNamespace(type="AIMessageChunk", content="hi"),
            ],
            id="LangChain's chunks",
        ),
        pytest.param([("system", "be"), ("user", "hello"), ("ai", "hi")][1:], id="LangChain's pairs"),
        pytest.param(
            [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                {"type": "reasoning", "summary": "thinking"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
            ],
            id="OpenAI Responses",
        ),
        pytest.param(
            [
                SimpleNamespace(role="user", content=SimpleNamespace(type="text", text="hello")),
                SimpleNamespace(role="assistant", content=SimpleNamespace(type="text", text="hi")),
            ],
            id="MCP",
        ),
    ],
)
def test_the_messages_of_frameworks_are_read(messages: list[object]) -> None:
    assert weighted_texts(messages) == [WeightedText("hi", 1), WeightedText("hello", 1)]
    assert weighted_texts(messages[:1]) == [WeightedText("hello", 1)]


def test_one_message_that_is_an_object_is_a_conversation() -> None:
    assert weighted_texts(cast(Any, SimpleNamespace(role="user", content="hello"))) == [
        WeightedText("hello", 1)
    ]


@pytest.mark.parametrize(
    ("message", "named"),
    [(7, "int"), ({"content": "from nobody"}, "dict"), (SimpleNamespace(), "types.SimpleNamespace")],
)
def test_an_unknown_message_is_an_error_that_names_the_type(message: object, named: str) -> None:
    with pytest.raises(TypeError, match=rf"messages\[1\]: cannot read a message of type `{named}`; pass"):
        weighted_texts(["hello", message])


def test_where_nobody_asked_what_the_agent_said_counts() -> None:
    assert weighted_texts(
        [{"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}]
    ) == [
        WeightedText("two", 1),
        WeightedText("one", 0.5),
    ]
    assert weighted_texts([]) == []
