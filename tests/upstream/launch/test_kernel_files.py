import os
from pathlib import Path

import pytest

from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch.kernel_files import kernel_mounts


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for name in ("17", "acpi", "sys/fs/binfmt_misc", "sys/kernel"):
        (tmp_path / name).mkdir(parents=True)
    for name, mode in (("keys", 0o444), ("kmsg", 0o400), ("mtrr", 0o644), ("uptime", 0o444)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "sys/fs/file-max").touch()
    (tmp_path / "self").symlink_to("17")
    (tmp_path / "17/mountinfo").write_text(f"1 0 0:1 / {tmp_path} rw - proc proc rw\n")
    return tmp_path


def closed(proc: Path, *, is_root: bool) -> dict[str, list[str]]:
    found = kernel_mounts(is_root=is_root, proc=str(proc))
    return {path.removeprefix(f"{proc}/"): option for path, *option in found}


def test_what_only_root_reads_is_hidden_and_what_can_be_written_is_read_only(proc: Path) -> None:
    hidden = {"acpi": ["--tmpfs"], "keys": ["--ro-bind", "/dev/null"], "kmsg": ["--ro-bind", "/dev/null"]}
    expected = {**hidden, "mtrr": ["--ro-bind", f"{proc}/mtrr"]}
    assert closed(proc, is_root=False) == expected
    assert closed(proc, is_root=True) == {**expected, "sys": ["--ro-bind", f"{proc}/sys"]}


def test_file_systems_that_are_mounted_among_the_settings_are_left_alone(proc: Path) -> None:
    with (proc / "17/mountinfo").open("a") as file:
        file.write(f"2 1 0:2 / {proc}/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n")
    found = closed(proc, is_root=True)
    assert [path for path in found if path.startswith("sys")] == ["sys/fs/file-max", "sys/kernel"]


@pytest.mark.skipif(not os.path.isdir("/proc/sys"), reason="the system has no /proc/sys")
def test_the_settings_of_this_kernel_are_among_them() -> None:
    paths = [path for path, *_ in kernel_mounts(is_root=True)]
    assert "/proc/sys" in paths or "/proc/sys/kernel" in paths


def test_without_a_list_of_the_kernels_files_there_is_no_sandbox(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="absent` cannot be read: No such file or directory"):
        list(kernel_mounts(is_root=False, proc=str(tmp_path / "absent")))
