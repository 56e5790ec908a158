"""What an address of PostgreSQL means, and that its password is shown nowhere."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="`make test` installs psycopg")

from remit.errors import StoreUnavailableError
from remit.files.own_environment import own_environment
from remit.settings import LIBPQ
from remit.store.open_store import open_store
from remit.store.postgres.postgres_address import connection_parameters, shown

PASSWORD = "pa55:phrase"  # noqa: S105 - of no database


def parameters(address: str, **variables: str) -> dict[str, Any]:
    return connection_parameters(address, variables)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://ada:pa55@db.example:5433/remit", "postgresql://db.example:5433/remit"),
        ("postgresql://ada@db/remit?password=pa55&sslmode=require", "postgresql://db/remit"),
        ("postgresql://a:pa55@one:1,two:2/remit", "postgresql://one,two:1,2/remit"),
        ("postgresql:///remit?host=/run/postgresql&user=pa55", "postgresql:///run/postgresql/remit"),
        ("postgresql:///?service=remit&password=pa55", "postgresql:///?service=remit"),
        ("postgresql://ada:pa55/x@db/remit", "postgresql://"),
        ("postgresql://ada:pa55?x@db/remit", "postgresql://db/remit"),
    ],
)
def test_an_address_is_shown_without_user_and_password(address: str, told: str) -> None:
    assert shown(address) == told


def test_an_invalid_address_is_an_error_that_shows_nothing_of_it() -> None:
    with pytest.raises(StoreUnavailableError, match="is invalid") as raised:
        parameters("postgresql://ada:pa55/x@db/remit")
    assert "pa55" not in f"{raised.value}{raised.value.hint}"
    assert raised.value.__cause__ is None


def test_a_password_comes_from_a_file_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "pass word"
    file.write_text(f"{PASSWORD}\n")
    file.chmod(0o600)
    found = parameters(f"postgresql://ada@db/remit?sslmode=require&password_file={tmp_path}/pass%20word")
    assert (found["password"], found["user"], found["sslmode"]) == (PASSWORD, "ada", "require")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_password_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    file.chmod(0o644)
    with pytest.raises(StoreUnavailableError, match="others can read") as raised:
        parameters(f"postgresql://db/remit?password_file={file}")
    assert raised.value.hint == f"run `chmod 600 {file}`"


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), (b"\xff", "not UTF-8 text")])
def test_a_password_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o600)
    with pytest.raises(StoreUnavailableError, match=reason):
        parameters(f"postgresql://db/remit?password_file={file}")


def test_a_typed_command_leaves_libpqs_variables_to_libpq() -> None:
    assert "options" not in parameters("postgresql://db/remit", PGOPTIONS="-c x=y")


def test_an_installed_process_ignores_the_variables_of_a_repository() -> None:
    """`PGHOSTADDR` would send the password elsewhere, and `PGOPTIONS` could open every project."""
    hostile = {"PGOPTIONS": "-c remit.everything=on", "PGHOSTADDR": "192.0.2.1", "PGSSLMODE": "disable"}
    found = parameters("postgresql://db/remit", **hostile, PGSSLCERT="/own.pem", **{LIBPQ: "PGSSLCERT"})
    assert (found["options"], found["hostaddr"], found["sslmode"]) == ("", "", "prefer")
    assert "sslcert" not in found
    assert parameters("postgresql://db/remit?sslmode=verify-full", **hostile, **{LIBPQ: ""})["sslmode"] == (
        "verify-full"
    )


@pytest.mark.sqlite_only  # the stand-in opens its databases with the driver
def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreUnavailableError, match="psycopg is not installed") as raised:
        open_store(f"postgresql://ada:{PASSWORD}@db/remit")
    assert raised.value.hint == f"run `{own_environment().add_command('psycopg[binary]')}`"
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", "!password"),
        ("?sslmode=require", "!password"),
        ("?sslmode=verify-full", None),
        ("?require_auth=password", "password"),
    ],
)
def test_a_server_that_did_not_prove_who_it_is_gets_no_password_in_clear_text(
    query: str, wanted: str | None
) -> None:
    found = connection_parameters(f"postgresql://ada:hunter22@db.example/remit{query}", {})
    assert found.get("require_auth") == wanted
