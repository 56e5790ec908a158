"""What the doctor says about servers whose last connection failed."""

from dataclasses import replace

import pytest

from remit.decision.declarations import Resolved
from remit.decision.declared_launch import Launch
from remit.decision.kinds import ConfigStatus
from remit.decision.scopes import Scope
from remit.doctor.checks.upkeep import failed_servers
from remit.doctor.findings import ClientSetup, Finding
from remit.trust.server_sandbox import OpenedPaths
from support.builders import context, declared, server

GIT = replace(declared("git", Scope.GLOBAL), launch=Launch(command="git-mcp"))
OUTSIDE = "cannot be started in its sandbox: the project makes it run `/opt/x`"
AGAIN = "`remit scan --connect git`"


def found(failure: str, opened: OpenedPaths | None = None) -> list[Finding]:
    row = server("git")._replace(failure=failure)
    assert row.key == GIT.key
    return list(
        failed_servers(
            ClientSetup(
                context=context(),
                resolved=[Resolved(declaration=GIT, config_status=ConfigStatus.ENABLED)],
                tools=[row],
                opened=lambda _: opened,
            )
        )
    )


def test_a_program_that_the_sandbox_does_not_show_has_the_hint_of_the_scan() -> None:
    opened = OpenedPaths(problem="the project makes it run `/opt/x`", hint="add it to `read`")
    (finding,) = found(OUTSIDE, opened)
    assert finding.reason == f"last connection failed: {OUTSIDE}"
    assert finding.fix == f"add it to `read`, then run {AGAIN}"


def test_the_sandbox_of_now_counts_not_that_of_the_last_attempt() -> None:
    (finding,) = found(OUTSIDE, OpenedPaths(problem="its command was not found", hint="install it"))
    assert finding.reason.endswith("cannot be started in its sandbox: its command was not found")
    assert finding.fix == f"install it, then run {AGAIN}"


def test_a_sandbox_that_shows_all_it_needs_is_to_be_checked_and_tried_again() -> None:
    (finding,) = found(OUTSIDE, OpenedPaths())
    assert finding.fix == f"check its `sandbox` in Remit's configuration, then run {AGAIN}"


def test_a_failure_in_a_sandbox_no_longer_counts_without_the_sandbox() -> None:
    assert found(OUTSIDE, None) == []


@pytest.mark.parametrize(
    ("failure", "fix"),
    [
        ("answers 401 Unauthorized", f"sign in with `remit login git`, then run {AGAIN}"),
        (
            "answers 403 Forbidden: it wants the scope `a`",
            f"sign in with `remit login git --scope a`, then run {AGAIN}",
        ),
        ("answers 500", f"check that it runs, and its `url`, then run {AGAIN}"),
        ("cannot be reached: unknown host", f"check that it runs, and its `url`, then run {AGAIN}"),
        ("cannot be started: permission denied", f"correct its entry, then run {AGAIN}"),
        ("ended before it answered (exit code 1)", f"run its command by hand to see why, then run {AGAIN}"),
        ("did not answer within 5 s", f"try again with {AGAIN}"),
    ],
)
def test_a_failure_that_another_attempt_cannot_cure_says_what_to_do_first(failure: str, fix: str) -> None:
    assert [each.fix for each in found(failure)] == [fix]
