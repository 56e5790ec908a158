from dataclasses import replace

import pytest

from remit.decision.declarations import Declaration, Resolved
from remit.decision.declared_launch import Launch, VariableSyntax
from remit.decision.kinds import ConfigStatus
from remit.upstream.launch.start_obstacles import LaunchFacts, start_obstacles
from support.builders import context, declared


def found(declaration: Declaration, facts: LaunchFacts, *, starts_servers: bool = True) -> list[str]:
    resolved = [Resolved(declaration=declaration, config_status=ConfigStatus.ENABLED)]
    here = replace(context(), starts_servers=starts_servers)
    return list(start_obstacles(resolved, facts, by_remit=here.starts_servers).values())


def git(**launch: object) -> Declaration:
    given = {"command": "git-mcp", "syntaxes": (VariableSyntax.DEFAULTS,), **launch}
    return replace(declared("git"), launch=Launch(**given))  # pyright: ignore[reportArgumentType] - as it is


@pytest.mark.parametrize(
    ("command", "place", "said"),
    [
        ("git-mcp", "command", "`git-mcp` is not on PATH"),
        ("/opt/git-mcp", "command", "`/opt/git-mcp` does not exist"),
        ("node", "args[0]", "the file to run does not exist"),
    ],
)
def test_a_missing_program_is_an_obstacle(command: str, place: str, said: str) -> None:
    declaration = git(command=command)
    facts = LaunchFacts(absent={declaration.key: (place,)})
    assert found(declaration, facts) == [said]
    assert found(declaration, facts, starts_servers=False) == [said]


def test_each_variable_that_is_not_set_is_named_once_where_remit_starts_the_server() -> None:
    declaration = git(args=("${TOKEN}", "${PLACE:-here}"), env={"A": "${TOKEN}", "B": "${HOME}", "C": "${X}"})
    facts = LaunchFacts(variables=frozenset({"HOME"}))
    assert found(declaration, facts) == ["`TOKEN` is not set, `X` is not set"]
    assert found(declaration, facts, starts_servers=False) == []


def test_servers_that_can_start_have_no_obstacles() -> None:
    assert found(git(), LaunchFacts()) == []
    assert found(replace(git(), launch=None), LaunchFacts()) == []
