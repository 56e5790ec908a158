"""What running gateways say of themselves."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from remit.gateway.transports.status_files import StatusFiles, resident_megabytes


def test_a_gateway_is_listed_while_it_runs(tmp_path: Path) -> None:
    files = StatusFiles(str(tmp_path))
    assert files.running() == []
    files.publish({"url": None, "started_at": 5})
    assert StatusFiles(str(tmp_path)).running() == [{"pid": os.getpid(), "url": None, "started_at": 5}]
    files.publish({"url": "http://x", "started_at": 5})
    assert [said["url"] for said in files.running()] == ["http://x"]
    files.withdraw()
    assert files.running() == []
    assert os.listdir(tmp_path / "gateways") == []


@pytest.mark.skipif(os.name == "nt", reason="files have other rights there")
def test_status_files_are_private(tmp_path: Path) -> None:
    StatusFiles(str(tmp_path)).publish({})
    (file,) = (tmp_path / "gateways").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    folder = tmp_path / "gateways"
    folder.mkdir()
    for name in (f"{process.pid}.json", f"{process.pid}.json.1a2b"):
        (folder / name).write_text(json.dumps({"pid": process.pid, "born": "1"}), encoding="utf-8")
    (folder / "7.json").write_text("{", encoding="utf-8")
    assert StatusFiles(str(tmp_path)).running() == []
    assert os.listdir(folder) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say who started when")
def test_a_reused_pid_is_not_mistaken_for_the_gateway(tmp_path: Path) -> None:
    folder = tmp_path / "gateways"
    folder.mkdir()
    said = {"pid": os.getpid(), "born": "1"}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(said), encoding="utf-8")
    assert StatusFiles(str(tmp_path)).running() == []


def test_an_unwritable_directory_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    files = StatusFiles(str(tmp_path / "file"))
    files.publish({})
    files.withdraw()
    assert files.running() == []


def test_memory_is_a_number_where_the_system_tells() -> None:
    found = resident_megabytes()
    assert found is None or found > 1
