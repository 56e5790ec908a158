import json

import pytest

from remit.approvals.approvals import CLOCK_ERROR, MOST_SHOWN, Approval, ApprovalStatus, readable
from remit.approvals.call_binding import Binding
from remit.errors import ApprovalError

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


def test_a_person_reads_every_argument_whatever_it_is_called() -> None:
    arguments = {"token": ["--force", "--delete"], "key": "rm -rf /", "password": None, "n": 3}
    assert json.loads(readable(arguments)) == arguments
    long = {"text": "word " * 50_000, "last": "--delete"}
    assert json.loads(readable(long)) == long


def test_only_a_value_that_equals_a_secret_of_the_environment_is_hidden_with_its_length() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    shown = readable({"a": token, "b": f"say {token}", "c": [token]}, [token])
    hidden = "***(40 characters)"
    assert json.loads(shown) == {"a": hidden, "b": f"say {token}", "c": [hidden]}


def test_what_a_person_cannot_see_is_escaped() -> None:
    arguments = {
        "path": "a\u202eb\x9b\u2028\u200b\U000e0041\u3164",
        "\x1bkey": "line\nbreak",
        "q": "\\u202e",
    }
    assert readable(arguments) == (
        r'{"path": "a\u202eb\u009b\u2028\u200b\U000e0041\u3164", "\u001bkey": "line\nbreak", '
        r'"q": "\\u202e"}'
    )


def test_long_arguments_have_a_line_each_and_no_value_can_start_one() -> None:
    lines = readable({"note": "x" * 300, "forged": "a\n  until: tomorrow\r\u0085"}).split("\n")
    assert [line[:12] for line in lines] == ["{", '  "note": "x', '  "forged": ', "}"]


def test_arguments_that_nobody_could_read_are_refused_and_never_cut() -> None:
    with pytest.raises(ApprovalError, match="at most 8,388,608 can be approved"):
        readable({"text": "x" * MOST_SHOWN})
