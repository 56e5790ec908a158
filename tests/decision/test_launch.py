from dataclasses import replace

import pytest

from remit.decision.launch import Launch, OAuthClient, Transport, VariableSyntax, references, steers_code


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


ENTRY = Launch(command="run", args=("a",), env={"TOKEN": "x", "NODE_OPTIONS": "--a"}, cwd="/w")


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
    assert replace(ENTRY, env={**ENTRY.env, "TOKEN": "y"}).digest == ENTRY.digest


def test_a_remote_entry_is_told_by_its_url_and_the_names_of_its_headers() -> None:
    entry = Launch(transport=Transport.HTTP, url="https://a.example", headers={"Authorization": "x"})
    assert replace(entry, headers={"Authorization": "y"}).digest == entry.digest
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
    ],
)
def test_variables_that_change_which_code_runs_are_known(name: str) -> None:
    assert steers_code(name)


@pytest.mark.parametrize("name", ["TOKEN", "GITHUB_TOKEN", "GOOGLE_API_KEY", "DATABASE_URL", "DEBUG", "LANG"])
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
