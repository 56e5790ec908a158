"""Nothing in the tree starts or reaches a server except with a permit, in the one place that spends it."""

import ast
from collections.abc import Iterator

from support.source_trees import source_trees

# Who may make, spend and use each step on the way from an entry to an open server.
STEPS = {
    "StartPermit": {"trust/start_permit.py"},
    "permit_start": {"gateway/catalog_builder.py", "scanning/live_listing.py"},
    "ReadyServer": {"upstream/launch/ready_server.py"},
    "make_ready": {"upstream/launch/launch_resources.py", "upstream/oauth/sign_in.py"},
    "start_process": {"upstream/connect.py", "upstream/transports/header_command.py"},
    "open_http_client": {"upstream/transports/remote.py", "upstream/oauth/sign_in.py"},
}
# Whatever else runs programs or connects, and why that is no server of an entry.
OTHERS = {
    "cli/add_command.py": "runs a client's own command, as the user asked",
    "cli/login_commands.py": "opens the user's browser",
    "demo/demo_agent.py": "starts this Remit's gateway, in a temporary directory",
    "demo/demo_story.py": "runs this Remit's commands, in a temporary directory",
    "gateway/desktop_notification.py": "runs the desktop's own command to show a pending approval",
    "gateway/transports/http_server.py": "listens",
    "hooks/guarded_answer.py": "answers in a child of its own, which a time limit can end",
    "hooks/hook_command.py": "goes on in the background after an answer",
    "install/own_command.py": "asks this interpreter whether it finds Remit, at install",
    "names/command_runner.py": "runs the command line that a Python tool declares",
    "search/embeddings/endpoint_connection.py": "the endpoint that the user's environment names",
    "states/detectors/command_exit.py": "a state's command, which has a trust of its own",
    "states/detectors/http_status.py": "a state's URL, which has a trust of its own",
    "upstream/transports/http_client.py": "`open_http_client`",
    "upstream/transports/process.py": "`start_process`",
    "upstream/transports/watchdog.py": "a script of Remit's, which ends the processes it is told of",
}
MODULES = {
    *("subprocess", "socket", "pty", "multiprocessing", "webbrowser", "urllib.request", "http.client"),
    *(
        "asyncio.subprocess",
        "ftplib",
        "smtplib",
        "mcp.client.stdio",
        "mcp.client.sse",
        "mcp.client.streamable_http",
    ),
}
CALLS = {
    *("open_process", "run_process", "create_subprocess_exec", "create_subprocess_shell", "open_connection"),
    *("connect_tcp", "connect_unix", "create_connection", "HTTPConnection", "HTTPSConnection", "AsyncClient"),
    *("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"),
}


def called(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{each.name}" for each in node.names)


def runs_or_connects(tree: ast.Module) -> bool:
    runs = any(
        name in CALLS or name.startswith(("execv", "execl", "spawnv", "spawnl")) for name in called(tree)
    )
    return runs or not MODULES.isdisjoint(imported(tree))


def test_each_step_to_an_open_server_is_taken_only_where_it_belongs() -> None:
    found = {step: {path for path, tree in source_trees().items() if step in called(tree)} for step in STEPS}
    assert found == STEPS


def test_the_seal_of_permits_is_known_in_one_module() -> None:
    using = [
        path
        for path, tree in source_trees().items()
        if any(isinstance(node, ast.Name) and node.id == "_SEAL" for node in ast.walk(tree))
        or any(name.endswith("._SEAL") for name in imported(tree))
    ]
    assert using == ["trust/start_permit.py"]


def test_nothing_else_runs_programs_or_connects() -> None:
    assert {path for path, tree in source_trees().items() if runs_or_connects(tree)} == OTHERS.keys()


def test_permits_are_not_made_around_their_constructor() -> None:
    tricks = {"__new__", "__setstate__", "__reduce__"}
    for path, tree in source_trees().items():
        names = {name for name in imported(tree) if name.endswith(("StartPermit", "ReadyServer"))}
        if names and path != "trust/start_permit.py":
            assert tricks.isdisjoint(called(tree)), path
