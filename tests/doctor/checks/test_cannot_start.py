from dataclasses import replace

from remit.decision.declarations import Resolved
from remit.decision.declared_launch import Launch, Transport
from remit.decision.kinds import ConfigStatus
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.doctor.checks.cannot_start import unavailable_sandboxes
from remit.doctor.findings import ClientSetup
from remit.upstream.launch.start_obstacles import LaunchFacts, start_fixes
from support.builders import context, declared

GIT = replace(declared("git", Scope.PROJECT), launch=Launch(command="git-mcp"))
WEB = replace(declared("web", Scope.PROJECT), launch=Launch(transport=Transport.HTTP, url="https://x.test"))
BOTH = [Resolved(declaration=each, config_status=ConfigStatus.ENABLED) for each in (GIT, WEB)]


def setup(*, starts_servers: bool, **facts: str) -> ClientSetup:
    made = LaunchFacts(
        sandboxed=frozenset({GIT.key, WEB.key}),
        sandbox_obstacles={GIT.key: facts["why"]} if facts else {},
        sandbox_fixes={GIT.key: facts["fix"]} if "fix" in facts else {},
    )
    return ClientSetup(context=replace(context(), starts_servers=starts_servers), resolved=BOTH, facts=made)


def test_a_sandbox_that_is_not_possible_is_an_error() -> None:
    (found,) = unavailable_sandboxes(setup(starts_servers=True, why="bubblewrap is not installed"))
    assert (found.severity, found.subject) == (Severity.ERROR, "git")
    assert found.reason == "bubblewrap is not installed, so Remit does not start it"


def test_a_sandbox_that_is_not_possible_is_fixed_as_the_attempt_to_start_it_says() -> None:
    how = "install it, for example with `apt install bubblewrap`"
    ready = setup(starts_servers=True, why="bubblewrap is not installed", fix=how)
    (found,) = unavailable_sandboxes(ready)
    assert found.fix == how
    assert start_fixes(ready.resolved, ready.facts) == {GIT.key: how}


def test_a_client_that_starts_servers_itself_starts_them_without_their_sandbox() -> None:
    (found,) = unavailable_sandboxes(setup(starts_servers=False))
    assert (found.severity, found.subject, found.fix) == (
        Severity.WARNING,
        "git",
        "run `remit install claude-code`",
    )
    assert not list(unavailable_sandboxes(setup(starts_servers=True)))
