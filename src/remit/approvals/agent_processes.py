"""Recognizes commands that an agent runs, from variables and from the processes that started them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from os.path import basename
from typing import NamedTuple

# Clients set these for the commands of their agents. A command can clear its own, but not its ancestors'.
MARKERS = {
    "ANTIGRAVITY_AGENT": "Antigravity",
    "AUGMENT_AGENT": "Augment",
    "CLAUDECODE": "Claude Code",
    "CLINE_ACTIVE": "Cline",
    "CODEX_SANDBOX": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "COPILOT_CLI": "Copilot CLI",
    "CRUSH": "Crush",
    "CURSOR_AGENT": "Cursor",
    "GEMINI_CLI": "Gemini CLI",
    "GOOSE_TERMINAL": "Goose",
    "OPENCODE": "opencode",
    "PI_CODING_AGENT": "Pi",
    "QWEN_CODE": "Qwen Code",
    "TRAE_AI_SHELL_ID": "Trae",
    "AI_AGENT": "an agent",  # last: others name it
}
# Programs that run agents only. People have terminals in editors as well, so these are not here.
_CLIENTS = {
    "aider": "Aider",
    "amp": "Amp",
    "auggie": "Augment",
    "claude": "Claude Code",
    "cline": "Cline",
    "cn": "Continue",
    "codex": "Codex",
    "copilot": "Copilot CLI",
    "crush": "Crush",
    "cursor-agent": "Cursor",
    "droid": "Droid",
    "gemini": "Gemini CLI",
    "goose": "Goose",
    "goosed": "Goose",
    "kilo": "Kilo Code",
    "kiro-cli": "Kiro",
    "kiro-cli-chat": "Kiro",
    "klaude": "klaude",
    "opencode": "opencode",
    "qwen": "Qwen Code",
}
_PACKAGES = {
    "@anthropic-ai/claude-code": "Claude Code",
    "@augmentcode/auggie": "Augment",
    "@continuedev/cli": "Continue",
    "@github/copilot": "Copilot CLI",
    "@google/gemini-cli": "Gemini CLI",
    "@openai/codex": "Codex",
    "@qwen-code/qwen-code": "Qwen Code",
    "opencode-ai": "opencode",
}
_REMIT = {"serve": "Remit's gateway", "hook": "Remit's hook"}
_INTERPRETERS = frozenset({"bun", "deno", "lua", "node", "perl", "php", "python", "ruby", "tclsh"})
_SHELLS = frozenset({"bash", "busybox", "dash", "fish", "ksh", "nu", "pwsh", "sh", "zsh"})
# Programs that run a command they are given. No person's terminal starts under one in the background.
_TOOLS = frozenset(
    {"at", "atd", "awk", "bwrap", "choom", "chroot", "chrt", "cpulimit", "cron", "crond", "daemon"}
    | {"daemonize", "dbus-run-session", "doas", "ed", "env", "ex", "expect", "find", "firejail"}
    | {"flock", "gawk", "gdb", "git", "ionice", "less", "ltrace", "m4", "make", "man", "mawk", "more"}
    | {"nice", "nohup", "nsenter", "nvim", "parallel", "perf", "pipx", "pkexec", "prlimit", "remit"}
    | {"rsync", "runuser", "script", "sed", "setarch", "setpriv", "setsid", "sg", "sleep", "socat"}
    | {"ssh", "ssh-agent", "start-stop-daemon", "stdbuf", "strace", "su", "sudo", "systemd-run", "tar"}
    | {"taskset", "time", "timeout", "unbuffer", "unshare", "uv", "uvx", "valgrind", "vi", "view"}
    | {"vim", "watch", "xargs"}
)
_LOADER = re.compile(r"ld[-.].*|.*\.so")  # the dynamic linker runs any program, under its own name
# Terminals that an interpreter or a shell runs: those that root installed, and the servers of editors, which
# install themselves in the user's home.
_TERMINALS = re.compile(
    r"/(?:usr|opt|snap|nix/store)/(?:[^\s/]+/)*(?:\.?terminator|\.?guake)(?:-wrapped)?"
    r"|/(?:[^/]+/)*\.(?:vscode|cursor|windsurf)(?:-[a-z]+)*-server(?:-[a-z]+)*/(?:[^\s/]+/)*"
    r"(?:server-main\.js|(?:code|cursor|windsurf)-server(?:-[a-z]+)*)"
)
_HARMLESS = re.compile(r"-[BEIPSsu]+")  # options of Python in the first line of such a script
MULTIPLEXERS = frozenset({"abduco", "dtach", "screen", "shpool", "tmux", "zellij"})
_MANAGER = "systemd"  # a user's own adopts orphans as process 1 does


class Process(NamedTuple):
    """A process, as far as its user may look."""

    pid: int
    parent: int  # 0: outside of this container
    session: int = 0  # the process that leads its session; 0: outside of this container
    terminal: int = 0  # the device that controls it; 0: none
    name: str = ""  # as it calls itself
    program: str = ""  # the file it runs, without its folder
    command: Sequence[str] = ()
    variables: frozenset[str] = frozenset()  # those asked for that it was started with
    is_own_program: bool = False  # this user could have made or renamed the file it runs


class ProcessTree(NamedTuple):
    """This process and those related to it."""

    related: Sequence[Process]  # itself, its ancestors, leaders of their sessions, the holder of its terminal
    holders: Sequence[Process] = ()  # of the terminals of its streams, and those related to them
    viewers: Sequence[Sequence[Process]] = ()  # of a related multiplexer, each with those related to it


def find_agent(variables: Mapping[str, str], tree: ProcessTree) -> str | None:
    """Return which agent, or what else than a person's terminal, runs a command; None: nothing known does."""
    marked = next((client for name, client in MARKERS.items() if variables.get(name)), None)
    if marked is not None:
        return marked
    found = _find_client((*tree.related, *tree.holders))
    if found is not None or not tree.related:
        return found
    viewed = any(
        _find_client(viewer) is None and _is_attended(viewer, viewed=True) for viewer in tree.viewers
    )
    return None if _is_attended(tree.related, viewed=viewed) else "a background process"


def _find_client(processes: Iterable[Process]) -> str | None:
    return next(filter(None, map(_client, processes)), None)


def _client(process: Process) -> str | None:
    """Return the client that a process is, or that it says it was started by."""
    marked = next((client for name, client in MARKERS.items() if name in process.variables), None)
    if marked is not None:
        return marked
    words = [basename(word) for word in process.command]
    for name in (process.name, process.program, *words[:1]):
        if (client := _CLIENTS.get(name.removesuffix(".exe"))) is not None:
            return client
    return _script_client(process) or _own_process(words)


def _script_client(process: Process) -> str | None:
    """Return the client whose script an interpreter runs."""
    script = _script(process) if _plain(process) in _INTERPRETERS else ""
    for package, client in _PACKAGES.items():
        if f"/{package}/" in script:
            return client
    return _CLIENTS.get(basename(script).removesuffix(".js"))


def _own_process(words: Sequence[str]) -> str | None:
    """Return the part of Remit that starts programs for an agent."""
    return next(
        (_REMIT[word] for before, word in pairwise(words) if before == "remit" and word in _REMIT), None
    )


def _is_attended(related: Iterable[Process], *, viewed: bool) -> bool:
    """Return whether the line of processes leads to a login, a desktop, a container or a job of its own.

    Whoever detaches a command cuts that line: the command, or the tool that opened its terminal, is adopted
    by process 1 and leads its own session. A multiplexer cuts it, too, but then a person views it.
    """
    by_pid = {process.pid: process for process in related}
    return any(_is_origin(process, by_pid, viewed=viewed) for process in by_pid.values())


def _is_origin(process: Process, by_pid: Mapping[int, Process], *, viewed: bool) -> bool:
    if _is_manager(process) and len(by_pid) > 1:
        return False
    parent = by_pid.get(process.parent)
    if process.parent != 1 and (parent is None or not _is_manager(parent)):
        return parent is None  # it came from outside, or from a process that this user cannot see
    if parent is not None and parent.pid == 1 and parent.session == process.session:
        return True  # the main command of a container
    program = _plain(process)
    if program in _INTERPRETERS | _SHELLS:  # the editors' servers bring their own
        return _is_terminal(process.command[1:])
    if process.is_own_program or program in _TOOLS or _LOADER.fullmatch(program):
        return False  # a copy of a shell can have any name
    return viewed if program in MULTIPLEXERS else True


def _is_terminal(arguments: Sequence[str]) -> bool:
    """Tell whether an interpreter or a shell runs the script of a terminal."""
    script = next((word for word in arguments if not _HARMLESS.fullmatch(word)), "")
    return _TERMINALS.fullmatch(script) is not None


def _is_manager(process: Process) -> bool:
    return process.pid == 1 or (process.parent == 1 and process.name == _MANAGER)


def _plain(process: Process) -> str:
    """Return a program's name without its version."""
    return re.sub(r"[\d.]+$", "", process.program or process.name).removeprefix("-")  # of a login shell


def _script(process: Process) -> str:
    return next((word for word in process.command[1:] if not word.startswith("-")), "")
