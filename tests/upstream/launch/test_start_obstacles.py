from dataclasses import replace

import pytest

from remit.decision.declarations import Declaration, Resolved
from remit.decision.declared_launch import Launch, VariableSyntax
from remit.decision.kinds import ConfigStatus
from remit.upstream.launch.start_obstacles import LaunchFacts, start_fixes, start_obstacles
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


@pytest.mark.parametrize(
    ("command", "said", "fix"),
    [
        (
            "npx -y @scope/server",
            "its `command` contains arguments",
            'put the arguments into `args`: `npx` is the command, and `["-y", "@scope/server"]` its `args`',
        ),
        (
            "npx server --token=ghp_1234567890abcdefABCDEF1234567890abcd",
            "its `command` contains arguments",
            "put the arguments into `args`",
        ),
        ("/opt/my servers/git-mcp", "`/opt/my servers/git-mcp` does not exist", "correct the path"),
    ],
)
def test_a_command_with_arguments_in_it_is_told_where_they_belong(command: str, said: str, fix: str) -> None:
    declaration = git(command=command)
    facts = LaunchFacts(absent={declaration.key: ("command",)})
    assert found(declaration, facts) == [said]
    resolved = [Resolved(declaration=declaration, config_status=ConfigStatus.ENABLED)]
    assert list(start_fixes(resolved, facts).values()) == [fix]


def test_each_variable_that_is_not_set_is_named_once_where_remit_starts_the_server() -> None:
    declaration = git(args=("${TOKEN}", "${PLACE:-here}"), env={"A": "${TOKEN}", "B": "${HOME}", "C": "${X}"})
    facts = LaunchFacts(variables=frozenset({"HOME"}))
    assert found(declaration, facts) == ["`TOKEN` is not set, `X` is not set"]
    assert found(declaration, facts, starts_servers=False) == []


def test_servers_that_can_start_have_no_obstacles() -> None:
    assert found(git(), LaunchFacts()) == []
    assert found(replace(git(), launch=None), LaunchFacts()) == []
