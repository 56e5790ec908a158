"""What counts of a conversation."""

from types import SimpleNamespace

from remit.search.conversation import Said, last_said


def test_a_text_is_a_query_in_full() -> None:
    assert last_said("list my files") == [Said("list my files", 1)]


def test_a_message_may_be_a_text_and_a_conversation_one_message() -> None:
    assert last_said(["look at it", "list my files"]) == [Said("list my files", 1), Said("look at it", 0.5)]
    assert last_said({"role": "user", "content": "list my files"}) == [Said("list my files", 1)]


def test_of_messages_the_newest_counts_most() -> None:
    assert last_said(
        [
            {"role": "user", "content": "look at the repository"},
            {"role": "assistant", "content": "Shall I commit?"},
            {"role": "user", "content": "yes"},
        ]
    ) == [Said("yes", 1), Said("Shall I commit?", 0.5), Said("look at the repository", 0.25)]


def test_the_last_words_of_the_user_count_in_full_however_much_the_agent_said_since() -> None:
    steps = [{"role": "assistant", "content": f"step {at}"} for at in range(6)]
    said = last_said([{"role": "user", "content": "fix it"}, *steps])
    assert said[0] == Said("step 5", 1)
    assert said[-1] == Said("fix it", 1)
    assert [item.weight for item in said] == [1, 0.5, 0.25, 0.125, 1]


def test_parts_that_are_text_are_read_and_others_are_not() -> None:
    parts: list[object] = [
        {"type": "text", "text": "what is"},
        {"type": "image", "source": {}},
        {"type": "input_text", "text": "in this picture?"},
        SimpleNamespace(type="text", text="say it"),
        "briefly",
    ]
    assert last_said([{"role": "user", "content": parts}]) == [
        Said("what is\nin this picture?\nsay it\nbriefly", 1)
    ]


def test_what_tools_answer_and_what_the_system_says_is_no_query() -> None:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "tool", "content": "a long answer"},
        {"role": "user", "content": [{"type": "tool_result", "content": "another"}]},
        {"role": "user", "content": b"bytes"},
        {"content": "from nobody"},
    ]
    assert last_said(messages) == [Said("hello", 1)]


def test_messages_may_be_objects() -> None:
    messages = [
        SimpleNamespace(type="human", content="hello"),
        SimpleNamespace(role="assistant", content="hi"),
    ]
    assert last_said(messages) == [Said("hi", 1), Said("hello", 1)]


def test_where_nobody_asked_what_the_agent_said_counts() -> None:
    assert last_said([{"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}]) == [
        Said("two", 1),
        Said("one", 0.5),
    ]
    assert last_said([]) == []
