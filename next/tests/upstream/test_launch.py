"""What a server is started with: its variables, its environment, its permit."""

from collections.abc import Mapping
from typing import Any

import pytest

from remit.config import Sandbox, ServerOptions
from remit.decision import (
    Decision,
    Launch,
    Resolved,
    Scope,
    Status,
    ToolDecision,
    Transport,
    VariableSyntax,
    Verdict,
)
from remit.errors import NotReadyError
from remit.upstream import LocalLauncher, Upstream, make_upstreams
from remit.upstream.failures import secrets_of, url_secrets
from remit.upstream.variables import Expanded, expand, unset
from support.builders import SHOP, context, declared, server
from support.upstreams import launcher, upstream

VARIABLES = {"NAME": "ada", "EMPTY": "", "A": "1", "NESTED": "${NAME}"}
CLAUDE = (VariableSyntax.DEFAULTS,)
CURSOR = (VariableSyntax.DOLLAR_ENV, VariableSyntax.WORKSPACE)
GEMINI = (VariableSyntax.DEFAULTS, VariableSyntax.BARE)
HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"  # made up


def expanded(
    text: str, syntaxes: tuple[VariableSyntax, ...] = CLAUDE, own: Mapping[str, str] | None = None
) -> Expanded:
    launch = Launch(command="run", args=(text,), variables=own or {}, syntaxes=syntaxes)
    return expand(launch, VARIABLES, workspace="/code/shop", home="/home/ada")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("--user=${NAME}/${A}", "--user=ada/1"),
        ("${NOWHERE:-x}${NOWHERE:-}", "x"),
        ("${EMPTY:-x}", ""),  # set, though to nothing
        ("${NOWHERE:-x:-y}", "x:-y"),
        ("${NESTED}", "${NAME}"),  # an inserted value is not expanded again
        ("$NAME {env:NAME}", "$NAME {env:NAME}"),
        ("${env:NAME:-none}", "none"),
    ],
)
def test_claude_code_fills_braces_once_and_knows_defaults(text: str, filled: str) -> None:
    assert (expanded(text).launch.args, expanded(text).missing) == ((filled,), ())


@pytest.mark.parametrize(
    ("syntaxes", "text", "filled"),
    [
        (CURSOR, "${env:NAME} ${workspaceFolder} ${userHome} ${NAME}", "ada /code/shop /home/ada ${NAME}"),
        (CURSOR, "${workspaceFolderBasename}${pathSeparator}${/}", "shop//"),
        (GEMINI, "$NAME ${NAME} ${NOWHERE:-d} costs $5", "ada ada d costs $5"),
        (GEMINI, "the $ref of it", "the $ref of it"),
        ((VariableSyntax.BRACE_ENV,), "{env:NAME} ${NAME}", "ada ${NAME}"),
        ((VariableSyntax.SECRETS,), "${{ secrets.NAME }} ${NAME}", "ada ${NAME}"),
        ((), "$NAME ${NAME} ${env:NAME}", "$NAME ${NAME} ${env:NAME}"),
    ],
)
def test_every_other_client_has_its_own_way_of_writing_variables(
    syntaxes: tuple[VariableSyntax, ...], text: str, filled: str
) -> None:
    assert (expanded(text, syntaxes).launch.args, expanded(text, syntaxes).missing) == ((filled,), ())


def test_unset_variables_stay_as_written_and_are_named_once() -> None:
    result = expanded("${X} ${Y} ${X} ${user_config.KEY}")
    assert result.launch.args == ("${X} ${Y} ${X} ${user_config.KEY}",)
    assert result.missing == ("X", "Y", "user_config.KEY")
    assert unset("${NOWHERE}-${NAME}-${OTHER:-x} ${user_config.KEY}", Launch(syntaxes=CLAUDE), {"NAME"}) == [
        "NOWHERE"
    ]
    assert unset("${input:token}", Launch(syntaxes=(VariableSyntax.INPUT,)), ()) == []


def test_variables_of_plugins_count_only_in_the_entries_of_plugins() -> None:
    text = "${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PROJECT_DIR}"
    own = {"CLAUDE_PLUGIN_ROOT": "/plugins/quill"}
    assert expanded(text, own=own).launch.args == ("/plugins/quill /code/shop",)
    assert expanded(text).missing == ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR")


def test_every_field_is_expanded_and_inserted_values_are_recorded() -> None:
    launch = Launch(
        transport=Transport.HTTP,
        env={"NAME": "${A}"},
        cwd="/${NAME}",
        url="https://${NAME}",
        headers={"X": "Bearer ${NAME}"},
        syntaxes=CLAUDE,
    )
    result = expand(launch, VARIABLES, workspace="/", home="/")
    assert (result.launch.cwd, result.launch.url) == ("/ada", "https://ada")
    assert (result.launch.env, result.launch.headers) == ({"NAME": "1"}, {"X": "Bearer ada"})
    assert result.values == {"ada", "1"}


OURS = {
    "PATH": "/bin",
    "TOKEN": "t",
    "SSL_CERT_FILE": "/certificates",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_OAUTH_TOKEN": "secret",
    "CLAUDE_CONFIG_DIR": "/config",
    "REMIT_EMBEDDINGS_KEY": "secret",
    "REMIT_HOME": "/data",
}


def given(launch: Launch | None = None, **fields: Any) -> Mapping[str, str]:
    made = upstream(launch or Launch(command="run"), directory="/code/shop", **fields)
    return launcher(OURS).make_ready(made).environment


def test_a_server_gets_the_users_variables_without_internals_and_those_of_its_entry_win() -> None:
    launch = Launch(command="run", env={"TOKEN": "own"}, variables={"CLAUDE_PLUGIN_ROOT": "/plugin"})
    assert given(launch) == {
        "PATH": "/bin",
        "TOKEN": "own",
        "SSL_CERT_FILE": "/certificates",
        "CLAUDE_CONFIG_DIR": "/config",
        "REMIT_HOME": "/data",
        "CLAUDE_PLUGIN_ROOT": "/plugin",
        "PWD": "/code/shop",
        "CLAUDE_PROJECT_DIR": "/code/shop",
        "REMIT_DEPTH": "1",  # under which no gateway starts
    }


def test_a_server_that_inherits_nothing_still_gets_what_every_program_needs() -> None:
    needed = {"PATH": "/bin", "SSL_CERT_FILE": "/certificates", "PWD": "/code/shop", "REMIT_DEPTH": "1"}
    assert given(client="cursor", inherits=False) == needed
    assert given(client="cursor", inherits=("TOKEN",)) == {**needed, "TOKEN": "t"}


def test_the_program_of_the_configuration_starts_the_server() -> None:
    wrapped = upstream(
        Launch(command="run", args=("it",), cwd="api"), directory="/code", wrap=("nice", "-n5")
    )
    ready = launcher().make_ready(wrapped)
    assert (ready.words, ready.cwd) == (("nice", "-n5", "run", "it"), "/code/api")


def test_without_a_permit_nothing_is_started() -> None:
    ours = Upstream(key=("memory",), label="memory", client="", source="remit", permit=None)
    with pytest.raises(NotReadyError, match="may not be started"):
        LocalLauncher({}, "/", "/").make_ready(ours)


def made(scope: Scope, options: ServerOptions | None = None, *, status: Status = Status.ENABLED) -> Any:
    entry = declared("git", scope, launch=Launch(command="run"), status=status)
    row = ToolDecision(server("git", scope=scope), Decision(Verdict.VISIBLE, None, "", None))
    found = make_upstreams(
        [Resolved(entry)], [row], context(), lambda _: options or ServerOptions(), trusted={}
    )
    return found.get(entry.key)


def test_an_available_row_becomes_an_upstream_if_its_entry_has_a_permit() -> None:
    own = made(Scope.GLOBAL)
    assert (own.label, own.directory, own.inherits) == ("git", "/home/ada", True)
    assert made(Scope.PROJECT) is None  # nobody trusts it
    assert made(Scope.GLOBAL, status=Status.DISABLED) is None


def test_a_sandboxed_server_inherits_little_and_knows_its_project() -> None:
    boxed = made(Scope.GLOBAL, ServerOptions(sandbox=Sandbox()))
    assert (boxed.inherits, boxed.root) == (False, SHOP.dir)
    assert made(Scope.GLOBAL, ServerOptions(sandbox=Sandbox(), inherit_env=True)).inherits is True


def test_upstreams_of_an_unchanged_entry_are_started_alike() -> None:
    assert made(Scope.GLOBAL).is_started_like(made(Scope.GLOBAL))
    assert not made(Scope.GLOBAL).is_started_like(made(Scope.GLOBAL, ServerOptions(deadline=5)))


def hidden(launch: Launch, environment: Mapping[str, str] | None = None) -> frozenset[str]:
    return secrets_of(Expanded(launch, (), frozenset()), launch, environment or {})


def test_secrets_are_known_wherever_an_entry_may_have_them() -> None:
    assert set(url_secrets("https://ada:pw@mcp.example/x?a=b#y")) == {"ada", "pw", "a=b", "y"}
    assert HEX in set(url_secrets(f"https://mcp.example/s/{HEX}/mcp"))
    assert list(url_secrets("https://[broken")) == ["https://[broken"]
    secret = {"SMTP_PASS": "hunter21", "jwt": "hunter23", "X": HEX}
    assert hidden(Launch(command="run"), {**secret, "LANG": "C.UTF-8"}) == set(secret.values())
    args = (
        "--db-pass",
        "hunter21",
        "--sig=hunter22",
        HEX,
        f"Authorization: Bearer sk-{HEX}",
        "--port",
        "8080",
    )
    found = hidden(Launch(command="run", args=args, headers={"X-Key": "Token hunter24"}))
    assert {"hunter21", "hunter22", HEX, f"sk-{HEX}", "hunter24"} <= found
    assert not {"8080", "--port", "--db-pass"} & found


def test_the_home_directory_is_no_secret() -> None:
    launch = Launch(command="run", args=("${HOME}", "${TOKEN}"), syntaxes=CLAUDE)
    started = LocalLauncher({"HOME": "/home/ada", "TOKEN": "t0k3n"}, "/home/ada", "/data")
    assert started.make_ready(upstream(launch)).secrets == {"t0k3n"}
