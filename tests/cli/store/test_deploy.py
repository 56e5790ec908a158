"""The compose file: its users have the rights that the guide describes, tried on a real PostgreSQL."""

import json
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.postgres import PostgresServer, needs_postgres
from support.sandbox import Sandbox

pytestmark = needs_postgres
_DEPLOY = Path(__file__).parents[3] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((_DEPLOY / "compose.yaml").read_text("utf-8"))
PASSWORDS = {"owner": "o'1", "app": "a 2", "boss": "b3"}


@pytest.fixture
def server() -> Generator[PostgresServer]:
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))  # where another user may read
    started = PostgresServer(folder)
    try:
        started.start()
        yield started
    finally:
        started.kill()
        shutil.rmtree(folder, ignore_errors=True)


def create_users(server: PostgresServer) -> None:
    """Do what the service `roles` does."""
    command = COMPOSE["services"]["roles"]["command"][0]
    options = re.findall(r"--(?:no-psqlrc|quiet|set ON_ERROR_STOP=1)", command)
    given = [f"--set={name}={word}" for name, word in PASSWORDS.items()]
    assert re.findall(r'--set (\w+)="\$\$\(cat (\w+)_password\)"', command) == [
        (name, name) for name in PASSWORDS
    ]
    words = [server.program("psql"), server.address(), *" ".join(options).split(), *given]
    done = subprocess.run(
        [*words, "--file", str(_DEPLOY / "roles.sql")], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def here(server: PostgresServer, address: str) -> str:
    """Return an address of the compose file as it is in this test, where the server asks for no passwords."""
    return address.replace("@database/", f"@127.0.0.1:{server.port}/").partition("?")[0]


@pytest.mark.long
def test_the_users_of_the_compose_file_have_the_rights_that_the_guide_gives_them(
    sandbox: Sandbox, server: PostgresServer
) -> None:
    words = [here(server, word) for word in COMPOSE["services"]["setup"]["command"]]
    for _ in range(2):  # again at each start
        create_users(server)
        done = sandbox.remit(*words)
        assert done.returncode == 0, done.stderr
    files = {name: tomllib.loads(found["content"]) for name, found in COMPOSE["configs"].items()}
    sandbox.variables["REMIT_STORE"] = here(server, files["gateway"]["store"])
    shop = sandbox.project("shop")
    assert sandbox.remit("scan", cwd=shop).returncode == 0
    refused = sandbox.remit("token", "add", "ada", cwd=shop)
    assert (refused.returncode, "may not administer the store" in refused.stderr) == (2, True)
    sandbox.variables["REMIT_STORE_ADMIN"] = here(server, files["admin"]["store_admin"])
    assert sandbox.remit("token", "add", "ada", cwd=shop).returncode == 0
    checked = json.loads(sandbox.remit("store", "check", "--json", cwd=shop).stdout)
    assert [each for each in checked["checks"] if each["problems"]] == []


def test_a_gateway_has_no_other_password_than_its_own() -> None:
    secrets = {name: service.get("secrets", []) for name, service in COMPOSE["services"].items()}
    assert secrets["gateway-1"] == secrets["gateway-2"] == ["app_password"]
    assert secrets["setup"] == ["owner_password"]
    assert COMPOSE["services"]["admin"]["profiles"] == ["admin"]  # started by hand only
