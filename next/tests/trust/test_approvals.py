"""A consent to one call: who is asked about what, what counts as an answer, and for how long."""

import json

import pytest

from remit.decision import Agent, AgentProfile, Context, Decision, Gate, Key, ToolDecision, Verdict
from remit.errors import ApprovalError, NotFoundError
from remit.store import Approval
from remit.trust import Approvals, ApprovalStatus, Permit, bind, caller_of, readable
from support.builders import BLOG, context, tool
from support.stores import memory_store

PUSH = "mcp__git__push"
ARGUMENTS = {"remote": "origin", "force": True}
HERE = context()
ASKS = Decision(Verdict.ASK, Gate.DANGER, "needs approval", detail="needs approval: it is `critical`")


class World:
    """Approvals with a clock and a decision that can change."""

    def __init__(self) -> None:
        self.time = 1_000_000
        self.decision = ASKS
        self.definition = "d1"
        self.approvals = Approvals(memory_store().approvals, lambda: self.time, self._decide)

    def _decide(self, name: str, context: Context, row: Key | None) -> ToolDecision:
        del context, row
        return ToolDecision(tool(name, definition=self.definition), self.decision)

    def permit(self, arguments: dict[str, object] | None = None, caller: str | None = None) -> Permit:
        return self.approvals.permit(PUSH, ARGUMENTS if arguments is None else arguments, HERE, caller)

    def ask(self, arguments: dict[str, object] | None = None) -> Approval:
        approval = self.permit(arguments).approval
        assert approval is not None
        return approval

    def approve(self) -> Approval:
        return self.approvals.answer(self.ask().id, HERE, approve=True)

    def settle(self, asked: Permit, *, approve: bool | None) -> Permit:
        return self.approvals.settle(asked, HERE, approve=approve, permit_again=self.permit)


def test_a_call_that_needs_approval_asks_once_and_goes_ahead_once() -> None:
    world = World()
    first = world.permit()
    assert first.is_pending
    assert first.approval is not None
    assert first.approval.reason == "needs approval: it is `critical`"
    assert first.approval.shown == '{"remote": "origin", "force": true}'
    assert world.permit().approval == first.approval
    assert world.approvals.waiting(HERE) == [first.approval]
    world.approvals.answer(first.approval.id, HERE, approve=True)
    assert world.approvals.waiting(HERE) == []
    used = world.permit()
    assert used.is_allowed
    assert used.approval is not None
    assert world.approvals.status(used.approval) is ApprovalStatus.USED
    assert not world.permit().is_allowed


def test_an_approval_is_for_one_caller_tool_definition_and_the_very_arguments_in_any_order() -> None:
    world = World()
    world.approve()
    assert not world.permit({**ARGUMENTS, "force": False}).is_allowed
    assert not world.permit(caller="bob").is_allowed
    world.definition = "d2"
    assert not world.permit().is_allowed
    world.definition = "d1"
    assert world.permit({"force": True, "remote": "origin"}).is_allowed
    assert bind("a", PUSH, "d", {"x": 1}) != bind("a", "mcp__git__pull", "d", {"x": 1})
    with pytest.raises(ApprovalError, match="not valid JSON"):
        bind("a", PUSH, "d", {"x": float("nan")})


def test_a_call_is_decided_anew_when_its_approval_is_used() -> None:
    world = World()
    world.approve()
    world.decision = Decision(Verdict.HIDDEN, Gate.POLICY, "blocked")
    assert not world.permit().is_allowed
    world.decision = Decision(Verdict.VISIBLE, None, "declared")
    assert world.permit().approval is None
    world.decision = ASKS
    assert world.permit().is_allowed


def test_an_approval_expires_whether_it_was_given_or_not_and_none_comes_from_the_future() -> None:
    world = World()
    given, waiting = world.approve(), world.ask({})
    world.time += 300_000
    assert world.approvals.status(world.approvals.find(given.id, HERE)) is ApprovalStatus.EXPIRED
    assert world.approvals.waiting(HERE) == []
    with pytest.raises(ApprovalError, match="expired and can no longer be answered"):
        world.approvals.answer(waiting.id, HERE, approve=True)
    assert not world.permit().is_allowed
    world.approvals.answer(world.ask().id, HERE, approve=True)
    world.time -= 900_000  # the clock was set back
    assert not world.permit().is_allowed


def test_a_no_in_a_terminal_is_told_once_and_cannot_be_taken_back() -> None:
    world = World()
    asked = world.ask()
    denied = world.approvals.answer(asked.id, HERE, approve=False)
    assert (world.approvals.status(denied), denied.shown) == (ApprovalStatus.DENIED, "")
    assert world.permit().is_denied
    with pytest.raises(ApprovalError, match="denied"):
        world.approvals.answer(asked.id, HERE, approve=True)
    assert world.ask().id != asked.id


def test_a_clients_no_is_not_stored_since_clients_without_a_person_decline_alone() -> None:
    world = World()
    asked = world.permit()
    assert world.settle(asked, approve=False).is_denied
    assert world.approvals.waiting(HERE) == [asked.approval]
    assert world.permit().is_pending
    assert world.settle(asked, approve=True).is_allowed


@pytest.mark.parametrize(
    ("meanwhile", "is_allowed"),
    [("approved", True), ("used", True), ("expired", True), ("denied", False), ("denied long ago", False)],
)
def test_a_late_yes_counts_for_the_call_that_asked_unless_a_terminal_said_no(
    meanwhile: str, is_allowed: bool
) -> None:
    world = World()
    asked = world.permit()
    assert asked.approval is not None
    if meanwhile == "expired":
        world.time += 2 * 86_400_000
        world.ask({})  # which forgets old ones
    else:
        world.approvals.answer(asked.approval.id, HERE, approve="denied" not in meanwhile)
    if meanwhile == "used":
        world.permit()
    if meanwhile == "denied long ago":
        world.time += 400_000
    assert world.settle(asked, approve=True).is_allowed is is_allowed


def test_without_an_answer_at_the_client_one_in_a_terminal_counts() -> None:
    world = World()
    asked = world.permit()
    assert asked.approval is not None
    assert world.settle(asked, approve=None) == asked
    world.approvals.answer(asked.approval.id, HERE, approve=True)
    assert world.settle(asked, approve=None).is_allowed


def test_so_many_calls_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.trust.approvals.MOST_WAITING", 2)
    world = World()
    late = world.permit({"number": 1})
    world.ask({"number": 2})
    with pytest.raises(ApprovalError, match="too many pending approvals: 2"):
        world.permit({"number": 3})
    assert world.permit({"number": 2}).is_pending  # that was asked before
    world.time += 400_000
    world.ask({"number": 4})
    world.ask({"number": 5})
    assert not world.settle(late, approve=True).is_allowed


def test_what_is_asked_in_one_project_is_unknown_in_another() -> None:
    world, elsewhere = World(), context(BLOG)
    asked = world.ask()
    assert world.approvals.waiting(elsewhere) == []
    for id in (asked.id, "nonsense"):
        with pytest.raises(NotFoundError, match=f"no approval `{id}` here"):
            world.approvals.answer(id, elsewhere, approve=True)
    assert world.approvals.waiting(HERE) == [asked]


def test_the_beginning_of_an_id_stands_for_a_pending_approval() -> None:
    world = World()
    asked = world.ask()
    assert world.approvals.find(asked.id[:5], HERE) == asked
    with pytest.raises(NotFoundError):
        world.approvals.find(asked.id[:2], HERE)
    world.approvals.answer(asked.id[:5], HERE, approve=True)
    with pytest.raises(NotFoundError):
        world.approvals.find(asked.id[:5], HERE)


def test_nobody_approves_their_own_call() -> None:
    world = World()
    asked = world.permit(caller="bob").approval
    assert asked is not None
    with pytest.raises(ApprovalError, match="your own"):
        world.approvals.answer(asked.id, HERE, approve=True, by="bob")
    world.approvals.answer(asked.id, HERE, approve=True, by="ada")
    assert world.permit(caller="bob").is_allowed


def test_a_caller_is_the_client_the_agents_down_to_the_one_that_calls_and_who_holds_the_token() -> None:
    lead = Agent("lead", AgentProfile())
    scout = Agent("scout", AgentProfile(), parents=(lead,))
    assert caller_of(HERE) == "claude-code"
    assert caller_of(context(agent=scout), "bob") == "claude-code > lead > scout, by `bob`"
    assert caller_of(context(client=None)) == "all"


def test_a_person_reads_every_argument_whatever_it_is_called() -> None:
    arguments = {"token": ["--force", "--delete"], "key": "rm -rf /", "password": None, "n": 3}
    assert json.loads(readable(arguments)) == arguments
    long = {"text": "word " * 50_000, "last": "--delete"}
    assert json.loads(readable(long)) == long
    with pytest.raises(ApprovalError, match="at most 8,388,608 can be approved"):
        readable({"text": "x" * 8_388_608})


def test_only_a_value_that_equals_a_secret_of_the_environment_is_hidden_with_its_length() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    shown = readable({"a": token, "b": f"say {token}", "c": [token]}, [token])
    hidden = "***(40 characters)"
    assert json.loads(shown) == {"a": hidden, "b": f"say {token}", "c": [hidden]}


def test_what_a_person_cannot_see_is_escaped_and_no_value_can_start_a_line() -> None:
    arguments = {"path": "a\u202eb\x9b\u2028\u200b\U000e0041\u3164", "\x1bkey": "line\nbreak"}
    assert readable(arguments) == (
        r'{"path": "a\u202eb\u009b\u2028\u200b\U000e0041\u3164", "\u001bkey": "line\nbreak"}'
    )
    lines = readable({"note": "x" * 300, "forged": "a\n  until: tomorrow\r\u0085"}).split("\n")
    assert [line[:12] for line in lines] == ["{", '  "note": "x', '  "forged": ', "}"]
