"""Servers under bubblewrap, which try to get out."""

import os
import socket
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.configuration.config_model import SandboxOptions
from remit.errors import UpstreamError
from support.sandboxed_servers import SandboxMachine, inside, obstacle

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))]


@pytest.fixture
def machine(tmp_path: Path) -> SandboxMachine:
    return SandboxMachine(tmp_path.resolve())


@pytest.mark.long
async def test_a_sandboxed_server_reads_and_writes_what_it_may(machine: SandboxMachine) -> None:
    async with machine.opened(SandboxOptions(read=(".",), write=("out", "new/er"))) as probe:
        assert await probe.run("cat readme.txt") == (True, "a shop")
        assert await probe.run("echo made > out/made.txt && touch new/er/x && pwd") == (
            True,
            f"{machine.project}\n",
        )
        assert not (await probe.run("echo no > readme.txt"))[0]
        assert not (await probe.run("touch beside.txt"))[0]
        assert (await probe.run("echo x > /tmp/x && echo x > $HOME/x"))[0]  # both are its own, and gone later
    assert (machine.project / "out" / "made.txt").read_text() == "made\n"
    assert sorted(each.name for each in machine.project.iterdir()) == ["new", "out", "readme.txt"]
    assert not (machine.home / "x").exists()


@pytest.mark.long
async def test_nothing_else_of_the_machine_is_reachable(machine: SandboxMachine) -> None:
    async with machine.opened(SandboxOptions(read=(".",))) as probe:
        for secret in machine.secrets:
            assert (await probe.run(f"cat {secret}"))[0] is False, secret
        assert (await probe.run(f"ls -A {machine.home} {machine.home}/code"))[1].split() == [
            *(f"{machine.home}:", "code", f"{machine.home}/code:", "shop")
        ]
        assert not (await probe.run("cat /etc/shadow /etc/sudoers"))[0]
        for place in ("/run", "/var/run", "/sys", "/boot", "/srv", "/mnt", "/var/lib"):
            assert (await probe.run(f"ls -A {place}"))[1].count("\n") <= 1, place
        assert not (await probe.run("touch /usr/x || touch /etc/x || mkdir /x"))[0]


@pytest.mark.long
async def test_it_sees_only_its_own_processes_and_devices(machine: SandboxMachine) -> None:
    async with machine.opened(SandboxOptions()) as probe:
        numbers = (await probe.run("ls /proc | grep '^[0-9]'"))[1].split()
        assert len(numbers) < 8
        assert not (await probe.run(f"kill -0 {os.getpid()}"))[0] or str(os.getpid()) in numbers
        assert "sda" not in (await probe.run("ls /dev"))[1]
        caps = (await probe.run("grep CapEff /proc/self/status"))[1]
        assert int(caps.split()[1], 16) == 0


@pytest.mark.long
async def test_a_server_that_may_read_the_home_still_gets_no_secrets(machine: SandboxMachine) -> None:
    async with machine.opened(SandboxOptions(read=("~",))) as probe:
        assert await probe.run("cat ~/notes.txt") == (True, "hunter22")
        for secret in (".ssh/id_ed25519", ".aws/credentials", ".local/share/remit/remit.db", ".npmrc"):
            assert not (await probe.run(f"cat ~/{secret}"))[0], secret
        assert (await probe.run("ls -A ~"))[1].split() == ["code", "notes.txt"]  # nothing hidden at all
    async with machine.opened(SandboxOptions(read=("~", "~/.aws"))) as probe:  # the user names it
        assert await probe.run("cat ~/.aws/credentials") == (True, "hunter22")


async def test_a_link_to_a_hidden_entry_of_the_home_is_refused(machine: SandboxMachine) -> None:
    (machine.home / ".vivaldi").mkdir()
    (machine.home / "profile").symlink_to(machine.home / ".vivaldi")
    async with machine.opened(SandboxOptions(read=("~/profile",))) as probe:
        with pytest.raises(UpstreamError, match="profile` leads to a place that may hold secrets"):
            await probe.run("true")


CONNECT = (
    "{python} -c 'import socket, sys\n"
    's = socket.socket(socket.AF_UNIX if sys.argv[1] == "-" else socket.AF_INET)\n'
    "s.settimeout(5)\n"
    's.connect(chr(0) + sys.argv[2] if sys.argv[1] == "-" else (sys.argv[1], int(sys.argv[2])))\''
    " {host} {port}"
)


@contextmanager
def listening() -> Generator[tuple[int, str]]:
    """Listen on the host's loopback, and on an abstract socket as X and D-Bus do."""
    name = f"remit-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{name}")
        abstract.listen()
        yield server.getsockname()[1], name


@pytest.mark.long
async def test_without_a_network_it_reaches_not_even_the_hosts_loopback(machine: SandboxMachine) -> None:
    with listening() as (port, name):
        command = CONNECT.format(python=sys.executable, host="127.0.0.1", port=port)
        async with machine.opened(SandboxOptions()) as probe:
            assert not (await probe.run(command))[0]
            assert not (await probe.run(f"setsid {command}"))[0]  # its children neither
            assert not (await probe.run(CONNECT.format(python=sys.executable, host="-", port=name)))[0]
        async with machine.opened(SandboxOptions(network=True)) as probe:
            assert await probe.run(command) == (True, "")
            assert not (await probe.run(CONNECT.format(python=sys.executable, host="-", port=name)))[0]


@pytest.mark.long
async def test_its_environment_is_minimal_and_leads_to_no_socket(machine: SandboxMachine) -> None:
    given = {"AWS_SECRET_ACCESS_KEY": "hunter22", "SSH_AUTH_SOCK": "/run/agent", "DISPLAY": ":0", "LANG": "C"}
    async with machine.opened(SandboxOptions(), variables=given) as probe:
        names = {line.partition("=")[0] for line in (await probe.run("env"))[1].splitlines()}
    assert {"PATH", "HOME", "LANG"} <= names
    assert names.isdisjoint({"AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "DISPLAY"})


@pytest.mark.long
async def test_a_variable_of_its_entry_runs_no_code_outside_the_sandbox(machine: SandboxMachine) -> None:
    evil = machine.project / "evil.so"
    evil.write_text("not a library")
    async with machine.opened(SandboxOptions(read=(".",))) as probe:
        seen = (await probe.run("tr '\\0' ' ' < /proc/1/cmdline; tr '\\0' '\\n' < /proc/1/environ"))[1]
    assert "bwrap" in seen
    assert str(machine.home) not in seen  # bubblewrap itself gets no variables, and shows none


async def test_links_in_the_project_are_refused(machine: SandboxMachine) -> None:
    (machine.project / "link").symlink_to(machine.home / ".ssh")
    async with machine.opened(SandboxOptions(read=("link",))) as probe:
        with pytest.raises(
            UpstreamError, match="cannot be started in its sandbox: `link` is or contains a link"
        ):
            await probe.run("true")


@pytest.mark.long
async def test_its_children_end_with_it(machine: SandboxMachine) -> None:
    sign = f"{time.time_ns()}"
    async with machine.opened(SandboxOptions(write=("out",))) as probe:
        await probe.run(f"(setsid sleep 1{sign} &) >/dev/null 2>&1")
        assert running(sign)
    assert not running(sign)


@pytest.mark.long
async def test_it_may_end_in_its_own_way_when_it_gets_a_signal(machine: SandboxMachine) -> None:
    farewell = machine.project / "out" / "farewell"
    async with machine.opened(SandboxOptions(write=("out",)), arguments=(str(farewell),)) as probe:
        assert (await probe.run("true"))[0]
    assert farewell.exists()


def running(sign: str) -> list[str]:
    """List the processes of this machine whose command contains a sign."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [file.parent.name] if sign.encode() in file.read_bytes() else []
        except OSError:
            continue
    return found


def test_a_program_in_a_hidden_entry_runs_where_the_home_is_readable(machine: SandboxMachine) -> None:
    target, link = machine.home / ".local/share/x/run", machine.home / ".local/bin/run"
    for each in (target, link):
        each.parent.mkdir(parents=True)
    target.write_text("#!/bin/sh\nls -A ~ ~/.local/share\n")
    target.chmod(0o755)
    link.symlink_to("../share/x/run")
    done = inside(machine, str(link), read=(str(machine.home),))
    home = f"{machine.home}:\n.local\ncode\nnotes.txt\n"
    assert done.stdout == f"{home}\n{machine.home}/.local/share:\nx\n"
