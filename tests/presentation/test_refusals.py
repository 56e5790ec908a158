"""What a model reads when a call is refused."""

from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate
from remit.presentation import refusals

HIDDEN = Decision(verdict=Verdict.HIDDEN, gate=Gate.STATE, reason="`ready` is false", unlock="make it ready")
ASKS = Decision(verdict=Verdict.ASK, gate=Gate.DANGER, reason="needs approval: it is `critical`", unlock=None)
GONE = Decision(verdict=Verdict.HIDDEN, gate=None, reason="gone", unlock=None)


def test_a_refusal_says_gate_reason_and_what_would_unlock_it_in_words_and_as_data() -> None:
    answer = refusals.refusal("git__push", HIDDEN)
    assert answer["isError"]
    assert answer["content"][0]["text"].splitlines() == [
        "`git__push` is not available now by state: `ready` is false",
        "unlock: make it ready",
    ]
    assert answer["structuredContent"] == {
        "error": "refused",
        "tool": "git__push",
        "gate": "state",
        "reason": "`ready` is false",
        "unlock": "make it ready",
    }
    assert refusals.refusal("x", GONE)["content"][0]["text"] == "`x` is not available now: gone"


def test_where_data_would_be_held_to_a_schema_it_stands_beside() -> None:
    for answer in (
        refusals.refusal("x", HIDDEN, beside=True),
        refusals.approval_required("x", ASKS, "id1", beside=True),
        refusals.denied("x", ASKS, beside=True),
    ):
        assert "structuredContent" not in answer
        assert answer["_meta"]["remit/refusal"]["tool"] == "x"


def test_an_approval_that_is_required_says_how_it_is_given() -> None:
    answer = refusals.approval_required("git__push", ASKS, "id1")
    assert answer["structuredContent"]["approval"] == "id1"
    assert "remit approve id1" in answer["structuredContent"]["unlock"]
    assert answer["structuredContent"]["unlock"] in answer["content"][0]["text"]
    assert refusals.denied("x", ASKS)["structuredContent"]["error"] == "denied"


def test_a_failure_ends_with_its_hint() -> None:
    assert refusals.failure("no")["content"][0]["text"] == "no"
    assert refusals.failure("no", "wait")["content"][0]["text"] == "no\nhint: wait"
