"""What running gateways say of themselves."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from remit.gateway.transports.status_files import StatusFiles, resident_megabytes


def test_a_gateway_is_seen_while_it_runs_and_says_so(tmp_path: Path) -> None:
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
def test_only_the_user_may_look(tmp_path: Path) -> None:
    StatusFiles(str(tmp_path)).publish({})
    (file,) = (tmp_path / "gateways").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_the_dead_left_is_removed(tmp_path: Path) -> None:
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
def test_another_process_with_the_number_of_a_dead_one_is_not_taken_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "gateways"
    folder.mkdir()
    said = {"pid": os.getpid(), "born": "1"}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(said), encoding="utf-8")
    assert StatusFiles(str(tmp_path)).running() == []


def test_a_place_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    files = StatusFiles(str(tmp_path / "file"))
    files.publish({})
    files.withdraw()
    assert files.running() == []


def test_memory_is_a_number_where_the_system_tells() -> None:
    found = resident_megabytes()
    assert found is None or found > 1
