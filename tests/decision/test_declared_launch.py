from dataclasses import fields, replace
from typing import Any

import pytest

from remit.decision.declared_launch import (
    Launch,
    OAuthClient,
    Transport,
    VariableSyntax,
    is_renewable,
    references,
    steers_code,
)


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("remit", ["serve"]),
        ("/home/ada/.venv/bin/remit", ["serve", "--client", "cursor"]),
        ("C:\\Tools\\remit.exe", ["serve"]),
        ("Remit.EXE", ["serve"]),
        ("remit.cmd", ["serve"]),
        ("cmd", ["/c", "remit.bat", "serve"]),
        ("uvx", ["remit", "serve"]),
        ("uvx", ["--from", "remit", "remit@0.1.0", "serve"]),
        ("python3", ["-m", "remit", "serve"]),
    ],
)
def test_an_entry_that_starts_the_gateway_is_remit_itself(command: str, args: list[str]) -> None:
    assert Launch(command=command, args=tuple(args)).starts_remit


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("remit", ["tools"]),
        ("npx", ["serve"]),
        ("cat", ["/code/remit"]),
        ("remit", []),
        ("premit", ["serve"]),
    ],
)
def test_other_entries_are_not(command: str, args: list[str]) -> None:
    assert not Launch(command=command, args=tuple(args)).starts_remit


TOKEN = "9f86d081884c7d659a2f"  # noqa: S105 - made up
RENEWED = "60303ae22b998861bce3"
ENTRY = Launch(command="run", args=("a",), env={"TOKEN": TOKEN, "NODE_OPTIONS": "--a"}, cwd="/w")


@pytest.mark.parametrize(
    "changed",
    [
        replace(ENTRY, command="walk"),
        replace(ENTRY, args=("b",)),
        replace(ENTRY, args=("a", "b")),
        replace(ENTRY, cwd="/v"),
        replace(ENTRY, cwd=None),
        replace(ENTRY, env={**ENTRY.env, "MORE": "x"}),
        replace(ENTRY, env={**ENTRY.env, "NODE_OPTIONS": "--require=evil"}),
        replace(ENTRY, env={**ENTRY.env, "TOKEN": "${AWS_SECRET_ACCESS_KEY}"}),
        replace(ENTRY, transport=Transport.HTTP),
        replace(ENTRY, variables={"CLAUDE_PLUGIN_ROOT": "/plugins/2.0"}),
    ],
)
def test_a_changed_entry_has_another_digest(changed: Launch) -> None:
    assert changed.digest != ENTRY.digest


def test_a_secret_that_is_renewed_changes_no_digest() -> None:
    assert replace(ENTRY, env={**ENTRY.env, "TOKEN": RENEWED}).digest == ENTRY.digest


@pytest.mark.parametrize(
    "value",
    ["./evil.sh", "/bin/evil9f86d081", "https://evil.test/9f86d081884c", "sh -c 9f86d081884c", "evil", ""],
)
def test_what_could_be_a_path_an_address_or_a_command_is_not_renewed(value: str) -> None:
    assert replace(ENTRY, env={**ENTRY.env, "TOKEN": value}).digest != ENTRY.digest
    assert not is_renewable("TOKEN", value)
    assert is_renewable("TOKEN", TOKEN)


def test_every_part_of_an_entry_counts_whatever_its_transport() -> None:
    parts: dict[str, Any] = {
        "command": "other",
        "args": ("other",),
        "env": {"LD_PRELOAD": "/evil.so"},
        "cwd": "other",
        "url": "https://other.example",
        "headers": {"X": "other"},
        "headers_helper": "other",
        "registered": OAuthClient("other"),
        "variables": {"CLAUDE_PLUGIN_ROOT": "other"},
        "runner_files": {".npmrc": "other"},
    }
    assert {*parts, "transport", "syntaxes"} == {each.name for each in fields(Launch)}
    for transport in Transport:
        plain = Launch(transport=transport)
        digests = {replace(plain, **{name: value}).digest for name, value in parts.items()}
        assert len(digests - {plain.digest}) == len(parts)


def test_a_remote_entry_is_told_by_its_url_and_the_names_of_its_headers() -> None:
    entry = Launch(
        transport=Transport.HTTP, url="https://a.example", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    assert replace(entry, headers={"Authorization": f"Bearer {RENEWED}"}).digest == entry.digest
    assert replace(entry, headers={}).digest != entry.digest
    assert replace(entry, headers={"Authorization": "${OTHER}"}).digest != entry.digest
    assert replace(entry, url="https://b.example").digest != entry.digest


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "Path",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
        "NODE_PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "npm_config_registry",
        "UV_INDEX_URL",
        "PIP_INDEX_URL",
        "JAVA_TOOL_OPTIONS",
        "GIT_SSH_COMMAND",
        "PERL5LIB",
        "RUBYOPT",
        "HOME",
        "PERL5DB",
        "LUA_INIT",
        "LUA_INIT_5_4",
        "DOTNET_STARTUP_HOOKS",
        "RUSTC_WRAPPER",
        "CARGO_BUILD_RUSTC",
        "PYTHONBREAKPOINT",
        "EDITOR",
        "VISUAL",
        "GH_PAGER",
        "BROWSER",
        "ZDOTDIR",
        "DOCKER_HOST",
        "HTTPS_PROXY",
        "no_proxy",
        "SSL_CERT_FILE",
        "NODE_EXTRA_CA_CERTS",
        "_JAVA_OPTIONS",
        "GEM_HOME",
        "BUNDLE_GEMFILE",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "GIT_SSH",
        "CORECLR_PROFILER",
        "COMPlus_EnableEventLog",
        "MAVEN_OPTS",
        "GRADLE_OPTS",
        "PHP_INI_SCAN_DIR",
        "R_PROFILE",
        "JULIA_LOAD_PATH",
        "DENO_DIR",
        "BUN_INSTALL",
        "KUBECONFIG",
        "OPENSSL_CONF",
        "FPATH",
        "REQUESTS_CA_BUNDLE",
        "AWS_CONFIG_FILE",
        "GOFLAGS",
        "SSH_ASKPASS",
        "TMPDIR",
        "MY_TOOL_WRAPPER",
        "ANY_PLUGINS",
        "IFS",
        "npm_config_script_shell",
    ],
)
def test_variables_that_change_which_code_runs_are_known(name: str) -> None:
    assert steers_code(name)


@pytest.mark.parametrize(
    "name",
    ["TOKEN", "GITHUB_TOKEN", "GOOGLE_API_KEY", "DOCKER_PASSWORD", "DATABASE_URL", "DEBUG", "LANG", "PORT"],
)
def test_other_variables_change_no_code(name: str) -> None:
    assert not steers_code(name)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("Bearer ${TOKEN}", ["TOKEN"]),
        ("${A}-${B:-hunter22}", ["A", "B"]),
        ("${env:A} {env:B}", ["A", "B"]),
        ("${{ secrets.A }}", ["A"]),
        ("Bearer $TOKEN", ["TOKEN"]),
        ("pa$word!", []),
        ("pa$word", []),
        ("plain", []),
    ],
)
def test_the_variables_that_a_value_hands_over_are_known_by_name_alone(value: str, names: list[str]) -> None:
    assert references(value) == names


def test_a_launch_never_shows_what_it_holds() -> None:
    assert repr(ENTRY) == "Launch(stdio)"


def test_a_bare_variable_inside_a_word_is_one_only_where_the_client_says_so() -> None:
    assert references("id=$GITHUB_TOKEN") == []
    assert references("id=$GITHUB_TOKEN", (VariableSyntax.BARE,)) == ["GITHUB_TOKEN"]


def test_who_signs_in_is_part_of_the_digest() -> None:
    plain = Launch(transport=Transport.HTTP, url="https://a.example")
    known = [replace(plain, registered=OAuthClient("shop", port)) for port in (0, 8080)]
    assert len({plain.digest, *(each.digest for each in known)}) == 3


def test_a_command_that_makes_headers_is_part_of_the_digest() -> None:
    plain = Launch(transport=Transport.HTTP, url="https://x.example/mcp")
    helped = Launch(transport=Transport.HTTP, url="https://x.example/mcp", headers_helper="make-headers")
    other = Launch(transport=Transport.HTTP, url="https://x.example/mcp", headers_helper="make-others")
    assert len({plain.digest, helped.digest, other.digest}) == 3
    assert plain.endpoint == helped.endpoint


@pytest.mark.parametrize(
    ("command", "args", "runs"),
    [
        ("node", ["server.js"], "node"),
        ("/usr/bin/env", ["-u", "PYTHONEXECUTABLE", "/opt/python", "-I"], "/opt/python"),
        ("env", ["-i", "A=1", "--chdir", "/srv", "node", "server.js"], "node"),
        ("env", ["A=1"], "env"),
        ("env", ["-u"], "env"),
    ],
)
def test_the_program_of_an_entry_is_the_one_behind_env(command: str, args: list[str], runs: str) -> None:
    assert Launch(command=command, args=tuple(args)).program == runs
