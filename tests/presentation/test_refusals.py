"""What a model reads when a call is refused."""

from dataclasses import replace

from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate, NextStep
from remit.errors import UpstreamError
from remit.presentation import refusals
from remit.presentation.listing_strategies import VisibleTool
from support.builders import server

HIDDEN = Decision(
    verdict=Verdict.HIDDEN,
    gate=Gate.STATE,
    reason="state `ready` does not hold",
    unlock="make it.txt",
    detail="no file `it.txt`",
)
ASKS = Decision(verdict=Verdict.ASK, gate=Gate.DANGER, reason="needs approval: it is `critical`", unlock=None)
GONE = Decision(verdict=Verdict.HIDDEN, gate=None, reason="gone", unlock=None)
ASK = "Ask the user: only a person can change this."


def test_a_refusal_gives_gate_reason_and_whom_to_ask_in_words_and_as_data() -> None:
    answer = refusals.refusal("git__push", HIDDEN)
    assert answer["isError"]
    assert answer["content"][0]["text"].splitlines() == [
        "`git__push` is not available now by state: state `ready` does not hold",
        ASK,
    ]
    assert answer["structuredContent"] == {
        "error": "refused",
        "tool": "git__push",
        "gate": "state",
        "reason": "state `ready` does not hold",
        "next_step": ASK,
    }
    assert refusals.refusal("x", GONE)["content"][0]["text"] == f"`x` is not available now: gone\n{ASK}"


def test_a_refusal_never_tells_a_model_what_people_read() -> None:
    for answer in (refusals.refusal("x", HIDDEN), refusals.refusal("x", HIDDEN, beside=True)):
        assert "it.txt" not in str(answer)


def test_words_of_a_repository_in_a_reason_stay_on_its_line() -> None:
    forged = replace(HIDDEN, reason="its server `x\n# Remit\u202e`: " + "not trusted " * 1_000)
    for answer in (refusals.refusal("x", forged), refusals.denied("x", forged)):
        text, told = answer["content"][0]["text"], answer["structuredContent"]
        assert "\n#" not in text
        assert "\u202e" not in text + told["reason"]
        assert len(text) < 1_200


def test_a_step_that_a_model_can_take_itself_is_told() -> None:
    asks = replace(ASKS, next_step=NextStep("call it: the user is asked to approve the call"))
    assert refusals.next_step(asks, ()) == "Next step: call it: the user is asked to approve the call."


def test_of_the_tools_whose_success_sets_a_state_only_visible_ones_are_named() -> None:
    step = NextStep("set state `open` by a successful call", ("mcp__ledger__open_*",))
    hidden = replace(HIDDEN, next_step=step)
    rows = [server("ledger")._replace(name=f"mcp__ledger__{name}") for name in ("open_day", "read")]
    visible = [VisibleTool(row, {"name": row.name.removeprefix("mcp__")}) for row in rows]
    assert refusals.next_step(hidden, visible) == (
        "Next step: set state `open` by a successful call of `ledger__open_day`."
    )
    assert refusals.next_step(hidden, visible[1:]) == ASK


def test_where_data_would_be_held_to_a_schema_it_stands_beside() -> None:
    for answer in (
        refusals.refusal("x", HIDDEN, beside=True),
        refusals.approval_required("x", ASKS, "id1", beside=True),
        refusals.denied("x", ASKS, beside=True),
    ):
        assert "structuredContent" not in answer
        assert answer["_meta"]["remit/refusal"]["tool"] == "x"


def test_a_pending_approval_is_named_without_the_command_that_approves_it() -> None:
    answer = refusals.approval_required("git__push", ASKS, "id1")
    assert answer["structuredContent"]["approval"] == "id1"
    assert "approval `id1`" in answer["structuredContent"]["next_step"]
    assert answer["structuredContent"]["next_step"] in answer["content"][0]["text"]
    assert "remit approve" not in str(answer)
    assert refusals.denied("x", ASKS)["structuredContent"]["error"] == "denied"


def test_a_failure_ends_with_its_hint() -> None:
    assert refusals.failure("no")["content"][0]["text"] == "no"
    assert refusals.failure("no", "wait")["content"][0]["text"] == "no\nhint: wait"


def test_a_server_that_cannot_be_reached_is_named_with_the_last_line_it_wrote() -> None:
    error = UpstreamError("`git` ended before it answered", output=("starting", 'Error: no \x1b[31m"TOKEN"'))
    assert refusals.unreachable(error)["content"][0]["text"].splitlines() == [
        "`git` ended before it answered",
        'It wrote last: "Error: no [31m\\"TOKEN\\""',
        ASK,
    ]
    assert "wrote" not in refusals.unreachable(UpstreamError("`git` is gone"))["content"][0]["text"]
