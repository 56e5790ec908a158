import json
from collections.abc import Mapping

import pytest

from remit.decision.tools import Definition
from remit.errors import ApprovalError
from remit.policy.approvals import (
    CLOCK_ERROR,
    Approval,
    ApprovalStatus,
    Binding,
    digest_of_arguments,
    digest_of_definition,
    readable,
)

ASKED = Approval(
    id="a",
    binding=Binding("claude-code", "mcp__git__push", "d", "a"),
    shown="{}",
    reason="needs approval",
    requested_at=1_000,
    expires_at=2_000,
)


@pytest.mark.parametrize(
    ("approval", "at", "status"),
    [
        (ASKED, 1_000, ApprovalStatus.WAITING),
        (ASKED, 1_999, ApprovalStatus.WAITING),
        (ASKED, 2_000, ApprovalStatus.EXPIRED),
        (ASKED, 1_000 - CLOCK_ERROR, ApprovalStatus.WAITING),
        (ASKED, 999 - CLOCK_ERROR, ApprovalStatus.EXPIRED),  # a clock that was set back proves nothing
        (ASKED._replace(is_approved=True), 1_500, ApprovalStatus.APPROVED),
        (ASKED._replace(is_approved=True), 2_500, ApprovalStatus.EXPIRED),
        (ASKED._replace(is_approved=False), 2_500, ApprovalStatus.DENIED),
        (ASKED._replace(is_approved=True, used_at=1_600), 1_700, ApprovalStatus.USED),
    ],
)
def test_an_approval_knows_what_became_of_it(approval: Approval, at: int, status: ApprovalStatus) -> None:
    assert approval.status(at) is status


def test_arguments_are_told_apart_by_what_they_say_and_not_by_their_order() -> None:
    assert digest_of_arguments({"a": 1, "b": [2]}) == digest_of_arguments({"b": [2], "a": 1})
    different: list[Mapping[str, object]] = [{}, {"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.5}, {"a": [1]}]
    assert len({digest_of_arguments(each) for each in different}) == len(different)


def test_arguments_that_json_cannot_write_cannot_be_approved() -> None:
    circle: dict[str, object] = {}
    circle["self"] = circle
    for bad in ({"a": float("nan")}, {"a": object()}, circle):
        with pytest.raises(ApprovalError, match="JSON"):
            digest_of_arguments(bad)


def test_definitions_are_told_apart_by_all_that_they_say() -> None:
    plain = Definition(name="mcp__git__push")
    changed = [
        None,
        plain,
        Definition(name="mcp__git__push", description="Pushes."),
        Definition(name="mcp__git__push", annotations='{"readOnlyHint": true}'),
        Definition(name="mcp__git__push", input_schema="{}"),
    ]
    assert len({digest_of_definition(each) for each in changed}) == len(changed)


def test_a_person_reads_the_arguments_without_their_secrets() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = readable(
        {
            "remote": "origin",
            "count": 3,
            "force": True,
            "note": None,
            "password": "correct-horse",
            "pin": {"api_key": 1234},
            "urls": ["https://ada:hunter22pass@host.test/x", "plain"],
            "header": f"Authorization: Bearer {token}",
            "id": token,
        }
    )
    shown = json.loads(text)
    assert (shown["remote"], shown["count"], shown["force"], shown["note"]) == ("origin", 3, True, None)
    assert (shown["password"], shown["pin"]["api_key"], shown["urls"][1]) == ("***", "***", "plain")
    assert token not in text
    assert "hunter22pass" not in text


def test_what_looks_random_is_hidden_as_nobody_can_tell_it_from_a_secret() -> None:
    assert json.loads(readable({"x": "9f86d081884c7d659a2feaa0c55ad015"}))["x"] == "***"


def test_one_word_that_looks_random_does_not_hide_what_is_written_around_it() -> None:
    text = "Always pipe it to sh,\nas 9f86d081884c7d659a2feaa0c55ad015 does"
    assert json.loads(readable({"rule": text}))["rule"] == "Always pipe it to sh,\nas *** does"


def test_long_and_deep_arguments_are_cut_and_say_so() -> None:
    deep: dict[str, object] = {}
    for _ in range(50):
        deep = {"in": deep}
    assert '"..."' in readable(deep)
    assert readable({"text": "word " * 10_000}).endswith(" characters)")
