"""Servers that reach for the kernel from a sandbox: its settings, its keyrings, and new namespaces."""

import ctypes
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from remit.upstream.launch.bubblewrap import bubblewrap_program
from support.sandboxed_servers import SandboxMachine, inside, obstacle

pytestmark = pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
ADD_KEY = {"x86_64": 248, "aarch64": 217}.get(platform.machine(), 0)
KEYCTL = ADD_KEY + 2
JOIN, SEARCH, READ = 1, 10, 11
SESSION = -3
# Opens what exists for writing, and writes nothing.
OPEN = """
for name in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/fs/binfmt_misc/register \\
    /proc/irq/default_smp_affinity /proc/sysrq-trigger /proc/mtrr /proc/dynamic_debug/control; do
    test -e $name && (: >> $name) 2>/dev/null && echo $name
done
find /proc -mindepth 1 -maxdepth 1 -name '[a-z]*' ! -type l -print0 | while read -r -d '' name; do
    test -f $name && test -w $name && echo $name
done
cd /proc && (cat keys key-users kcore kmsg timer_list; ls -A acpi/ scsi/ | grep -v :) 2>/dev/null
true"""
FIND = f"""
import ctypes
call = ctypes.CDLL(None).syscall
key = call({KEYCTL}, {SEARCH}, {SESSION}, b"user", b"remit-test", 0)
text = ctypes.create_string_buffer(99)
print(call({KEYCTL}, {READ}, key, text, 99) if key > 0 else "none", text.value.decode())
"""


@pytest.fixture
def machine(tmp_path: Path) -> SandboxMachine:
    return SandboxMachine(tmp_path.resolve())


def test_no_file_of_the_kernel_can_be_written_and_keys_and_hardware_are_hidden(
    machine: SandboxMachine,
) -> None:
    done = inside(machine, "/bin/bash", "-c", OPEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_programs_read_about_the_system_is_still_there(machine: SandboxMachine) -> None:
    names = "/proc/self/status /proc/cpuinfo /proc/meminfo /proc/stat /proc/uptime /proc/sys/kernel/osrelease"
    done = inside(machine, "sh", "-c", f"cat {names} > /dev/null && head -c 1 /dev/urandom > /dev/null")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_keys_of_a_login_are_out_of_reach(machine: SandboxMachine) -> None:
    call = ctypes.CDLL(None).syscall
    joined = call(KEYCTL, JOIN, None) if ADD_KEY else -1  # as a login does; not the one of who runs the tests
    if joined < 0 or call(ADD_KEY, b"user", b"remit-test", b"hunter22", 8, SESSION) < 0:
        pytest.skip("the kernel has no keyrings")
    outside = subprocess.run([sys.executable, "-c", FIND], capture_output=True, text=True, check=True)
    assert outside.stdout == "8 hunter22\n"
    assert inside(machine, sys.executable, "-c", FIND).stdout == "none \n"


def test_a_server_makes_no_user_namespace_of_its_own(machine: SandboxMachine) -> None:
    if "--disable-userns" not in bubblewrap_program().namespaces:
        pytest.skip("this bubblewrap cannot prevent it")
    done = inside(machine, "unshare", "--user", "--map-root-user", "true")
    assert "unshare failed" in done.stderr


def test_a_granted_proc_is_closed_in_the_same_way(machine: SandboxMachine) -> None:
    done = inside(machine, "/bin/bash", "-c", OPEN, read=("/proc",))
    assert done.stdout == ""
