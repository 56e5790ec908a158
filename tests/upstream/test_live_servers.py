"""Real servers, started and reached for real."""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.settings import NESTED
from remit.upstream.live_servers import LiveServers
from remit.upstream.upstream_model import Offer, Upstream
from support import upstream_pools
from support.processes import SERVERS
from support.upstream_pools import launch_resources

SMALL_SERVER = str(SERVERS / "small_server.py")


def upstream(
    launch: Launch, *, label: str = "small", directory: Path | str = "/", deadline: float = 60
) -> Upstream:
    return upstream_pools.upstream(launch, label, directory=str(directory), deadline=deadline)


def process(kind: str, *arguments: str, env: dict[str, str] | None = None) -> Launch:
    args = (SMALL_SERVER, kind, *arguments)
    return Launch(command=sys.executable, args=args, env=env or {}, syntaxes=(VariableSyntax.DEFAULTS,))


def ask(*upstreams: Upstream, variables: dict[str, str] | None = None) -> list[Offer]:
    environment = {"PATH": os.environ["PATH"], **(variables or {})}
    return LiveServers(launch_resources(environment)).ask(upstreams, _ignore)


def _ignore(_: Upstream, __: Offer) -> None:
    pass


@contextmanager
def serving(kind: str) -> Generator[str]:
    """Run a server of HTTP on a free port, and give its address."""
    server = subprocess.Popen([sys.executable, SMALL_SERVER, kind], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.communicate()


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.long
def test_a_stateless_server_lists_its_tools_with_full_definitions() -> None:
    (offer,) = ask(upstream(process("sdk")))
    assert offer.failure is None
    assert (offer.protocol_version, offer.server_version) == ("2026-07-28", "4.5.6")
    read, where = offer.tools
    assert (read.name, read.tool, read.server) == ("mcp__small__read", "read", "small")
    assert (read.title, read.description) == ("Read a file", "Read one file.")
    assert json.loads(read.input_schema or "")["properties"]["path"]["type"] == "string"
    assert json.loads(where.output_schema or "")["type"] == "object"


def test_a_session_server_lists_all_its_pages() -> None:
    (offer,) = ask(upstream(process("old")))
    assert (offer.protocol_version, offer.server_version) == ("2024-11-05", "1.2.3")
    assert [tool.tool for tool in offer.tools] == ["read", "write", "do.it"]
    assert offer.tools[2].name == "mcp__small__do_it"


def test_a_bad_tool_is_quarantined_and_named() -> None:
    (offer,) = ask(upstream(process("bad")))
    assert [tool.tool for tool in offer.tools] == ["good", "do.it", "also-good"]
    assert {bad.tool: bad.reason for bad in offer.quarantined} == {
        "untyped": 'inputSchema: `type` is not "object"',
        "number 3": "has no name",
        "number 4": "the tool: not an object",
        "schemaless": "inputSchema: is missing",
        "wordy": "description: not text",
        "do_it": "collides with `do.it`: both are called `mcp__small__do_it`",
    }


def test_a_server_without_tools_has_none() -> None:
    (offer,) = ask(upstream(process("toolless")))
    assert (offer.failure, list(offer.tools)) == (None, [])


def test_a_list_without_an_end_is_a_failure() -> None:
    (offer,) = ask(upstream(process("endless")))
    assert offer.failure is not None
    assert offer.failure.reason == "its list of tools has no end: 3 so far"


@pytest.mark.long
def test_a_long_error_message_is_truncated() -> None:
    (offer,) = ask(upstream(process("complain")))
    assert offer.failure is not None
    assert offer.failure.reason.startswith("answers with an error: no no no")
    assert len(offer.failure.reason) == 500


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_a_server_that_ignores_signals_is_killed_soon_after_its_deadline(tmp_path: Path) -> None:
    note = tmp_path / "note"
    (offer,) = ask(upstream(process("deaf", str(note)), deadline=3))
    assert offer.failure is not None
    assert not is_running(int(note.read_text()))
    assert offer.seconds < 5.5  # it is waited for twice, half a second each


def test_a_tool_with_too_long_a_name_or_text_is_quarantined() -> None:
    (offer,) = ask(upstream(process("long")))
    assert [tool.tool for tool in offer.tools] == ["n" * 256]
    assert {bad.tool: bad.reason for bad in offer.quarantined} == {
        "number 1": "its name is longer than 256 characters",
        "titled": "its definition is longer than 1,048,576 characters",
        "boundless": "contains a number that JSON cannot represent",
        "noted": "its definition is longer than 1,048,576 characters",
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("many", "lists more than 10,000 tools"),
        ("heavy", "sends more than 64 MB"),
        ("unreadable", "answers with a message that cannot be read"),
    ],
)
def test_a_server_that_sends_too_much_is_a_failure_at_once(kind: str, reason: str) -> None:
    (offer,) = ask(upstream(process(kind)))
    assert offer.failure is not None
    assert offer.failure.reason == reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("http-heavy", "answers with more than 16 MB at once"),
        ("http-packed", "compresses its answers, which Remit does not accept"),
        ("http-unreadable", "answers with a message that cannot be read"),
    ],
)
def test_a_remote_server_that_sends_too_much_is_a_failure_at_once(kind: str, reason: str) -> None:
    with serving(kind) as address:
        (offer,) = ask(upstream(Launch(transport=Transport.HTTP, url=f"{address}/mcp")))
    assert offer.failure is not None
    assert offer.failure.reason == reason


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        (
            Launch(transport=Transport.HTTP, url="ftp://127.0.0.1/mcp"),
            "cannot be reached: its URL must begin with http:// or https://",
        ),
        (
            Launch(transport=Transport.HTTP, url="http://[::1%25nowhere]/mcp"),
            "cannot be reached: unknown host",
        ),
        (Launch(transport=Transport.HTTP, url="http://127.0.0.1:port/mcp"), "its URL cannot be read"),
        (
            Launch(transport=Transport.HTTP, url="http://127.0.0.1:9", headers={"Key": "schlüssel\u2713"}),
            "its URL or headers contain a character that cannot be sent",
        ),
        (
            Launch(command=sys.executable, args=("a\0b",)),
            "its command, arguments or variables contain a character that cannot be sent",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_is_explained_in_words(launch: Launch, reason: str) -> None:
    (offer,) = ask(upstream(launch))
    assert offer.failure is not None
    assert offer.failure.reason == reason


@pytest.mark.long
@pytest.mark.parametrize(("kind", "version"), [("http", "2026-07-28"), ("http-old", "2025-11-25")])
def test_a_remote_server_is_reached_in_both_eras(kind: str, version: str) -> None:
    with serving(kind) as address:
        (offer,) = ask(upstream(Launch(transport=Transport.HTTP, url=f"{address}/mcp")))
    assert offer.failure is None
    assert (offer.protocol_version, [tool.tool for tool in offer.tools]) == (version, ["read", "where"])


@pytest.mark.long
def test_an_sse_server_is_reached() -> None:
    with serving("sse") as address:
        (offer,) = ask(upstream(Launch(transport=Transport.SSE, url=f"{address}/sse")))
    assert offer.failure is None
    assert [tool.tool for tool in offer.tools] == ["read", "where"]


@pytest.mark.long
def test_headers_are_sent_with_expanded_variables() -> None:
    headers = {"Authorization": "Bearer ${SESAME}"}
    with serving("http-closed") as address:
        launch = Launch(
            transport=Transport.HTTP,
            url=f"{address}/mcp",
            headers=headers,
            syntaxes=(VariableSyntax.DEFAULTS,),
        )
        (let_in,) = ask(upstream(launch), variables={"SESAME": "sesame-opens"})
        (refused,) = ask(upstream(launch), variables={"SESAME": "wrong-word"})
    assert let_in.failure is None
    assert refused.failure is not None
    assert refused.failure.reason == "answers 401 Unauthorized"
    assert refused.failure.hint == "run `remit login small`, or add its headers in /files/.mcp.json"
    assert "wrong-word" not in repr(refused)


def test_a_missing_remote_server_is_unreachable() -> None:
    closed = socket.socket()  # bound, and nobody listens
    closed.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    launches = [
        Launch(transport=each, url=f"{address}/mcp?key=k3y") for each in (Transport.HTTP, Transport.SSE)
    ]
    for offer in ask(*map(upstream, launches)):
        assert offer.failure is not None
        assert offer.failure.reason == "cannot be reached: connection refused"
        assert "k3y" not in repr(offer)
    closed.close()


def test_a_web_socket_is_not_supported() -> None:
    (offer,) = ask(upstream(Launch(transport=Transport.WEBSOCKET, url="ws://127.0.0.1:9")))
    assert offer.failure is not None
    assert offer.failure.reason == "WebSocket servers are not supported"


@pytest.mark.long
def test_a_server_that_hangs_is_killed_at_its_deadline_and_the_others_answer() -> None:
    hanging, answering = ask(upstream(process("hang"), deadline=0.5), upstream(process("old"), label="other"))
    assert hanging.failure is not None
    assert hanging.failure.reason == "did not answer within 0.5 s"
    assert answering.failure is None


def test_a_crashed_server_is_reported_with_its_last_output_without_secrets() -> None:
    (offer,) = ask(upstream(process("crash", env={"PASSWORD": "${P}"})), variables={"P": "hunter22"})
    assert offer.failure is not None
    assert offer.failure.reason == "ended before it answered (exit code 3)"
    assert list(offer.failure.output) == ["cannot log in", "with ***"]


def test_a_command_that_does_not_exist_is_not_found() -> None:
    (offer,) = ask(upstream(Launch(command="/no/such/program")))
    assert offer.failure is not None
    assert offer.failure.reason == "cannot be started: its command was not found"


def test_a_server_that_floods_stderr_still_answers() -> None:
    (offer,) = ask(upstream(process("flood")))
    assert [tool.tool for tool in offer.tools] == ["heard"]


def test_a_missing_variable_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    note = tmp_path / "note"
    (offer,) = ask(upstream(process("tell", str(note), "${NOWHERE}")))
    assert offer.failure is not None
    assert offer.failure.reason == "needs `NOWHERE`, which is not set"
    assert not note.exists()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_child_processes_of_a_server_are_killed(tmp_path: Path) -> None:
    note = tmp_path / "child"
    (offer,) = ask(upstream(process("family", str(note))))
    assert [tool.tool for tool in offer.tools] == ["bear"]
    assert not is_running(int(note.read_text()))


def test_a_server_runs_in_its_directory_with_the_users_environment_and_its_own(tmp_path: Path) -> None:
    note = tmp_path / "note"
    ask(
        upstream(process("tell", str(note), "${WORD:-none}", env={"OWN": "${WORD}"}), directory=tmp_path),
        variables={"WORD": "said", "KEPT": "kept"},
    )
    told = json.loads(note.read_text())
    assert (told["cwd"], told["args"]) == (str(tmp_path), ["said"])
    given = {name: told["env"][name] for name in ("OWN", "KEPT", "REMIT_DEPTH", "CLAUDE_PROJECT_DIR", "PWD")}
    assert given == {
        "OWN": "said",
        "KEPT": "kept",
        "REMIT_DEPTH": NESTED,
        "CLAUDE_PROJECT_DIR": str(tmp_path),
        "PWD": str(tmp_path),
    }


def test_answers_are_returned_in_request_order_and_reported_as_they_arrive() -> None:
    asked = [upstream(process("old"), label=f"s{at}") for at in range(10)]
    told: list[str] = []
    environment = {"PATH": os.environ["PATH"]}
    offers = LiveServers(launch_resources(environment)).ask(asked, lambda one, _: told.append(one.label))
    assert [offer.tools[0].server for offer in offers] == [f"s{at}" for at in range(10)]
    assert sorted(told) == sorted(one.label for one in asked)


def test_a_slow_callback_delays_no_server(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR)
    heard: list[list[int]] = []

    def listen(one: Upstream, _: Offer) -> None:
        if one.label == "gone":  # which has answered before the other
            heard.append(select.select([pipe], [], [], 60)[0])

    asked = [
        upstream(Launch(command="/no/such/program"), label="gone"),
        upstream(process("farewell", str(tmp_path / "pipe"))),
    ]
    LiveServers(launch_resources({"PATH": os.environ["PATH"]})).ask(asked, listen)
    os.close(pipe)
    assert heard == [[pipe]]


def test_an_error_of_the_callback_propagates_unchanged() -> None:
    def refuse(_: Upstream, __: Offer) -> None:
        raise LookupError("the store is gone")

    with pytest.raises(LookupError, match="the store is gone"):
        LiveServers(launch_resources({})).ask([upstream(Launch(command="/no/such/program"))], refuse)


def test_a_tool_with_invalid_header_parameters_is_quarantined() -> None:
    (offer,) = ask(upstream(process("headed")))
    assert [tool.tool for tool in offer.tools] == ["good"]
    ((bad, reason),) = [(bad.tool, bad.reason) for bad in offer.quarantined]
    assert bad == "split"
    assert reason.startswith("inputSchema: `x-mcp-header` cannot be used: ")
