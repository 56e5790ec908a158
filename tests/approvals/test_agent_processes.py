"""Commands that an agent runs, or that nobody attends, are recognized by variables and processes."""

import pytest

from remit.approvals.agent_processes import Process, ProcessTree, find_agent, find_stand_in

INIT = Process(1, 0, session=1, name="systemd", program="systemd")
MANAGER = Process(20, 1, session=20, name="systemd", program="systemd")
DESKTOP = Process(30, 20, session=30, name="gnome-terminal-", program="gnome-terminal-server")
SHELL = Process(40, 30, session=40, name="zsh", program="zsh", command=("-zsh",))
PERSON = (INIT, MANAGER, DESKTOP, SHELL)
BACKGROUND = "a background process"


def own(parent: int, *, session: int = 40) -> Process:
    command = ("/opt/python", "-m", "remit", "approve")
    return Process(99, parent, session=session, name="python", program="python3.11", command=command)


def found(*related: Process, holders: tuple[Process, ...] = ()) -> str | None:
    return find_agent({}, ProcessTree(related, holders))


@pytest.mark.parametrize("variables", [{}, {"PATH": "/bin"}, {"CLAUDECODE": ""}])
def test_a_person_in_a_terminal_is_no_agent(variables: dict[str, str]) -> None:
    assert find_agent(variables, ProcessTree((*PERSON, own(40)))) is None


def test_the_variables_of_a_client_name_it_where_no_process_can_be_seen() -> None:
    assert find_agent({"CLAUDECODE": "1"}, ProcessTree(())) == "Claude Code"
    assert find_agent({}, ProcessTree(())) is None


@pytest.mark.parametrize(
    ("client", "process"),
    [
        ("Claude Code", Process(50, 40, name="claude", program="2.1.325")),
        ("Claude Code", Process(50, 40, program="claude.exe")),
        ("opencode", Process(50, 40, name="main", command=("/home/me/bin/opencode", "run"))),
        ("Codex", Process(50, 40, program="node", command=("node", "/lib/@openai/codex/bin/codex.js"))),
        ("Gemini CLI", Process(50, 40, program="node", command=("node", "--x", "/usr/bin/gemini"))),
        ("Gemini CLI", Process(50, 40, program="bash", variables=frozenset({"GEMINI_CLI"}))),
        ("Remit's gateway", Process(50, 40, program="python3", command=("python", "-m", "remit", "serve"))),
        ("Remit's hook", Process(50, 40, program="python3", command=("/opt/bin/remit", "hook"))),
    ],
)
def test_a_client_among_the_ancestors_cannot_be_cleared(client: str, process: Process) -> None:
    assert found(*PERSON, process, own(50)) == client
    assert found(*PERSON, own(40), holders=(process,)) == client


@pytest.mark.parametrize(
    "command", [("vim", "claude.md"), ("node", "/srv/shop/claude.ts"), ("python3", "-m", "remit", "web")]
)
def test_a_program_that_only_names_a_client_is_none(command: tuple[str, ...]) -> None:
    assert found(*PERSON, Process(50, 40, program=command[0], command=command), own(50)) is None


@pytest.mark.parametrize("program", ["python3.11", "script", "bash", "cron"])
@pytest.mark.parametrize("adopted_by", [1, 20])
def test_a_detached_command_is_a_background_process(program: str, adopted_by: int) -> None:
    tool = Process(70, adopted_by, session=70, program=program)
    assert found(INIT, MANAGER, tool, own(70, session=70)) == BACKGROUND


def test_process_1_that_cannot_be_seen_adopts_as_well() -> None:
    assert found(own(1, session=99)) == BACKGROUND


@pytest.mark.parametrize(
    "origin",
    [
        Process(70, 1, session=70, name="sshd"),
        Process(70, 20, session=70, program="kitty"),
        Process(70, 1, session=70, name="gdm-session-wor"),  # another user's, with a name that was cut
        Process(70, 20, session=70, program="i3"),
        Process(
            70, 1, session=70, program="iTerm2", command=("/Applications/iTerm.app/Contents/MacOS/iTerm2",)
        ),
        Process(70, 1, session=70, program="python3.12", command=("python3", "/usr/bin/terminator")),
        Process(70, 1, session=70, program="python3.12", command=("python3", "-Es", "/usr/bin/guake")),
        Process(70, 1, session=70, program="dash", command=("sh", "/home/me/.vscode-server/bin/code-server")),
        Process(
            70,
            1,
            session=70,
            program="node",
            command=(
                "/home/me/.cursor-server/bin/1/node",
                "/home/me/.cursor-server/bin/1/out/server-main.js",
            ),
            is_own_program=True,
        ),
        Process(70, 0, session=70, program="bash"),  # entered from outside of a container
        Process(70, 69, session=70, program="bash"),  # by a process that is hidden
        Process(70, 1, session=1, program="bash"),  # the main command of a container
    ],
)
def test_a_line_to_a_login_a_terminal_or_a_container_is_a_persons(origin: Process) -> None:
    assert found(INIT, MANAGER, origin, own(70, session=70)) is None


@pytest.mark.parametrize(
    "origin",
    [
        Process(70, 1, session=70, name="konsole", program="konsole", is_own_program=True),  # a copy of bash
        Process(70, 20, session=70, name="tmux", program="tmux", is_own_program=True),
        Process(70, 1, session=70, name="sshd", is_own_program=True),  # it hides what it runs
        Process(70, 1, session=70, program="find", command=("find", "-exec", "remit")),
        Process(70, 1, session=70, program="split", command=("split", "--filter=remit approve 1")),
        Process(70, 20, session=70, program="emacs", command=("emacs", "--batch", "--eval", "(shell)")),
        Process(70, 1, session=70, program="ld-linux-x86-64.so.2", command=("ld", "/bin/bash")),
        Process(70, 1, session=70, program="python3.12", command=("python3", "-c", "run() # terminator")),
        Process(70, 1, session=70, program="python3.12", command=("python3", "/home/me/terminator")),
        Process(70, 1, session=70, program="python3.12", command=("python3", "-W", "/usr/bin/guake", "x.py")),
    ],
)
def test_a_program_that_poses_as_a_terminal_is_a_background_process(origin: Process) -> None:
    assert found(INIT, MANAGER, origin, own(70, session=70)) == BACKGROUND


def test_a_program_that_poses_as_the_users_manager_starts_no_terminal() -> None:
    manager = Process(70, 1, session=70, name="systemd", program="systemd", is_own_program=True)
    assert found(INIT, manager, own(70, session=70)) == BACKGROUND


def test_the_main_process_of_a_container_is_attended() -> None:
    assert found(Process(1, 0, program="python3.11")) is None


def test_a_multiplexer_counts_only_while_a_person_views_it() -> None:
    server = Process(70, 1, session=70, name="tmux: server", program="tmux")
    pane = own(70, session=99)
    viewer = Process(80, 40, session=40, name="tmux: client", program="tmux")
    agents = Process(50, 40, name="claude")
    background = Process(60, 1, session=60, program="script")
    views = {
        None: (*PERSON, viewer),
        BACKGROUND: (INIT, background, viewer._replace(parent=60)),
    }
    for expected, line in views.items():
        assert find_agent({}, ProcessTree((INIT, server, pane), viewers=[line])) == expected
    unseen = ProcessTree((INIT, server, pane), viewers=[(*PERSON, agents, viewer._replace(parent=50))])
    assert find_agent({}, unseen) == BACKGROUND
    assert find_agent({}, ProcessTree((INIT, server, pane))) == BACKGROUND


CLIENT = Process(50, 40, session=40, name="claude", program="claude")
MARKED = frozenset({"CLAUDECODE"})


def gateway(parent: int) -> Process:
    command = ("python3", "-m", "remit", "serve")
    return Process(99, parent, session=40, program="python3.11", command=command, variables=MARKED)


def stand_in(*related: Process, is_direct: bool = True) -> str | None:
    return find_stand_in(ProcessTree(related), is_direct=is_direct)


def test_a_client_that_starts_its_gateway_asks_its_person() -> None:
    assert stand_in(gateway(50), CLIENT, *PERSON) is None
    wrapper = Process(49, 40, session=40, program="node", command=("node", "/usr/bin/claude"))
    assert stand_in(gateway(50), CLIENT._replace(parent=49), wrapper, *PERSON) is None


def test_a_persons_own_program_may_be_the_client() -> None:
    app = Process(50, 40, session=40, program="python3.11", command=("python3", "app.py"))
    assert stand_in(gateway(50), app, *PERSON, is_direct=False) is None
    assert find_stand_in(ProcessTree(()), is_direct=False) is None


def test_a_program_of_an_agent_that_plays_the_client_is_a_stand_in() -> None:
    script = Process(60, 50, session=40, program="python3.11", command=("python3", "agent.py"))
    assert stand_in(gateway(60), script, CLIENT, *PERSON) == "Claude Code"


def test_a_gateway_whose_streams_are_not_the_clients_is_played_with() -> None:
    assert stand_in(gateway(50), CLIENT, *PERSON, is_direct=False) == "Claude Code"


def test_a_client_that_an_agent_starts_is_a_stand_in() -> None:
    inner = CLIENT._replace(pid=70, parent=60)
    shell = Process(60, 50, session=60, program="bash")
    assert stand_in(gateway(70), inner, shell, CLIENT, *PERSON) == "Claude Code"


def test_a_detached_gateway_has_no_client_that_asks() -> None:
    assert stand_in(gateway(1), INIT, is_direct=False) == BACKGROUND
    script = Process(60, 1, session=60, program="split")
    assert stand_in(gateway(60), script, INIT, is_direct=False) == BACKGROUND


def test_a_server_behind_the_gateway_asks_through_it() -> None:
    server = Process(90, 99, session=40, program="python3.11", command=("python3", "tools.py"))
    assert stand_in(server, gateway(50), CLIENT, *PERSON) is None
