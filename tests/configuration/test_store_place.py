"""Where the store is: a user and an administrator may name a PostgreSQL database, a project may not."""

import json
from pathlib import Path

import pytest

from remit.configuration.store_place import admin_place, key_file, store_place
from remit.errors import BadFileError, BadVariableError
from remit.files.bounded_reader import Machine
from support.sandbox import Sandbox

SHARED = "postgresql://remit@db.example/remit"


def machine(folder: Path, **variables: str) -> Machine:
    return Machine(
        home=str(folder),
        variables={"REMIT_HOME": str(folder / "data"), **variables},
        root=str(folder / "root"),
    )


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def own(folder: Path, text: str) -> Path:
    return write(folder / ".config/remit/remit.toml", text)


def test_without_settings_the_store_is_a_file_in_the_data_directory(tmp_path: Path) -> None:
    assert store_place(machine(tmp_path)) == (str(tmp_path / "data/remit.db"), "")


@pytest.mark.parametrize("text", ["", "strategy = 'flat'", "[tools.restore]\ndanger = 'low'", "[store]\n"])
def test_a_file_that_names_no_store_leaves_the_default(tmp_path: Path, text: str) -> None:
    own(tmp_path, text if text != "[store]\n" else "[tools.store]\ndanger = 'low'")
    assert store_place(machine(tmp_path)).source == ""


def test_the_users_file_names_the_store(tmp_path: Path) -> None:
    path = own(tmp_path, f'mode = "plan"\nstore = "{SHARED}"\n')
    assert store_place(machine(tmp_path)) == (SHARED, str(path))


def test_a_variable_wins_over_the_users_file_and_the_administrators_file_over_both(tmp_path: Path) -> None:
    own(tmp_path, f'store = "{SHARED}"')
    here = machine(tmp_path, REMIT_STORE="postgres:///mine")
    assert store_place(here) == ("postgres:///mine", "REMIT_STORE")
    managed = write(tmp_path / "root/etc/remit/remit.toml", f'store = "{SHARED}"')
    assert store_place(here) == (SHARED, str(managed))


def test_the_password_file_becomes_a_part_of_the_address(tmp_path: Path) -> None:
    own(tmp_path, f'store = "{SHARED}"\nstore_password_file = "~/a b"')
    assert store_place(machine(tmp_path)).place == f"{SHARED}?password_file={tmp_path}/a%20b"
    own(tmp_path, f'store = "{SHARED}?sslmode=require"\nstore_password_file = "/run/password"')
    assert store_place(machine(tmp_path)).place == f"{SHARED}?sslmode=require&password_file=/run/password"


def test_a_file_with_a_syntax_error_keeps_its_store(tmp_path: Path) -> None:
    own(tmp_path, f'store = "{SHARED}"\nmode = \n[tools.x]\nstore = "postgresql://other"\n')
    assert store_place(machine(tmp_path)).place == SHARED


def test_a_file_that_cannot_be_read_counts_as_every_invalid_file(tmp_path: Path) -> None:
    own(tmp_path, "").unlink()
    (tmp_path / ".config/remit/remit.toml").mkdir()
    assert store_place(machine(tmp_path)).source == ""
    assert store_place(machine(tmp_path, REMIT_CONFIG="/dev/null")).source == ""


@pytest.mark.parametrize(
    "text",
    [
        "store = 1",
        'store = "sqlite:/x-secret"',
        f'store = "{SHARED}"\nstore_password_file = "relative-secret"',
    ],
)
def test_a_value_that_is_no_address_is_an_error_that_does_not_show_it(tmp_path: Path, text: str) -> None:
    own(tmp_path, text)
    with pytest.raises(BadFileError, match="expected") as raised:
        store_place(machine(tmp_path))
    assert "secret" not in f"{raised.value} {raised.value.hint}"


def test_a_variable_that_is_no_address_is_an_error_that_does_not_show_it(tmp_path: Path) -> None:
    with pytest.raises(BadVariableError, match="REMIT_STORE") as raised:
        store_place(machine(tmp_path, REMIT_STORE="mysql://ada:pa55phrase@db"))
    assert "secret" not in f"{raised.value} {raised.value.hint}"


def test_an_address_is_not_part_of_the_representation(tmp_path: Path) -> None:
    place = store_place(machine(tmp_path, REMIT_STORE="postgresql://ada:pa55phrase@db/remit"))
    assert "pa55phrase" not in repr(place)


def test_a_project_cannot_choose_the_store(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / "remit.toml", 'store = "postgresql://ada:pa55phrase@db/remit"\n')
    checked = sandbox.remit("policy", "check", "--project", str(shop))
    assert checked.returncode == 1
    assert "a project cannot choose the store" in checked.stdout + checked.stderr
    assert "pa55phrase" not in checked.stdout + checked.stderr
    assert sandbox.remit("tools", "--project", str(shop)).returncode == 0
    assert b"pa55phrase" not in sandbox.database.read_bytes()


def test_the_password_of_a_users_file_is_not_stored(sandbox: Sandbox) -> None:
    sandbox.write(
        sandbox.home / ".config/remit/remit.toml", 'store = "postgresql://ada:pa55phrase@db/remit"\n'
    )
    registry = sandbox.registry()
    here = registry.at(str(sandbox.project("shop")))
    assert registry.configuration.problems(here.workspace) == []
    registry.close()
    assert b"pa55phrase" not in sandbox.database.read_bytes()


@pytest.mark.parametrize("text", ["store = 1", 'store = "x"', 'store_password_file = "x"', "store = []"])
def test_an_invalid_store_is_a_mistake_in_the_file(sandbox: Sandbox, text: str) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", text)
    registry = sandbox.registry()
    found = registry.configuration.problems(registry.at(str(sandbox.project("shop"))).workspace)
    assert "expected" in json.dumps(found)
    registry.close()


def test_the_key_file_is_named_as_the_store_is(tmp_path: Path) -> None:
    assert key_file(machine(tmp_path)) is None
    own(tmp_path, 'store_key_file = "~/remit.key"\n')
    assert key_file(machine(tmp_path)) == str(tmp_path / "remit.key")
    assert key_file(machine(tmp_path, REMIT_STORE_KEY_FILE="/run/key")) == "/run/key"
    own(tmp_path, 'store_key_file = "remit.key"\n')
    with pytest.raises(BadFileError, match=r"`store_key_file` in .*: expected an absolute path"):
        key_file(machine(tmp_path))


def test_administrators_have_an_address_of_their_own_or_that_of_all(tmp_path: Path) -> None:
    boss = SHARED.replace("remit@", "boss@")
    file = own(tmp_path, f'store = "{SHARED}"\n')
    assert admin_place(machine(tmp_path)) == (SHARED, str(file))
    own(tmp_path, f'store = "{SHARED}"\nstore_admin = "{boss}"\nstore_admin_password_file = "/run/boss"\n')
    assert admin_place(machine(tmp_path)).place == f"{boss}?password_file=/run/boss"
    assert store_place(machine(tmp_path)).place == SHARED
    here = machine(tmp_path, REMIT_STORE_ADMIN="postgres:///mine")
    assert admin_place(here) == ("postgres:///mine", "REMIT_STORE_ADMIN")
    with pytest.raises(BadVariableError, match="`REMIT_STORE_ADMIN`: expected the address"):
        admin_place(machine(tmp_path, REMIT_STORE_ADMIN="secret"))
    own(tmp_path, f'store_admin = "{boss}"\n')
    assert admin_place(machine(tmp_path)).place == str(tmp_path / "data/remit.db")  # nothing to administer
