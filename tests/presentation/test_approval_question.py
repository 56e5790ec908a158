"""A question about a call, and which answers are a person's."""

from typing import Any

import pytest

from remit.approvals.approvals import Approval
from remit.approvals.call_binding import Binding
from remit.presentation.approval_question import LONGEST_SHOWN, can_elicit, question, read_answer

CALL = Approval("id1", Binding("claude-code", "t", "", ""), '{"path": "p"}', "needs approval", 0, 1)
LONG = CALL._replace(shown="x" * (LONGEST_SHOWN + 1))


def test_the_form_has_one_required_field_that_no_client_can_fill_in_by_itself() -> None:
    schema = question("git__push", CALL)["requestedSchema"]
    (name,) = schema["required"]
    assert schema["properties"].keys() == {name}
    assert schema["properties"][name]["type"] == "boolean"
    assert "default" not in schema["properties"][name]


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"action": "accept", "content": {"approve": True}}, True),
        ({"action": "accept", "content": {"approve": False}}, False),
        ({"action": "decline"}, False),
        ({"action": "decline", "content": {"approve": True}}, False),
        ({"action": "accept"}, None),
        ({"action": "accept", "content": {}}, None),
        ({"action": "accept", "content": None}, None),
        ({"action": "accept", "content": {"approve": "true"}}, None),
        ({"action": "accept", "content": {"approve": 1}}, None),
        ({"action": "cancel"}, None),
        ({}, None),
    ],
)
def test_only_a_chosen_yes_is_a_yes(answer: dict[str, Any], word: bool | None) -> None:
    assert read_answer(answer, CALL) is word


def test_a_call_that_does_not_fit_the_question_can_be_declined_and_not_approved() -> None:
    assert "remit approve id1" in question("git__push", LONG)["message"]
    assert read_answer({"action": "accept", "content": {"approve": True}}, LONG) is None
    assert read_answer({"action": "accept", "content": {"approve": False}}, LONG) is False
    assert read_answer({"action": "decline"}, LONG) is False


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({}, False),
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
    ],
)
def test_a_client_is_asked_only_by_a_form_that_it_can_show(capabilities: dict[str, Any], can: bool) -> None:
    assert can_elicit(capabilities) is can
