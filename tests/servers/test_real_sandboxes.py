"""Real servers of npm and PyPI in a sandbox: they work inside it, and reach nothing else.

Run by `make test-servers`.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from remit.configuration.config_model import SandboxOptions
from remit.decision.declared_launch import Launch
from remit.upstream.upstream_pool import open_upstream_pool
from support.processes import git
from support.upstream_pools import RecordingCaller, launch_resources, upstream

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        not os.environ.get("REMIT_TEST_SERVERS"), reason="`make test-servers` installs the servers"
    ),
]
Call = tuple[str, dict[str, Any], bool, str]  # tool, arguments, whether it works, a word of its answer


async def answers(home: Path, words: tuple[str, ...], sandbox: SandboxOptions, calls: list[Call]) -> None:
    """Start a server in a sandbox, and compare what its tools answer."""
    program = os.path.join(os.environ["REMIT_TEST_SERVERS"], words[0])
    if not os.path.exists(program):
        pytest.skip(f"`make test-servers` installs {os.path.basename(program)} and runs this")
    launch = Launch(command=program, args=words[1:])
    at = str(home / "shop")
    made = upstream(launch, directory=at, sandbox=sandbox, root=at, home=str(home), inherits=False)
    resources = launch_resources({"PATH": os.environ["PATH"], "HOME": str(home)}, home=str(home))
    async with open_upstream_pool(resources) as pool:
        for name, arguments, works, word in calls:
            params = {"name": name, "arguments": arguments}
            answer: Any = await pool.request(made, "tools/call", params, RecordingCaller())
            assert answer.get("isError", False) is not works, answer
            assert word in str(answer["content"]), answer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "shop" / "out").mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("hunter22")
    (home / "shop" / "readme.txt").write_text("a shop")
    git("init", cwd=home / "shop")
    return home


async def test_the_filesystem_server_reads_and_writes_only_what_it_may(home: Path) -> None:
    shop = str(home / "shop")
    await answers(
        home,
        ("node_modules/.bin/mcp-server-filesystem", str(home)),  # its own limit is wider than the sandbox
        SandboxOptions(read=(".",), write=("out",)),
        [
            ("read_text_file", {"path": f"{shop}/readme.txt"}, True, "a shop"),
            ("write_file", {"path": f"{shop}/out/a.txt", "content": "a"}, True, "Successfully"),
            ("write_file", {"path": f"{shop}/a.txt", "content": "a"}, False, "read-only"),
            ("read_text_file", {"path": f"{home}/.ssh/id"}, False, "ENOENT"),
        ],
    )
    assert (home / "shop/out/a.txt").read_text() == "a"


async def test_the_git_server_reads_the_repository_and_commits_only_where_it_may_write(home: Path) -> None:
    path = {"repo_path": str(home / "shop")}
    program = ("python/bin/mcp-server-git",)
    add = {**path, "files": ["readme.txt"]}
    reading = [("git_status", path, True, "readme.txt"), ("git_add", add, False, "ead-only")]
    await answers(home, program, SandboxOptions(read=(".",)), reading)
    await answers(home, program, SandboxOptions(write=(".",)), reading)
    await answers(home, program, SandboxOptions(write=(".", ".git")), [("git_add", add, True, "staged")])


async def test_the_memory_server_works_without_any_files(home: Path) -> None:
    words = ("node_modules/.bin/mcp-server-memory",)
    await answers(home, words, SandboxOptions(), [("read_graph", {}, True, "entities")])


async def test_the_fetch_server_reaches_no_network(home: Path) -> None:
    words = ("python/bin/mcp-server-fetch", "--ignore-robots-txt")
    calls: list[Call] = [("fetch", {"url": "http://127.0.0.1:9/"}, False, "")]
    await answers(home, words, SandboxOptions(), calls)
