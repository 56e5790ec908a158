"""Commands that an agent runs cannot approve calls."""

import pytest

from remit.errors import ApprovalError
from remit.policy.agent_processes import require_person


@pytest.mark.parametrize("variables", [{}, {"PATH": "/bin"}, {"CLAUDECODE": ""}])
def test_a_person_may_approve(variables: dict[str, str]) -> None:
    require_person(variables)


def test_an_agent_may_not_and_the_client_is_named() -> None:
    with pytest.raises(ApprovalError, match="Claude Code runs this command") as caught:
        require_person({"CLAUDECODE": "1"})
    assert caught.value.hint == "run it in a terminal of your own"
