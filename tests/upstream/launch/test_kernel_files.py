import os
from pathlib import Path

import pytest

from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch.kernel_files import kernel_mounts


def test_kernel_settings_are_read_only_and_what_only_root_reads_is_hidden(tmp_path: Path) -> None:
    for name in ("17", "acpi", "sys"):
        (tmp_path / name).mkdir()
    for name, mode in (("keys", 0o444), ("kmsg", 0o400), ("mtrr", 0o644), ("uptime", 0o444)):
        (tmp_path / name).touch(mode=mode)
        (tmp_path / name).chmod(mode)
    (tmp_path / "self").symlink_to("17")
    found = {path.removeprefix(f"{tmp_path}/"): option for path, *option in kernel_mounts(str(tmp_path))}
    assert found == {
        "acpi": ["--tmpfs"],
        "keys": ["--ro-bind", "/dev/null"],
        "kmsg": ["--ro-bind", "/dev/null"],
        "mtrr": ["--ro-bind", f"{tmp_path}/mtrr"],
        "sys": ["--ro-bind", f"{tmp_path}/sys"],
    }


@pytest.mark.skipif(not os.path.isdir("/proc/sys"), reason="the system has no /proc/sys")
def test_the_settings_of_this_kernel_are_among_them() -> None:
    assert ("/proc/sys", "--ro-bind", "/proc/sys") in list(kernel_mounts())


def test_without_a_list_of_the_kernels_files_there_is_no_sandbox(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="absent` cannot be read: No such file or directory"):
        list(kernel_mounts(str(tmp_path / "absent")))
