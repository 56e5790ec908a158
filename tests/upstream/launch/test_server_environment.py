from collections.abc import Mapping
from typing import Any

from remit.decision.declared_launch import Launch
from remit.settings import NESTED
from remit.upstream.launch.variable_expansion import environment, inherited
from support.upstream_pools import upstream

RUN = Launch(command="run")


def made(launch: Launch = RUN, variables: Mapping[str, str] | None = None, **others: Any) -> dict[str, str]:
    place = "/code/shop"
    given = upstream(launch, **others)
    return environment(given, launch, directory=place, place=place, variables=variables or {})


OURS = {
    "PATH": "/bin",
    "TOKEN": "t",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_OAUTH_TOKEN": "secret",
    "CLAUDE_PROJECT_DIR": "/elsewhere",
    "CLAUDE_CONFIG_DIR": "/config",
    "REMIT_EMBEDDINGS_KEY": "secret",
    "REMIT_HOME": "/data",
}


def test_a_server_gets_the_users_variables_without_the_internals_of_its_client_and_of_remit() -> None:
    kept = {"PATH": "/bin", "TOKEN": "t", "CLAUDE_CONFIG_DIR": "/config", "REMIT_HOME": "/data"}
    assert inherited(upstream(RUN), OURS) == kept


def test_a_server_that_inherits_nothing_still_gets_what_every_program_needs() -> None:
    assert inherited(upstream(RUN, inherits=False), OURS) == {"PATH": "/bin"}
    assert inherited(upstream(RUN, inherits=("TOKEN",)), OURS) == {"PATH": "/bin", "TOKEN": "t"}


def test_a_server_of_claude_code_is_told_its_project_and_every_server_that_remit_started_it() -> None:
    assert made() == {
        "PWD": "/code/shop",
        "CLAUDE_PROJECT_DIR": "/code/shop",
        "REMIT_DEPTH": NESTED,
    }
    assert made(client="cursor") == {"PWD": "/code/shop", "REMIT_DEPTH": NESTED}


def test_the_entrys_own_variables_are_the_strongest() -> None:
    launch = Launch(command="run", env={"TOKEN": "own"}, variables={"CLAUDE_PLUGIN_ROOT": "/plugin"})
    given = made(launch, OURS)
    assert (given["TOKEN"], given["CLAUDE_PLUGIN_ROOT"]) == ("own", "/plugin")
