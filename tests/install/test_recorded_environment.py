"""What an installed process takes from its record, whatever its environment says."""

import json
import os
from pathlib import Path

import pytest

from remit.decision.permissions.client_facts import CLIENTS
from remit.errors import InstallRecordError
from remit.install.recorded_environment import (
    RecordedEnvironment,
    account_home,
    environment_of,
    has_store_password,
    is_fixed,
    parse_environment,
    read_environment,
    unrecorded,
)

RECORDED = RecordedEnvironment(
    "/home/ada", "/data/remit", "/etc/ada.toml", {"REMIT_EMBEDDINGS": "none", "CODEX_HOME": "/c"}
)


def applied(
    recorded: RecordedEnvironment, environment: dict[str, str], platform: str = "linux"
) -> dict[str, str]:
    recorded.apply(environment, platform)
    return environment


def test_paths_come_from_the_record_and_other_variables_stay() -> None:
    hostile = {"HOME": "/repo", "REMIT_HOME": "/repo", "REMIT_CONFIG": "/dev/null", "CODEX_HOME": "/repo"}
    assert applied(RECORDED, {**hostile, "PATH": "/bin", "TOKEN": "t"}) == {
        "HOME": "/home/ada",
        "REMIT_HOME": "/data/remit",
        "REMIT_CONFIG": "/etc/ada.toml",
        "REMIT_EMBEDDINGS": "none",
        "CODEX_HOME": "/c",
        "PATH": "/bin",
        "TOKEN": "t",
    }


@pytest.mark.parametrize(
    "variable",
    [
        "REMIT_EMBEDDINGS_KEY",
        "remit_home",
        "CLAUDE_CONFIG_DIR",
        "https_proxy",
        "SSLKEYLOGFILE",
        "OPENSSL_CONF",
        "LOCALDOMAIN",
        "RES_OPTIONS",
        "HOSTALIASES",
        "KRB5_CONFIG",
    ],
)
def test_a_variable_that_says_where_something_is_does_not_come_from_the_environment(variable: str) -> None:
    assert variable not in applied(RecordedEnvironment("/home/ada"), {variable: "/repo"})


def test_every_variable_that_locates_a_clients_files_is_fixed() -> None:
    assert [name for client in CLIENTS.values() for name in client.locating if not is_fixed(name)] == []


def test_the_mark_of_a_nested_gateway_stays() -> None:
    assert applied(RecordedEnvironment("/home/ada"), {"REMIT_DEPTH": "1"})["REMIT_DEPTH"] == "1"


def test_on_windows_the_home_is_the_users_profile() -> None:
    assert applied(RecordedEnvironment("C:/ada"), {"USERPROFILE": "C:/repo"}, "win32") == {
        "USERPROFILE": "C:/ada"
    }


def test_without_a_recorded_home_the_account_decides() -> None:
    account = account_home({})
    assert applied(RecordedEnvironment(), {"HOME": "/repo"}) == {"HOME": account}
    assert os.path.isabs(account)


def test_the_ground_is_what_the_person_who_installs_has() -> None:
    variables = {
        "HOME": "/h",
        "XDG_DATA_HOME": "/x",
        "https_proxy": "http://proxy:1",
        "PATH": "/bin",
        "NO_PROXY": "",
        "REMIT_EMBEDDINGS_KEY": "secret",
    }
    recorded = environment_of("/h", "/x/remit", "/h/remit.toml", variables)
    assert recorded.variables == {"XDG_DATA_HOME": "/x", "https_proxy": "http://proxy:1"}
    assert (recorded.home, recorded.data, recorded.configuration) == ("/h", "/x/remit", "/h/remit.toml")


def test_passwords_and_keys_are_not_recorded_and_that_is_said() -> None:
    variables = {"HTTPS_PROXY": "http://ada:pw@proxy:1", "REMIT_EMBEDDINGS_KEY": "secret"}
    assert environment_of("/h", "/d", "/c", variables).variables == {}
    assert unrecorded(variables) == ["HTTPS_PROXY", "REMIT_EMBEDDINGS_KEY"]
    assert unrecorded({**variables, "REMIT_EMBEDDINGS_KEY_FILE": "/k", "HTTPS_PROXY": ""}) == []


def test_a_record_holds_the_ground(tmp_path: Path) -> None:
    record = tmp_path / "claude-code.json"
    record.write_text(json.dumps({"ground": RECORDED.as_json()}))
    assert read_environment(str(record)) == RECORDED


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", "1", '{"ground": null}', '{"ground": {"home": 1}}', "[" * 100_000),
        *('{"ground": {"home": "relative"}}', '{"ground": {"variables": []}}', "\udcff"),
    ],
)
def test_a_damaged_record_is_an_error_that_says_how_to_repair_it(tmp_path: Path, text: str) -> None:
    record = tmp_path / "cursor.json"
    record.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InstallRecordError, match=r"cursor\.json is damaged") as raised:
        read_environment(str(record))
    assert "`remit install cursor`" in (raised.value.hint or "")


def test_a_record_that_is_missing_or_unreadable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InstallRecordError, match="does not exist"):
        read_environment(str(tmp_path / "none.json"))
    with pytest.raises(InstallRecordError, match="cannot be read"):
        read_environment(str(tmp_path))


def test_the_store_is_recorded_and_a_repository_cannot_choose_another() -> None:
    variables = {"REMIT_STORE": "postgresql://ada@db/remit", "PGPASSFILE": "/h/pass", "PGOPTIONS": "-c x=y"}
    recorded = environment_of("/h", "/d", "/c", variables, is_shared=True)
    assert (recorded.store, recorded.variables) == ("postgresql://ada@db/remit", {"PGPASSFILE": "/h/pass"})
    assert parse_environment(recorded.as_json()) == recorded
    hostile = {"REMIT_STORE": "postgresql://evil/db", "PGSERVICE": "evil", "PGHOSTADDR": "192.0.2.1"}
    found = applied(recorded, hostile)
    assert found["REMIT_STORE"] == "postgresql://ada@db/remit"
    assert "PGSERVICE" not in found
    # Servers of the user may need it; the store's connection ignores what is not recorded.
    assert (found["PGHOSTADDR"], found["REMIT_LIBPQ_VARIABLES"]) == ("192.0.2.1", "PGPASSFILE")


def test_a_store_on_this_machine_records_no_variables_of_a_database() -> None:
    assert environment_of("/h", "/d", "/c", {"PGPASSFILE": "/h/pass"}).variables == {}
    assert unrecorded({"PGPASSWORD": "pw"}) == []
    assert unrecorded({"PGPASSWORD": "pw"}, is_shared=True) == ["PGPASSWORD"]


@pytest.mark.parametrize("store", [1, "", "sqlite:/x", "/x"])
def test_a_record_with_another_kind_of_store_is_damaged(store: object) -> None:
    with pytest.raises(ValueError, match="address of a store"):
        parse_environment({"store": store})


@pytest.mark.parametrize(
    ("address", "has"),
    [
        ("postgresql://db/remit", False),
        ("postgresql://ada@db:5433/remit", False),
        ("postgresql://db/remit?password_file=/run/pw", False),
        ("postgresql://ada:pw@db/remit", True),
        ("postgresql://ada:p@w/x@db/remit", True),
        ("postgresql://db/remit?user=ada&password=pw", True),
        ("postgresql://db/remit?sslpassword=pw", True),
    ],
)
def test_an_address_with_a_password_is_recognized(address: str, has: bool) -> None:
    assert has_store_password(address) is has
