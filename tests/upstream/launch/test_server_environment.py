from remit.decision.launch import Launch
from remit.upstream.launch.server_environment import environment, inherited
from remit.upstream.upstream_model import Upstream


def upstream(
    launch: Launch | None = None,
    *,
    client: str = "claude-code",
    inherits: bool | tuple[str, ...] = True,
) -> Upstream:
    return Upstream(
        key=("x",),
        label="x",
        client=client,
        launch=launch or Launch(command="run"),
        directory="/code/shop",
        source="/files/.mcp.json",
        inherits=inherits,
    )


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
    assert inherited(upstream(), OURS) == kept


def test_a_server_that_inherits_nothing_still_gets_what_every_program_needs() -> None:
    assert inherited(upstream(inherits=False), OURS) == {"PATH": "/bin"}
    assert inherited(upstream(inherits=("TOKEN",)), OURS) == {"PATH": "/bin", "TOKEN": "t"}


def test_a_server_of_claude_code_is_told_its_project_and_every_server_that_remit_started_it() -> None:
    assert environment(upstream(), {}) == {
        "PWD": "/code/shop",
        "CLAUDE_PROJECT_DIR": "/code/shop",
        "REMIT_DEPTH": "1",
    }
    assert environment(upstream(client="cursor"), {}) == {"PWD": "/code/shop", "REMIT_DEPTH": "1"}


def test_the_entrys_own_variables_are_the_strongest() -> None:
    launch = Launch(command="run", env={"TOKEN": "own"}, variables={"CLAUDE_PLUGIN_ROOT": "/plugin"})
    made = environment(upstream(launch), OURS)
    assert (made["TOKEN"], made["CLAUDE_PLUGIN_ROOT"]) == ("own", "/plugin")
