"""`remit store`, as a person types it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from remit.store.sqlite.sqlite_database import SCHEMA_VERSION
from support.databases import run_sql
from support.filled_stores import content_of, fill_every_table
from support.postgres import Databases, binaries, needs_postgres
from support.sandbox import Sandbox

PASSWORD = "pa55phrase"  # noqa: S105 - the server trusts everyone


def newest() -> int:
    from remit.store.postgres import postgres_schema  # its driver is not installed everywhere

    return postgres_schema.newest()


def secretly(address: str) -> str:
    return address.replace("postgres@", f"postgres:{PASSWORD}@")


@pytest.mark.long
@needs_postgres
def test_a_store_is_set_up_filled_checked_and_used(sandbox: Sandbox, databases: Databases) -> None:
    address = databases.create_empty()
    place = address.replace("postgres@", "")
    made = sandbox.remit("store", "init", secretly(address))
    assert made.returncode == 0, made.stderr
    assert f"Created a store in {place} (schema {newest()}, role remit_runtime)." in made.stdout
    assert f'store = "{place}"' in made.stdout
    again = sandbox.remit("store", "init", secretly(address), "--json")
    assert json.loads(again.stdout) == {
        "place": place,
        "before": newest(),
        "schema": newest(),
        "role": "remit_runtime",
        "user": None,
        "admin": None,
    }
    assert sandbox.remit("store", "init", secretly(address)).stdout.startswith(f"{place} was already set up")
    sandbox.database.parent.mkdir()
    fill_every_table(sandbox.database)
    words = ("store", "copy", "--from", f"sqlite:{sandbox.database}", "--to", secretly(address))
    copied = sandbox.remit(*words)
    assert "all digests match" in copied.stdout, copied.stderr
    refused = sandbox.remit(*words)
    assert (refused.returncode, "is not empty" in refused.stderr) == (2, True)
    sandbox.variables["REMIT_STORE"] = secretly(address)
    assert sandbox.remit("store", "migrate").stdout == f"{place} has schema {newest()}.\n"
    assert json.loads(sandbox.remit("store", "migrate", "--json").stdout) == {
        "place": place,
        "schema": newest(),
    }
    checked = sandbox.remit("store", "check")
    assert checked.returncode == 0, checked.stdout
    assert "ok     row-level security: enabled and forced on" in checked.stdout
    for each in (made, again, copied, refused, checked):
        assert PASSWORD not in each.stdout + each.stderr


@pytest.mark.long
@needs_postgres
def test_a_backup_by_pg_dump_is_the_same_store_when_it_is_restored(
    sandbox: Sandbox, databases: Databases, tmp_path: Path
) -> None:
    first, second = databases.create(), databases.create_empty()
    path, dump = tmp_path / "a.db", tmp_path / "remit.dump"
    fill_every_table(path)
    sandbox.remit("store", "copy", "--from", f"sqlite:{path}", "--to", first)
    folder = binaries()
    assert folder is not None
    for command in (
        ["pg_dump", "--format=custom", f"--file={dump}", first],
        ["pg_restore", "--exit-on-error", f"--dbname={second}", str(dump)],
    ):
        done = subprocess.run(
            [folder / command[0], *command[1:]], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    checked = sandbox.remit("store", "check", second)
    assert checked.returncode == 0, checked.stdout
    back = tmp_path / "back.db"
    assert sandbox.remit("store", "copy", "--from", second, "--to", f"sqlite:{back}").returncode == 0
    assert content_of(back) == content_of(path)


def test_a_sound_file_is_checked(sandbox: Sandbox) -> None:
    sandbox.remit("scan")
    checked = sandbox.remit("store", "check")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.splitlines()[:2] == [
        str(sandbox.database),
        f"  ok     schema: version {SCHEMA_VERSION}",
    ]
    assert f"{sandbox.database} has schema {SCHEMA_VERSION}." in sandbox.remit("store", "migrate").stdout


def test_an_unsound_file_ends_with_1_and_a_list(sandbox: Sandbox) -> None:
    sandbox.database.parent.mkdir()
    fill_every_table(sandbox.database)
    run_sql(sandbox.database, "update definitions set title = 'other'")
    checked = sandbox.remit("store", "check", f"sqlite:{sandbox.database}")
    assert checked.returncode == 1
    assert "  error  definitions: 3 problems" in checked.stdout
    shown = json.loads(sandbox.remit("store", "check", "--json").stdout)
    wrong = [each for each in shown["checks"] if not each["is_sound"]]
    assert [each["check"] for each in wrong] == ["definitions"]
    assert len(wrong[0]["problems"]) == 3


def test_a_file_that_does_not_exist_is_not_made(sandbox: Sandbox) -> None:
    checked = sandbox.remit("store", "check", f"sqlite:{sandbox.root}/none.db")
    assert (checked.returncode, "does not exist" in checked.stderr) == (2, True)
    assert not (sandbox.root / "none.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("check", f"mysql://ada:{PASSWORD}@db/remit"),
        ("check", "sqlite:"),
        ("init", "sqlite:/a"),
        ("copy", "--from", f"{PASSWORD}", "--to", "sqlite:/a"),
    ],
)
def test_another_kind_of_place_is_a_usage_error_that_does_not_show_it(
    sandbox: Sandbox, words: tuple[str, ...]
) -> None:
    refused = sandbox.remit("store", *words)
    assert refused.returncode == 2
    assert "expected" in refused.stderr
    assert PASSWORD not in refused.stderr


@pytest.mark.parametrize("words", [("migrate",), ("copy", "--from", "sqlite:/a", "--to", "sqlite:/b")])
def test_an_agent_cannot_change_stores(sandbox: Sandbox, words: tuple[str, ...]) -> None:
    sandbox.variables["CLAUDECODE"] = "1"
    refused = sandbox.remit("store", *words)
    assert (refused.returncode, "only a person can" in refused.stderr) == (2, True)
    assert not os.path.exists("/b.copying")
