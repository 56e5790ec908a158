import pytest

from remit.clients.known_clients import load
from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.decision.permissions.client_facts import CLIENTS
from remit.text.redaction import ANY_VARIABLE
from remit.upstream.launch.variable_expansion import Expanded, expand, unset

VARIABLES = {"NAME": "ada", "EMPTY": "", "A": "1", "NESTED": "${NAME}"}


def expanded(text: str, client: str = "claude-code", variables: dict[str, str] | None = None) -> Expanded:
    launch = Launch(command="run", args=(text,), variables=variables or {}, syntaxes=load(client).syntaxes)
    return expand(launch, VARIABLES, workspace="/code/shop", home="/home/ada")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${NAME}", "ada"),
        ("--user=${NAME}/${A}", "--user=ada/1"),
        ("${NOWHERE:-x}", "x"),
        ("${NOWHERE:-}", ""),
        ("${NAME:-x}", "ada"),
        ("${EMPTY:-x}", ""),  # set, though to nothing
        ("${NOWHERE:-x:-y}", "x:-y"),
        ("${NOWHERE:-${B}}", "${B}"),
        ("${NESTED}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("${env:NAME:-none}", "none"),
        ("{env:NAME}", "{env:NAME}"),
        ("${workspaceFolder:-none}", "none"),
        ("plain", "plain"),
    ],
)
def test_claude_code_fills_braces_once_and_knows_defaults(text: str, filled: str) -> None:
    done = expanded(text)
    assert (done.launch.args, done.missing) == ((filled,), ())


def test_unset_variables_without_default_stay_and_are_named_once() -> None:
    done = expanded("${X} ${Y} ${X} ${user_config.KEY}")
    assert done.launch.args == ("${X} ${Y} ${X} ${user_config.KEY}",)
    assert done.missing == ("X", "Y", "user_config.KEY")


def test_every_field_is_expanded_and_inserted_values_are_recorded() -> None:
    launch = Launch(
        transport=Transport.HTTP,
        command="${NAME}",
        args=("${NAME}",),
        env={"NAME": "${A}"},
        cwd="/${NAME}",
        url="https://${NAME}",
        headers={"X": "Bearer ${NAME}"},
        syntaxes=(VariableSyntax.DEFAULTS,),
    )
    done = expand(launch, VARIABLES, workspace="/", home="/")
    filled = done.launch
    assert (filled.command, filled.args, filled.cwd, filled.url) == ("ada", ("ada",), "/ada", "https://ada")
    assert (filled.env, filled.headers) == ({"NAME": "1"}, {"X": "Bearer ada"})
    assert done.values == {"ada", "1"}


def test_a_plugins_server_knows_where_its_plugin_lies_and_where_it_is_started() -> None:
    own = {"CLAUDE_PLUGIN_ROOT": "/plugins/quill", "CLAUDE_PLUGIN_DATA": "/data/quill"}
    text = "${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PLUGIN_DATA} ${CLAUDE_PROJECT_DIR}"
    assert expanded(text, variables=own).launch.args == ("/plugins/quill /data/quill /code/shop",)
    assert expanded(text).missing == ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR")


@pytest.mark.parametrize(
    ("client", "text", "filled"),
    [
        ("cursor", "${env:NAME} ${workspaceFolder} ${userHome} ${NAME}", "ada /code/shop /home/ada ${NAME}"),
        ("cursor", "${workspaceFolderBasename}${pathSeparator}${/}", "shop//"),
        ("vscode", "${env:NAME} ${workspaceFolder}", "ada /code/shop"),
        ("roo", "${env:NAME}", "ada"),
        ("windsurf", "${env:NAME} ${workspaceFolder}", "ada ${workspaceFolder}"),
        ("gemini-cli", "$NAME ${NAME} ${NOWHERE:-d} costs $5", "ada ada d costs $5"),
        ("copilot-cli", "$NAME/${NAME}", "ada/ada"),
        ("opencode", "{env:NAME} ${NAME}", "ada ${NAME}"),
        ("kiro", "${NAME} $NAME", "ada $NAME"),
        ("continue", "${{ secrets.NAME }} ${NAME}", "ada ${NAME}"),
        ("claude-desktop", "${NAME} $NAME", "${NAME} $NAME"),
        ("codex", "$NAME ${NAME} ${env:NAME}", "$NAME ${NAME} ${env:NAME}"),
    ],
)
def test_every_other_client_has_its_own_way_of_writing_variables(client: str, text: str, filled: str) -> None:
    done = expanded(text, client)
    assert (done.launch.args, done.missing) == ((filled,), ())


@pytest.mark.parametrize(
    ("client", "text", "missing"),
    [
        ("vscode", "${input:token}", "input:token"),
        ("cursor", "${env:NOWHERE}", "NOWHERE"),
        ("opencode", "{file:~/key}", "file:~/key"),
        ("continue", "${{secrets.NOWHERE}}", "NOWHERE"),
        ("gemini-cli", "$NOWHERE", "NOWHERE"),
        ("kiro", "${NOWHERE}", "NOWHERE"),
    ],
)
def test_variables_that_only_another_client_knows_are_named(client: str, text: str, missing: str) -> None:
    done = expanded(text, client)
    assert (done.launch.args, done.missing) == ((text,), (missing,))


def test_a_bare_word_inside_a_text_may_be_literal() -> None:
    assert expanded("the $ref of it", "gemini-cli").missing == ()


@pytest.mark.parametrize(
    ("client", "text", "names"),
    [
        ("claude-code", "${NOWHERE}-${NAME}-${OTHER:-x}", ["NOWHERE"]),
        ("claude-code", "${user_config.KEY} ${env:NOWHERE}", []),
        ("claude-desktop", "${NOWHERE}", []),
        ("cursor", "${env:NOWHERE} ${workspaceFolder} ${NOWHERE}", ["NOWHERE"]),
        ("vscode", "${input:token}", []),
        ("opencode", "{env:NOWHERE} {file:~/key}", ["NOWHERE"]),
        ("gemini-cli", "$NOWHERE", ["NOWHERE"]),
        ("continue", "${{ secrets.NOWHERE }}", []),
        ("codex", "Bearer ${named:NOWHERE}", ["NOWHERE"]),
    ],
)
def test_environment_variables_that_are_not_set_are_those_the_client_would_read(
    client: str, text: str, names: list[str]
) -> None:
    assert unset(text, Launch(syntaxes=load(client).syntaxes), {"NAME"}) == names


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_states_how_it_writes_variables(client: str) -> None:
    syntaxes = load(client).syntaxes
    assert len(set(syntaxes)) == len(syntaxes)
    assert set(syntaxes) <= set(VariableSyntax)


def test_a_variable_of_the_repository_decides_neither_what_runs_nor_whom_it_reaches() -> None:
    variables = {"NAME": "other", "API_TOKEN": "sk-4f9a8b7c6d5e4f3a2b1c", "HOME": "/home/ada"}
    launch = Launch(
        command="${NAME:-run}",
        args=("${NAME:-serve}", "--token=${API_TOKEN}", "${HOME}"),
        cwd="${NAME:-api}",
        url="https://${NAME:-api}.example",
        env={"MODE": "${NAME}", "NOTES_SCRIPT": "${NAME:-run}", "API_URL": "${NAME:-api}"},
        headers={"X-Name": "${NAME}"},
        syntaxes=load("claude-code").syntaxes,
    )
    for foreign in ({"NAME", "API_TOKEN"}, {ANY_VARIABLE}):
        done = expand(launch, variables, workspace="/", home="/", foreign=frozenset(foreign)).launch
        assert (done.command, done.cwd, done.url) == ("run", "api", "https://api.example")
        assert done.args == ("serve", "--token=sk-4f9a8b7c6d5e4f3a2b1c", "/home/ada")
        assert done.env == {"MODE": "other", "NOTES_SCRIPT": "run", "API_URL": "api"}
        assert done.headers == {"X-Name": "other"}
    done = expand(launch, variables, workspace="/", home="/").launch
    assert (done.command, done.cwd, done.url) == ("other", "other", "https://other.example")
