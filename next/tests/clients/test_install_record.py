"""What an installed process takes from its record, whatever its environment says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.clients import (
    CLIENTS,
    InstallLevel,
    RecordedEnvironment,
    Wanted,
    environment_of,
    gateway_entry,
    load_record,
    read_environment,
    record_path,
    unrecorded,
)
from remit.clients.record import account_home
from remit.errors import FileChangeError, InstallRecordError
from support.installs import Home

RECORDED = RecordedEnvironment(
    "/home/ada", "/data/remit", "/etc/ada.toml", {"REMIT_EMBEDDINGS": "none", "CODEX_HOME": "/c"}
)


def applied(recorded: RecordedEnvironment, platform: str = "linux", **environment: str) -> dict[str, str]:
    recorded.apply(environment, platform)
    return environment


def test_paths_come_from_the_record_and_other_variables_stay() -> None:
    hostile = {"HOME": "/repo", "REMIT_HOME": "/repo", "REMIT_CONFIG": "/dev/null", "CODEX_HOME": "/repo"}
    assert applied(RECORDED, **hostile, PATH="/bin", LANG="C", REMIT_DEPTH="1") == {
        "HOME": "/home/ada",
        "REMIT_HOME": "/data/remit",
        "REMIT_CONFIG": "/etc/ada.toml",
        "REMIT_EMBEDDINGS": "none",
        "CODEX_HOME": "/c",
        "PATH": "/bin",
        "LANG": "C",
        "REMIT_DEPTH": "1",  # marks what a gateway starts
    }


def test_every_variable_that_locates_a_file_or_a_connection_is_dropped_in_any_case() -> None:
    recorded = environment_of("/home/ada", "/d", "/c", {})
    names = [
        "remit_home",
        "https_proxy",
        "SSLKEYLOGFILE",
        "LOCALDOMAIN",
        "KRB5_CONFIG",
        "REMIT_EMBEDDINGS_KEY",
    ]
    names += [name for client in CLIENTS.values() for name in client.locating]
    kept = {"HOME", "REMIT_HOME", "REMIT_CONFIG"}
    assert applied(recorded, **dict.fromkeys(names, "/repo")).keys() == kept
    assert applied(RecordedEnvironment("/h"), **dict.fromkeys(names, "/repo")).keys() == {
        "HOME"
    }  # an old record


def test_the_home_is_the_profile_on_windows_and_the_accounts_without_a_record_of_it() -> None:
    assert applied(RecordedEnvironment("C:/ada"), "win32", USERPROFILE="C:/repo") == {"USERPROFILE": "C:/ada"}
    assert applied(RecordedEnvironment(), HOME="/repo") == {"HOME": account_home({})}


def test_the_environment_is_that_of_the_person_who_installs_without_secrets() -> None:
    variables = {
        "HOME": "/h",
        "XDG_DATA_HOME": "/x",
        "https_proxy": "http://proxy:1",
        "HTTPS_PROXY": "http://ada:pw@proxy:1",
        "PATH": "/bin",
        "NO_PROXY": "",
        "REMIT_EMBEDDINGS_KEY": "secret",
        "OPENCODE_CONFIG_CONTENT": "{}",
    }
    recorded = environment_of("/h", "/x/remit", "/h/remit.toml", variables)
    assert recorded.variables == {"XDG_DATA_HOME": "/x", "https_proxy": "http://proxy:1"}
    assert recorded[:3] == ("/h", "/x/remit", "/h/remit.toml")
    assert recorded.path == "/bin"
    assert unrecorded(variables) == ["HTTPS_PROXY", "REMIT_EMBEDDINGS_KEY"]
    assert unrecorded({**variables, "REMIT_EMBEDDINGS_KEY_FILE": "/k", "HTTPS_PROXY": ""}) == []


def test_a_hook_reads_its_environment_without_the_table_of_clients(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.installer().install("claude-code", InstallLevel.FULL, Wanted())
    path = record_path("claude-code", home.machine)
    assert read_environment(path).home == str(home.home)
    program = f"""
import sys
from remit.clients.record import read_environment
read_environment({path!r}).apply({{"CODEX_HOME": "/repo"}})
print(*(name for name in sys.modules if name.startswith("remit.")))
"""
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert set(loaded.split()) == {"remit.clients", "remit.clients.record", "remit.errors"}


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
    with pytest.raises(FileChangeError):
        load_record(str(record))


def test_a_record_that_is_missing_or_unreadable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InstallRecordError, match="does not exist"):
        read_environment(str(tmp_path / "none.json"))
    with pytest.raises(InstallRecordError, match="cannot be read"):
        read_environment(str(tmp_path))


def test_a_record_copies_nothing_of_a_file_but_what_was_replaced(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("home/.claude.json", {"mcpServers": {"git": {"command": "g", "env": {"TOKEN": "t0p"}}}})
    home.installer().install("claude-code", InstallLevel.FULL, Wanted())
    path = record_path("claude-code", home.machine)
    assert "t0p" not in Path(path).read_text()
    assert os.stat(path).st_mode & 0o077 == 0
    entry = gateway_entry("claude-code", home.machine)
    assert entry is not None
    assert (entry.source, entry.words[:2]) == (str(home.home / ".claude.json"), ("/opt/remit", "serve"))
    assert gateway_entry("cursor", home.machine) is None


def test_our_entry_counts_only_while_the_record_names_its_file(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.installer().install("claude-code", InstallLevel.FULL, Wanted())
    state = home.home / ".claude.json"
    assert [str(item.status) for item in home.read().declarations] == ["itself"]
    state.write_text(state.read_text().replace("/opt/remit", "/repo/remit"))
    assert [str(item.status) for item in home.read().declarations] != ["itself"]
    record = Path(record_path("claude-code", home.machine))
    record.write_text(json.dumps({**json.loads(record.read_text()), "files": []}))
    state.write_text(state.read_text().replace("/repo/remit", "/opt/remit"))
    assert [str(item.status) for item in home.read().declarations] != ["itself"]
    record.write_text("{")
    assert str(record) in [problem.source for problem in home.read().problems]
