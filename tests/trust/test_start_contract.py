"""Nothing in the tree starts or reaches a server except with a permit, in the one place that spends it."""

from support.source_trees import SourceModule, source_modules

# Who may make, spend and use each step on the way from an entry to an open server.
STEPS = {
    "StartPermit": {"trust/start_permit.py"},
    "permit_start": {"gateway/catalog_builder.py", "scanning/server_lists.py"},
    "ReadyServer": {"upstream/launch/ready_server.py"},
    "make_ready": {"upstream/launch/launch_resources.py", "upstream/oauth/sign_in.py"},
    "start_process": {"upstream/connect.py", "upstream/transports/remote.py"},
    "open_http_client": {
        "gateway/access/issuer_documents.py",  # fetches the keys of the issuer that the machine's file names
        "upstream/oauth/sign_in.py",
        "upstream/transports/remote.py",
    },
}
# Whatever else runs programs or connects, and why that is no server of an entry.
OTHERS = {
    "cli/add_command.py": "runs a client's own command, as the user asked",
    "cli/login_commands.py": "opens the user's browser",
    "demo/demo_story.py": "runs this Remit's commands and its gateway, in a temporary directory",
    "approvals/answering_client.py": "asks a socket of its own who made it",
    "approvals/process_tree.py": "asks `ps` for the ancestors of this process, where there is no /proc",
    "gateway/desktop_notification.py": "runs the desktop's own command to show a pending approval",
    "gateway/results/large_results.py": "searches in an interpreter of its own, which a time limit can end",
    "gateway/transports/http_server.py": "listens",
    "gateway/transports/socket_server.py": "listens",
    "gateway/transports/store_wait.py": "listens",
    "hooks/guarded_answer.py": "answers in a child of its own, which a time limit can end",
    "hooks/hook_process.py": "goes on in the background after an answer",
    "install/own_command.py": "asks this interpreter whether it finds Remit, at install",
    "names/command_runner.py": "runs the command line that a Python tool declares",
    "search/embeddings/endpoint_connection.py": "the endpoint that the user's environment names",
    "store/postgres/revision_listener.py": "listens to the store",
    "store/postgres/server_locks.py": "holds locks in the store",
    "states/detectors/command_exit.py": "a state's command, which has a trust of its own",
    "states/detectors/http_status.py": "a state's URL, which has a trust of its own",
    "upstream/launch/bubblewrap.py": "asks bubblewrap whether it works here",
    "upstream/transports/http_client.py": "`open_http_client`",
    "upstream/transports/process.py": "`start_process`",
    "upstream/transports/process_pipes.py": "`open_process`, for `start_process`",
    "upstream/transports/watchdog.py": "a script of Remit's, which ends the processes it is told of",
    "web/web_command.py": "opens the user's browser",
    "web/web_server.py": "listens",
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


def runs_or_connects(module: SourceModule) -> bool:
    runs = any(
        name in CALLS or name.startswith(("execv", "execl", "spawnv", "spawnl")) for name in module.called
    )
    return runs or not MODULES.isdisjoint(module.imported)


def test_each_step_to_an_open_server_is_taken_only_where_it_belongs() -> None:
    called = {path: module.called for path, module in source_modules().items()}
    assert {step: {path for path, names in called.items() if step in names} for step in STEPS} == STEPS


def test_the_seal_of_permits_is_known_in_one_module() -> None:
    using = [
        path
        for path, module in source_modules().items()
        if "_SEAL" in module.names or any(name.endswith("._SEAL") for name in module.imported)
    ]
    assert using == ["trust/start_permit.py"]


def test_nothing_else_runs_programs_or_connects() -> None:
    assert {path for path, module in source_modules().items() if runs_or_connects(module)} == OTHERS.keys()


def test_permits_are_not_made_around_their_constructor() -> None:
    tricks = {"__new__", "__setstate__", "__reduce__"}
    for path, module in source_modules().items():
        names = {name for name in module.imported if name.endswith(("StartPermit", "ReadyServer"))}
        if names and path != "trust/start_permit.py":
            assert tricks.isdisjoint(module.called), path
