import json
import os
from pathlib import Path

import pytest

from remit.clients.claude_code import CLIENT
from remit.clients.parsing import runner_file_digests
from remit.clients.parsing.client_reader import read_client
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.projects import View
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate

ENTRY = {"command": "npx", "args": ["-y", "calc@1.0.0"]}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "home/shop/.git").mkdir(parents=True)
    return tmp_path.resolve() / "home/shop"


def read(shop: Path, entry: object = ENTRY, *, below: str = "") -> ClientReading:
    (shop / ".mcp.json").write_text(json.dumps({"mcpServers": {"calc": entry}}))
    machine = Machine(home=str(shop.parent), variables={}, root=str(shop.parent / "root"))
    return read_client(CLIENT, View(CLIENT.name, locate(str(shop / below))), machine, now_ns=0)


def server(reading: ClientReading) -> Declaration:
    (found,) = (each for each in reading.declarations if each.server == "calc")
    return found


def digest(shop: Path, entry: object = ENTRY, *, below: str = "") -> str | None:
    return server(read(shop, entry, below=below)).digest


def files(shop: Path, entry: object = ENTRY, *, below: str = "") -> list[str]:
    launch = server(read(shop, entry, below=below)).launch
    assert launch is not None
    return list(launch.runner_files)


def test_a_file_that_steers_the_runner_changes_the_digest_of_the_entry(shop: Path) -> None:
    seen = [digest(shop)]
    for text in ("node-options=--require=./evil.js", "node-options=--require=./worse.js"):
        (shop / ".npmrc").write_text(text)
        seen.append(digest(shop))
    assert len({*seen}) == 3
    (shop / ".npmrc").write_text("")  # says nothing
    assert digest(shop) == seen[0]


def test_a_scan_looks_at_files_that_do_not_exist_yet(shop: Path) -> None:
    assert read(shop).inputs[str(shop / ".npmrc")] == ""


def test_the_users_own_servers_and_other_programs_are_not_looked_at(shop: Path) -> None:
    (shop / ".npmrc").write_text("x=1")
    assert files(shop, {"command": "calc"}) == []
    (shop.parent / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": ENTRY}}))
    reading = read(shop, {"command": "calc"})
    assert str(shop / ".npmrc") not in reading.inputs
    assert all(each.launch is None or not each.launch.runner_files for each in reading.declarations)


def test_only_directories_of_the_project_count(shop: Path) -> None:
    (shop / "app/deep").mkdir(parents=True)
    for folder in (shop.parent, shop, shop / "app"):
        (folder / ".npmrc").write_text("x=1")
    assert files(shop) == [".npmrc"]
    assert files(shop, below="app/deep") == ["app/.npmrc", ".npmrc"]
    assert files(shop, {**ENTRY, "args": ["--prefix", "app", "calc"]}) == [".npmrc", "app/.npmrc"]


def test_of_a_manifest_only_what_the_runner_follows_counts(shop: Path) -> None:
    before = digest(shop)
    (shop / "package.json").write_text(json.dumps({"name": "shop", "dependencies": {"x": "1"}}))
    assert digest(shop) == before
    (shop / "package.json").write_text(json.dumps({"bin": {"calc@1.0.0": "evil.js"}}))
    assert files(shop) == ["package.json"]
    (shop / "package.json").write_text("{")  # nobody knows what a runner makes of it
    assert files(shop) == ["package.json"]


def test_of_a_settings_file_in_toml_only_the_runners_table_counts(shop: Path) -> None:
    run = {"command": "uv", "args": ["run", "calc"]}
    (shop / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert files(shop, run) == []
    (shop / "pyproject.toml").write_text("[tool.uv]\nexclude-newer = 2026-01-01\n")
    before = digest(shop, run)
    (shop / "pyproject.toml").write_text("[tool.uv]\nexclude-newer = 2026-01-02\n")
    assert digest(shop, run) != before


def test_of_variables_only_those_that_steer_code_count(shop: Path) -> None:
    run = {"command": "bunx", "args": ["calc"]}
    (shop / ".env").write_text("API_TOKEN=9f86d081884c7d659a2f\n")
    assert files(shop, run) == []
    (shop / ".env").write_text("API_TOKEN=1\nexport NODE_OPTIONS=--require=./evil.js\n")
    assert files(shop, run) == [".env"]


def test_of_a_module_only_its_existence_counts(shop: Path) -> None:
    run = {"command": "python3", "args": ["-m", "calc"]}
    before = digest(shop, run)
    (shop / "calc.py").write_text("1")
    after = digest(shop, run)
    assert after != before
    (shop / "calc.py").write_text("2")
    assert digest(shop, run) == after


def test_what_cannot_be_read_counts_by_its_last_change(shop: Path) -> None:
    (shop.parent / "secret").write_text("token")
    (shop / ".npmrc").symlink_to(shop.parent / "secret")
    linked = digest(shop)
    (shop / ".npmrc").unlink()
    (shop / ".npmrc").write_bytes(b"#" * (2**20 + 1))
    os.utime(shop / ".npmrc", ns=(1, 1))
    large = digest(shop)
    os.utime(shop / ".npmrc", ns=(2, 2))
    assert len({linked, large, digest(shop)}) == 3
    (shop / ".npmrc").unlink()
    os.mkfifo(shop / ".npmrc")
    assert files(shop) == [".npmrc"]


def test_a_server_with_too_many_files_to_look_at_cannot_be_trusted(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_file_digests, "_MOST_FILES", 5)
    reading = read(shop)
    assert (server(reading).digest, server(reading).launch) == (None, None)
    assert any("cannot be trusted: more than 5 files" in each.reason for each in reading.problems)
