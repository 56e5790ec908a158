"""What reaches a terminal, a pipe, a shell that completes words, and a closed stream."""

import os
import signal
import subprocess
import sys

from support.command_line import CommandLine

STDIO = {"command": "run-it"}


def test_a_name_from_a_file_cannot_steer_the_terminal(remit: CommandLine) -> None:
    name = "evil\x1b[2Jserver\u202e"
    remit.mine(**{name: STDIO})

    for shown in (remit("tools").out, remit.at_terminal("tools").out, remit("doctor").out):
        assert "\x1b[2J" not in shown
        assert "\u202e" not in shown
        assert "evil\\x1b[2Jserver\\u202e" in shown


def test_text_that_is_piped_is_the_same_everywhere_and_names_are_never_cut(remit: CommandLine) -> None:
    name = "a-server-with-quite-a-long-name-" * 4
    remit.mine(**{name: STDIO})
    remit.variables["COLUMNS"] = "40"
    narrow = remit("tools").out
    remit.variables["COLUMNS"] = "400"

    assert remit("tools").out == narrow
    assert name in narrow
    assert name in remit.at_terminal("tools", columns=40).out.replace("\n", "")


def test_a_terminal_gets_lines_that_fit_and_styles_unless_it_wants_none(remit: CommandLine) -> None:
    remit.mine(**{f"server-{number}": STDIO for number in range(9)})
    remit.variables["NO_COLOR"] = "1"
    plain = remit.at_terminal("why", "nothing", columns=60)

    assert max(map(len, plain.lines)) <= 60
    assert "\x1b[" not in plain.out
    remit.variables.clear()
    assert "\x1b[1m" in remit.at_terminal("tools").out


def test_in_a_pipe_what_is_said_stays_in_its_place(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    process = subprocess.run(
        [sys.executable, "-m", "remit", "why", "gti"],
        cwd=remit.shop,
        env=remit.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert process.stdout.startswith("gti: ")
    assert process.stdout.splitlines()[-1] == "hint: did you mean `git`?"


def test_closed_streams_full_disks_and_closed_pipes_bring_no_traceback(remit: CommandLine) -> None:
    remit.mine(**{f"server-{number}": STDIO for number in range(400)})
    command = f'"{sys.executable}" -m remit tools --json'
    codes = {"| true": 0, ">&-": 0, "> /dev/full": 2, "<&- 2>&-": 0}
    for end, code in codes.items():
        process = subprocess.run(
            ["/bin/sh", "-c", f"{command} {end}"],
            cwd=remit.shop,
            env=remit.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == code, (end, process.stderr)
        expected = "" if code == 0 else "error: could not write the output: No space left on device\n"
        assert process.stderr == expected, end


def test_what_the_encoding_lacks_is_escaped(remit: CommandLine) -> None:
    remit.mine(sérver=STDIO)
    remit.variables["PYTHONIOENCODING"] = "ascii"

    assert "s\\xe9rver" in remit("tools").out


def test_ctrl_c_ends_a_command_without_a_traceback(remit: CommandLine) -> None:
    slow = "import os, signal, sys; sys.argv = ['remit', 'tools']; from remit import __main__ as command\n"
    slow += "import remit.cli.app as app\n"
    slow += "app._prepare_streams = lambda: os.kill(os.getpid(), signal.SIGINT)\ncommand.main()"
    process = subprocess.run(
        [sys.executable, "-c", slow], env=remit.environment, capture_output=True, text=True, check=False
    )

    assert process.returncode in (130, -signal.SIGINT)
    assert process.stderr == ""


def test_a_repository_cannot_turn_a_command_into_a_completion(remit: CommandLine) -> None:
    remit.variables["_REMIT_COMPLETE"] = "bash_source"

    assert remit("--version").out.startswith("remit ")


def test_completion_offers_only_names_that_a_shell_would_not_run(remit: CommandLine) -> None:
    remit.mine(**{"git": STDIO, "git; rm -rf ~": STDIO, "git$(x)": STDIO})
    remit.variables |= {"_REMIT_COMPLETE": "bash_complete", "COMP_WORDS": "remit why g", "COMP_CWORD": "2"}

    assert [line.rpartition(",")[2] for line in remit().lines] == ["git"]


def test_a_command_runs_in_the_directory_that_is_named_before_or_after_it(remit: CommandLine) -> None:
    remit.shared(remit.shop, till=STDIO)
    for words in (
        ("-C", str(remit.shop), "tools", "--all", "--json"),
        ("tools", "--all", "--json", "-C", str(remit.shop)),
    ):
        answer = remit(*words, cwd=remit.home).json
        assert [tool["server"] for tool in answer["tools"]] == ["till"], words
    assert remit("-C", os.devnull, "tools").code == 2


def test_an_unknown_command_names_the_nearest(remit: CommandLine) -> None:
    assert "Did you mean 'tools'" in remit("tols").err


def test_all_errors_have_one_form(remit: CommandLine) -> None:
    for words in (("tools", "--bogus"), ("toolz",), ("tools", "nothing"), ("uninstall", "codex", "--yes")):
        shown = remit(*words).err
        assert "\nerror: " in f"\n{shown}"
        assert "Error:" not in shown
