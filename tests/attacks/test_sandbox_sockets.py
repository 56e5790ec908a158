"""Servers that reach for programs outside of a sandbox through sockets, and leave set-user-ID files behind.

Sockets of virtual machines are only created, and must be refused: nothing connects to one.
"""

import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from remit.upstream.launch.system_call_numbers import NUMBERS, X86_64
from support.sandboxed_servers import SandboxMachine, inside, obstacle

pytestmark = pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
CALLS = NUMBERS.get({"x86_64": X86_64, "aarch64": 0xC00000B7}.get(platform.machine(), 0), {})
needs_numbers = pytest.mark.skipif(not CALLS, reason="the numbers of this processor's calls are not listed")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

# Each line of output is an attempt, with the name of its error or "done".
ATTEMPT = f"""
import asyncio, ctypes, errno, mmap, os, socket, sys
calls = {CALLS}
library = ctypes.CDLL(None, use_errno=True)
def attempt(name, action):
    try:
        action()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
def call(number, *arguments):
    found = library.syscall(ctypes.c_long(number), *arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), "")
    return found
"""
CONNECT = """
place, name = sys.argv[1:]
def connect(kind, address):
    with socket.socket(socket.AF_UNIX, kind) as made:
        made.connect(address)
        made.send(b"run this")
def send_from_a_pair(address):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"run this", address)
def raw_pair(address):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.sendto(b"run this", address)
def reconnect(address):
    one, other = socket.socketpair()
    other.close()
    one.connect(address)
attempt("stream", lambda: connect(socket.SOCK_STREAM, place + "/stream.sock"))
attempt("datagram", lambda: connect(socket.SOCK_DGRAM, place + "/datagram.sock"))
attempt("packets", lambda: connect(socket.SOCK_SEQPACKET, place + "/packets.sock"))
attempt("abstract", lambda: connect(socket.SOCK_STREAM, chr(0) + name))
attempt("pair", lambda: send_from_a_pair(place + "/datagram.sock"))
attempt("raw pair", lambda: raw_pair(place + "/datagram.sock"))
attempt("used pair", lambda: reconnect(place + "/stream.sock"))
"""
FAMILIES = """
for family in range(1, 46):
    attempt(family, lambda: socket.socket(family, socket.SOCK_DGRAM).close())
"""
ROUNDABOUT = """
attempt("io_uring", lambda: call(calls["io_uring_setup"], 1, ctypes.create_string_buffer(120)))
attempt("x32", lambda: call(calls["socket"] + 2**30, 1, 1, 0))
code = bytes.fromhex("5389f889f34189c889d14489c2cd805bc3")  # a call of i386: int 0x80
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
i386 = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 4)(start)
def call_i386(*arguments):
    found = i386(*arguments)
    if found < 0:
        raise OSError(-found, "")
low = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)  # below 4 GiB
at = ctypes.addressof(ctypes.c_char.from_buffer(low))
low.write(b"".join(each.to_bytes(4, "little") for each in (1, 2, 0, at + 64)))
attempt("socket of i386", lambda: call_i386(359, 1, 1, 0))
attempt("socketcall", lambda: call_i386(102, 1, at, 0))
attempt("pair of i386", lambda: call_i386(360, 1, 2, 0))
attempt("socketcall of a pair", lambda: call_i386(102, 8, at, 0))
own = os.memfd_create("own")  # a file without a name: standard input may be a device of the machine
attempt("chmod of i386", lambda: call_i386(94, own, 0o4755, 0))
"""
SET_ID = """
os.chdir(sys.argv[1])
at, flags = -100, os.O_CREAT | os.O_WRONLY
open("own", "w").close()
own = os.open("own", os.O_RDWR)
for bits in (0o4755, 0o2755, 0o6755):
    attempts = {
        "open": (b"new", flags, bits), "openat": (at, b"new", flags, bits), "creat": (b"new", bits),
        "chmod": (b"own", bits), "fchmod": (own, bits), "fchmodat": (at, b"own", bits),
        "fchmodat2": (at, b"own", bits, 0), "mknod": (b"new", 0o100000 | bits, 0),
        "mknodat": (at, b"new", 0o100000 | bits, 0), "mkdir": (b"dir", bits), "mkdirat": (at, b"dir", bits),
    }
    for name, arguments in attempts.items():
        if name in calls:
            attempt(name, lambda: call(calls[name], *arguments))
    attempt("temporary", lambda: os.close(os.open(".", os.O_TMPFILE | os.O_RDWR, bits)))
attempt("openat2", lambda: call(calls["openat2"], at, b"own", ctypes.create_string_buffer(24), 24))
attempt("chmod of another kind", lambda: os.chmod("own", 0o1755))
attempt("file", lambda: os.close(os.open("file", flags, 0o640)))
attempt("directory", lambda: os.mkdir("directory", 0o750))
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SandboxMachine:
    made = SandboxMachine(tmp_path.resolve())
    monkeypatch.chdir(made.project)  # the paths of sockets are short
    return made


@contextmanager
def listening() -> Generator[str]:
    """Listen in the directory, as process managers of a project do, and on an abstract address."""
    name = f"remit-test-{os.getpid()}"
    addresses = [
        *(("stream.sock", socket.SOCK_STREAM), ("datagram.sock", socket.SOCK_DGRAM)),
        *(("packets.sock", socket.SOCK_SEQPACKET), (f"\0{name}", socket.SOCK_STREAM)),
    ]
    with ExitStack() as stack:
        for address, kind in addresses:
            made = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            made.bind(address)
            if kind != socket.SOCK_DGRAM:
                made.listen()
        yield name


def results(said: str) -> dict[str, set[str]]:
    """Return what came of each attempt, by its name."""
    found: dict[str, set[str]] = {}
    for line in said.splitlines():
        name, _, result = line.rpartition(" ")
        found.setdefault(name, set()).add(result)
    return found


def outside(script: str, *arguments: str) -> dict[str, set[str]]:
    words = [sys.executable, "-c", ATTEMPT + script, *arguments]
    done = subprocess.run(words, stdin=subprocess.PIPE, capture_output=True, text=True, check=True)
    return results(done.stdout)


def attempts(
    machine: SandboxMachine, script: str, *arguments: str, network: bool = False, unix_sockets: bool = False
) -> dict[str, set[str]]:
    done = inside(
        machine,
        *(sys.executable, "-c", ATTEMPT + script, *arguments),
        read=(".",),
        write=("out",),
        network=network,
        unix_sockets=unix_sockets,
    )
    assert done.returncode == 0, done.stderr
    return results(done.stdout)


@pytest.mark.parametrize("network", [False, True])
def test_no_program_outside_is_reached_through_a_socket_file_or_an_abstract_address(
    machine: SandboxMachine, network: bool
) -> None:
    names = ("stream", "datagram", "packets", "abstract", "pair", "raw pair")
    with listening() as name:
        before = outside(CONNECT, ".", name)
        found = attempts(machine, CONNECT, ".", name, network=network)
    assert found.pop("used pair") == {"EISCONN"}
    assert set(found) == set(names)
    assert set[str]().union(*(before[each] for each in names)) == {"done"}
    assert set[str]().union(*found.values()) == {"EAFNOSUPPORT"}


def test_a_server_whose_sandbox_opens_unix_sockets_uses_them(machine: SandboxMachine) -> None:
    with listening() as name:
        found = attempts(machine, CONNECT, ".", name, unix_sockets=True)
    assert found["stream"] == found["datagram"] == found["pair"] == {"done"}
    assert found["abstract"] == {"ECONNREFUSED"}  # they belong to the network


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("unix_sockets", [False, True])
def test_sockets_of_virtual_machines_and_other_families_cannot_be_created(
    machine: SandboxMachine, network: bool, unix_sockets: bool
) -> None:
    found = attempts(machine, FAMILIES, network=network, unix_sockets=unix_sockets)
    allowed = {int(family) for family, result in found.items() if result != {"EAFNOSUPPORT"}}
    expected = {socket.AF_INET, socket.AF_INET6, *({socket.AF_UNIX} if unix_sockets else ())}
    assert expected <= allowed <= {*expected, 16}  # 16: netlink, which needs a type of its own
    assert found["40"] == {"EAFNOSUPPORT"}  # vsock


def test_without_a_network_the_hosts_loopback_stays_closed(machine: SandboxMachine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f'attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {port}), 5).close())'
        assert attempts(machine, script) == {"tcp": {"ECONNREFUSED"}}
        assert attempts(machine, script, network=True) == {"tcp": {"done"}}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86_64 runs three kinds of programs")
def test_neither_io_uring_nor_another_kind_of_program_gets_around_the_filter(machine: SandboxMachine) -> None:
    before = outside(ROUNDABOUT)
    found = attempts(machine, ROUNDABOUT)
    assert (found["io_uring"], found["x32"]) == ({"ENOSYS"}, {"ENOSYS"})
    if before["socketcall"] != {"done"} or before["chmod of i386"] != {"done"}:
        pytest.skip("the kernel runs no programs of i386")
    assert found["chmod of i386"] == {"EPERM"}
    rest = set(found) - {"io_uring", "x32", "chmod of i386"}
    assert set[str]().union(*(found[each] for each in rest)) == {"EAFNOSUPPORT"}


@needs_numbers
def test_no_call_makes_a_file_that_runs_with_the_rights_of_its_owner(
    machine: SandboxMachine, tmp_path: Path
) -> None:
    free = tmp_path / "free"
    free.mkdir()
    before = outside(SET_ID, str(free))
    found = attempts(machine, SET_ID, "out")
    assert before["chmod" if "chmod" in CALLS else "fchmodat"] == {"done"}
    assert found.pop("openat2") == {"ENOSYS"}
    for name in ("chmod of another kind", "file", "directory"):
        assert found.pop(name) == {"done"}
    assert len(found) >= 6
    assert set[str]().union(*found.values()) == {"EPERM"}
    made = [*(machine.project / "out").iterdir()]
    assert sorted(each.name for each in made) == ["directory", "file", "own"]
    assert not any(each.stat().st_mode & 0o6000 for each in made)


def test_asyncio_and_subprocesses_of_python_work(machine: SandboxMachine) -> None:
    script = """
async def run():
    made = await asyncio.create_subprocess_exec("echo", "hello", stdout=asyncio.subprocess.PIPE)
    print((await made.communicate())[0].decode().strip(), "done")
asyncio.run(run())
"""
    assert attempts(machine, script) == {"hello": {"done"}}


@needs_node
def test_node_and_its_children_work(machine: SandboxMachine) -> None:
    script = """
const { fork, execSync } = require("child_process");
if (process.argv[2] === "child") { process.send("hello"); process.disconnect(); }
else fork(process.argv[1], ["child"]).on("message", (text) => console.log(text, execSync("echo done") + ""));
"""
    (machine.project / "run.js").write_text(script)
    done = inside(machine, "node", "run.js", read=(".",))
    assert (done.stdout.split(), done.stderr) == (["hello", "done"], "")
