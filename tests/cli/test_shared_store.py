"""Commands with a store in PostgreSQL: where it is said, shown and recorded, never with a password."""

import json
import time

import httpx2
import pytest

from remit.hooks.hook_context import record_use
from support.http_gateway import ACCEPT, HELLO
from support.postgres import Databases, needs_postgres
from support.process_state import process_state
from support.sandbox import Sandbox
from support.served_gateway import serving

pytestmark = needs_postgres
PASSWORD = "pa55phrase"  # noqa: S105 - the server trusts everyone


def newest() -> int:
    from remit.store.postgres import postgres_schema  # its driver is not installed everywhere

    return postgres_schema.newest()


@pytest.fixture
def address(databases: Databases) -> str:
    return databases.create().replace("postgres@", f"postgres:{PASSWORD}@")


def place(address: str) -> str:
    return address.replace(f"postgres:{PASSWORD}@", "")


@pytest.mark.long
def test_commands_use_the_store_of_the_users_file_and_status_shows_it(sandbox: Sandbox, address: str) -> None:
    path = sandbox.write(sandbox.home / ".config/remit/remit.toml", f'store = "{address}"\n')
    shop = sandbox.project("shop")
    assert sandbox.remit("scan", "--project", str(shop)).returncode == 0
    status = sandbox.remit("status", "--project", str(shop))
    role = "role remit_runtime"
    assert f"store: {place(address)} (schema {newest()}, {role}; from {path})" in status.stdout
    shown = json.loads(sandbox.remit("doctor", "--json", "--project", str(shop)).stdout)["store"]
    assert shown == {
        "place": place(address),
        "kind": "postgresql",
        "source": str(path),
        "schema": newest(),
        "role": "remit_runtime",
        "problem": None,
    }
    assert f"store: {place(address)}" in sandbox.remit("doctor", "--project", str(shop)).stdout
    assert not sandbox.database.exists()


def test_hooks_use_the_same_store(sandbox: Sandbox, address: str) -> None:
    sandbox.variables["REMIT_STORE"] = address
    shop = sandbox.project("shop")
    with process_state(sandbox.environment, shop, "", []):
        assert record_use("Bash")
    used = json.loads(sandbox.remit("usage", "--json", "--project", str(shop)).stdout)
    assert "Bash" in json.dumps(used)
    assert not sandbox.database.exists()


@pytest.mark.long
def test_a_session_that_one_of_two_gateways_ends_is_over_at_the_other(sandbox: Sandbox, address: str) -> None:
    sandbox.variables["REMIT_STORE"] = address
    shop = sandbox.project("shop")
    asked: dict[str, object] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    with serving(sandbox, shop) as one, serving(sandbox, shop) as two, httpx2.Client(timeout=30) as client:
        id = client.post(one, json=HELLO, headers=ACCEPT).headers["mcp-session-id"]
        headers = {**ACCEPT, "mcp-session-id": id}
        assert client.post(two, json=asked, headers=headers).status_code == 200
        assert client.delete(one, headers=headers).status_code == 200
        deadline = time.monotonic() + 1
        while client.post(two, json=asked, headers=headers).status_code != 404:
            assert time.monotonic() < deadline
        assert client.post(one, json=asked, headers=headers).status_code == 404


def test_a_store_that_cannot_be_reached_is_shown_as_such(sandbox: Sandbox) -> None:
    sandbox.variables["REMIT_STORE"] = f"postgresql://ada:{PASSWORD}@127.0.0.1:1/remit"
    status = sandbox.remit("status", "--json")
    told = json.loads(status.stdout)["store"]
    assert status.returncode == 2
    assert (told["schema"], told["source"]) == (None, "REMIT_STORE")
    assert "cannot be used" in told["problem"]
    plain = sandbox.remit("status")
    assert "store: postgresql://127.0.0.1:1/remit (cannot be used; from REMIT_STORE)" in plain.stdout
    for command in ("status", "doctor", "tools", "scan"):
        told = sandbox.remit(command)
        assert PASSWORD not in told.stdout + told.stderr
        assert "ada" not in told.stderr
        assert "check that the database runs" in told.stderr


def test_an_address_with_a_password_is_not_recorded(sandbox: Sandbox, address: str) -> None:
    sandbox.variables["REMIT_STORE"] = address
    refused = sandbox.remit("install", "claude-code", "--yes")
    assert refused.returncode == 2
    assert "REMIT_STORE has a password" in refused.stderr
    assert "password_file=PATH" in refused.stderr
    assert PASSWORD not in refused.stdout + refused.stderr
    assert not (sandbox.root / "data/installs").exists()


def test_an_installed_process_takes_the_store_from_its_record(sandbox: Sandbox, databases: Databases) -> None:
    sandbox.variables |= {"REMIT_STORE": databases.create(), "PGPASSWORD": PASSWORD}
    installed = sandbox.remit("install", "claude-code", "--yes")
    assert installed.returncode == 0, installed.stderr
    assert "PGPASSWORD holds a secret" in installed.stderr
    text = (sandbox.root / "data/installs/claude-code.json").read_text()
    assert json.loads(text)["ground"]["store"] == sandbox.variables["REMIT_STORE"]
    assert PASSWORD not in text


def test_without_the_driver_a_command_says_what_to_install(
    sandbox: Sandbox, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    sandbox.variables["REMIT_STORE"] = address
    told = sandbox.remit("tools")
    assert told.returncode == 2
    assert "psycopg is not installed" in told.stderr
    assert "-m pip install 'psycopg[binary]'" in told.stderr
    assert PASSWORD not in told.stderr
